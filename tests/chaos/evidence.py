"""What the judge looks at: the database, and what was written down outside it; gathered once, when everything has come to rest."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from chaos.notes import Note, Wanted, read
from chaos.strikes.strike import Record
from chaos.world import Plan

_FACTS = """id::text, task::text, status::text, attempt, tenant::text, key::text, subject::text, payload, result, error, metadata, label::text, seq,
       extract(epoch from created_at)::float8, extract(epoch from finished_at)::float8, parent_id::text"""
_JOBS = f"select {_FACTS} from holdfast.job"
_REMOVED = (
    f"select {_FACTS} from chaos.removed, jsonb_populate_record(null::holdfast.job, was) where what = 'job'"
)
_HISTORY = """
select job_id::text, seq, from_status::text, to_status::text, attempt, extract(epoch from at)::float8, actor,
       coalesce((metadata ->> 'crash_count')::int, 0), reason, coalesce((metadata ->> 'retry_count')::int, 0)
  from holdfast.job_history
 order by job_id, seq
"""
_APPROVALS = """
select id::text, job_id::text, decision, decided_by
  from holdfast.approval
 union all
select id::text, job_id::text, decision, decided_by
  from chaos.removed, jsonb_populate_record(null::holdfast.approval, was)
 where what = 'approval'
"""


class Job(NamedTuple):
    """A job as it is at the end."""

    id: str
    task: str
    status: str
    attempt: int
    tenant: str | None
    key: str | None
    subject: str | None
    payload: dict[str, Any]
    result: Any
    error: dict[str, Any] | None
    metadata: dict[str, Any] | None
    label: str | None
    moves: int  # in its history
    born: float
    ended: float | None
    parent: str | None = None  # the job that has made it


class Move(NamedTuple):
    """A row of the history."""

    job: str
    seq: int
    came_from: str | None
    to: str
    attempt: int
    at: float
    actor: str
    crashes: int = 0  # that the job is blamed for by then
    reason: str | None = None
    retries: int = 0  # that it has used by then


class Approval(NamedTuple):
    """What was asked of people, and what came of it."""

    id: str
    job: str
    decision: str | None
    decided_by: str | None


@dataclass
class Evidence:
    """Everything that was said, by whom it was said."""

    jobs: dict[str, Job] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    approvals: dict[str, Approval] = field(default_factory=dict)
    effects: list[tuple[str, int]] = field(default_factory=list)  # (job, attempt), from chaos.effect
    step_effects: list[str] = field(default_factory=list)
    deliveries: list[str] = field(default_factory=list)
    removed: set[str] = field(
        default_factory=set
    )  # jobs that retention took, with their history, and that are yet among these
    client_log: list[Note] = field(default_factory=list)
    wanted: dict[str, Wanted] = field(
        default_factory=dict
    )  # what customers asked for, by the id they gave it
    ledger: list[Note] = field(default_factory=list)
    feed: list[Note] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    lease: float = 3.0
    rate: float = 0.0  # jobs that customers were to ask for in a second
    loaded_until: float = 0.0  # when they stopped to
    is_kept: bool = True  # no retention: whatever was there is there


def gather(
    connection: psycopg.Connection[Any],
    folder: Path,
    records: list[Record],
    *,
    plan: Plan,
    loaded_until: float,
) -> Evidence:
    """Read it all, what retention has removed too."""
    wanted: dict[str, Wanted] = {}
    removed, there = (
        [Job._make(row) for row in connection.execute(query.encode())] for query in (_REMOVED, _JOBS)
    )
    return Evidence(
        jobs={job.id: job for job in (*removed, *there)},
        removed={job.id for job in removed},
        moves=[Move._make(row) for row in connection.execute(_HISTORY).fetchall()],
        approvals={one.id: one for one in map(Approval._make, connection.execute(_APPROVALS).fetchall())},
        effects=[(j, a) for j, a in connection.execute("select job_id::text, attempt from chaos.effect")],
        step_effects=_column(connection.execute("select job_id::text from chaos.step_effect").fetchall()),
        deliveries=_column(connection.execute("select event_id from chaos.delivery").fetchall()),
        client_log=list(_without_wishes(read(folder, "client-log"), wanted)),
        wanted=wanted,
        ledger=list(read(folder, "ledger-*")),
        feed=list(read(folder, "feed-notes")),
        records=records,
        lease=plan.lease,
        rate=plan.rate,
        loaded_until=loaded_until,
        is_kept=plan.retention is None,
    )


def _without_wishes(notes: Iterable[Note], wanted: dict[str, Wanted]) -> Iterator[Note]:
    """Put what was asked for where it is found by its job, once however often it was asked."""
    for note in notes:
        for job, words in zip(note["about"], note.pop("wanted", ()), strict=False):
            wanted[job] = Wanted(**{**words, "after": tuple(words["after"])})
        yield note


def _column(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    return [str(first) for (first,) in rows]
