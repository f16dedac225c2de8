"""What is watched and what was found: rules as code declares them, alerts and notifications as the database keeps them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal, TypeAlias
from uuid import UUID

from holdfast.domain.errors import Configuration

Severity: TypeAlias = Literal["info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")

_LONGEST = timedelta(days=90)  # as long as statistics are kept


@dataclass(frozen=True, slots=True)
class _Rule(ABC):
    """What all rules have in common: a kind, and how it is written for the database."""

    kind: ClassVar[str]

    @abstractmethod
    def definition(self) -> dict[str, Any]:
        """Write it as holdfast.register_alerts reads it."""


def _period(what: str, value: Any) -> float:
    if not isinstance(value, timedelta) or not timedelta() < value <= _LONGEST:
        raise Configuration(f"{what}={value!r}: give a timedelta of more than nothing and at most 90 days")
    seconds: float = value.total_seconds()
    return seconds


@dataclass(frozen=True, slots=True)
class Failures(_Rule):
    """More than so many jobs of a task ended FAILED within a time; every task is counted by itself."""

    kind: ClassVar[str] = "failures"
    task: str | None = None
    queue: str | None = None
    more_than: int = 5
    within: timedelta = timedelta(minutes=10)

    def definition(self) -> dict[str, Any]:
        """Write it as holdfast.register_alerts reads it."""
        if self.more_than < 0:
            raise Configuration(f"Failures(more_than={self.more_than}): a count is not negative")
        return {"task": self.task, "queue": self.queue, "threshold": self.more_than, "period": _period("within", self.within)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SuccessRate(_Rule):
    """Of a task's jobs that ended within a time, a smaller share than this COMPLETED; fewer ends than `at_least` say nothing."""

    kind: ClassVar[str] = "success_rate"
    below: float = 0.95
    within: timedelta = timedelta(hours=24)
    task: str | None = None
    queue: str | None = None
    at_least: int = 10

    def definition(self) -> dict[str, Any]:
        """Write it as holdfast.register_alerts reads it."""
        if not 0 < self.below <= 1 or self.at_least < 1:
            raise Configuration(
                f"SuccessRate(below={self.below}, at_least={self.at_least}): the mark is a share between 0 and 1, at_least 1 or more"
            )
        return {"task": self.task, "queue": self.queue, "threshold": self.below, "period": _period("within", self.within), "least": self.at_least}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OldestWait(_Rule):
    """The head of a queue's line has waited for longer than this; without a queue, of any queue. Paused queues may wait."""

    kind: ClassVar[str] = "oldest_wait"
    queue: str | None = None
    longer_than: timedelta = timedelta(minutes=10)

    def definition(self) -> dict[str, Any]:
        """Write it as holdfast.register_alerts reads it."""
        return {"queue": self.queue, "period": _period("longer_than", self.longer_than)}


@dataclass(frozen=True, slots=True)
class NoWorker(_Rule):
    """Jobs have waited in a queue that no live worker serves; the workers of other queues notice it."""

    kind: ClassVar[str] = "no_worker"
    queue: str | None = None
    longer_than: timedelta = timedelta(minutes=1)

    def definition(self) -> dict[str, Any]:
        """Write it as holdfast.register_alerts reads it."""
        return {"queue": self.queue, "period": _period("longer_than", self.longer_than)}


@dataclass(frozen=True, slots=True)
class ApprovalOverdue(_Rule):
    """Nobody has decided an approval for so long, or it is about to expire."""

    kind: ClassVar[str] = "approval_overdue"
    after: timedelta = timedelta(hours=4)
    before_expiry: timedelta = timedelta(hours=1)
    task: str | None = None
    queue: str | None = None
    tenant: str | None = None

    def definition(self) -> dict[str, Any]:
        """Write it as holdfast.register_alerts reads it."""
        return {
            "task": self.task, "queue": self.queue, "tenant": self.tenant,
            "period": _period("after", self.after), "threshold": _period("before_expiry", self.before_expiry),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScheduleMissed(_Rule):
    """A schedule is late, or within the last hour one of its times was missed or refused."""

    kind: ClassVar[str] = "schedule_missed"
    late_by: timedelta = timedelta(minutes=5)
    task: str | None = None

    def definition(self) -> dict[str, Any]:
        """Write it as holdfast.register_alerts reads it."""
        return {"task": self.task, "period": _period("late_by", self.late_by)}


@dataclass(frozen=True, slots=True)
class CallbackSilent(_Rule):
    """An outside run has not been heard of for so long; shorter than its heartbeat limit, it is told before the job fails."""

    kind: ClassVar[str] = "callback_silent"
    after: timedelta = timedelta(minutes=5)
    task: str | None = None
    queue: str | None = None
    tenant: str | None = None

    def definition(self) -> dict[str, Any]:
        """Write it as holdfast.register_alerts reads it."""
        return {"task": self.task, "queue": self.queue, "tenant": self.tenant, "period": _period("after", self.after)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class AnyFailure(_Rule):
    """A job ended FAILED: told with the failure's own transaction, once a task; over when none failed for a while."""

    kind: ClassVar[str] = "job_failed"
    task: str | None = None
    queue: str | None = None
    tenant: str | None = None
    over_after: timedelta = timedelta(hours=1)

    def definition(self) -> dict[str, Any]:
        """Write it as holdfast.register_alerts reads it."""
        return {"task": self.task, "queue": self.queue, "tenant": self.tenant, "period": _period("over_after", self.over_after)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CompensationFailed(_Rule):
    """What a failed job had done could not be undone: told with that failure's own transaction."""

    kind: ClassVar[str] = "compensation_failed"
    task: str | None = None
    queue: str | None = None
    tenant: str | None = None

    def definition(self) -> dict[str, Any]:
        """Write it as holdfast.register_alerts reads it."""
        return {"task": self.task, "queue": self.queue, "tenant": self.tenant}


AlertRule: TypeAlias = (
    Failures
    | SuccessRate
    | OldestWait
    | NoWorker
    | ApprovalOverdue
    | ScheduleMissed
    | CallbackSilent
    | AnyFailure
    | CompensationFailed
)


@dataclass(frozen=True, slots=True)
class Alert:
    """One row of holdfast.alert."""

    id: UUID
    rule: str
    about: str
    severity: Severity
    message: str
    job_id: UUID | None
    count: int
    opened_at: datetime
    last_seen_at: datetime
    closed_at: datetime | None
    now: datetime

    @property
    def is_open(self) -> bool:
        """Whether its cause is still there, as far as anybody has looked."""
        return self.closed_at is None


@dataclass(frozen=True, slots=True)
class Notification:
    """One row of holdfast.notification: a message and what became of it."""

    id: UUID
    kind: str
    channel: str
    recipient: str | None
    state: str
    job_id: UUID
    created_at: datetime
    delivered_at: datetime | None


@dataclass(frozen=True, slots=True)
class Outbox:
    """What doctor looks at: messages that did not go out, and rules that nobody would hear of."""

    failed: int
    late: int
    oldest: datetime | None
    mute_rules: Sequence[str]
    now: datetime
