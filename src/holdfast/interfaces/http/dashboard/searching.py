"""A list's search as people see it: the text in the box, how far back it looks, and what it asks for in words."""

import re
from datetime import timedelta
from typing import assert_never

from holdfast.domain.search import (
    AttemptTerm,
    ErrorTerm,
    IdTerm,
    JsonTerm,
    NameTerm,
    Search,
    StatusTerm,
    Term,
    TimeTerm,
    WordTerm,
    parse,
)
from holdfast.domain.spans import span
from holdfast.domain.states import Status
from holdfast.interfaces.http.dashboard.rendering import state_word

RANGES = {"1h": "1 hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days", "all": "any time"}
USUAL = "7d"
_EVER = "since:36500d"

# As the grammar reads terms; what it refuses is never taken apart by this.
_TERM = re.compile(r'(?:[A-Za-z_][\w-]*(?:\.[^\s:".]+)*:)?(?:"(?:[^"\\]|\\.)*"|[^\s"]+)')

FIELDS = (
    ("status:failed,retry", "where it is"),
    ("task:charge*", "its task; * stands for anything"),
    ("queue:billing", "its queue"),
    ("tenant:acme", "whose it is"),
    ("subject:order-42", "what it is about"),
    ("tag:vip", "a tag"),
    ("key:refund-42", "its idempotency key"),
    ("label:invoice", "stands in its label"),
    ("worker:web-3", "who runs it, or ran it last"),
    ("attempt:>2", "how often it was tried"),
    ("age:<1h", "how long ago it was created; also since: and until:"),
    ("error:Timeout", "stands in its error"),
    ("payload.order_id:42", "what it was given"),
    ("meta.source:web", "what was noted beside it"),
    ("id:018f2a", "how its id begins"),
)


def is_dated(search: Search) -> bool:
    """Whether a search says itself how far back it looks."""
    return any(isinstance(term, TimeTerm | IdTerm) for term in search.terms)


def within(text: str, reach: str) -> str:
    """Write a search that looks back as far as was chosen, unless it says itself how far."""
    search = parse(text)
    if is_dated(search) or (reach == USUAL and search.is_windowed):
        # The grammar's own window is the usual one, and finds ids of any age.
        return text
    if reach == "all":
        return f"{text} {_EVER}".strip() if search.is_windowed else text
    return f"{text} since:{reach}".strip()


def statuses_of(search: Search) -> tuple[Status, ...]:
    """Give the states that a search names."""
    return next((term.statuses for term in search.terms if isinstance(term, StatusTerm)), ())


def with_statuses(text: str, statuses: tuple[Status, ...]) -> str:
    """Write a search with other states than it names."""
    kept = [term for term in _TERM.findall(text) if not term.lower().startswith("status:")]
    named = f"status:{','.join(statuses).lower()}" if statuses else ""
    return " ".join(filter(None, [named, *kept]))


def in_words(search: Search) -> str:
    """Say what a search asks for."""
    said = ", ".join(_words(term) for term in search.terms)
    return f"Jobs {said}" if said else "All jobs"


def _words(term: Term) -> str:  # noqa: PLR0911 - one a kind of term
    match term:
        case StatusTerm():
            return f"that are {' or '.join(state_word(status).lower() for status in term.statuses)}"
        case NameTerm():
            return _name(term)
        case AttemptTerm():
            return f"whose attempt is {'' if term.comparison == '=' else term.comparison + ' '}{term.number}"
        case TimeTerm():
            return _when(term)
        case IdTerm():
            return f"whose id lies from {term.first} to {term.last}"
        case JsonTerm():
            return f"whose {term.column}.{'.'.join(term.path)} is {term.values[0]}"
        case ErrorTerm():
            return f"whose error says {term.text}"
        case WordTerm():
            return f"that are known by “{term.text}”"
        case _:
            assert_never(term)


def _name(term: NameTerm) -> str:
    match term.field:
        case "tag":
            return f"tagged {term.text}"
        case "label":
            return f"whose label says {term.text}"
        case _:
            return f"whose {term.field} is {term.text}"


def _when(term: TimeTerm) -> str:
    if isinstance(term.moment, timedelta):
        how = "in the last" if term.bound == "since" else "longer ago than"
        return f"created {how} {_days(term.moment) or span(term.moment)}"
    return f"created {'since' if term.bound == 'since' else 'before'} {term.moment.isoformat()}"


def _days(time: timedelta) -> str | None:
    days, rest = divmod(time, timedelta(days=1))
    return None if rest or not days else f"{days:,} day{'' if days == 1 else 's'}"
