"""How long a failed job waits before its next attempt; chance is an argument, so every schedule can be tested."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TypeAlias, cast, runtime_checkable

from holdfast.domain.errors import BadInput

LONGEST_DELAY = 366 * 86_400.0
"""Seconds; a longer delay is a mistake in its unit, and far longer ones overflow PostgreSQL's timestamps."""

Delay: TypeAlias = float | timedelta
DelayFunction: TypeAlias = Callable[[int, BaseException], Delay]


@runtime_checkable
class BackoffRule(Protocol):
    """Anything that says how many seconds to wait before a retry."""

    def delay(self, retry: int, chance: float, error: BaseException | None = None) -> float:
        """Return the seconds before retry number `retry` (0 is the first); `chance` is uniform in [0, 1)."""
        ...


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays that grow by a factor up to a cap: 1, 2, 4 … 256, 300 s, each with full jitter."""

    base: float = 1.0
    multiplier: float = 2.0
    cap: float = 300.0
    jitter: bool = True

    def __post_init__(self) -> None:
        _seconds("base", self.base)
        _seconds("cap", self.cap)
        if not _is_number(self.multiplier) or not 1 <= self.multiplier < math.inf:
            raise BadInput(f"backoff: multiplier must be a number of at least 1, got {self.multiplier!r}")

    def delay(self, retry: int, chance: float, error: BaseException | None = None) -> float:  # noqa: ARG002
        """Return the seconds before retry number `retry`; the error does not matter here."""
        return _jittered(self._ceiling(retry), chance, self.jitter)

    def _ceiling(self, retry: int) -> float:
        if self.base == 0:
            return 0.0
        try:
            return min(self.cap, self.base * float(self.multiplier) ** retry)
        except OverflowError:
            return self.cap

    @staticmethod
    def of(value: "BackoffLike", *, jitter: bool = False) -> BackoffRule:
        """Return a rule from delays somebody wrote down; they are exact unless jitter is asked for."""
        if isinstance(value, int | float | timedelta):
            return Delays((value,), jitter=jitter)
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return Delays(tuple(value), jitter=jitter)
        return as_backoff(value)


@dataclass(frozen=True, slots=True)
class Delays:
    """A list of delays, one per retry; the last one repeats."""

    delays: Sequence[Delay]
    jitter: bool = False

    def __post_init__(self) -> None:
        if not self.delays:
            raise BadInput("backoff: the list of delays is empty; give at least one")
        exact = tuple(_seconds(f"delays[{place}]", delay) for place, delay in enumerate(self.delays))
        object.__setattr__(self, "delays", exact)

    def delay(self, retry: int, chance: float, error: BaseException | None = None) -> float:  # noqa: ARG002
        """Return the seconds before retry number `retry`; the error does not matter here."""
        chosen = cast("float", self.delays[min(retry, len(self.delays) - 1)])
        return _jittered(chosen, chance, self.jitter)


@dataclass(frozen=True, slots=True)
class Computed:
    """Delays from the task author's own function of the retry and its error.

    A function that raises or answers nonsense gives way to the default schedule: a failed job has to be settled.
    """

    function: DelayFunction

    def delay(self, retry: int, chance: float, error: BaseException | None = None) -> float:
        """Return what the function says; jitter is its own business."""
        told = error if error is not None else Exception("no error was recorded")
        try:
            return _seconds("the function's answer", self.function(retry, told))
        except Exception:  # noqa: BLE001 - any code can stand in the function
            return Backoff().delay(retry, chance)


BackoffLike: TypeAlias = BackoffRule | Delay | Sequence[Delay] | DelayFunction


def as_backoff(value: BackoffLike) -> BackoffRule:
    """Return the rule that a task's `backoff=` means: a rule, seconds, a timedelta, a list of them, or a function."""
    if isinstance(value, type):
        raise BadInput(f"backoff: {value.__name__} is a class; call it: {value.__name__}(…)")
    if isinstance(value, BackoffRule):
        return value
    if isinstance(value, int | float | timedelta | list | tuple):
        return Backoff.of(value)
    if callable(value):
        return Computed(value)
    raise BadInput(
        "backoff: expected Backoff(…), seconds, a timedelta, a list of delays or a function (retry, error) -> "
        f"seconds, got {value!r}"
    )


def _jittered(delay: float, chance: float, jitter: bool) -> float:
    return delay * chance if jitter else delay


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _seconds(what: str, value: object) -> float:
    """Return a delay in seconds, or say which one makes no sense and why."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        raise BadInput(f"backoff: {what} must be seconds or a timedelta, got {value!r}")
    if not 0 <= seconds <= LONGEST_DELAY:  # NaN fails both comparisons
        raise BadInput(f"backoff: {what} must be between 0 and {LONGEST_DELAY:.0f} seconds, got {value!r}")
    return float(seconds)
