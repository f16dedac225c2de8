"""Sentry: what happens during a job carries the job's name, and every failed attempt is reported once."""

from asyncio import CancelledError as _CancelledError
from collections.abc import Iterator as _Iterator
from typing import TYPE_CHECKING
from typing import Any as _Any

import sentry_sdk as _sentry
from sentry_sdk.integrations.logging import ignore_logger as _ignore_logger

from holdfast.domain.errors import LeaseLost as _LeaseLost
from holdfast.domain.outcome import Cancel as _Cancel
from holdfast.domain.outcome import Retry as _Retry

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast
    from holdfast.runtime.context import JobContext

__all__ = ["report_failures"]

# Django's tasks log the error that ended one, which would make a second report of it.
_SAY_IT_TOO = ("django.tasks", "django_tasks")


def report_failures(app: "Holdfast") -> None:
    """Report the attempts of this app's jobs that fail; call it where the app is made, so that child processes have it too.

    Not reported: Cancel, Retry while the job has retries left, and what was ended from outside, as by a cancel or a deploy.
    """
    for logger in _SAY_IT_TOO:
        _ignore_logger(logger)

    @app.around
    def reporting(ctx: "JobContext") -> _Iterator[None]:
        with _sentry.isolation_scope() as scope:
            scope.set_transaction_name(ctx.task, source="task")
            scope.set_tag("holdfast.task", ctx.task)
            scope.set_tag("holdfast.job_id", str(ctx.job_id))
            if ctx.tenant is not None:
                scope.set_tag("holdfast.tenant", ctx.tenant)
            scope.set_context(
                "holdfast", {"attempt": ctx.attempt, "retries": ctx.retry_count, "subject": ctx.subject}
            )
            scope.add_event_processor(lambda event, _hint: _without_hidden(ctx, event))
            try:
                yield
            except BaseException as error:
                if _is_failure(ctx, error):
                    _sentry.capture_exception(error)
                raise


def _without_hidden(ctx: "JobContext", event: _Any) -> _Any:
    """Leave out of a report what the task redacts: in its words, and with the local variables, which are the task's own."""
    if not ctx.hidden:
        return event
    for raised in (event.get("exception") or {}).get("values") or ():
        raised["value"] = ctx.hidden.text(raised.get("value"))
        for frame in (raised.get("stacktrace") or {}).get("frames") or ():
            frame.pop("vars", None)
    crumbs = event.get("breadcrumbs")
    for told in (event, *((crumbs.get("values") or ()) if isinstance(crumbs, dict) else ())):
        for name in ("message", "logentry", "extra", "data"):
            if name in told:
                told[name] = ctx.hidden.text(told[name])
    return event


def _is_failure(ctx: "JobContext", error: BaseException) -> bool:
    match error:
        case _Cancel():
            return False
        case _Retry():
            return ctx.retry_count >= ctx.max_retries
        case _CancelledError() | _LeaseLost():
            return not ctx.stopped
        case _:
            return True
