"""Searches as SQL: each term from a whitelist, the way through the table by an index, and no look without a bound."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg import sql

from holdfast.domain.job import Job
from holdfast.domain.search import (
    WINDOW,
    IdTerm,
    JsonTerm,
    NameTerm,
    Search,
    StatusTerm,
    Term,
    TimeTerm,
    WordTerm,
)
from holdfast.domain.states import Status
from holdfast.store.call import Call, Row, query
from holdfast.store.inspect import read_job, select_jobs
from holdfast.store.search_terms import Conditions, Text

# How many jobs one question looks at; where it stops, the next one goes on.
LOOKED_AT = 100_000
# How many jobs of an index are counted to see which one has fewest.
PROBED = 1_000
# Indexes that a database may have: see the guide. Without them these terms are looked for job by job.
PAYLOAD_INDEX = "holdfast.job_by_payload"
KEY_INDEX = "holdfast.job_by_key"

_TRUE = sql.SQL("true")
_AND = sql.SQL(" and ")
_UNION = sql.SQL(" union all ")


class Found(NamedTuple):
    """Jobs that fit, newest first; `next` is where the question that goes on begins, `since` the oldest that is looked at."""

    jobs: list[Job]
    next: UUID | None
    since: datetime | None


class FoundIds(NamedTuple):
    """As Found, ids alone."""

    ids: list[UUID]
    next: UUID | None


class Counted(NamedTuple):
    """How many jobs fit; at least so many when there are more, or when not all were looked at."""

    number: int
    is_all: bool


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to the jobs that may fit: parts without a job in common, each found by an index."""

    parts: Sequence[Text]
    is_ordered: bool = True  # an index that is not must read all that it finds before the newest are known
    term: Term | None = None  # what is known about every job on it
    index: str | None = None  # that a database may lack


class _Statement(Conditions):
    """One question: the ways to the jobs that may fit, and which one is taken."""

    def __init__(self, search: Search, before: UUID | None, kept: LiteralString = "j.id") -> None:
        super().__init__()
        self._search = search
        self._before = before
        self._kept = sql.SQL(kept)  # what is known of a job that fits, besides that it does
        self.terms: list[Term] = list(search.terms)
        if search.tenant is not None:
            self.terms.append(NameTerm("tenant", search.tenant))

    def ways(self) -> list[_Way]:
        """Give the ways there are, the one that is taken when no index has few jobs first."""
        found = [way for term in self.terms if (way := self._way(term)) is not None]
        found.sort(key=lambda way: _rank(way.term))
        ordered = [way for way in found if way.is_ordered]
        narrow = any(isinstance(term, IdTerm) for term in self.terms)
        if narrow or not ordered:
            ordered = [_Way([_TRUE])]
        return ordered if narrow else [*ordered, *(way for way in found if not way.is_ordered)]

    def _way(self, term: Term) -> _Way | None:  # noqa: PLR0911 - one a kind of term
        match term:
            case StatusTerm():
                return _Way([self._in_status(status) for status in term.statuses], term=term)
            case NameTerm(field="task") if not term.has_gaps:
                # The index by task leaves RUNNING jobs out, which are few: both halves are asked.
                parts = (self.say(f"j.task = {{}} and {half}", term.text) for half in _HALVES)
                return _Way(list(parts), term=term)
            case NameTerm(field="tenant" | "subject") if not term.has_gaps:
                return _Way([self.condition(term)], term=term)
            case NameTerm(field="tag"):
                return _Way([self.condition(term)], is_ordered=False, term=term)
            case NameTerm(field="key"):
                return _Way([self.condition(term)], is_ordered=False, term=term, index=KEY_INDEX)
            case JsonTerm(column="payload"):
                return _Way([self.condition(term)], is_ordered=False, term=term, index=PAYLOAD_INDEX)
            case _:
                return None

    def _in_status(self, status: Status) -> Text:
        if status is Status.RUNNING:
            return sql.SQL("j.holder is not null")
        return self.say("j.status = {}::holdfast.job_status and j.status <> 'RUNNING'", str(status))

    def _aged(self, way: _Way) -> Sequence[Text]:
        """Keep a way that no term has narrowed down to the newest jobs; what may be an id is one of any age."""
        if not self._search.is_windowed or way.index is not None:
            return way.parts
        ids = [self.condition(term.ids) for term in self.terms if isinstance(term, WordTerm) and term.ids]
        if len(ids) != 1:
            return [_AND.join([part, self._window()]) for part in way.parts]
        younger = [
            _AND.join([part, self._window(), sql.SQL("not ({})").format(ids[0])]) for part in way.parts
        ]
        return [_AND.join([part, ids[0]]) for part in way.parts] + younger

    def _window(self) -> Text:
        return sql.SQL("j.id >= {}").format(self.id_at(WINDOW))

    def _range(self) -> Text:
        bounds = [self.condition(term) for term in self.terms if isinstance(term, TimeTerm | IdTerm)]
        if self._before is not None:
            bounds.append(self.say("j.id < {}", self._before))
        return _AND.join(bounds) if bounds else _TRUE

    # -- the statement -------------------------------------------------------------------------------------------------

    def text(self, answer: Text) -> str:
        """Write the statement."""
        ways = self.ways()
        within = self._range()
        if len(ways) == 1:
            choice: Text = sql.SQL("1")
            looks = [self._looked(ways[0], [within])]
        else:
            choice = self._choice(ways, within)
            gates = [self._gate(number) for number in range(1, len(ways) + 1)]
            looks = [self._looked(way, [gate, within]) for way, gate in zip(ways, gates, strict=True)]
        return sql.SQL(_frame()).format(choice=choice, ways=_UNION.join(looks), answer=answer).as_string(None)

    def _gate(self, number: int) -> Text:
        return sql.SQL("(select c.way from choice c) = {}").format(sql.Literal(number))

    def _choice(self, ways: Sequence[_Way], within: Text) -> Text:
        probes = [self._probe(way, within) for way in ways]
        return sql.SQL(
            "(select p.way from unnest(array[{}]) with ordinality as p (jobs, way) order by p.jobs, p.way limit 1)"
        ).format(sql.SQL(", ").join(probes))

    def _probe(self, way: _Way, within: Text) -> Text:
        """Count a way's jobs, up to a bound; all of them are too many by definition."""
        too_many = sql.Literal(PROBED + 1)
        if way.term is None:
            return too_many
        # Ordered where an index is: then none is tempted to read the table instead.
        order = sql.SQL("order by j.id desc" if way.is_ordered else "")
        parts = [
            sql.SQL("(select from holdfast.job j where {} and {} {} limit {})").format(
                part, within, order, too_many
            )
            for part in way.parts
        ]
        counted = sql.SQL("(select least(count(*), {})::int from ({}) as p)").format(
            too_many, _UNION.join(parts)
        )
        if way.index is None:
            return counted
        return sql.SQL("case when to_regclass({}) is null then {} else {} end").format(
            sql.Literal(way.index), sql.Literal(PROBED + 2), counted
        )

    def _looked(self, way: _Way, conditions: list[Text]) -> Text:
        known = [way.term, *(term for term in self.terms if isinstance(term, TimeTerm | IdTerm))]
        checks = [self.condition(term) for term in self.terms if not any(term is one for one in known)]
        if self._search.action is not None:
            checks.append(sql.SQL(_TOUCHED[self._search.action]))
        parts = [
            sql.SQL(
                "(select j.* from holdfast.job j where {} order by j.id desc limit %(looked_at)s)"
            ).format(_AND.join([*conditions, part]))
            for part in self._aged(way)
        ]
        return sql.SQL(
            "(select {}, {} as fits from ({}) as j order by j.id desc limit %(looked_at)s)"
        ).format(self._kept, _AND.join(checks) if checks else _TRUE, _UNION.join(parts))

    def since(self) -> Text:
        """Say since when jobs are looked at, if the search does not say so itself."""
        if not self._search.is_windowed:
            return sql.SQL("null::timestamptz")
        windowed = sql.Literal(sum(way.index is None for way in self.ways()))
        return sql.SQL("case when (select c.way from choice c) <= {} then holdfast.clock() - {} end").format(
            windowed, self.put(WINDOW)
        )


_HALVES = ("j.holder is not null", "j.status <> 'RUNNING'")
_TOUCHED: dict[str, LiteralString] = {
    "cancel": "not holdfast.is_own_task(j.task)",
    "reprioritise": "not holdfast.is_own_task(j.task)",
    "move": "not holdfast.is_own_task(j.task)",
    "delete": "not holdfast.is_own_task(j.task)",
    # A FAILED job stays FAILED: only that nobody has retried it tells that it can be.
    "retry": "not holdfast.is_own_task(j.task) and not exists (select from holdfast.job r where r.retry_of = j.id)",
}
# Where the look stopped, unless it found enough or came to the end. The look is lazy: it is not finished for a page that is full.
_EDGE = sql.SQL(
    "case when (select count(*) from found) < %(limit)s"
    " then (select l.id from looked l offset %(looked_at)s - 1 limit 1) end"
)


@cache
def _frame() -> str:
    return files("holdfast.store").joinpath("sql", "queries", "search.sql").read_text("utf-8")


def _rank(term: Term | None) -> int:
    """Say which of several frequent things is likely the rarest; ended well is what most jobs are."""
    match term:
        case NameTerm(field="subject"):
            return 0
        case StatusTerm() if Status.COMPLETED not in term.statuses:
            return 1
        case NameTerm(field="tenant"):
            return 2
        case NameTerm(field="task"):
            return 3
        case _:
            return 4


# -- questions -------------------------------------------------------------------------------------------------------------


def find_jobs(
    search: Search, limit: int = 50, *, before: UUID | None = None, whole: bool = True
) -> Call[Found]:
    """Find jobs, newest first; not whole, they come without payload and result, which may be large."""
    statement = _Statement(search, before)
    answer = sql.SQL(
        "({edge}), {since}, job.* from (values (1)) as one (row)"
        " left join ({select} where j.id = any (array(select f.id from found f))) as job on true"
    ).format(edge=_EDGE, since=statement.since(), select=sql.SQL(select_jobs()))
    return _call(statement, answer, limit + 1, lambda rows: _read_found(rows, limit), whole=whole)


def _read_found(rows: list[Row], limit: int) -> Found:
    edge, since = rows[0][:2]
    jobs = [read_job(list(row[2:])) for row in rows if row[2] is not None]
    jobs.sort(key=lambda job: job.id, reverse=True)
    return Found(jobs[:limit], jobs[limit - 1].id if len(jobs) > limit else edge, since)


def find_ids(search: Search, limit: int, *, before: UUID | None = None) -> Call[FoundIds]:
    """Find jobs' ids, newest first."""
    answer = sql.SQL("({edge}), array(select f.id::uuid from found f)").format(edge=_EDGE)
    return _call(_Statement(search, before), answer, limit + 1, lambda rows: _read_ids(rows, limit))


def _read_ids(rows: list[Row], limit: int) -> FoundIds:
    ((edge, ids),) = rows
    return FoundIds(ids[:limit], ids[limit - 1] if len(ids) > limit else edge)


def count_jobs(search: Search, most: int = 10_000, looked_at: int = LOOKED_AT) -> Call[Counted]:
    """Count jobs, up to a bound, among no more than the newest that may fit."""
    answer = sql.SQL("({edge}), (select count(*) from found)").format(edge=_EDGE)
    return _call(
        _Statement(search, None), answer, most + 1, lambda rows: _read_count(rows, most), looked_at=looked_at
    )


def count_by_status(search: Search, looked_at: int) -> Call[dict[Status, Counted]]:
    """Count jobs of each status among no more than the newest that may fit, in one look."""
    answer = sql.SQL(
        "({edge}), (select jsonb_object_agg(s.status, s.jobs)"
        " from (select f.status::text, count(*) as jobs from found f group by 1) as s)"
    ).format(edge=_EDGE)
    asked = _Statement(search, None, kept="j.id, j.status")
    return _call(asked, answer, looked_at + 1, _read_statuses, looked_at=looked_at)


def _read_statuses(rows: list[Row]) -> dict[Status, Counted]:
    ((edge, counts),) = rows
    return {status: Counted((counts or {}).get(status.value, 0), is_all=edge is None) for status in Status}


def search_names(limit: int = 500) -> Call[list[tuple[str, str]]]:
    """Name what people look for by its name, each after its kind: declared tasks and queues, tenants with usage, schedules."""
    return query("search_names", lambda rows: [(field, name) for field, name in rows], limit=limit)


def _read_count(rows: list[Row], most: int) -> Counted:
    ((edge, count),) = rows
    return Counted(min(count, most), is_all=count <= most and edge is None)


def _call(
    statement: _Statement, answer: Text, limit: int, read: Callable[[list[Row]], Any], **more: Any
) -> Call[Any]:
    text = statement.text(answer)
    # Never prepared: a plan that does not know what is looked for would not know the way either.
    return Call(
        text, {**statement.parameters, "looked_at": LOOKED_AT, "limit": limit, **more}, read, prepare=False
    )
