"""Steps and waits: what an attempt saves on its way, each write with the attempt's fence."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.domain.job import ClaimedJob
from holdfast.domain.states import Status
from holdfast.domain.step import Place, SavedStep
from holdfast.store.call import Call, Row, function, nothing, single
from holdfast.store.ids import new_id
from holdfast.store.outcome import JobOutcome


class Awaited(NamedTuple):
    """What a wait came to: the job waits now, the time was up, or there is something to go on with."""

    waits: bool
    timed_out: bool
    payload: str | None = None


def _fence(job: ClaimedJob) -> tuple[Any, ...]:
    return (job.id, job.attempt, job.claim_id)


def save_step(
    job: ClaimedJob, place: Place, value: str | None, *, undoable: bool, tries: int, took: float
) -> Call[None]:
    """Save a step before the next one starts."""
    return function(
        "save_step", *_fence(job), place.name, place.kind, place.after, value, undoable, tries, took, place.importance,
        read=nothing, types=("", "", "", "text", "text", "text", "jsonb", "", "int", "float8", "text"),
    )  # fmt: skip


def saved_steps(job_id: UUID) -> Call[list[SavedStep]]:
    """Read what earlier attempts have saved, oldest first."""
    return function("saved_steps", job_id, read=lambda rows: [SavedStep(*row) for row in rows])


def save_checkpoint(job: ClaimedJob, value: str) -> Call[None]:
    """Keep free-form progress."""
    return function("save_checkpoint", *_fence(job), value, read=nothing, types=("", "", "", "jsonb"))


def last_checkpoint(job_id: UUID) -> Call[str | None]:
    """Read the newest checkpoint, None before the first."""
    return function("last_checkpoint", job_id, read=single)


def report_progress(job: ClaimedJob, done: float, total: float | None, note: str | None) -> Call[None]:
    """Say how far the attempt has come."""
    return function(
        "report_progress", *_fence(job), done, total, note,
        read=nothing, types=("", "", "", "float8", "float8", "text"),
    )  # fmt: skip


def complete_here(job: ClaimedJob, result: str | None, logs: str | None) -> Call[None]:
    """Complete the job in the transaction that asks."""
    return function(
        "complete_here", *_fence(job), result, logs, read=nothing, types=("", "", "", "jsonb", "jsonb")
    )


def is_completed_by(job: ClaimedJob) -> Call[bool]:
    """Ask whether this very attempt completed the job, after the answer to its commit was lost."""
    return function("is_completed_by", *_fence(job), read=single)


def sleep_until(
    job: ClaimedJob, place: Place, seconds: float | None, until: datetime | None, logs: str | None
) -> Call[bool]:
    """Let the job sleep; answers whether it does."""
    return function(
        "sleep_until", *_fence(job), place.name, place.after, seconds, until, logs, place.importance,
        read=single, types=("", "", "", "text", "text", "float8", "timestamptz", "jsonb", "text"),
    )  # fmt: skip


def wait_for_event(
    job: ClaimedJob, place: Place, event: str, timeout: float | None, logs: str | None
) -> Call[Awaited]:
    """Take an event, or let the job wait for it."""
    return function(
        "wait_for_event", *_fence(job), place.name, place.after, event, timeout, logs, place.importance,
        read=_read_awaited, types=("", "", "", "text", "text", "text", "float8", "jsonb", "text"),
    )  # fmt: skip


def wait_for_jobs(
    job: ClaimedJob, place: Place, ids: Sequence[UUID], timeout: float | None, logs: str | None
) -> Call[Awaited]:
    """Let the job wait until other jobs have ended."""
    return function(
        "wait_for_jobs", *_fence(job), place.name, place.after, list(ids), timeout, logs, place.importance,
        read=_read_awaited, types=("", "", "", "text", "text", "uuid[]", "float8", "jsonb", "text"),
    )  # fmt: skip


def _read_awaited(rows: list[Row]) -> Awaited:
    return Awaited(*rows[0])


def emit(event: str, payload: str, tenant: str | None, actor: str | None) -> Call[int]:
    """Emit an event; answers how many jobs it woke. The call may be repeated: its token says that it is the same."""
    return function(
        "emit", event, payload, tenant, actor, new_id(),
        read=single, types=("text", "jsonb", "text", "text", ""),
    )  # fmt: skip


def job_outcomes(ids: Sequence[UUID]) -> Call[list[tuple[UUID, JobOutcome]]]:
    """Look what came of jobs, in the order asked."""
    return function("job_outcomes", list(ids), read=_read_outcomes, types=("uuid[]",))


def results_of(job_id: UUID) -> Call[list[tuple[UUID, JobOutcome]]]:
    """Look what came of the jobs that this one was enqueued after, in their order."""
    return function("results_of", job_id, read=_read_outcomes)


def _read_outcomes(rows: list[Row]) -> list[tuple[UUID, JobOutcome]]:
    return [(row[0], JobOutcome(Status(row[1]), row[2], row[3])) for row in rows]


def enqueue_children(job: ClaimedJob, place: Place, jobs: str, declared: str) -> Call[list[UUID]]:
    """Enqueue children and save the step that did, together; answers their ids."""
    return function(
        "enqueue_children", *_fence(job), place.name, place.after, jobs, declared, place.importance,
        read=single, types=("", "", "", "text", "text", "jsonb", "jsonb", "text"),
    )  # fmt: skip


def acknowledge_stop(worker_id: UUID, job_ids: Sequence[UUID]) -> Call[None]:
    """Say that attempts which had lost their jobs have ended."""
    return function("acknowledge_stop", worker_id, list(job_ids), read=nothing, types=("", "uuid[]"))
