"""What needs somebody now, in plain sentences, each of which leads to the list that it speaks of."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Literal, NamedTuple

from holdfast.domain.segments import segment_of
from holdfast.interfaces.http.api.alerts import AlertsQuery, list_alerts
from holdfast.interfaces.http.api.approvals import list_approvals
from holdfast.interfaces.http.api.figures import show_statistics
from holdfast.interfaces.http.api.queues import list_queues
from holdfast.interfaces.http.api.schedules import list_schedules
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.rendering import count, span
from holdfast.interfaces.http.dashboard.terms import jobs_with, term
from holdfast.store.access import database_clock
from holdfast.store.figures import Failures, open_approvals, silent_executors, usual_failures
from holdfast.store.migrate import schema_state

_LATE = timedelta(minutes=2)
_MOST_OF_A_KIND = 5
_FEW_FAILURES = 5


class Sentence(NamedTuple):
    """What is wrong, how much that matters, and where to look."""

    says: str
    leads: str
    weight: Literal["bad", "warning", "waiting"]


async def what_needs_somebody(look: Look) -> list[Sentence]:
    """Say it, what matters most first. Who is bound to a tenant is told what concerns that tenant alone."""
    sources = _OF_ONE if look.principal.tenant is not None else _OF_ALL
    said = [sentence for source in sources for sentence in await source(look)]
    return sorted(said, key=lambda sentence: ("bad", "warning", "waiting").index(sentence.weight))


async def _schema(look: Look) -> list[Sentence]:
    problem = (await look.call.ask(schema_state())).problem()
    return [Sentence(f"{_capital(problem)}.", "/settings", "bad")] if problem else []


async def _unserved(look: Look) -> list[Sentence]:
    alone = [
        queue
        for queue in (await look.at(list_queues)).items
        if queue.waiting and not queue.workers and not queue.paused_at
    ]
    said = [
        Sentence(
            f"Queue {queue.name} has {_some(queue.waiting, 'job')} and no worker.",
            jobs_with(term("queue", queue.name), "status:pending,retry"),
            "bad",
        )
        for queue in alone
    ]
    return _few(said, "queues have jobs and no worker", "/queues", "bad")


async def _failures(look: Look) -> list[Sentence]:
    await look.require(show_statistics)
    found = await look.call.ask(usual_failures())
    if found.lately < _FEW_FAILURES or found.lately <= 2 * (found.most or 0):
        return []
    said = f"{_some(found.lately, 'job')} failed within 15 minutes{_usually(found)}."
    return [Sentence(said, jobs_with("status:failed", "since:1h"), "bad")]


def _usually(found: Failures) -> str:
    if found.most is None:
        return ""
    marks = str(found.most) if found.least == found.most else f"{found.least} to {found.most}"
    return f"; usual are {marks}"


async def _schedules(look: Look) -> list[Sentence]:
    now = await look.call.ask(database_clock())
    said: list[Sentence] = []
    for schedule in (await look.at(list_schedules)).items:
        where = f"/schedules/{segment_of(schedule.name)}"
        if schedule.status != "active":
            continue
        if schedule.next_at is not None and schedule.next_at < now - _LATE:
            late = span(now - schedule.next_at)
            said.append(Sentence(f"Schedule {schedule.name} is late by {late}.", where, "bad"))
        elif schedule.last_outcome in {"missed", "refused"} and schedule.last_slot is not None:
            missed = f"{schedule.last_slot:%d %b %H:%M} UTC"
            said.append(
                Sentence(f"Schedule {schedule.name} made no job at {missed} ({schedule.last_outcome}).", where, "warning")
            )  # fmt: skip
    return _few(said, "schedules missed their time", "/schedules", "warning")


async def _executors(look: Look) -> list[Sentence]:
    now = await look.call.ask(database_clock())
    return [
        Sentence(
            f"Executor {found.executor} has been silent for {span(now - found.since)} about {_some(found.runs, 'run')}.",
            "/activity?show=callbacks",
            "warning",
        )
        for found in await look.call.ask(silent_executors())
    ]


async def _alerts(look: Look) -> list[Sentence]:
    found = (await look.at(list_alerts, AlertsQuery(only_open=True, limit=200))).items
    said = [
        Sentence(
            f"{_capital(alert.message)}.",
            f"/jobs/{alert.job_id}" if alert.job_id else _about(alert.about),
            "bad" if alert.severity == "critical" else "warning",
        )
        for alert in found
    ]
    return _few(said, "alerts are open", "/settings", "warning")


async def _approvals(look: Look) -> list[Sentence]:
    await look.require(list_approvals)
    found = await look.call.ask(open_approvals())
    if found.since is None:
        return []
    waited = span((await look.call.ask(database_clock())) - found.since)
    said = f"{_some(found.number, 'approval')} waiting, the oldest for {waited}."
    return [Sentence(said, "/approvals", "waiting")]


_Source = Callable[[Look], Awaitable[list[Sentence]]]
_OF_ALL: tuple[_Source, ...] = (_schema, _unserved, _failures, _schedules, _executors, _alerts, _approvals)
_OF_ONE: tuple[_Source, ...] = (_approvals,)


def _about(about: str) -> str:
    """Lead to what an alert is about: task:charge, queue:billing, schedule:nightly."""
    kind, _, name = about.partition(":")
    match kind:
        case "task":
            return jobs_with("status:failed", term("task", name))
        case "queue":
            return jobs_with(term("queue", name))
        case "schedule":
            return f"/schedules/{segment_of(name)}"
        case _:
            return "/settings"


def _few(said: list[Sentence], what: str, leads: str, weight: Literal["bad", "warning"]) -> list[Sentence]:
    if len(said) <= _MOST_OF_A_KIND:
        return said
    more = f"{len(said) - _MOST_OF_A_KIND:,} more {what}."
    return [*said[:_MOST_OF_A_KIND], Sentence(more, leads, weight)]


def _some(number: int, what: str) -> str:
    return f"{count(number)} {what}{'' if number == 1 else 's'}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")
