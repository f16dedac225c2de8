"""Projection: a pass of the projector, and the figures it keeps. Nothing here reads jobs, except for the ages of those that wait."""

from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple

from holdfast.domain.feed import Quota, Standing, Statistics, Usage
from holdfast.store.call import Call, Row, function, nothing, query


class Projected(NamedTuple):
    """What a pass did; all None when another process was at it."""

    rows: int | None
    events: int | None
    more: bool | None


class Minute(NamedTuple):
    """How many jobs moved in one minute."""

    minute: datetime
    enqueued: int
    started: int
    completed: int
    failed: int


def project(limit: int) -> Call[Projected]:
    """Project what was committed since the last pass, or a slice of it."""
    return function("project", limit, read=lambda rows: Projected(*rows[0]), types=("int",))


def usage(tenant: str | None, task: str | None, first: date | None, last: date | None) -> Call[list[Usage]]:
    """List usage by day, tenant and task."""
    return query(
        "usage",
        lambda rows: [Usage(*row) for row in rows],
        tenant=tenant,
        task=task,
        first=first,
        last=last,
    )


def statistics(since: datetime, task: str | None = None, *, by_task: bool = False) -> Call[list[Statistics]]:
    """Add up the minutes since then: of all tasks together, of each, or of one."""
    return query("statistics", _read_statistics, since=since, task=task, by_task=by_task or task is not None)


def _read_statistics(rows: list[Row]) -> list[Statistics]:
    return [_statistics(row) for row in rows]


def _statistics(row: Row) -> Statistics:
    task, *counts_and_figures, retries = row
    counts, figures = counts_and_figures[:8], counts_and_figures[8:]
    distribution = {int(number): int(jobs) for number, jobs in retries.items()}
    return Statistics(*[task, *map(int, counts), *figures, dict(sorted(distribution.items()))])


def throughput(since: datetime, task: str | None = None) -> Call[list[Minute]]:
    """List the minutes since then in which anything moved."""
    return query(
        "throughput",
        lambda rows: [Minute(row[0], *(int(count) for count in row[1:])) for row in rows],
        since=since,
        task=task,
    )


def standings() -> Call[list[Standing]]:
    """Count the jobs of each queue by status, as of the last pass."""
    return query("standings", lambda rows: [Standing(*row) for row in rows])


def quotas(tenant: str | None) -> Call[list[Quota]]:
    """List quotas with what is used of them."""
    return query("quotas", lambda rows: [Quota(*row) for row in rows], tenant=tenant)


def set_quota(
    tenant: str, task: str | None, period: str, measure: str, soft: Decimal | None, hard: Decimal | None
) -> Call[None]:
    """Set a tenant's marks; without either the quota is removed."""
    return function(
        "set_quota", tenant, task, period, measure, soft, hard,
        read=nothing, types=("text", "text", "text", "text", "numeric", "numeric"),
    )  # fmt: skip


class Storage(NamedTuple):
    """What the jobs of a tenant take in the tables."""

    tenant: str | None
    jobs: int
    job_bytes: int
    payload_bytes: int
    result_bytes: int
    history_bytes: int
    share: float
    measured_at: datetime

    @property
    def bytes(self) -> int:
        """All of it."""
        return self.job_bytes + self.payload_bytes + self.result_bytes + self.history_bytes

    @property
    def is_estimate(self) -> bool:
        """Whether only some jobs were looked at."""
        return self.share < 1


def storage(tenant: str | None, limit: int) -> Call[list[Storage]]:
    """List what tenants store, those first that store the most."""
    return query(
        "storage_by_tenant", lambda rows: [Storage(*row) for row in rows], tenant=tenant, limit=limit
    )
