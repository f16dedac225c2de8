"""What a session touched between two stops, as far as the other can notice it, and which steps can therefore not be exchanged."""

import json
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Step:
    """What one session did between two stops.

    Under READ COMMITTED nobody sees what another has not committed: before that, two sessions only meet where both write or lock.
    Whose clock was read first does not count: claim, sweep and retention, which compare times, come again before an end is judged, and what
    the others compare with the time is of the scene. Neither do numbers of sequences: no end tells them.
    """

    changed: frozenset[str] = frozenset()  # tables in which it may have written or locked rows
    tried: frozenset[str] = frozenset()  # tables in which it may have met rows that are locked
    ends: bool = False  # it commits
    unknown: bool = False  # nobody can tell what it touched, or everybody can notice it

    @property
    def is_lasting(self) -> bool:
        """Whether it leaves anything that is there until the end of its transaction, or after it."""
        return bool(self.changed) or self.unknown

    def meets(self, other: Self) -> bool:
        """Whether anything could be different if the two came in the other order."""
        if self.unknown or other.unknown:
            return True
        if self.ends or other.ends:
            # A commit shows what was written to whoever looks from then on, and lets go what was locked. Two of them do no work.
            return not (self.ends and other.ends)
        return bool(self.changed & (other.changed | other.tried) or self.tried & other.changed)


NOTHING = Step()
ANYTHING = Step(unknown=True)
COMMIT = Step(ends=True)


class Touched:
    """What a session has touched in its transaction so far, by its own account at its last stop."""

    def __init__(self, told: str) -> None:
        account: dict[str, Any] = json.loads(told)
        self._found: dict[str, int] = account["found"]
        self._wrote: dict[str, int] = account["wrote"]
        self._logged: bool = account["logged"]
        self._holds: list[str] = account["holds"]
        self._keys: list[str] = account["keys"]
        self._took_back: bool = account["took_back"]

    def since(self, before: Self) -> Step:
        """Say what it did after an earlier account of the same transaction."""
        # Whoever tries to get a lock in vain leaves no trace, so whoever gets one is noticed by every step of the other. What was taken back
        # in the middle has given back its locks.
        if self._took_back or not set(self._keys) <= set(before._keys):
            return ANYTHING
        wrote = _more(self._wrote, before._wrote)
        # Locks on tables say that rows of them were locked, once and for the whole transaction: whatever it finds there later it may have locked.
        locked = _more(self._found, before._found) & set(self._holds)
        return Step(frozenset(wrote | locked if self._logged else wrote), frozenset(locked))


def _more(now: dict[str, int], before: dict[str, int]) -> set[str]:
    return {table for table, count in now.items() if count != before.get(table, 0)}
