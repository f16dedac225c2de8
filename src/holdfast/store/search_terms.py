"""Search terms as SQL: each a condition from a whitelist, its values as parameters."""

from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, assert_never

from psycopg import sql
from psycopg.types.json import Jsonb

from holdfast.domain.search import (
    AttemptTerm,
    ErrorTerm,
    IdTerm,
    JsonTerm,
    NameTerm,
    StatusTerm,
    Term,
    TimeTerm,
    WordTerm,
)

Text: TypeAlias = sql.Composed | sql.SQL | sql.Literal

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_AGO = timedelta(days=36_500)
_COMPARISONS = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class Conditions:
    """The conditions of one statement, and their parameters."""

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {}

    def put(self, value: Any) -> sql.Placeholder:
        """Take a value as a parameter."""
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return sql.Placeholder(name)

    def say(self, text: str, *values: Any) -> Text:
        """Write a piece of SQL with values as parameters."""
        return sql.SQL(text).format(*(self.put(value) for value in values))

    def condition(self, term: Term) -> Text:  # noqa: PLR0911 - one a kind of term
        """Say when a job fits a term."""
        match term:
            case StatusTerm():
                return self.say("j.status = any ({}::holdfast.job_status[])", [str(s) for s in term.statuses])
            case NameTerm():
                return self._name(term)
            case AttemptTerm():
                return self.say(f"j.attempt {_COMPARISONS[term.comparison]} {{}}", term.number)
            case TimeTerm():
                sign = ">=" if term.bound == "since" else "<"
                return sql.SQL(f"j.id {sign} {{}}").format(self.id_at(term.moment))
            case IdTerm():
                return self.say("j.id between {} and {}", term.first, term.last)
            case JsonTerm():
                return self._member(term)
            case ErrorTerm():
                pattern = _within(term.text)
                return self.say(
                    "(j.error ->> 'type' ilike {} or j.error ->> 'message' ilike {})", pattern, pattern
                )
            case WordTerm():
                return self._word(term)
            case _:
                assert_never(term)

    def _name(self, term: NameTerm) -> Text:
        like = _pattern(term)
        match term.field:
            case "worker":
                # Those that it holds, and those that failed or were cancelled in its hands.
                return self.say(
                    "coalesce(j.holder, j.last_holder) = any (array(select w.id from holdfast.worker w where w.name like {} or w.host like {}))",
                    like, like,
                )  # fmt: skip
            case "tag":
                return self.say("j.tags @> {} and j.tags is not null", Jsonb([term.text]))
            case "label":
                return self.say("j.label ilike {}", like if term.has_gaps else _within(term.text))
            case "tenant" | "subject" | "key" if not term.has_gaps:
                return self.say(f"j.{term.field} = {{}} and j.{term.field} is not null", term.text)
            case _ if not term.has_gaps:
                return self.say(f"j.{term.field} = {{}}", term.text)
            case _:
                return self.say(f"j.{term.field} like {{}}", like)

    def _member(self, term: JsonTerm) -> Text:
        wanted = [self.say(f"j.{term.column} @> {{}}", Jsonb(one)) for one in _documents(term)]
        fits = sql.SQL("({})").format(sql.SQL(" or ").join(wanted))
        if term.column != "payload":
            return fits
        # What is hidden is not found either: who may ask often enough would know it.
        shown = self.say(
            "not exists (select from holdfast.task t, jsonb_array_elements_text(t.options -> 'redact') as hidden"
            " where t.name = j.task and split_part(hidden, '.', 1) in ('*', {}))",
            term.path[0],
        )
        return sql.SQL("({} and {})").format(fits, shown)

    def _word(self, term: WordTerm) -> Text:
        said = self.say(
            "j.key = {} or j.subject = {} or j.label ilike {} or j.tags @> {}",
            term.text, term.text, _within(term.text), Jsonb([term.text]),
        )  # fmt: skip
        if term.ids is not None:
            said = sql.SQL("{} or {}").format(said, self.condition(term.ids))
        # A null is no answer: coalesced, or "not fits" would be null too.
        return sql.SQL("({})").format(said)

    def id_at(self, moment: datetime | timedelta) -> Text:
        """Say the smallest id of a moment; as a subquery, which is asked once and can be looked up in an index."""
        if isinstance(moment, timedelta):
            ago = min(moment, _LONGEST_AGO)
            return self.say("(select holdfast.uuid_at(greatest(holdfast.clock() - {}, {})))", ago, _EPOCH)
        return self.say("(select holdfast.uuid_at({}))", max(moment, _EPOCH))


def _pattern(term: NameTerm) -> str:
    return "%".join(_escaped(part) for part in term.text.split("*")) if term.has_gaps else _escaped(term.text)


def _within(text: str) -> str:
    return f"%{_escaped(text)}%"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _documents(term: JsonTerm) -> list[Any]:
    """Write the documents of which a job's must contain one."""
    documents: list[Any] = []
    for value in term.values:
        inside: Any = value
        for part in reversed(term.path):
            inside = {part: inside}
        documents.append(inside)
    return documents
