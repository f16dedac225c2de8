"""The search grammar: `status:failed task:charge* age:<1h "two words"` becomes typed terms, or an error that says where.

Terms stand apart by spaces and must all fit. A word without a field is looked for in ids, keys, subjects, labels and tags.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Literal, TypeAlias
from uuid import UUID

from holdfast.domain.errors import BadInput
from holdfast.domain.spans import read_span
from holdfast.domain.states import Status

LONGEST = 1000
MOST_TERMS = 20
DEEPEST_PATH = 10
# What no index can answer is looked for among the jobs of these days, unless the search says since when.
WINDOW = timedelta(days=7)

NameField: TypeAlias = Literal["task", "queue", "tenant", "subject", "tag", "key", "label", "worker"]
Comparison: TypeAlias = Literal["=", "<", "<=", ">", ">="]
Column: TypeAlias = Literal["payload", "metadata"]


class BadSearch(BadInput):
    """A search that cannot be understood; `position` is the place of the first character that is to blame."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        super().__init__(f"{problem} (at character {position + 1})")
        self.text = text
        self.position = position
        self.problem = problem

    @property
    def pointed(self) -> str:
        """The search with a mark under the place."""
        return f"{self.text}\n{' ' * self.position}^ {self.problem}"


@dataclass(frozen=True, slots=True)
class StatusTerm:
    """status:failed,retry."""

    statuses: tuple[Status, ...]


@dataclass(frozen=True, slots=True)
class NameTerm:
    """task:charge, task:charge*."""

    field: NameField
    text: str
    has_gaps: bool = False  # each * of the text stands for anything

    @property
    def is_indexed(self) -> bool:
        """Whether an index finds jobs by it."""
        return not self.has_gaps and self.field in {"task", "tenant", "subject", "tag"}


@dataclass(frozen=True, slots=True)
class AttemptTerm:
    """attempt:>2."""

    comparison: Comparison
    number: int


@dataclass(frozen=True, slots=True)
class TimeTerm:
    """since:2h, until:2030-01-31T10:00Z, age:>1h: created at that time or later, or before it."""

    bound: Literal["since", "until"]
    moment: datetime | timedelta  # a duration counts back from now, by the database's clock


@dataclass(frozen=True, slots=True)
class IdTerm:
    """id:018f2a: the jobs whose ids begin so."""

    first: UUID
    last: UUID


@dataclass(frozen=True, slots=True)
class JsonTerm:
    """payload.order.id:42, meta.source:web: what this member is, or a list's entry under it."""

    column: Column
    path: tuple[str, ...]
    values: tuple[str | int | float | bool | None, ...]  # each writing that may be meant


@dataclass(frozen=True, slots=True)
class ErrorTerm:
    """error:Timeout: stands in the error's class or message."""

    text: str


@dataclass(frozen=True, slots=True)
class WordTerm:
    """A word without a field."""

    text: str
    ids: IdTerm | None = None  # when it may be the beginning of one


Term: TypeAlias = StatusTerm | NameTerm | AttemptTerm | TimeTerm | IdTerm | JsonTerm | ErrorTerm | WordTerm


@dataclass(frozen=True, slots=True)
class Search:
    """Which jobs are looked for: those that fit every term, and nobody else's."""

    terms: tuple[Term, ...] = ()
    tenant: str | None = None  # whoever asks sees only this tenant's jobs; None sees all
    text: str = field(default="", compare=False)
    # Only those that this can be done to, and none of Holdfast's own.
    action: Literal["retry", "cancel", "reprioritise", "move", "delete"] | None = None
    windowed: bool | None = None  # when it is known already

    @property
    def is_windowed(self) -> bool:
        """Whether only the newest days are looked at, because nothing narrows the search down and it names no time."""
        if self.windowed is not None:
            return self.windowed
        looked_at = [term for term in self.terms if not _is_indexed(term)]
        return bool(looked_at) and len(looked_at) == len(self.terms)

    def within(self, tenant: str | None) -> "Search":
        """Look at this tenant's jobs only."""
        return replace(self, tenant=tenant)

    def also(self, *terms: Term) -> "Search":
        """Demand more."""
        return replace(self, terms=(*self.terms, *terms))


def _is_indexed(term: Term) -> bool:
    match term:
        case StatusTerm() | TimeTerm() | IdTerm():
            return True
        case NameTerm():
            return term.is_indexed
        case _:
            return False


# -- reading ---------------------------------------------------------------------------------------------------------------

_SPACE = re.compile(r"\s*")
_FIELD = re.compile(r"([A-Za-z_][\w-]*)((?:\.[^\s:\".]+)*):")
_PLAIN = re.compile(r"[^\s\"]+")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_COMPARISON = re.compile(r"(<=|>=|<|>|=)?(.*)", re.DOTALL)
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d{1,17})?")
_HEX = re.compile(r"[0-9a-f]{6,32}")
_SHORTEST_ID = 8  # of a word without a field: shorter ones are words more often than ids
_MAX_ATTEMPT = 1_000_000

_NAMES: tuple[NameField, ...] = ("task", "queue", "tenant", "subject", "tag", "key", "label", "worker")
_REPEATED = {"tag", "label", "error", "attempt", "age", "since", "until", "payload", "meta"}
_COLUMNS: dict[str, Column] = {"payload": "payload", "meta": "metadata"}
_WITHOUT_GAPS = {"tag", "key"}


@dataclass(frozen=True, slots=True)
class _Value:
    """What stands behind a field's colon."""

    text: str
    search: str
    position: int
    is_quoted: bool = False

    def refuse(self, problem: str) -> BadSearch:
        return BadSearch(self.search, self.position, problem)


def parse(text: str) -> Search:
    """Understand a search."""
    if len(text) > LONGEST:
        raise BadSearch(
            text[:LONGEST], 0, f"a search has at most {LONGEST:,} characters, this one {len(text):,}"
        )
    unfit = next((n for n, c in enumerate(text) if c == "\x00" or "\ud800" <= c <= "\udfff"), None)
    if unfit is not None:
        raise BadSearch(text, unfit, "this character cannot stand in a search")
    terms: list[Term] = []
    seen: set[str] = set()
    position = _skip(text, 0)
    while position < len(text):
        if len(terms) == MOST_TERMS:
            raise BadSearch(text, position, f"a search has at most {MOST_TERMS} terms")
        term, position = _read_term(text, position, seen)
        terms.append(term)
        position = _skip(text, position)
    return Search(tuple(terms), text=text)


def quoted(value: str) -> str:
    """Write a value so that it is read as one, whatever stands in it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _read_term(text: str, position: int, seen: set[str]) -> tuple[Term, int]:
    named = _FIELD.match(text, position)
    value, end = _read_value(text, named.end() if named else position)
    if named is None:
        return _word(value), end
    name, path = named[1].lower(), named[2]
    if name in seen and name not in _REPEATED:
        also = ": write status:failed,retry for either" if name == "status" else ""
        raise BadSearch(text, position, f"{name}: is given twice, and a job has only one{also}")
    seen.add(name)
    if name in _COLUMNS:
        return _json(_COLUMNS[name], path, value, position), end
    if path or name not in _READERS:
        raise BadSearch(text, position, _unknown(name, path, text[position:end]))
    if not value.text:
        raise value.refuse(f'{name}: says nothing: write {name}:value, or {name}:"a value with spaces"')
    return _READERS[name](value), end


def _read_value(text: str, position: int) -> tuple[_Value, int]:
    if text[position : position + 1] == '"':
        found = _QUOTED.match(text, position)
        if found is None:
            raise BadSearch(text, position, 'this quotation has no end: close it with "')
        if found.end() < len(text) and not text[found.end()].isspace():
            raise BadSearch(text, found.end(), "a space is missing after the quotation")
        return _Value(_ESCAPE.sub(r"\1", found[1]), text, position, is_quoted=True), found.end()
    found = _PLAIN.match(text, position)
    if found is None:
        return _Value("", text, position), position
    if text[found.end() : found.end() + 1] == '"':
        raise BadSearch(
            text, found.end(), 'a quotation begins inside a word: quote all of it, or write \\" inside quotes'
        )
    return _Value(found[0], text, position), found.end()


def _unknown(name: str, path: str, written: str) -> str:
    known = [*_READERS, *(f"{column}.…" for column in _COLUMNS)]
    if name in _READERS:
        return f"{name}: has no parts: write {name}:value (payload.{path[1:]}:value looks into the payload)"
    near = get_close_matches(name, [*_READERS, *_COLUMNS], n=1)
    meant = f"did you mean {near[0]}:?" if near else f"there are {', '.join(known)}"
    return f'there is no field {name}: {meant} To look for the words themselves, quote them: "{written[:60]}"'


def _status(value: _Value) -> Term:
    statuses: list[Status] = []
    for name in value.text.upper().split(","):
        if name not in Status.__members__:
            near = get_close_matches(name, list(Status), n=1)
            meant = f"did you mean {near[0].lower()}?" if near else f"there are {', '.join(Status).lower()}"
            raise value.refuse(f"there is no status {name.lower()!r}: {meant}")
        statuses.append(Status(name))
    return StatusTerm(tuple(dict.fromkeys(statuses)))


def _name(name: NameField) -> Callable[[_Value], Term]:
    def read(value: _Value) -> Term:
        has_gaps = not value.is_quoted and "*" in value.text
        if has_gaps and name in _WITHOUT_GAPS:
            raise value.refuse(
                f'{name}: is looked for as a whole: leave the * out, or quote it: {name}:"{value.text}"'
            )
        if has_gaps and not value.text.strip("*"):
            raise value.refuse(f"{name}:* fits every job: leave it out")
        return NameTerm(name, value.text, has_gaps)

    return read


def _attempt(value: _Value) -> Term:
    comparison, rest = _compared(value)
    if not re.fullmatch(r"[0-9]{1,7}", rest) or int(rest) > _MAX_ATTEMPT:
        raise value.refuse(f"attempt: takes a number, like attempt:2 or attempt:>2, not {value.text!r}")
    return AttemptTerm(comparison, int(rest))


def _age(value: _Value) -> Term:
    comparison, rest = _compared(value)
    span = read_span(rest)
    if span is None:
        raise value.refuse(f"age: takes a duration, like age:<1h or age:>7d, not {value.text!r}")
    if comparison == "=":
        raise value.refuse(f"age: needs < or >: write age:<{rest} for younger, age:>{rest} for older")
    # Younger than an hour is created since an hour ago.
    return TimeTerm("since" if comparison in {"<", "<="} else "until", span)


def _moment(bound: Literal["since", "until"]) -> Callable[[_Value], Term]:
    def read(value: _Value) -> Term:
        span = read_span(value.text)
        if span is not None:
            return TimeTerm(bound, span)
        try:
            moment = datetime.fromisoformat(value.text)
        except ValueError:
            raise value.refuse(
                f"{bound}: takes how long ago, like {bound}:2h, or a time, like {bound}:2030-01-31T10:00Z, not {value.text!r}"
            ) from None
        if moment.utcoffset() is None:
            raise value.refuse(f"{value.text!r} has no time zone: write {value.text}Z or {value.text}+01:00")
        return TimeTerm(bound, moment)

    return read


def _compared(value: _Value) -> tuple[Comparison, str]:
    found = _COMPARISON.fullmatch(value.text)
    written = found[1] if found else None
    rest = found[2] if found else value.text
    match written:
        case "<" | "<=" | ">" | ">=":
            return written, rest
        case _:
            return "=", rest


def id_range(text: str) -> IdTerm | None:
    """Give the range of ids that begin so, if any can; dashes do not matter."""
    digits = text.replace("-", "").lower()
    if not _HEX.fullmatch(digits):
        return None
    return IdTerm(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f")))


def _id(value: _Value) -> Term:
    found = id_range(value.text)
    if found is None:
        raise value.refuse(f"id: takes a job's id or at least its first 6 digits, not {value.text!r}")
    return found


def _error(value: _Value) -> Term:
    return ErrorTerm(value.text)


def _word(value: _Value) -> Term:
    if not value.text:
        raise value.refuse("these quotation marks are empty: write something between them, or leave them out")
    ids = id_range(value.text) if len(value.text) >= _SHORTEST_ID and not value.is_quoted else None
    return WordTerm(value.text, ids)


def _json(column: Column, path: str, value: _Value, position: int) -> Term:
    name = "payload" if column == "payload" else "meta"
    parts = tuple(path[1:].split(".")) if path else ()
    if not parts:
        raise BadSearch(value.search, position, f"{name}: needs the member's name: write {name}.order_id:42")
    if len(parts) > DEEPEST_PATH:
        raise BadSearch(value.search, position, f"{name}. goes at most {DEEPEST_PATH} members deep")
    if not value.text and not value.is_quoted:
        raise value.refuse(f'{name}{path}: says nothing: write {name}{path}:42, or {name}{path}:"some text"')
    return JsonTerm(column, parts, tuple(_writings(value)))


def _writings(value: _Value) -> Iterable[str | int | float | bool | None]:
    """Give what may be meant: 42 is a number or a text, "42" in quotation marks a text."""
    yield value.text
    if value.is_quoted:
        return
    if value.text in {"true", "false"}:
        yield value.text == "true"
    elif value.text == "null":
        yield None
    elif _NUMBER.fullmatch(value.text):
        yield float(value.text) if "." in value.text else int(value.text)


_READERS: dict[str, Callable[[_Value], Term]] = {
    "status": _status,
    **{name: _name(name) for name in _NAMES},
    "attempt": _attempt,
    "age": _age,
    "since": _moment("since"),
    "until": _moment("until"),
    "id": _id,
    "error": _error,
}
