"""What charts and tables of figures read: sums by minute, day and tenant, and bounded looks. No job is counted."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

from holdfast.domain.health import COUNT_CAP
from holdfast.store.call import Call, Row, query
from holdfast.store.hidden import hidden_in

R = TypeVar("R")


class Flow(NamedTuple):
    """How often jobs came to each state within one span."""

    at: datetime
    enqueued: int
    started: int
    suspended: int
    retried: int
    completed: int
    failed: int
    cancelled: int
    rows: int  # of minutes and tasks that this was added up from


class Latency(NamedTuple):
    """How long jobs waited or ran within one span, in seconds."""

    at: datetime
    what: str
    p50: float
    p95: float


class Failure(NamedTuple):
    """How one job failed."""

    task: str
    type: str
    message: str
    at: datetime


class Waiting(NamedTuple):
    """How many wait, up to the cap and one more, and since when the first of them does."""

    number: int
    since: datetime | None


class Failures(NamedTuple):
    """How many jobs failed within the last quarter of an hour, and between which marks that usually lies, if it is known."""

    lately: int
    least: int | None
    most: int | None


class Silence(NamedTuple):
    """An executor that nothing is heard from."""

    executor: str
    runs: int
    since: datetime


class Used(NamedTuple):
    """What was used: by a tenant, on a day, or by a task."""

    of: Any
    enqueued: int
    runs: int
    completed: int
    failed: int
    cancelled: int
    retried: int
    run_seconds: Decimal
    external_seconds: Decimal


def flow(first: datetime, last: datetime, width: timedelta) -> Call[list[Flow]]:
    """Say how jobs moved, in spans of this width."""
    return query(
        "moves",
        lambda rows: [Flow(row[0], *map(int, row[1:])) for row in rows],
        first=first,
        last=last,
        width=width,
    )


def latency(first: datetime, last: datetime, width: timedelta, stride: timedelta) -> Call[list[Latency]]:
    """Say how long jobs waited and ran, in spans of this width, read at minutes so far apart."""
    return query("latency", _all(Latency), first=first, last=last, width=width, stride=stride)


def present() -> Call[dict[str, int]]:
    """Say how many jobs are in each status, as of the projector's last pass."""
    return query("present", lambda rows: {str(status): int(jobs) for status, jobs in rows})


def newest_failures(first: datetime, last: datetime, limit: int) -> Call[list[Failure]]:
    """List those of the newest failures that fell into the window."""
    return query("newest_failures", _read_failures, first=first, last=last, limit=limit)


def _read_failures(rows: list[Row]) -> list[Failure]:
    return [
        Failure(task, text(kind), text(message), at)
        for task, kind, message, at, told in rows
        for text in [hidden_in(told).text]
    ]


def open_approvals() -> Call[Waiting]:
    """Say how many decisions are waited for."""
    return query("open_approvals", lambda rows: Waiting(*rows[0]), cap=COUNT_CAP + 1)


def usual_failures() -> Call[Failures]:
    """Compare the failures of the last quarter of an hour with those of the day before."""
    return query("usual_failures", lambda rows: Failures(*rows[0]))


def silent_executors() -> Call[list[Silence]]:
    """List executors whose runs have been silent for long."""
    return query("silent_executors", _all(Silence))


def usage_by_tenant(first: date, last: date, tenant: str | None, limit: int) -> Call[list[Used]]:
    """Add up what tenants used, those first that ran the most."""
    return query("usage_by_tenant", _all(Used), first=first, last=last, tenant=tenant, limit=limit)


def usage_by_day(first: date, last: date, tenant: str | None) -> Call[list[Used]]:
    """Add up what was used day by day."""
    return query("usage_by_day", _all(Used), first=first, last=last, tenant=tenant)


def usage_by_task(first: date, last: date, tenant: str | None, limit: int) -> Call[list[Used]]:
    """Add up what tasks used, those first that ran the most."""
    return query("usage_by_task", _all(Used), first=first, last=last, tenant=tenant, limit=limit)


def running_by_tenant() -> Call[dict[str | None, int]]:
    """Count each tenant's jobs that run now, up to the cap of all together."""
    return query("running_by_tenant", dict, cap=COUNT_CAP + 1)


def _all(kind: Callable[..., R]) -> Callable[[list[Row]], list[R]]:
    return lambda rows: [kind(*row) for row in rows]
