"""What a task is, beyond its function: where its jobs queue, how they are retried, how long they may run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from holdfast.domain.backoff import Backoff, BackoffLike, BackoffRule, as_backoff
from holdfast.domain.errors import Configuration
from holdfast.domain.failure import Rules

Executor: TypeAlias = Literal["loop", "thread", "process"]
KeyScope: TypeAlias = Literal["active", "success", "ever"]
CountedPer: TypeAlias = Literal["job", "subject"]

_LARGEST_PRIORITY = 100
_MOST_RETRIES = 100
_USUAL_UNDOING = 10
_LONGEST_LIMIT = 366 * 86_400


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """The options of @app.task, checked."""

    name: str
    executor: Executor
    queue: str = "default"
    retries: int = 3
    backoff: BackoffRule = Backoff()  # noqa: RUF009 - frozen
    timeout: float | None = None
    priority: int = 0
    unique_by: tuple[str, ...] | None = None
    key_scope: KeyScope = "active"
    retention: float | None = None
    crash_cap: int = 3
    manual_retries: int = 3
    manual_retries_per: CountedPer = "job"
    rules: Rules | None = None
    heartbeat_limit: float = 600.0  # of a run that it hands over: how long it may be silent
    run_limit: float = 900.0  # and how long it may take
    compensate: Callable[..., Any] | None = None
    compensate_on_cancel: bool = False
    compensation_retries: int = 10
    options: Mapping[str, Any] = field(default_factory=dict)  # what else the database keeps of it

    def __post_init__(self) -> None:
        self._require(bool(self.name), "has no name")
        self._require(bool(self.queue), "has an empty queue name")
        self._require(0 <= self.retries <= _MOST_RETRIES, f"has retries={self.retries}; allowed are 0 to 100")
        self._require(
            abs(self.priority) <= _LARGEST_PRIORITY, f"has priority={self.priority}; allowed are -100 to 100"
        )
        self._require(
            self.timeout is None or self.timeout > 0, f"has timeout={self.timeout}; it must be more than 0 s"
        )
        self._require(
            self.retention is None or self.retention > 0,
            f"has retention={self.retention}; it must be more than 0 s",
        )
        self._require(
            1 <= self.crash_cap <= _MOST_RETRIES, f"has crash_cap={self.crash_cap}; allowed are 1 to 100"
        )
        self._require(
            0 <= self.manual_retries <= _MOST_RETRIES,
            f"has manual_retries={self.manual_retries}; allowed are 0 to 100",
        )
        for limit in ("heartbeat_limit", "run_limit"):
            value = getattr(self, limit)
            self._require(
                0 < value <= _LONGEST_LIMIT,
                f"has {limit}={value}; it must be more than 0 s and at most a year",
            )
        self._require(
            0 <= self.compensation_retries <= _MOST_RETRIES,
            f"has compensation_retries={self.compensation_retries}; allowed are 0 to 100",
        )
        self._require(
            self.compensate is None or callable(self.compensate),
            f"has compensate={self.compensate!r}; it takes a function",
        )
        self._require(
            self.executor in {"loop", "thread", "process"},
            f"has executor={self.executor!r}; choose loop, thread or process",
        )
        self._require(
            self.key_scope in {"active", "success", "ever"},
            f"has key_scope={self.key_scope!r}; choose active, success or ever",
        )
        self._require(
            self.manual_retries_per in {"job", "subject"},
            f"has manual_retries_per={self.manual_retries_per!r}; choose job or subject",
        )

    def _require(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise Configuration(f"task {self.name!r} {otherwise}")

    def definition(self) -> dict[str, Any]:
        """Write it as holdfast.task keeps it, for plain-SQL producers and for the database's own decisions."""
        return {
            "name": self.name,
            "queue": self.queue,
            "priority": self.priority,
            "max_retries": self.retries,
            "crash_cap": self.crash_cap,
            "timeout": self.timeout,
            "retention": self.retention,
            "unique_by": None if self.unique_by is None else list(self.unique_by),
            "key_scope": self.key_scope,
            "manual_retries": self.manual_retries,
            "manual_retries_per": self.manual_retries_per,
            "options": {**self.options, **self._compensation()},
        }

    def _compensation(self) -> dict[str, Any]:
        told = {
            "compensate": self.compensate is not None or None,
            "compensate_on_cancel": self.compensate_on_cancel or None,
            "compensation_retries": None
            if self.compensation_retries == _USUAL_UNDOING
            else self.compensation_retries,
        }
        return {name: value for name, value in told.items() if value is not None}


def seconds(value: float | timedelta | None) -> float | None:
    """Read a duration given as a number of seconds or a timedelta."""
    return value.total_seconds() if isinstance(value, timedelta) else value


def unique_fields(unique: bool | str | Sequence[str]) -> tuple[str, ...] | None:
    """Read `unique=`: False for none, True for the whole payload, names for some of its fields."""
    if unique is False:
        return None
    if unique is True:
        return ()
    return (unique,) if isinstance(unique, str) else tuple(unique)


def backoff_rule(value: BackoffLike | None) -> BackoffRule:
    """Read `backoff=`; the default doubles from one second to five minutes with full jitter."""
    return Backoff() if value is None else as_backoff(value)
