"""Finish: outcomes of attempts on their way into the database, each with its fence."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from holdfast.domain.job import ClaimedJob
from holdfast.domain.states import Status
from holdfast.store.arrays import Ints, Uuids
from holdfast.store.call import Call, Row, function, single

# A finished attempt with its result and log lines as JSON text; a plain tuple, because the hot path makes one a job.
Completion: TypeAlias = tuple[ClaimedJob, str | None, str | None]


class Settled(NamedTuple):
    """Where a job is after an outcome was offered, and whether that outcome put it there."""

    job_id: UUID
    status: Status | None
    recorded: bool


def complete(worker_id: UUID, completions: Sequence[Completion]) -> Call[list[Settled]]:
    """Complete attempts; the answer names only those that had lost their job."""
    jobs, results, logs = zip(*completions, strict=True)
    return function(
        "complete", worker_id,
        Uuids([job.id for job in jobs]), Ints([job.attempt for job in jobs]), Uuids([job.claim_id for job in jobs]),
        list(results), list(logs) if any(logs) else None,
        read=_read_lost, types=("", "", "", "", "text[]", "text[]"),
    )  # fmt: skip


def _read_lost(rows: list[Row]) -> list[Settled]:
    return [Settled(job_id, Status(status) if status else None, recorded=False) for job_id, status in rows]


def settle(worker_id: UUID, settlements: Sequence[dict[str, Any]]) -> Call[list[Settled]]:
    """End attempts that did not complete: failed, crashed, released or cancelled."""
    return function("settle", worker_id, json.dumps(settlements), read=_read_settled, types=("", "jsonb"))


def _read_settled(rows: list[Row]) -> list[Settled]:
    return [
        Settled(job_id, Status(status) if status else None, recorded) for job_id, status, recorded in rows
    ]


def cancel(job_id: UUID, actor: str | None, reason: str | None) -> Call[str]:
    """Cancel a job that has not ended; whoever runs it is told."""
    return function("cancel", job_id, actor, reason, read=single, types=("", "text", "text"))


def retry(job_id: UUID, actor: str | None, reason: str | None, new_id: UUID) -> Call[UUID]:
    """Retry a FAILED job as a new job that names it."""
    return function("retry", job_id, actor, reason, new_id, read=single, types=("", "text", "text", ""))
