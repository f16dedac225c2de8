"""Operations on many jobs at once: what they can be, and how far one has come."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

from holdfast.domain.errors import BadInput
from holdfast.domain.search import Search, StatusTerm
from holdfast.domain.states import Status

Action: TypeAlias = Literal["retry", "cancel", "reprioritise", "move", "delete"]

CHUNK = 500
# An operation knows its jobs from the beginning: more than these are several operations.
MOST_JOBS = 100_000

_FITS: dict[Action, tuple[Status, ...]] = {
    "retry": (Status.FAILED,),
    "cancel": tuple(status for status in Status if not status.is_terminal),
    "reprioritise": tuple(status for status in Status if not status.is_terminal),
    "move": tuple(status for status in Status if not status.is_terminal and status is not Status.RUNNING),
    "delete": tuple(status for status in Status if status.is_terminal),
}
_CAN_BE: dict[Action, str] = {
    "retry": "retried",
    "cancel": "cancelled",
    "reprioritise": "given another priority",
    "move": "moved",
    "delete": "deleted",
}


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to each of the jobs: an action, and what it sets."""

    action: Action
    priority: int | None = None
    queue: str | None = None

    def __post_init__(self) -> None:
        """Refuse an action that lacks what it sets, or brings what it does not."""
        for name, action in (("priority", "reprioritise"), ("queue", "move")):
            if (getattr(self, name) is not None) is not (self.action == action):
                raise BadInput(f"{action} needs a {name}, and nothing else takes one")


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation, as its readers see it."""

    status: Status | None  # of its job; None when retention took that
    id: UUID
    created_at: datetime
    tenant: str | None
    action: Action
    priority: int | None
    queue: str | None
    search: str
    actor: str
    reason: str | None
    total: int
    done: int
    skipped: int
    finished_at: datetime | None


class Refusal(NamedTuple):
    """A job that an operation could not be done to."""

    job_id: UUID
    why: str


def search_for(action: Action, search: Search) -> Search:
    """Narrow a search down to the jobs that an action can be done to."""
    if not search.terms:
        raise BadInput(
            f"say which jobs: a search that fits every job is no operation (status:{_FITS[action][0].lower()}?)"
        )
    asked = [term for term in search.terms if isinstance(term, StatusTerm)]
    fitting = [status for status in _FITS[action] if all(status in term.statuses for term in asked)]
    if not fitting:
        named = ", ".join(str(status) for term in asked for status in term.statuses)
        can = ", ".join(_FITS[action])
        raise BadInput(f"jobs that are {named} cannot be {_CAN_BE[action]}, only those that are {can}")
    others = tuple(term for term in search.terms if not isinstance(term, StatusTerm))
    # The status narrows it down, but must not make it reach further back than the list that its asker has seen.
    return replace(
        search, terms=(StatusTerm(tuple(fitting)), *others), action=action, windowed=search.is_windowed
    )
