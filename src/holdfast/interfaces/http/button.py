"""Buttons of whoever serves the dashboard: what they are called, and what they do."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.domain.access import Scope


class Pressed(NamedTuple):
    """What came of it, in a sentence, and the page to go on with; without one, the page where it was pressed."""

    says: str
    to: str | None = None


@dataclass(frozen=True, slots=True)
class Button:
    """What people may press, on every page: its name is in its address and in the audit, its label says what it does."""

    name: str
    label: str
    about: str
    press: Callable[[], Awaitable[Pressed]]
    scope: Scope = Scope.OPERATE

    @property
    def path(self) -> str:
        """Where its form goes."""
        return f"/press-{self.name}"
