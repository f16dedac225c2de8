"""What can be done to one job, why not, and the forms that do it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.states import Status
from holdfast.interfaces.http.api.job_views import JobView
from holdfast.interfaces.http.api.jobs import (
    PriorityBody,
    QueueBody,
    cancel_job,
    delete_job,
    move_job,
    reprioritise_job,
    retry_job,
)
from holdfast.interfaces.http.api.words import ReasonBody
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Done, Form, Section
from holdfast.interfaces.http.dashboard.rendering import short_id
from holdfast.interfaces.http.hooks import JobFacts
from holdfast.runtime.alerts import OWN_PREFIX

job_actions = Section("jobs")

Reason = Annotated[str, Field(min_length=1, max_length=500)]


def why_not_again(shown: JobView, *, may: bool) -> str | None:
    """Say why a job cannot be run again; None when it can."""
    if not may:
        return "your role may not: ask an operator"
    if shown.retried_as is not None:
        return f"it was run again already, as {short_id(shown.retried_as)}"
    if shown.status is not Status.FAILED:
        return "only a job that has failed is run again"
    return None


def why_not_changed(shown: JobView, *, may: bool) -> str | None:
    """Say why a job cannot be stopped or put elsewhere in line; None when it can."""
    if not may:
        return "your role may not: ask an operator"
    return "it has ended" if shown.status.is_terminal else None


def why_not_moved(shown: JobView, *, may: bool) -> str | None:
    """Say why a job cannot be moved to another queue; None when it can."""
    if may and shown.status is Status.RUNNING:
        return "it runs: its queue can change between attempts"
    if may and shown.task.startswith(OWN_PREFIX):
        return "it is Holdfast's own"
    return why_not_changed(shown, may=may)


async def why_not(shown: JobView, look: Look) -> dict[str, str | None]:
    """Say of each thing that can be done to jobs why it cannot be done to this one; None when it can."""
    may = look.may(Scope.OPERATE)
    reasons: dict[str, tuple[Callable[..., Awaitable[Any]], str | None]] = {
        "Run again": (retry_job, why_not_again(shown, may=may)),
        "Stop": (cancel_job, why_not_changed(shown, may=may)),
        "Set priority": (reprioritise_job, why_not_changed(shown, may=may)),
        "Move": (move_job, why_not_moved(shown, may=may)),
    }
    if look.may(Scope.ADMIN):
        reasons["Delete"] = (delete_job, None if shown.status.is_terminal else "it has not ended")
    facts = JobFacts.of(shown)
    return {
        label: reason or await _unless_allowed(look, action, facts)
        for label, (action, reason) in reasons.items()
    }


async def _unless_allowed(look: Look, action: Callable[..., Awaitable[Any]], facts: JobFacts) -> str | None:
    return None if await look.allows(action, facts) else "this application does not let you"


def together(reasons: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Say each reason once, with all that it stands against."""
    told: dict[str, list[str]] = {}
    for label, reason in reasons.items():
        if reason is not None:
            told.setdefault(reason, []).append(label)
    return told


class ReasonForm(Form):
    """Why."""

    reason: Reason


@job_actions.action("/jobs/{job_id:uuid}/retry")
async def run_again(look: Look, form: ReasonForm, job_id: UUID) -> Done:
    """Run a failed job again, as a new one, which is shown."""
    made = await look.at(retry_job, job_id, ReasonBody(reason=form.reason))
    return Done(f"Job {short_id(job_id)} runs again as this one.", f"/jobs/{made.id}")


@job_actions.action("/jobs/{job_id:uuid}/cancel")
async def stop(look: Look, form: ReasonForm, job_id: UUID) -> Done:
    """Stop a job."""
    await look.at(cancel_job, job_id, ReasonBody(reason=form.reason))
    return Done("The job is stopped.", f"/jobs/{job_id}")


class PriorityForm(ReasonForm):
    """Where in the line, and why."""

    priority: Annotated[int, Field(ge=-100, le=100)]


@job_actions.action("/jobs/{job_id:uuid}/reprioritise")
async def reprioritise(look: Look, form: PriorityForm, job_id: UUID) -> Done:
    """Give a job another priority."""
    await look.at(reprioritise_job, job_id, PriorityBody(priority=form.priority, reason=form.reason))
    return Done(f"The job has priority {form.priority}.", f"/jobs/{job_id}")


class MoveForm(ReasonForm):
    """To which queue, and why."""

    queue: Annotated[str, Field(max_length=200)]


@job_actions.action("/jobs/{job_id:uuid}/move")
async def move(look: Look, form: MoveForm, job_id: UUID) -> Done:
    """Put a job into another queue."""
    await look.at(move_job, job_id, QueueBody(queue=form.queue, reason=form.reason))
    return Done(f"The job is in queue {form.queue}.", f"/jobs/{job_id}")


class DeleteForm(ReasonForm):
    """Why, and that it is meant."""

    typed: str | None = None


@job_actions.action("/jobs/{job_id:uuid}/delete")
async def delete(look: Look, form: DeleteForm, job_id: UUID) -> Done:
    """Delete a job."""
    if form.typed != "delete":
        await look.require(delete_job, job_id=job_id)
        return Done("Nothing was done: type delete to confirm.", f"/jobs/{job_id}")
    gone = await look.at(delete_job, job_id, ReasonBody(reason=form.reason))
    return Done(f"Job {short_id(gone.id)} ({gone.task}) is deleted; the audit has your reason.", "/jobs")
