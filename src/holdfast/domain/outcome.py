"""How an attempt ends: what task code may raise, and the values that a worker turns into database calls."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from holdfast.domain.backoff import BackoffRule
from holdfast.domain.error_text import message_of
from holdfast.domain.errors import HoldfastError
from holdfast.domain.failure import Failure, Rules, classify
from holdfast.domain.states import Status

LONGEST_DELAY = 10 * 365 * 86_400.0


class TaskSignal(HoldfastError):
    """Base of what task code raises to say how its attempt ends."""


class Retry(TaskSignal):
    """Try again, after `in_` or after the task's backoff; it uses one of the task's retries."""

    def __init__(
        self, reason: str = "the task asked for a retry", *, in_: float | timedelta | None = None
    ) -> None:
        super().__init__(reason)
        self.delay = in_.total_seconds() if isinstance(in_, timedelta) else in_


class Fail(TaskSignal):
    """Fail for good, whatever retries are left."""


class Cancel(TaskSignal):
    """End CANCELLED: there is nothing left to do."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The task returned; its result as JSON text, None for none."""

    result: str | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The task failed; whether it is tried again is the database's decision."""

    error: dict[str, Any]
    recoverable: bool
    delay: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Crashed:
    """The task took its process with it."""

    error: dict[str, Any]
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Released:
    """The worker gave the job back unharmed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The task cancelled itself."""

    reason: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """The database has the outcome already: the attempt completed, waits or was handed over in a transaction of its own."""

    status: Status


@dataclass(frozen=True, slots=True)
class Lost:
    """The job belongs to somebody else now: nothing is to be written."""


Outcome: TypeAlias = Completed | Failed | Crashed | Released | Cancelled | Recorded | Lost


def outcome_of(
    error: BaseException,
    backoff: BackoffRule,
    rules: Rules | None,
    retry_count: int,
    chance: float,
    now: datetime,
) -> Outcome:
    """Decide what an exception from task code means; a server's Retry-After wins over the task's backoff."""
    if isinstance(error, Cancel):
        return Cancelled(message_of(error) or "the task cancelled itself")
    failure = classify(error, rules, now=now)
    match error:
        case Fail():
            return Failed(
                _told(failure, recoverable=False),
                recoverable=False,
                delay=0.0,
                reason=failure.message or None,
            )
        case Retry():
            asked = error.delay if error.delay is not None else backoff.delay(retry_count, chance, error)
            return Failed(
                _told(failure, recoverable=True), recoverable=True, delay=_sane(asked), reason=failure.message
            )
        case _:
            told = failure.retry_after
            delay = backoff.delay(retry_count, chance, error) if told is None else told
            return Failed(
                failure.as_json(),
                failure.recoverable,
                _sane(delay),
                f"{failure.type}: {failure.message}"[:500],
            )


def _sane(delay: float) -> float:
    """Keep a delay within what a calendar holds; one that is no number is none."""
    return min(max(delay, 0.0), LONGEST_DELAY) if delay == delay else 0.0  # noqa: PLR0124 - NaN is not itself


def _told(failure: Failure, *, recoverable: bool) -> dict[str, Any]:
    return {**failure.as_json(), "kind": "application", "recoverable": recoverable}


def settlement(outcome: Failed | Crashed | Released | Cancelled) -> dict[str, Any]:
    """Write an outcome as holdfast.settle reads it."""
    match outcome:
        case Failed():
            return {
                "outcome": "failed",
                "error": outcome.error,
                "recoverable": outcome.recoverable,
                "delay": outcome.delay,
                "reason": outcome.reason,
            }
        case Crashed():
            return {
                "outcome": "crashed",
                "error": outcome.error,
                "delay": outcome.delay,
                "reason": "its process died",
            }
        case Released():
            return {"outcome": "released", "reason": outcome.reason}
        case Cancelled():
            return {"outcome": "cancelled", "reason": outcome.reason}
