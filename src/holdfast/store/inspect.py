"""Reading one job with its story."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.domain.encryption import shown
from holdfast.domain.job import AttemptRecord, FlowJob, Happening, Job, Progress, StepRecord, Transition
from holdfast.domain.redaction import HIDDEN, Hidden, redacted
from holdfast.domain.states import Status
from holdfast.store.call import Call, Row, query
from holdfast.store.hidden import Told, hidden_in, hidden_in_first

LARGEST_VALUE = 2**31 - 1
OWN_KEY = "payload:"


class Candidate(NamedTuple):
    """A job that an abbreviated id may mean."""

    id: UUID
    task: str
    status: str


@cache
def select_jobs() -> str:
    """Give the select that reads jobs; it takes the parameter `whole`: with payload and result, or without."""
    return files("holdfast.store").joinpath("sql", "queries", "job.sql").read_text("utf-8")


def _read_jobs(rows: list[Row]) -> list[Job]:
    return [read_job(list(row)) for row in rows]


def read_job(values: list[Any]) -> Job:
    """Read a row of select_jobs, without what others may not see of it."""
    *values, told = values
    values[3] = Status(values[3])
    job = Job(*values)
    payload = shown(job.payload)
    if told is not None:
        return _without_hidden(job, payload, hidden_in(told))
    return job if payload is job.payload else replace(job, payload=payload)


def _without_hidden(job: Job, payload: dict[str, Any], hidden: Hidden) -> Job:
    made = {name: hidden.value(getattr(job, name)) for name in ("result", "metadata", "run")}
    said = {name: hidden.text(getattr(job, name)) for name in ("error", "reason", "label", "subject", "tags")}
    asked = job.approval and {**job.approval, "question": hidden.text(job.approval["question"])}
    # A key that was made of the payload is a hash of it, by which a short secret can be guessed.
    is_hash = job.key is not None and job.key.startswith(OWN_KEY)
    key = OWN_KEY + HIDDEN if is_hash else hidden.text(job.key)
    return replace(job, payload=redacted(payload, hidden.paths), key=key, approval=asked, **made, **said)


def find_job(job_id: UUID) -> Call[Job | None]:
    """Look one job up."""
    text = f"{select_jobs()} where j.id = %(job_id)s"
    return Call(text, {"job_id": job_id, "whole": True}, lambda rows: _read_jobs(rows)[0] if rows else None)


def find_several(job_ids: Sequence[UUID]) -> Call[list[Job]]:
    """Look several jobs up."""
    text = f"{select_jobs()} where j.id = any (%(job_ids)s)"
    return Call(text, {"job_ids": list(job_ids), "whole": True}, _read_jobs)


def upcoming(limit: int) -> Call[list[Job]]:
    """List the jobs that wait for their time, the next to run first; the index of what is due answers it."""
    text = (
        f"{select_jobs()} where j.due_at is not null and j.claim_order is null and j.held_by is null"
        " order by j.due_at limit %(limit)s"
    )
    return Call(text, {"limit": limit, "whole": True}, _read_jobs)


def jobs_between(first: UUID, last: UUID, limit: int) -> Call[list[Candidate]]:
    """Find the jobs whose ids lie in a range, which the primary key answers."""
    return query(
        "jobs_between", lambda rows: [Candidate(*row) for row in rows], first=first, last=last, limit=limit
    )


def jobs_of_tenant(ids: Sequence[UUID], tenant: str) -> Call[set[UUID]]:
    """Say which of these jobs are a tenant's."""
    return query("jobs_of_tenant", lambda rows: {row[0] for row in rows}, ids=list(ids), tenant=tenant)


def history(job_id: UUID, after: int = 0, limit: int | None = None) -> Call[list[Transition]]:
    """Read a job's history from its birth, or what follows a row of it."""
    return query("history", _read_history, job_id=job_id, after=after, limit=limit)


def _read_history(rows: list[Row]) -> list[Transition]:
    text = hidden_in_first(rows).text
    return [
        Transition(*(seq, Status(old) if old else None, Status(new), *rest, text(reason), text(metadata)))
        for seq, old, new, *rest, reason, metadata, _ in rows
    ]


def steps(
    job_id: UUID,
    after: tuple[datetime, str] | None = None,
    limit: int | None = None,
    largest: int = LARGEST_VALUE,
) -> Call[list[StepRecord]]:
    """Read the steps that a job has behind it, oldest first; values that are larger than asked for are left out."""
    at, name = after or (datetime.min.replace(tzinfo=UTC), "")
    return query(
        "steps",
        _read_steps,
        job_id=job_id, after=at, after_name=name, limit=limit, largest=largest,
    )  # fmt: skip


def _read_steps(rows: list[Row]) -> list[StepRecord]:
    hidden = hidden_in_first(rows)
    return [
        StepRecord(*(*told, hidden.value(value), size, importance))
        for *told, value, size, importance, _ in rows
    ]


def activity(job_id: UUID, after: int = 0, limit: int | None = None) -> Call[list[Happening]]:
    """Read what happened to a job without moving it, or what follows a row of that; its progress apart."""
    return query("activity", _read_activity, job_id=job_id, after=after, limit=limit)


def _read_activity(rows: list[Row]) -> list[Happening]:
    text = hidden_in_first(rows).text
    return [Happening(at, kind, actor, text(data), number) for at, kind, actor, data, number, _ in rows]


def flow(job_id: UUID, most: int, tenant: str | None = None) -> Call[list[FlowJob]]:
    """Read the jobs that one hangs together with, as many as asked for; with a tenant only that tenant's."""
    return query("flow", _read_flow, job_id=job_id, most=most, tenant=tenant)


def _read_flow(rows: list[Row]) -> list[FlowJob]:
    return [
        FlowJob(
            job_id, task, hidden_in(told).text(label), Status(status), parent, undoes, retried, tuple(needs)
        )
        for job_id, task, label, status, parent, undoes, retried, needs, told in rows
    ]


def progress(job_id: UUID) -> Call[Progress | None]:
    """Read how far a job says that it has come."""
    return query("progress", _read_progress, job_id=job_id)


def _read_progress(rows: list[Row]) -> Progress | None:
    return _progress(*rows[0]) if rows else None


def _progress(at: datetime, done: float, total: float | None, note: str | None, told: Told) -> Progress:
    return Progress(at, done, total, hidden_in(told).text(note))


def progress_of(ids: Sequence[UUID]) -> Call[dict[UUID, Progress]]:
    """Read how far these jobs say that they have come."""
    return query(
        "progress_of", lambda rows: {job_id: _progress(*told) for job_id, *told in rows}, ids=list(ids)
    )


class Given(NamedTuple):
    """What a job was given, without what others may not see of it; no payload when it is too large to be listed."""

    payload: dict[str, Any] | None
    metadata: dict[str, Any] | None


def payloads(ids: Sequence[UUID], largest: int) -> Call[dict[UUID, Given]]:
    """Read what these jobs were given."""
    return query("payloads", _read_payloads, ids=list(ids), largest=largest)


def _read_payloads(rows: list[Row]) -> dict[UUID, Given]:
    return {
        job_id: Given(redacted(shown(payload), hidden.paths), hidden.value(metadata))
        for job_id, payload, metadata, told in rows
        for hidden in [hidden_in(told)]
    }


def attempts(job_id: UUID, after: int = 0, limit: int | None = None) -> Call[list[AttemptRecord]]:
    """Read what its attempts left behind."""
    return query("attempts", _read_attempts, job_id=job_id, after=after, limit=limit)


def _read_attempts(rows: list[Row]) -> list[AttemptRecord]:
    text = hidden_in_first(rows).text
    return [AttemptRecord(*(*told, text(error), text(logs))) for *told, error, logs, _ in rows]
