"""Reading the system as a whole: queues, workers, counts and what doctor looks at. Every count over jobs is capped."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.health import (
    COUNT_CAP,
    HomelessTask,
    QueueInfo,
    RecentEnds,
    ServerInfo,
    Storage,
    TableSize,
    WorkerInfo,
)
from holdfast.domain.line import Line
from holdfast.domain.states import Status
from holdfast.store.call import Call, Row, query, single, statement

_CAP = COUNT_CAP + 1
_LOOKED_AT = 100_000
FLOW_PARTS = 12  # of the hour that queue_flow looks at


def queues() -> Call[list[QueueInfo]]:
    """List declared queues and those that have jobs or workers."""
    return query("queues", lambda rows: [QueueInfo(*row) for row in rows], cap=_CAP)


def workers(limit: int = 200) -> Call[list[WorkerInfo]]:
    """List workers, the living first."""
    return query("workers", lambda rows: [WorkerInfo(*row) for row in rows], cap=_CAP, limit=limit)


class HeldJob(NamedTuple):
    """A job that a worker runs, and for how long it has."""

    worker: UUID
    id: UUID
    task: str
    label: str | None
    since: timedelta


def held_jobs(workers: Sequence[UUID], each: int) -> Call[list[HeldJob]]:
    """List a few of the jobs that each of these workers runs."""
    return query("held_jobs", lambda rows: [HeldJob(*row) for row in rows], workers=list(workers), each=each)


def status_counts() -> Call[dict[Status, int]]:
    """Count jobs by status, up to the cap."""
    return query("status_counts", lambda rows: {Status(status): count for status, count in rows}, cap=_CAP)


def completed_within(seconds: float) -> Call[int]:
    """Count jobs that completed within the last seconds."""
    return query("finish_rate", single, seconds=seconds)


def jobs_in_line(queue_names: Sequence[str], cap: int) -> Call[int]:
    """Count the jobs that wait to be claimed, up to a cap."""
    return query("jobs_in_line", single, queues=list(queue_names), cap=cap)


def line(queue: str) -> Call[Line]:
    """Look at what waits in a queue, by task."""
    return query(
        "line", lambda rows: _read_line(queue, rows), queue=queue, cap=COUNT_CAP, looked_at=_LOOKED_AT
    )


def _read_line(queue: str, rows: list[Row]) -> Line:
    *tasks, (_, _, _, now) = rows
    oldest = min((since for _, _, since, _ in tasks), default=None)
    return Line(queue, {task: jobs for task, jobs, _, _ in tasks}, oldest, now)


def server() -> Call[ServerInfo]:
    """Look at the server and at who we are to it."""
    return statement("server", lambda rows: ServerInfo(*_only(rows)))


def homeless_tasks(queue_names: Sequence[str]) -> Call[list[HomelessTask]]:
    """Find tasks at the heads of these lines that no live worker has."""
    return query(
        "homeless_tasks", lambda rows: [HomelessTask(*row) for row in rows], queues=list(queue_names)
    )


def recent_ends(window: timedelta) -> Call[RecentEnds]:
    """Count how the newest jobs ended."""
    return query("recent_failures", lambda rows: RecentEnds(*_only(rows)), window=window)


def storage() -> Call[Storage]:
    """Look at transactions, dead rows and history partitions."""
    return statement("storage", lambda rows: Storage(*_only(rows)))


def tables() -> Call[list[TableSize]]:
    """List our tables, the largest first."""
    return statement("tables", lambda rows: [TableSize(*row) for row in rows])


def queue_flow(queue: str | None = None) -> Call[list[tuple[str, int, int, int]]]:
    """Count what each queue, or one, completed and failed in each five minutes of the last hour."""
    return query(
        "queue_flow", lambda rows: [(name, ago, done, bad) for name, ago, done, bad in rows], queue=queue
    )


def notify_usage() -> Call[float]:
    """Ask which share of the server's notification queue is full."""
    return statement("notify_usage", single)


def _only(rows: list[Row]) -> Row:
    return rows[0]
