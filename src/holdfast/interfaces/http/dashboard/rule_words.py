"""What an alert rule watches, said as a person would."""

from collections.abc import Mapping

from holdfast.domain.spans import span
from holdfast.interfaces.http.api.alerts import WatchedView

_WORDS: Mapping[str, str] = {
    "failures": "more than {number} jobs of {task} failed within {period}",
    "success_rate": "less than {percent} % of the jobs of {task} completed within {period}",
    "oldest_wait": "a job has waited in {queue} for longer than {period}",
    "no_worker": "jobs have waited for longer than {period} in {queue}, which no worker serves",
    "approval_overdue": "nobody has decided an approval for {period}, or it expires within {margin}",
    "schedule_missed": "a schedule is late by {period}, or has missed a time",
    "callback_silent": "an outside run of {task} has not been heard of for {period}",
    "job_failed": "a job of {task} failed",
    "compensation_failed": "what a failed job of {task} had done could not be undone",
}


def watches(rule: WatchedView) -> str:
    """Say when a rule finds something."""
    mark = rule.threshold or 0
    return _WORDS.get(rule.kind, rule.kind).format(
        number=f"{mark:g}",
        percent=f"{100 * mark:g}",
        margin=span(mark),
        period=span(rule.period or 0),
        task=_task(rule),
        queue=f"queue {rule.queue}" if rule.queue else "any queue",
    )


def _task(rule: WatchedView) -> str:
    in_queue = f" in queue {rule.queue}" if rule.queue else ""
    for_tenant = f" for {rule.tenant}" if rule.tenant else ""
    return f"{rule.task or 'any task'}{in_queue}{for_tenant}"
