"""The book of a job's steps: which were saved, in which order they were called, and whether the code still fits them."""

from collections.abc import Hashable, Iterable, MutableMapping
from typing import Literal, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from holdfast.domain.errors import BadInput, HoldfastError

StepKind: TypeAlias = Literal["step", "transaction", "sleep", "event", "jobs", "children", "approval", "undo"]

Importance: TypeAlias = Literal["normal", "low"]

# The first step of the line of execution that calls one first; of other lines it is None.
BEGINNING = ""
_LONGEST_NAME = 480


class StepsChanged(HoldfastError):
    """The task's code no longer calls the steps that earlier attempts saved; running on would mix two versions."""


class Place(NamedTuple):
    """Where a step stands: its name with its counter, and the step called before it on the same line of execution."""

    name: str
    kind: StepKind
    after: str | None
    importance: Literal["low"] | None = None


class SavedStep(NamedTuple):
    """A step that an attempt has saved."""

    name: str
    kind: str
    after: str | None
    value: str | None
    undoable: bool


class Steps:
    """One attempt's walk along the steps of its job.

    A line of execution is an asyncio task or a thread: within one, the order of calls is the code's own; between two,
    it is chance, and so nothing is concluded from it.
    """

    def __init__(self) -> None:
        self._saved: dict[str, SavedStep] = {}
        self._followers: dict[str, str] = {}
        self._newest: MutableMapping[Hashable, str] = WeakKeyDictionary()
        self._callers: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._called: set[str] = set()
        self._begun = False
        self.loaded = False

    def load(self, saved: Iterable[SavedStep]) -> None:
        """Take what earlier attempts have saved."""
        self._saved = {step.name: step for step in saved}
        self._followers = {step.after: step.name for step in self._saved.values() if step.after is not None}
        self.loaded = True

    def begin(self, name: str, kind: StepKind, line: Hashable) -> Place:
        """Give a called step its place; the same name again on the same line is counted."""
        if not 0 < len(name) <= _LONGEST_NAME:
            raise BadInput(f"a step's name is a text of 1 to {_LONGEST_NAME} characters, not {name!r:.100}")
        if self._callers.setdefault(name, id(line)) != id(line):
            raise BadInput(
                f"step {name!r} is called by two branches that run at the same time, so its counter would be chance: "
                f"give each its own name, e.g. f'{name}:{{item}}'"
            )
        count = self._counts[name] = self._counts.get(name, 0) + 1
        full = name if count == 1 else f"{name}#{count}"
        if full in self._called:
            raise BadInput(
                f"two steps are called {full!r}: the counter of repeated names uses #, so choose another"
            )
        first = None if self._begun else BEGINNING
        place = Place(full, kind, self._newest.get(line, first))
        self._begun = True
        self._newest[line] = full
        self._called.add(full)
        return place

    def recall(self, place: Place) -> SavedStep | None:
        """Find the saved step of a place, None for a new one; refuses when the code and the book do not fit."""
        saved = self._saved.get(place.name)
        if saved is None:
            self._refuse_in_between(place)
            return None
        if (saved.kind, saved.after) != (place.kind, place.after):
            raise StepsChanged(
                f"step {place.name!r} is a {place.kind} {_after(place.after)} now, but an earlier attempt saved a "
                f"{saved.kind} {_after(saved.after)}{_ADVICE}"
            )
        return saved

    def _refuse_in_between(self, place: Place) -> None:
        follower = self._followers.get(place.after) if place.after is not None else None
        if follower is not None:
            raise StepsChanged(
                f"step {place.name!r} comes {_after(place.after)} now, where an earlier attempt saved {follower!r}{_ADVICE}"
            )

    def check_all_called(self) -> None:
        """Refuse an end that leaves saved steps uncalled."""
        missing = [name for name in self._saved if name not in self._called]
        if missing:
            raise StepsChanged(
                f"earlier attempts saved {', '.join(map(repr, missing))}, which the task no longer calls{_ADVICE}"
            )

    @property
    def undoable(self) -> set[str]:
        """The names of saved steps that have a compensation."""
        return {step.name for step in self._saved.values() if step.undoable}


_ADVICE = (
    ": the task's code changed while this job was under way. "
    "Deploy the old code until such jobs have ended, or give the new version of the task another name"
)


def _after(name: str | None) -> str:
    if name is None:
        return "first on a branch of its own"
    return "first" if name == BEGINNING else f"after {name!r}"
