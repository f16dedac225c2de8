"""What a session touched between two stops, as far as the other can notice it, and which steps can therefore not be exchanged."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Step:
    """What one session did between two stops.

    Under READ COMMITTED nobody sees what another has not committed: before that, two sessions only meet where both write or lock rows, or
    seek a key.
    Whose clock was read first does not count: claim, sweep and retention, which compare times, come again before an end is judged, and what
    the others compare with the time is of the scene. Neither do numbers of sequences: no end tells them.
    """

    changed: frozenset[str] = frozenset()  # tables in which it may have written or locked rows
    tried: frozenset[str] = frozenset()  # tables in which it may have met rows that are locked
    looked: frozenset[str] = frozenset()  # tables in which it looked for rows, whether it found any or not
    got: frozenset[int] = frozenset()  # advisory keys that it locked
    sought: frozenset[int] = frozenset()  # those that it wanted to lock, whether it got them or not
    ends: bool = False  # it commits what its transaction changed, and lets go what it got
    unknown: bool = False  # nobody can tell what it touched, or everybody can notice it

    def meets(self, other: Self) -> bool:
        """Whether anything could be different if the two came in the other order."""
        if self.ends and other.ends:
            return False  # neither does any work
        if self.unknown or other.unknown:
            return True
        # Whoever got a key decides who gets it next, until its commit; two that both went away without it do not notice each other.
        if self.got & other.sought or self.sought & other.got:
            return True
        if self.changed & (other.changed | other.tried) or self.tried & other.changed:
            return True
        # A commit shows what was written to whoever looks there from then on.
        return bool(
            (self.ends and self.changed & other.looked) or (other.ends and self.looked & other.changed)
        )


NOTHING = Step()
ANYTHING = Step(unknown=True)


def commit_of(steps: Sequence[Step]) -> Step:
    """Say what the commit of a transaction touches that took these steps; that of one that did nothing is noticed by nobody."""
    return Step(
        changed=frozenset[str]().union(*(step.changed for step in steps)),
        got=frozenset[int]().union(*(step.got for step in steps)),
        ends=True,
        unknown=any(step.unknown for step in steps),
    )


@dataclass(frozen=True, slots=True)
class Functions:
    """What is known of the machine's functions, by their names."""

    # Of triggers, when the statement that fires them has come to its end.
    fire_after: frozenset[str] = frozenset()
    # Each of their statements sees what is committed when it begins, whatever their caller sees.
    begin_anew: frozenset[str] = frozenset()
    # Of each what its statements call.
    calls: Mapping[str, Sequence[frozenset[str]]] = field(default_factory=dict)

    def end_with(self, called: str | None, named: Collection[str]) -> bool:
        """Whether a statement that names these, and in which this one is under way, looks at nothing more as of its beginning."""
        return self.begin_anew.issuperset(named) and (called in named if called else not named)


NOT_KNOWN = Functions()


class Touched:
    """What a session has touched in its transaction so far, by its own account at its last stop."""

    def __init__(self, told: str, where: str = "", functions: Functions = NOT_KNOWN) -> None:
        account: dict[str, Any] = json.loads(told)
        self._looked: dict[str, int] = account["looked"]
        self._found: dict[str, int] = account["found"]
        self._wrote: dict[str, int] = account["wrote"]
        self._logged: bool = account["logged"]
        self._holds: list[str] = account["holds"]
        self._keys: frozenset[int] = frozenset(account["keys"])
        self._sought: frozenset[int] = frozenset(account["sought"])
        self._took_back: bool = account["took_back"]
        under_way = f"{where}\nSQL {account['asked']}"
        self.is_amid_a_look = bool(account["loops"]) or is_amid_a_look(under_way, functions)
        self.is_amid_locking = self.is_amid_a_look and any(map(_LOCKS.search, [under_way, *account["loops"]]))

    def since(self, before: Self, looks_since: Self | None = None) -> Step:
        """Say what it did after an earlier account of the same transaction; what it looks at may have begun at one that is earlier still."""
        got = self._keys - before._keys
        # What was taken back in the middle has given back its locks, and its account of what it sought. Whoever gives a key back before the
        # commit, or has one that it did not tell of, may have sought others as well.
        if self._took_back or not (before._keys <= self._keys and got <= self._sought):
            return ANYTHING
        wrote = _more(self._wrote, before._wrote)
        # Locks on tables say that rows of them were locked, once and for the whole transaction: whatever it finds there later it may have locked,
        # and what a statement found before a stop within it, it may lock after it.
        locked = _more(self._found, (looks_since or before)._found) & set(self._holds)
        return Step(
            changed=frozenset(wrote | locked if self._logged else wrote),
            tried=frozenset(locked),
            looked=frozenset(_more(self._looked, before._looked)),
            got=got,
            sought=self._sought,
        )


def steps_between(accounts: Sequence[Touched], then: Step) -> list[Step]:
    """Say of every two accounts of a transaction that follow each other what it did between them, if it did this after the last."""
    steps: list[Step] = []
    for before, after, looks_since in reversed(list(_with_beginnings(accounts))):
        step = after.since(before, looks_since)
        # A statement that calls one with stops sees to its end what was committed when it began: what it looks at after a stop within it,
        # it has looked at before.
        if after.is_amid_a_look:
            step = replace(step, looked=step.looked | then.looked, unknown=step.unknown or then.unknown)
        steps.append(step)
        then = step
    return steps[::-1]


def _with_beginnings(accounts: Sequence[Touched]) -> Iterator[tuple[Touched, Touched, Touched]]:
    """Give every two that follow each other, with the last one before the statement began that may lock more after the first of them."""
    looks_since = accounts[0]
    for before, after in pairwise(accounts):
        if not before.is_amid_locking:
            looks_since = before
        yield before, after, looks_since


# What a statement names of the machine's. What a function in SQL names, the server does not show.
_NAMED = re.compile(r"\bholdfast\.(\w+)|^(SQL function)", re.IGNORECASE)
# What locks rows; a function in SQL may.
_LOCKS = re.compile(r"\b(?:update|share|insert|delete|merge|SQL function)\b", re.IGNORECASE)
_FRAME = re.compile(r"\n(?=PL/pgSQL |SQL )")
_CALL = re.compile(r"PL/pgSQL function (?:holdfast\.)?(\w+)\(")


def is_amid_a_look(where: str, functions: Functions) -> bool:
    """Tell by the server's account of what is under way, innermost first, whether anything may go on to look as of a time before the stop."""
    called: str | None = None  # what is under way in the statement that comes next
    for frame in _FRAME.split(where):
        call = _CALL.match(frame)
        if call and call[1] not in functions.begin_anew:
            return True  # whether anybody names it or not: a trigger is named by no statement
        if called in functions.fire_after:
            ends = True  # it has all its rows
        elif not call:
            ends = functions.end_with(called, {name or other for name, other in _NAMED.findall(frame)})
        else:
            # An expression of PL/pgSQL without a query is not shown, one function stands right behind the other: it is any that makes the call.
            perhaps = [named for named in functions.calls.get(call[1], ()) if called in named]
            ends = not called or (
                bool(perhaps) and all(functions.end_with(called, named) for named in perhaps)
            )
        if not ends:
            return True
        called = call[1] if call else None
    return False


def _more(now: dict[str, int], before: dict[str, int]) -> set[str]:
    return {table for table, count in now.items() if count != before.get(table, 0)}
