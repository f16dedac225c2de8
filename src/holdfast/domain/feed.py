"""What others read: events of a channel, usage by tenant, statistics over a window."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from holdfast.domain.errors import BadInput
from holdfast.domain.json_rules import Fault, check_plain, shown


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """One event of a channel; ids of a channel are consecutive, in the order in which their causes were committed."""

    channel: str
    id: int
    kind: str
    job_id: UUID | None
    at: datetime
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """What one tenant's jobs of one task used on one day (UTC)."""

    day: date
    tenant: str | None
    task: str
    enqueued: int
    runs: int
    completed: int
    failed: int
    cancelled: int
    retried: int
    attempts: int
    run_seconds: Decimal
    external_seconds: Decimal


@dataclass(frozen=True, slots=True)
class Statistics:
    """How jobs of one task, or of all, fared over a window; percentiles are read from buckets and off by at most 9 %."""

    task: str | None
    enqueued: int
    started: int
    completed: int
    failed: int
    cancelled: int
    retried: int
    undo_completed: int  # of the completed, those that undid another job
    undo_failed: int  # and of the failed
    mean_wait: float | None
    p50_wait: float | None
    p95_wait: float | None
    mean_run: float | None
    p50_run: float | None
    p95_run: float | None
    retries: dict[int, int]

    @property
    def success_rate(self) -> float | None:
        """The completed among those that ended by themselves and were no compensations; None when none did."""
        completed, failed = self.completed - self.undo_completed, self.failed - self.undo_failed
        return completed / (completed + failed) if completed + failed else None


@dataclass(frozen=True, slots=True)
class Standing:
    """How many jobs of a queue have a status now, and how long the oldest has had it or waited in line."""

    queue: str
    status: str
    jobs: int
    oldest_seconds: float | None


@dataclass(frozen=True, slots=True)
class Quota:
    """A tenant's marks: passing the soft one is told, passing the hard one refuses further jobs until the period ends."""

    tenant: str
    task: str | None
    period: str
    measure: str
    soft: Decimal | None
    hard: Decimal | None
    used: Decimal
    reached_until: datetime | None


def event_data(kind: str, data: Mapping[str, Any]) -> str:
    """Write an event's data as JSON text, or say what in it cannot be."""
    if not isinstance(data, Mapping):
        raise BadInput(f"event {kind!r} has data={shown(data)}, which is no dictionary")
    plain = dict(data)
    try:
        check_plain(plain)
    except Fault as fault:
        raise BadInput(str(fault.within("data").refusal(root={"data": plain}))) from None
    return json.dumps(plain)
