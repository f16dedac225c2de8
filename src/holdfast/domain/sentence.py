"""The sentence that says why a job is where it is and what happens next; every door shows the same one."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, assert_never

from holdfast.domain.approval import EXPIRED, asked_of
from holdfast.domain.held import held_back
from holdfast.domain.job import Job, Transition
from holdfast.domain.spans import ago, span
from holdfast.domain.states import Status

__all__ = ["ago", "error_name", "sentence", "span"]


def error_name(error: Mapping[str, Any]) -> str:
    """Name an error by its class alone; its module stands with the attempt."""
    return str(error.get("type") or "an error").rpartition(".")[2]


def sentence(job: Job, history: Sequence[Transition] = ()) -> str:  # noqa: PLR0911 - one a status
    """Say where a job is, why, and what happens next."""
    match job.status:
        case Status.PENDING:
            return _pending(job)
        case Status.RETRY:
            return _retry(job)
        case Status.RUNNING:
            return _running(job)
        case Status.WAITING | Status.WAITING_FOR_APPROVAL:
            return _waiting(job)
        case Status.COMPLETED:
            return f"COMPLETED {_ended(job)}, {_since_creation(job)} (attempt {job.attempt})"
        case Status.FAILED:
            return _failed(job)
        case Status.CANCELLED:
            return _cancelled(job, history)
        case _:
            assert_never(job.status)


def _pending(job: Job) -> str:
    if job.held_by:
        return f"PENDING: {held_back(job)}"
    if job.due_at is not None and job.due_at > job.now:
        return f"PENDING: starts in {span(job.due_at - job.now)}{_but(job)}"
    waits = span(job.now - (job.due_at or job.created_at))
    return f"PENDING: {_obstacle(job) or f'in line on queue {job.queue} for {waits}, a worker takes it in its turn'}"


def _retry(job: Job) -> str:
    if job.held_by:
        return f"RETRY: {held_back(job)}{_after(job)}"
    if job.suspect:
        return f"RETRY: {_died(job)}, which may be why; the next attempt runs apart from other jobs{_but(job)}; that worker's log says what ended it"
    if job.due_at is not None and job.due_at > job.now and not job.in_line:
        return f"will retry in {span(job.due_at - job.now)}, {_next_attempt(job)}{_after(job)}{_but(job)}"
    why = job.reason if job.reason and job.reason.startswith(("released", "worker ")) else None
    if why:
        return f"RETRY: {why}; {_obstacle(job) or 'another worker takes it in its turn'}"
    return f"will retry as soon as a worker is free, {_next_attempt(job)}{_after(job)}{_but(job)}"


def _died(job: Job) -> str:
    who = job.reason if job.reason and job.reason.startswith("worker ") else "its worker died"
    return f"{who} while it ran this job"


def _next_attempt(job: Job) -> str:
    # Releases and crashes are attempts too, but use up no retry: what counts here are failures.
    return f"attempt {job.retry_count + 1} of {job.max_retries + 1}"


def _running(job: Job) -> str:
    where = f"RUNNING on {job.worker or 'an executor'} for {span(job.now - job.updated_at)} (attempt {job.attempt})"
    if job.holder_is_silent and job.holder_seen_at is not None:
        return f"{where}, but that worker was last seen {ago(job.holder_seen_at, job.now)}: a sweeper takes the job back"
    if job.deadline_at is not None:
        return f"{where}, must end within {span(job.deadline_at - job.now)}"
    return where


def _waiting(job: Job) -> str:
    since = f"for {span(job.now - job.updated_at)}"
    if job.status is Status.WAITING_FOR_APPROVAL:
        return (
            _asking(job, job.approval)
            if job.approval
            else f"WAITING_FOR_APPROVAL {since}{_because(job.reason)}"
        )
    until = (
        f", goes on in {span(job.due_at - job.now)}"
        if job.due_at is not None and job.due_at > job.now
        else ""
    )
    # What it waits for itself stands in its reason already.
    is_told = job.reason is not None and job.held_by is not None and job.held_by in job.reason
    held = f", {held_back(job)}" if job.held_by and not is_told else ""
    return f"WAITING {since}{until}{held}{_because(job.reason)}"


def _asking(job: Job, gate: Mapping[str, Any]) -> str:
    if gate["decided_by"] is not None:
        then = held_back(job) if job.held_by else _obstacle(job) or "a worker takes it in its turn"
        return f"WAITING_FOR_APPROVAL: approved by {gate['decided_by']}; {then}"
    asked = asked_of(gate["approvers"], gate["quorum"], gate["approvals"])
    until = datetime.fromisoformat(gate["expires_at"]) if gate["expires_at"] else None
    limit = (
        f" until {until:%Y-%m-%d %H:%M %Z} ({ago(until, job.now)}), {EXPIRED[gate['on_expiry']]}"
        if until
        else ""
    )
    return (
        f"WAITING_FOR_APPROVAL for {span(job.now - job.updated_at)}: asks {asked}: {gate['question']}{limit}; "
        f"decide: holdfast approval approve {gate['id']}, or deny with --reason"
    )


def _failed(job: Job) -> str:
    attempts = f"{job.attempt} attempt{'' if job.attempt == 1 else 's'}"
    error = f" with {_error(job)}" if job.error else ""
    undone = f"; job {job.compensated_by} undoes what it had done" if job.compensated_by else ""
    again = f"; retried as {job.retried_as}" if job.retried_as else ""
    return f"FAILED {_ended(job)} after {attempts}{error}{undone}{again}"


def _cancelled(job: Job, history: Sequence[Transition]) -> str:
    last = history[-1] if history and history[-1].to_status is Status.CANCELLED else None
    by = f" by {last.actor}" if last else ""
    return f"CANCELLED{by} {_ended(job)}{_because(None if job.reason == 'cancelled' else job.reason)}"


def _ended(job: Job) -> str:
    return ago(job.finished_at, job.now) if job.finished_at else "at an unknown time"


def _since_creation(job: Job) -> str:
    return f"{span((job.finished_at or job.now) - job.created_at)} after it was created"


def _error(job: Job) -> str:
    told = job.error or {}
    message = " ".join(str(told.get("message") or "").split())
    short = message if len(message) <= 120 else message[:119] + "…"  # noqa: PLR2004 - a sentence, not a report
    return f"{error_name(told)}{': ' + short if short else ''}"


def _after(job: Job) -> str:
    return f", after {error_name(job.error)}" if job.error else ""


def _because(reason: str | None) -> str:
    return f": {reason}" if reason else ""


def _obstacle(job: Job) -> str | None:
    """Say what keeps a job that is in line from being taken, if anything does."""
    if job.queue_paused_by is not None:
        since = f" {ago(job.queue_paused_at, job.now)}" if job.queue_paused_at else ""
        return f"queue {job.queue} paused by {job.queue_paused_by}{since}{_because(job.queue_paused_for)}"
    if not job.queue_has_worker:
        return f"no live worker serves queue {job.queue}"
    if not job.task_has_worker:
        return f"no live worker has task {job.task} registered"
    return None


def _but(job: Job) -> str:
    obstacle = _obstacle(job)
    return f", but {obstacle}" if obstacle else ""
