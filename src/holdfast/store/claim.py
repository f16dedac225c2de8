"""Claim and heartbeat: a worker's side of the line."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias
from uuid import UUID

from holdfast.domain.health import Wish
from holdfast.domain.job import ClaimedJob
from holdfast.store.call import Call, Row, function, nothing, single, statement

# What an attempt shows with every write: the job and the claim that took it.
Fence: TypeAlias = tuple[UUID, UUID]


class Beat(NamedTuple):
    """What the database answers to a heartbeat."""

    alive: bool
    lost: "list[Fence]"


def register_worker(
    worker_id: UUID,
    name: str,
    host: str,
    pid: int,
    version: str,
    queues: dict[str, int],
    tasks: Sequence[str],
    lease: timedelta,
    its_clock: datetime,
) -> Call[None]:
    """Say hello; a worker's identity is new with every start."""
    return function(
        "register_worker", worker_id, name, host, pid, version, json.dumps(queues), list(tasks), lease, its_clock,
        read=nothing, types=("", "", "", "", "", "jsonb", "text[]", "", ""),
    )  # fmt: skip


def copies(job_id: UUID, origin: UUID) -> Call[bool]:
    """Ask whether a job has its payload from another: a retry of it, or what undoes it."""
    return function("copies_payload_of", job_id, origin, read=single)


def _read_claimed(claim_id: UUID) -> Callable[[list[Row]], list[ClaimedJob]]:
    def read(rows: list[Row]) -> list[ClaimedJob]:
        return [ClaimedJob._make((*row, claim_id)) for row in rows]

    return read


def claim(
    worker_id: UUID, claim_id: UUID, queue: str, tasks: Sequence[str], limit: int, after: datetime | None
) -> Call[list[ClaimedJob]]:
    """Take the next jobs of a queue; `after` skips what a held snapshot keeps dead at the head of the line."""
    return function(
        "claim", worker_id, claim_id, queue, tasks, limit, "-infinity" if after is None else after.isoformat(),
        read=_read_claimed(claim_id), types=("", "", "", "text[]", "", "timestamptz"), binary=True,
    )  # fmt: skip


def claim_suspect(
    worker_id: UUID, claim_id: UUID, queues: Sequence[str], tasks: Sequence[str], *, runs_on: bool
) -> Call[list[ClaimedJob]]:
    """Take one job that a worker died with; say whether something runs on in the process that the worker holds no more."""
    return function(
        "claim_suspect", worker_id, claim_id, list(queues), tasks, runs_on,
        read=_read_claimed(claim_id), types=("", "", "text[]", "text[]", ""),
    )  # fmt: skip


def recover_claim(worker_id: UUID, claim_id: UUID) -> Call[list[ClaimedJob]]:
    """Ask again for what a claim took whose answer was lost."""
    return function("recover_claim", worker_id, claim_id, read=_read_claimed(claim_id))


def beat(worker_id: UUID, attempts: Sequence[Fence]) -> Call[Beat]:
    """Say that the worker lives; learn whether it counts as alive and which attempts, oldest first, it has lost."""

    def read(rows: list[Row]) -> Beat:
        alive, lost = rows[0]
        return Beat(alive, _lost_of(attempts, Counter(lost)))

    ids = [job_id for job_id, _ in attempts]
    claim_ids = [claim_id for _, claim_id in attempts]
    return function("beat", worker_id, ids, claim_ids, read=read, types=("", "uuid[]", "uuid[]"))


def _lost_of(attempts: Sequence[Fence], lost: "Counter[UUID]") -> list[Fence]:
    """Pair lost jobs with attempts: of two attempts of one job, the older is lost before the newer."""
    fences = []
    for job_id, claim_id in attempts:
        if lost[job_id] > 0:
            lost[job_id] -= 1
            fences.append((job_id, claim_id))
    return fences


def wish_of(worker_id: UUID) -> Call[Wish | None]:
    """Ask what somebody wishes of a worker. Not part of the beat, whose answer workers of older releases read as well."""
    return statement("worker_wish", lambda rows: rows[0][0] if rows else None, worker=worker_id)


def wish_of_worker(worker_id: UUID, wish: Wish | None, actor: str | None, reason: str | None) -> Call[None]:
    """Wish something of a worker; None lets it claim again."""
    return function(
        "wish_of_worker", worker_id, wish, actor, reason, read=nothing, types=("uuid", "text", "text", "text")
    )


def fall_asleep(worker_id: UUID, queues: Sequence[str]) -> Call[None]:
    """Ask to be woken by commits that enqueue into these queues."""
    return function("fall_asleep", worker_id, list(queues), read=nothing, types=("", "text[]"))


def stay_awake(worker_id: UUID, queues: Sequence[str]) -> Call[None]:
    """Ask not to be woken for these queues: there is enough to do."""
    return function("stay_awake", worker_id, list(queues), read=nothing, types=("", "text[]"))


def retire_worker(worker_id: UUID) -> Call[None]:
    """Say goodbye; what is still held goes back at once and counts as nothing."""
    return function("retire_worker", worker_id, read=nothing)
