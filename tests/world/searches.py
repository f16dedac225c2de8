"""Searches at random: terms, how a person would write each, and which jobs fit it by a look at one job at a time."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, assert_never, get_args
from uuid import UUID

from hypothesis import strategies as st

from holdfast.domain.search import (
    AttemptTerm,
    Comparison,
    ErrorTerm,
    IdTerm,
    JsonTerm,
    NameField,
    NameTerm,
    StatusTerm,
    Term,
    TimeTerm,
    WordTerm,
    id_range,
    quoted,
)
from holdfast.domain.states import Status

Row = Mapping[str, Any]

# Few letters, so that jobs fit, and whatever means something to LIKE, to the grammar, or to JSON.
LETTERS = "abAB%_\\*\"' .:<0"
_GAPPED = tuple(field for field in get_args(NameField) if field not in {"tag", "key"})
_ONCE = (StatusTerm, IdTerm)
NAMES = st.text(LETTERS, min_size=1, max_size=4)
VALUES: st.SearchStrategy[Any] = (
    st.text(LETTERS, max_size=3)
    | st.integers(-(10**17), 10**17)
    | st.booleans()
    | st.none()
    | st.integers(-999, 999).map(lambda n: n / 8)
)


def _named(field: NameField) -> st.SearchStrategy[NameTerm]:
    whole = NAMES.map(lambda text: NameTerm(field, text))
    if field not in _GAPPED:
        return whole
    gapped = (
        st.text("abAB%_\\'.*", min_size=2, max_size=5)
        .filter(lambda text: "*" in text and text.strip("*") != "")
        .map(lambda text: NameTerm(field, text, has_gaps=True))
    )
    return whole | gapped


def _member(path: tuple[str, ...], value: Any, *, written: bool) -> JsonTerm:
    """Make a term as its writing is read: a bare number is also a text, a text in quotation marks is only that."""
    if isinstance(value, str) or not written:
        return JsonTerm("payload", path, (value if isinstance(value, str) else plain(value),))
    return JsonTerm("payload", path, (plain(value), value))


def plain(value: Any) -> str:
    """Write a JSON value that is no text, without quotation marks."""
    return json.dumps(value)


PATHS = st.lists(st.sampled_from(["a", "b", "A", "ü"]), min_size=1, max_size=3).map(tuple)
TERMS: st.SearchStrategy[Term] = st.one_of(
    st.lists(st.sampled_from(Status), min_size=1, max_size=3, unique=True).map(
        lambda found: StatusTerm(tuple(found))
    ),
    st.sampled_from(get_args(NameField)).flatmap(_named),
    st.builds(AttemptTerm, st.sampled_from(get_args(Comparison)), st.integers(0, 3)),
    st.builds(TimeTerm, st.sampled_from(["since", "until"]), st.integers(1, 10**6).map(lambda s: timedelta(seconds=s))),
    st.builds(TimeTerm, st.sampled_from(["since", "until"]), st.datetimes(datetime(1960, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))),  # noqa: DTZ001 - the zone is given
    st.text("0123456789abcdef", min_size=6, max_size=32).map(lambda text: id_range(text) or IdTerm(UUID(int=0), UUID(int=0))),
    st.builds(_member, PATHS, VALUES, written=st.booleans()),
    NAMES.map(ErrorTerm),
    NAMES.map(WordTerm),
)  # fmt: skip
SEARCHES = st.lists(TERMS, max_size=4).filter(
    lambda terms: len({_field(term) for term in terms}) == len(terms)
)


def _field(term: Term) -> object:
    """Name what a search may say once; of all else, more than one term is another."""
    if isinstance(term, _ONCE):
        return type(term)
    if isinstance(term, NameTerm) and term.field not in {"tag", "label"}:
        return term.field
    return term


def written(term: Term) -> str:  # noqa: PLR0911 - one a kind of term
    """Write a term as a person would."""
    match term:
        case StatusTerm():
            return f"status:{','.join(term.statuses).lower()}"
        case NameTerm():
            return f"{term.field}:{term.text if term.has_gaps else quoted(term.text)}"
        case AttemptTerm():
            return f"attempt:{'' if term.comparison == '=' else term.comparison}{term.number}"
        case TimeTerm():
            if isinstance(term.moment, timedelta):
                return f"{term.bound}:{int(term.moment.total_seconds())}s"
            return f"{term.bound}:{term.moment.isoformat()}"
        case IdTerm():
            same = zip(term.first.hex, term.last.hex, strict=True)
            return "id:" + term.first.hex[: next((n for n, (a, b) in enumerate(same) if a != b), 32)]
        case JsonTerm():
            value = term.values[0] if len(term.values) > 1 else quoted(str(term.values[0]))
            return f"payload.{'.'.join(term.path)}:{value}"
        case ErrorTerm():
            return f"error:{quoted(term.text)}"
        case WordTerm():
            return quoted(term.text)
        case _:
            assert_never(term)


# -- by a look at one job at a time ----------------------------------------------------------------------------------------


def fits(term: Term, job: Row, now: datetime) -> bool:  # noqa: PLR0911 - one a kind of term
    """Whether a job fits a term, found out without SQL."""
    match term:
        case StatusTerm():
            return job["status"] in term.statuses
        case NameTerm():
            return _is_called(term, job)
        case AttemptTerm():
            return _COMPARED[term.comparison](job["attempt"], term.number)
        case TimeTerm():
            moment = now - term.moment if isinstance(term.moment, timedelta) else term.moment
            born = datetime.fromtimestamp((job["id"].int >> 80) / 1000, UTC)
            return born >= moment if term.bound == "since" else born < moment
        case IdTerm():
            return bool(term.first <= job["id"] <= term.last)
        case JsonTerm():
            return any(_contains(job["payload"], _document(term.path, value)) for value in term.values)
        case ErrorTerm():
            told = job["error"] or {}
            return any(term.text.lower() in str(told.get(part, "")).lower() for part in ("type", "message"))
        case WordTerm():
            return (
                term.text in {job["key"], job["subject"], *(job["tags"] or [])}
                or term.text.lower() in (job["label"] or "").lower()
            )
        case _:
            assert_never(term)


_COMPARED: dict[Comparison, Callable[[int, int], bool]] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _is_called(term: NameTerm, job: Row) -> bool:
    if term.field == "tag":
        return term.text in (job["tags"] or [])
    names = job["workers"] if term.field == "worker" else [job[term.field]]
    if term.field == "label" and not term.has_gaps:
        return any(name is not None and term.text.lower() in name.lower() for name in names)
    parts = term.text.split("*") if term.has_gaps else [term.text]
    flags = re.DOTALL | (re.IGNORECASE if term.field == "label" else 0)
    pattern = re.compile(".*".join(map(re.escape, parts)), flags)
    return any(name is not None and pattern.fullmatch(name) for name in names)


def _document(path: tuple[str, ...], value: Any) -> Any:
    for part in reversed(path):
        value = {part: value}
    return value


def _contains(whole: Any, part: Any) -> bool:
    """Whether one JSON document contains another, as jsonb means it."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and _contains(whole[name], value) for name, value in part.items()
        )
    if isinstance(whole, list) and not isinstance(part, list):
        return any(not isinstance(one, dict | list) and _is_same(one, part) for one in whole)
    return _is_same(whole, part)


def _is_same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and one == other
