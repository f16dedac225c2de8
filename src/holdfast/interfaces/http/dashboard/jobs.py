"""Jobs: found by what is known of them, newest first, and chosen to do something to many at once."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from pydantic import Field, field_validator

from holdfast.domain.access import Scope
from holdfast.domain.job import Progress
from holdfast.domain.search import BadSearch, IdTerm, Search, StatusTerm, TimeTerm, parse
from holdfast.domain.segments import segment_of
from holdfast.domain.sentence import error_name
from holdfast.domain.states import Status
from holdfast.interfaces.http.api.job_views import JobPage, ListedJobView
from holdfast.interfaces.http.api.jobs import SearchQuery, cursor_at, list_jobs, read_search
from holdfast.interfaces.http.api.queues import list_tasks
from holdfast.interfaces.http.dashboard import columns as chosen
from holdfast.interfaces.http.dashboard import searching, terms
from holdfast.interfaces.http.dashboard.columns import Column
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Asked, Section
from holdfast.interfaces.http.hooks import JobFacts
from holdfast.runtime.alerts import OWN_QUEUE
from holdfast.store import inspect
from holdfast.store.access import database_clock
from holdfast.store.inspect import Given
from holdfast.store.search import Counted, count_by_status, count_jobs, search_names

jobs = Section("jobs")

AT_ONCE = 50
# Counts beside a list tell how much there is, not how much exactly: each looks at so many jobs, along an index.
MOST = 10_000
MOST_OF_A_STATE = 2_500  # there are eight of them, and each is counted
MOST_NEW = 100
_LAST = UUID(int=2**128 - 1)
_PLACES = {"queue": "queues", "tenant": "usage", "schedule": "schedules"}  # the pages of what has a name


class JobsAsked(Asked):
    """What the list shows: all of it stands in the address."""

    q: str = ""
    range: str = searching.USUAL
    columns: str = ""
    after: Annotated[str, Field(max_length=1000)] | None = None
    top: UUID | None = None  # the newest job that the list began with: newer ones are counted, and not shown

    @field_validator("after", "top", mode="before")
    @classmethod
    def _without_what_was_left_empty(cls, given: Any) -> Any:
        return given or None

    @property
    def reach(self) -> str:
        """How far back it looks."""
        return self.range if self.range in searching.RANGES else searching.USUAL

    @property
    def text(self) -> str:
        """The whole search; BadSearch when it cannot be understood."""
        return searching.within(self.q, self.reach)

    @property
    def ranges(self) -> dict[str, str]:
        """The reaches there are."""
        return searching.RANGES

    @property
    def is_dated(self) -> bool:
        """Whether the search says itself how far back it looks."""
        try:
            return searching.is_dated(parse(self.q))
        except BadSearch:
            return False

    @property
    def fields(self) -> Any:
        """What can stand in a search, for whoever learns it."""
        return searching.FIELDS

    def link(self, **changes: str | None) -> str:
        """Write this list's address, from its beginning, with something changed."""
        kept = {"q": self.q, "range": self.reach, "columns": self.columns, **changes}
        usual = {"range": searching.USUAL}
        told = {name: value for name, value in kept.items() if value and value != usual.get(name)}
        return f"/jobs?{urlencode(told)}" if told else "/jobs"


class Row(NamedTuple):
    """A job in the list, and what the list itself says about it."""

    job: ListedJobView
    going: str
    progress: Progress | None
    took: float | None
    given: Given | None
    args: str | None


# -- states ----------------------------------------------------------------------------------------------------------------


class Chip(NamedTuple):
    """A state to choose or to leave."""

    status: Status
    counted: Counted
    is_chosen: bool
    link: str


@jobs.panel("jobs")
async def state_chips(look: Look, asked: JobsAsked) -> dict[str, Any]:
    """Count what the search finds in each state, whichever of them it names."""
    await look.require(list_jobs)
    try:
        named = searching.statuses_of(parse(asked.q))
        search = read_search(look.call, searching.within(searching.with_statuses(asked.q, ()), asked.reach))
    except BadSearch:
        return {"chips": [], "everything": None}
    counts = await _counts(look, search)
    chips = []
    for status in Status:
        others = tuple(each for each in Status if (each in named) is not (each is status))
        link = asked.link(q=searching.with_statuses(asked.q, others))
        chips.append(Chip(status, counts[status], status in named, link))
    return {
        "chips": chips,
        "everything": asked.link(q=searching.with_statuses(asked.q, ())) if named else None,
    }


async def _counts(look: Look, search: Search) -> dict[Status, Counted]:
    """Count each state: by its own index when nothing but a time is asked for, else in one look for all of them."""
    if all(isinstance(term, TimeTerm) for term in search.terms):
        return {
            status: await look.call.ask(
                count_jobs(_also(search, StatusTerm((status,))), MOST_OF_A_STATE, looked_at=MOST_OF_A_STATE)
            )
            for status in Status
        }
    return await look.call.ask(count_by_status(search, MOST_OF_A_STATE))


def _also(search: Search, *terms: Any) -> Search:
    """Demand more of a search, which must not make it reach further back."""
    return replace(search.also(*terms), windowed=search.is_windowed)


# -- the list --------------------------------------------------------------------------------------------------------------


@jobs.panel("jobs")
async def job_list(look: Look, asked: JobsAsked) -> dict[str, Any]:
    """List the jobs that fit; those that came since the list was opened are counted and wait."""
    usual = [name for name in chosen.USUAL if name != "tenant" or look.principal.tenant is None]
    if look.call.hooks.format_args is not None:
        usual.insert(usual.index("label") + 1, "args")
    told: dict[str, Any] = {
        "columns": chosen.read_columns(asked.columns, usual),
        "titles": chosen.TITLES,
        "may_operate": look.may(Scope.OPERATE),
        "may_delete": look.may(Scope.ADMIN),
        "may_see_payloads": look.principal.sees_payloads_of_jobs,
        "bad": None,
    }
    try:
        text = asked.text
        search = read_search(look.call, text)
    except BadSearch as bad:
        return {**told, "bad": bad, "live": asked.link(panel="job_list")}
    found = await look.at(list_jobs, SearchQuery(q=text, after=_begin(asked, text), limit=AT_ONCE))
    return {
        **told,
        "page_of": found,
        "rows": await _rows(look, found, told["columns"]),
        "text": text,
        "words": searching.in_words(parse(text)),
        "total": await look.call.ask(count_jobs(search, MOST, looked_at=MOST)),
        "new": await _new(look, search, asked),
        "live": _live(asked, found),
        "is_empty": not found.items and asked.after is None and await _has_no_jobs(look),
    }


def _begin(asked: JobsAsked, text: str) -> str | None:
    if asked.after is None and asked.top is not None and asked.top != _LAST:
        return cursor_at(text, asked.top)
    return asked.after


def _live(asked: JobsAsked, found: JobPage) -> str:
    """Write where the list is read anew: from the same job on, so that nothing moves under a reader's hand."""
    top = asked.top or (found.items[0].id if found.items else None)
    place = {"after": asked.after} if asked.after else {"top": str(top)} if top else {}
    return asked.link(**place, panel="job_list")


async def _new(look: Look, search: Search, asked: JobsAsked) -> Counted | None:
    if asked.after is not None or asked.top is None or asked.top == _LAST:
        return None
    newer = _also(search, IdTerm(UUID(int=asked.top.int + 1), _LAST))
    return await look.call.ask(count_jobs(newer, MOST_NEW, looked_at=10 * MOST_NEW))


async def _has_no_jobs(look: Look) -> bool:
    return not (await look.at(list_jobs, SearchQuery(limit=1))).items


async def _rows(look: Look, found: JobPage, columns: list[Column]) -> list[Row]:
    running = [job.id for job in found.items if not job.status.is_terminal]
    progress = await look.call.ask(inspect.progress_of(running)) if running else {}
    given: dict[UUID, Given] = {}
    shows_given = any(column.is_field or column.name == "args" for column in columns)
    if found.items and look.principal.sees_payloads_of_jobs and shows_given:
        given = await look.call.ask(inspect.payloads([job.id for job in found.items], chosen.LARGEST))
    now = await look.call.ask(database_clock())
    return [
        Row(
            job,
            going_on(job),
            progress.get(job.id),
            _took(job, now),
            given.get(job.id),
            _args(look, job, given.get(job.id)),
        )
        for job in found.items
    ]


def _args(look: Look, job: ListedJobView, given: Given | None) -> str | None:
    if given is None:
        return None
    return look.call.hooks.words_for(JobFacts.of(job, payload=given.payload, metadata=given.metadata))


def going_on(job: ListedJobView) -> str:
    """Say what happens with a job, without what its state says already."""
    match job.status:
        case Status.FAILED:
            told = job.error or {}
            message = " ".join(str(told.get("message") or "").split())
            return f"{error_name(told)}: {message}" if message else error_name(told)
        case Status.COMPLETED:
            return ""
        case _:
            said = job.why.partition("; decide:")[0]
            said = said.removeprefix(str(job.status)).removeprefix(":").strip()
            return said[:1].upper() + said[1:]


def _took(job: ListedJobView, now: datetime) -> float | None:
    if job.started_at is None:
        return None
    if job.status is Status.RUNNING:
        return (now - job.started_at).total_seconds()
    return (job.finished_at - job.started_at).total_seconds() if job.finished_at else None


async def other_queues(look: Look, than: str | None = None) -> list[str]:
    """Name the queues that jobs can be moved to; whoever sees one tenant alone knows their names or does not."""
    if look.principal.tenant is not None:
        return []
    await look.require(list_tasks)
    names = await look.call.ask(search_names())
    return [name for kind, name in names if kind == "queue" and name not in {than, OWN_QUEUE}]


# -- what can be searched for ----------------------------------------------------------------------------------------------


@jobs.panel()
async def search_words(look: Look) -> dict[str, Any]:
    """Give the search box and the palette what can be written in them; names to whoever sees all of them."""
    names: list[tuple[str, str]] = []
    if look.principal.tenant is None:
        await look.require(list_tasks)
        names = await look.call.ask(search_names())
    words = [f"status:{status.lower()}" for status in Status]
    words += [terms.term(field, name) for field, name in names if field != "schedule"]
    fields = [example.partition(":")[0] + ":" for example, _ in searching.FIELDS]
    return {
        "known": words,
        "fields": [field for field in fields if field != "status:"],
        "places": [(kind, name, _place(kind, name)) for kind, name in names if name != OWN_QUEUE],
    }


def _place(kind: str, name: str) -> str:
    """Give the page of what has this name."""
    if kind == "task":
        return terms.jobs_with(terms.term("task", name))
    return f"/{_PLACES[kind]}/{segment_of(name)}"
