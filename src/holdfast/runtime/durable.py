"""One attempt's durable side: its book of steps, and the plans that write it."""

import inspect
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, get_type_hints
from weakref import WeakKeyDictionary

from holdfast.domain.backoff import BackoffRule
from holdfast.domain.errors import BadInput, DatabaseUnavailable, HoldfastError, LeaseLost
from holdfast.domain.failure import Rules
from holdfast.domain.job import ClaimedJob
from holdfast.domain.outcome import Failed, outcome_of
from holdfast.domain.payload import StepCodec, step_codec
from holdfast.domain.states import Status
from holdfast.domain.step import Importance, Place, SavedStep, StepKind, Steps
from holdfast.runtime import chance, failpoints, tracing
from holdfast.runtime.plans import (
    Alone,
    Beside,
    Pause,
    Plan,
    Run,
    RunTogether,
    line_of_execution,
    running_step,
)
from holdfast.store import steps as book
from holdfast.store.call import Call


class AttemptRecorded(BaseException):
    """The database knows what became of this attempt; nothing in the task may go on. Not an Exception: no task shall catch it."""


class StepNotDone(HoldfastError):
    """A replay has come to a step that had failed, or that was never reached."""


class EndOfReplay(BaseException):
    """A replay has come to the first thing that had not been done; what follows never happened."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a step does, and how hard it tries."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    retries: int = 0
    backoff: BackoffRule | None = None
    timeout: float | None = None
    compensate: Callable[..., Any] | None = None
    returns: Any = None
    keeps_value: bool = True

    @property
    def codec(self) -> StepCodec:
        """How its value is written and read back."""
        return step_codec(_returned_by(self.function) if self.returns is None else self.returns)


@dataclass(slots=True)
class Undo:
    """A step that succeeded, with what undoes it."""

    name: str
    function: Callable[..., Any]
    value: Any


class HasSettings(Protocol):
    """What a plan needs of its task."""

    @property
    def backoff(self) -> BackoffRule:
        """How failures are spaced."""

    @property
    def rules(self) -> Rules | None:
        """Which failures are worth another try."""


@dataclass(slots=True)
class Durable:
    """One attempt's durable side: its book of steps, and the plans that write it."""

    job: ClaimedJob
    settings: HasSettings
    logs: Callable[[], str | None]
    is_stopped: Callable[[], bool]
    steps: Steps = field(default_factory=Steps)
    beside: Beside = field(default_factory=Beside)
    recorded_as: Status | None = None
    replayed: list[Undo] | None = None  # a replay collects what to undo, and does nothing else

    # -- the book --------------------------------------------------------------------------------------------------------

    def begin(self, name: str, kind: StepKind, importance: Importance = "normal") -> Place:
        """Give a step its place; at the call and not when it is awaited, so that the order is the code's."""
        self.refuse_inside_step(name)
        place = self.steps.begin(name, kind, line_of_execution())
        match importance:
            case "normal":
                return place
            case "low":
                return place._replace(importance=importance)
            case _:
                raise BadInput(f"step {name!r}: importance is normal or low, not {importance!r:.100}")

    def refuse_inside_step(self, name: str) -> None:
        """Refuse what a step must not do: it would be saved before what it is a part of."""
        outer = running_step.get()
        if outer is not None:
            raise BadInput(
                f"{name!r} is called inside step {outer!r}, which would save it before what it is a part of: "
                "call steps and waits from the task itself"
            )

    def recall(self, place: Place) -> Plan[SavedStep | None]:
        """Find what an earlier attempt has saved here."""
        self._refuse_after_end()
        if not self.steps.loaded:
            yield from self.load()
        saved = self.steps.recall(place)
        if saved is None and self.replayed is not None:
            # A step that is not in the book may have failed and been caught: then the code went on, and so does its replay.
            raise StepNotDone(place.name) if place.kind in {"step", "transaction"} else EndOfReplay
        return saved

    def _refuse_after_end(self) -> None:
        """Let nothing begin that could not be saved: a `finally` around a wait, a branch beside it, a task that goes on when told to end."""
        if self.recorded_as is not None:
            raise AttemptRecorded(self.recorded_as)
        if self.is_stopped():
            raise LeaseLost(self.job.id, self.job.attempt)

    def load(self) -> Plan[None]:
        """Read the book; a first attempt's is empty."""
        saved = (yield book.saved_steps(self.job.id)) if self.job.attempt > 1 else []
        if not self.steps.loaded:
            self.steps.load(saved)

    def close(self) -> Plan[None]:
        """Look, before the attempt completes, whether the code called everything that was saved."""
        if self.job.attempt > 1 and not self.steps.loaded:
            yield from self.load()
        self.steps.check_all_called()

    def record(self, status: Status) -> AttemptRecorded:
        """Note that the database knows; the caller raises the answer."""
        self.recorded_as = status
        return AttemptRecorded(status)

    def alone(self) -> Plan[None]:
        """Let steps under way end first: a wait must not cut off what runs beside it."""
        yield Alone()
        self._refuse_after_end()

    # -- steps -----------------------------------------------------------------------------------------------------------

    def step(self, place: Place, work: Work) -> Plan[Any]:
        """Run a step, or give back what it had come to."""
        saved = yield from self.recall(place)
        if saved is not None:
            return self._replayed(place, work, saved)
        begun = time.monotonic()
        with tracing.step(place.name):
            value, tries = yield from self._try(place.name, work)
        text = work.codec.encode(value) if work.keeps_value else "null"
        failpoints.reach("step_ran")
        took = time.monotonic() - begun
        yield book.save_step(
            self.job, place, text, undoable=work.compensate is not None, tries=tries, took=took
        )
        failpoints.reach("step_saved")
        return work.codec.decode(text) if work.keeps_value else None

    def _replayed(self, place: Place, work: Work, saved: SavedStep) -> Any:
        value = work.codec.decode(saved.value or "null") if work.keeps_value else None
        if self.replayed is not None and work.compensate is not None:
            self.replayed.append(Undo(place.name, work.compensate, value))
            if self.all_collected:
                raise EndOfReplay
        return value

    @property
    def all_collected(self) -> bool:
        """Whether a replay has found everything that is to be undone."""
        return self.steps.undoable <= {one.name for one in self.replayed or ()}

    def _try(self, name: str, work: Work) -> Plan[tuple[Any, int]]:
        backoff = work.backoff or self.settings.backoff
        tries = 0
        while True:
            tries += 1
            try:
                return (yield Run(name, work.function, work.arguments, work.timeout)), tries
            except LeaseLost:
                raise
            except Exception as error:
                outcome = outcome_of(
                    error, backoff, self.settings.rules, tries - 1, chance.share(), datetime.now(UTC)
                )
                if tries > work.retries or not isinstance(outcome, Failed) or not outcome.recoverable:
                    raise
                delay = outcome.delay
            yield Pause(delay)

    def step_transaction(self, place: Place, work: Work) -> Plan[Any]:
        """Run a step whose writes and whose record commit together."""
        saved = yield from self.recall(place)
        if saved is not None:
            return self._replayed(place, work, saved)
        begun = time.monotonic()

        def then(value: Any) -> Call[Any]:
            return book.save_step(
                self.job, place, work.codec.encode(value), undoable=work.compensate is not None, tries=1,
                took=time.monotonic() - begun,
            )  # fmt: skip

        try:
            with tracing.step(place.name):
                value = yield RunTogether(place.name, work.function, work.arguments, then)
        except DatabaseUnavailable:
            # The answer to COMMIT may have been lost: then the step is in the book, and its writes are there.
            again = yield book.saved_steps(self.job.id)
            kept = next((one for one in again if one.name == place.name), None)
            if kept is None:
                raise
            return work.codec.decode(kept.value or "null")
        failpoints.reach("step_saved")
        return work.codec.decode(work.codec.encode(value))

    def checkpoint(self, value: Any) -> Plan[None]:
        """Keep free-form progress."""
        if self.replayed is None:
            yield book.save_checkpoint(self.job, step_codec(Any).encode(value))

    def last_checkpoint(self) -> Plan[Any]:
        """Read the newest checkpoint, None before the first."""
        text = yield book.last_checkpoint(self.job.id)
        return None if text is None else step_codec(Any).decode(text)

    def progress(self, done: float, total: float | None, note: str | None) -> Plan[None]:
        """Say how far the attempt has come."""
        if self.replayed is None:
            yield book.report_progress(self.job, done, total, note)

    # -- compensation ----------------------------------------------------------------------------------------------------

    def undo(self, replay: "Durable", task_undo: Work | None) -> Plan[None]:
        """Undo what had succeeded, the newest first, each as a step of the compensating job."""
        undone = replay.replayed or []
        missing = replay.steps.undoable - {one.name for one in undone}
        if missing:
            replay.steps.check_all_called()
            raise BadInput(
                f"{', '.join(sorted(missing))} cannot be undone: the task's code no longer gives it a compensation"
            )
        for one in reversed(undone):
            place = self.begin(f"undo {one.name}", "undo")
            arguments = (one.value,) if _takes_value(one.function) else ()
            yield from self.step(place, Work(one.function, arguments, keeps_value=False))
        if task_undo is not None:
            yield from self.step(self.begin("undo task", "undo"), task_undo)


# Not kept alive by what is known of it: a step's function is often made anew by each attempt, and holds on to all of it.
_known: WeakKeyDictionary[Callable[..., Any], Any] = WeakKeyDictionary()


def _returned_by(function: Callable[..., Any]) -> Any:
    """Read what a function says it returns; anything when it says nothing that can be read."""
    with suppress(KeyError, TypeError):
        return _known[function]
    try:
        returned = get_type_hints(inspect.unwrap(function), include_extras=True).get("return", Any)
    except Exception:  # noqa: BLE001 - a text is evaluated, and may be any words; the step has run, and would not be saved
        returned = Any
    # What a function has made may refer to it, and would keep it. What cannot be referred to weakly is read every time too.
    if "<locals>" not in repr(returned):
        with suppress(TypeError):
            _known[function] = returned
    return returned


def _takes_value(function: Callable[..., Any]) -> bool:
    """Whether a compensation takes the value of the step it undoes."""
    parameters: Sequence[inspect.Parameter] = list(inspect.signature(function).parameters.values())
    return any(one.kind is not one.KEYWORD_ONLY and one.kind is not one.VAR_KEYWORD for one in parameters)
