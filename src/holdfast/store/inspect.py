"""Reading jobs: one with its story, or lists by indexed columns. The only module that builds SQL, from a whitelist."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Jsonb

from holdfast.domain.encryption import shown
from holdfast.domain.job import AttemptRecord, Happening, Job, Progress, StepRecord, Transition
from holdfast.domain.redaction import redacted
from holdfast.domain.states import Status
from holdfast.store.call import Call, Row, query

LOOKED_AT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a list of jobs is narrowed down by; what is None does not matter."""

    status: Status | None = None
    task: str | None = None
    queue: str | None = None
    tenant: str | None = None
    subject: str | None = None
    tag: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    before_id: UUID | None = None


class Candidate(NamedTuple):
    """A job that an abbreviated id may mean."""

    id: UUID
    task: str
    status: str


# Each condition is written so that the index of its column can serve it.
_CONDITIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "status": ("j.status = {value}", str),
    "task": ("j.task = {value}", str),
    "queue": ("j.queue = {value}", str),
    "tenant": ("j.tenant = {value} and j.tenant is not null", str),
    "subject": ("j.subject = {value} and j.subject is not null", str),
    "tag": ("j.tags @> {value} and j.tags is not null", lambda tag: Jsonb([tag])),
    "created_after": ("j.id >= holdfast.uuid_at({value})", lambda at: at),
    "created_before": ("j.id < holdfast.uuid_at({value})", lambda at: at),
    "before_id": ("j.id < {value}", lambda job_id: job_id),
}


@cache
def _select() -> str:
    return files("holdfast.store").joinpath("sql", "queries", "job.sql").read_text("utf-8")


def list_jobs(filters: Filters, limit: int = 50) -> Call[list[Job]]:
    """List jobs, newest first; the next page begins before the last id of this one."""
    given = {name: getattr(filters, name) for name in _CONDITIONS if getattr(filters, name) is not None}
    named = {name: sql.SQL(_CONDITIONS[name][0]).format(value=sql.Placeholder(name)) for name in given}
    in_queue = named.pop("queue", sql.SQL("true"))
    branches = [_branch([*named.values(), sql.SQL(part)], in_queue) for part in _partitions(filters)]
    text = sql.SQL("{select} where j.id in ({ids}) order by j.id desc limit {limit}").format(
        select=sql.SQL(_select()),
        ids=sql.SQL(" union all ").join(branches),
        limit=sql.Placeholder("limit"),
    )
    parameters = {name: _CONDITIONS[name][1](value) for name, value in given.items()}
    return Call(text.as_string(None), {**parameters, "limit": limit, "looked_at": LOOKED_AT}, _read_jobs)


def _branch(conditions: list[sql.Composed | sql.SQL], in_queue: sql.Composed | sql.SQL) -> sql.Composed:
    # No index has finished jobs by queue: a rare one is looked for among the newest, not in the whole table.
    return sql.SQL(
        "(select j.id from (select j.id, j.queue from holdfast.job j where {conditions} order by j.id desc limit {looked_at}) as j"
        " where {in_queue} order by j.id desc limit {limit})"
    ).format(
        conditions=sql.SQL(" and ").join(conditions),
        in_queue=in_queue,
        limit=sql.Placeholder("limit"),
        looked_at=sql.Placeholder("looked_at"),
    )


def _partitions(filters: Filters) -> list[LiteralString]:
    """Say what the indexes know: RUNNING jobs are few and found by their holder, all others by status and task."""
    if filters.status is Status.RUNNING:
        return ["j.holder is not null"]
    if filters.status is not None:
        return ["j.status <> 'RUNNING'"]
    # The index by task leaves RUNNING jobs out: both halves are asked, and the newest of both are listed.
    return ["j.holder is not null", "j.status <> 'RUNNING'"] if filters.task is not None else ["true"]


def _read_jobs(rows: list[Row]) -> list[Job]:
    return [_read_job(list(row)) for row in rows]


def _read_job(values: list[Any]) -> Job:
    *values, paths = values
    values[3] = Status(values[3])
    job = Job(*values)
    payload = shown(job.payload)
    if paths is None and payload is job.payload:
        return job
    return replace(job, payload=redacted(payload, paths), result=redacted(job.result, paths))


def find_job(job_id: UUID) -> Call[Job | None]:
    """Look one job up."""
    text = f"{_select()} where j.id = %(job_id)s"
    return Call(text, {"job_id": job_id}, lambda rows: _read_jobs(rows)[0] if rows else None)


def jobs_between(first: UUID, last: UUID, limit: int) -> Call[list[Candidate]]:
    """Find the jobs whose ids lie in a range, which the primary key answers."""
    return query(
        "jobs_between", lambda rows: [Candidate(*row) for row in rows], first=first, last=last, limit=limit
    )


def history(job_id: UUID) -> Call[list[Transition]]:
    """Read a job's history from its birth."""
    return query("history", _read_history, job_id=job_id)


def _read_history(rows: list[Row]) -> list[Transition]:
    return [
        Transition(seq, Status(old) if old else None, Status(new), *rest) for seq, old, new, *rest in rows
    ]


def steps(job_id: UUID) -> Call[list[StepRecord]]:
    """Read the steps that a job has behind it, oldest first."""
    return query("steps", _read_steps, job_id=job_id)


def _read_steps(rows: list[Row]) -> list[StepRecord]:
    return [StepRecord(*(*told, redacted(value, paths))) for *told, value, paths in rows]


def activity(job_id: UUID) -> Call[list[Happening]]:
    """Read what happened to a job without moving it; its progress apart."""
    return query("activity", lambda rows: [Happening(*row) for row in rows], job_id=job_id)


def progress(job_id: UUID) -> Call[Progress | None]:
    """Read how far a job says that it has come."""
    return query("progress", lambda rows: Progress(*rows[0]) if rows else None, job_id=job_id)


def attempts(job_id: UUID) -> Call[list[AttemptRecord]]:
    """Read what its attempts left behind."""
    return query("attempts", lambda rows: [AttemptRecord(*row) for row in rows], job_id=job_id)
