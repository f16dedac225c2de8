"""Overview: whether anything is wrong, and whether work flows."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from holdfast.domain.fingerprint import fingerprint, fixed_part
from holdfast.domain.states import Status
from holdfast.interfaces.http.api.figures import list_usage, show_statistics
from holdfast.interfaces.http.api.jobs import list_jobs
from holdfast.interfaces.http.api.queues import QueueView, list_queues
from holdfast.interfaces.http.dashboard.attention import what_needs_somebody
from holdfast.interfaces.http.dashboard.drawing import area, gathered, line
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Section
from holdfast.interfaces.http.dashboard.stretch import WINDOWS, Stretch, Stretched, stretch_of
from holdfast.interfaces.http.dashboard.terms import again, jobs_with, term
from holdfast.store import figures
from holdfast.store.access import database_clock

overview = Section("overview")

LOOKED_AT = 1000  # of the newest failures
_SHOWN_GROUPS = 8
_SHOWN_QUEUES = 12
_POINTS = 48
_LONG_WAIT = timedelta(minutes=5)

# Each state, and which of a span's counts says how often jobs came to it.
_CAME = {
    Status.PENDING: "enqueued",
    Status.RUNNING: "started",
    Status.WAITING_FOR_APPROVAL: "suspended",
    Status.RETRY: "retried",
    Status.COMPLETED: "completed",
    Status.FAILED: "failed",
    Status.CANCELLED: "cancelled",
}
_STACK = ("completed", "retried", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Tile:
    """One state: how many jobs, and how they came to it over the window."""

    status: Status
    number: int
    leads: str
    line: str
    area: str


@overview.panel("figures", "alerts", "workers", "queues", "schedules", rest=2)
async def attention(look: Look) -> dict[str, Any]:
    """Say what needs somebody."""
    return {"sentences": await what_needs_somebody(look)}


@overview.panel("figures", rest=2)
async def tiles(look: Look, asked: Stretched) -> dict[str, Any]:
    """Show how many jobs are in each state: those that ended within the window, all others now."""
    now = await look.call.ask(database_clock())
    if look.principal.tenant is not None:
        return {"tiles": await _own_tiles(look, asked), "whole": False, "windows": WINDOWS}
    await look.require(show_statistics)
    stretch = stretch_of(asked, now)
    moved = await _moved(look, stretch)
    there = await look.call.ask(figures.present())
    known = sum(map(stretch.is_known, stretch.places))
    shown = [_tile(status, moved, there, asked, known) for status in _CAME]
    # Jobs that wait for an event, a time or others are shown once there are some.
    if waiting := there.get(Status.WAITING, 0):
        nothing = [0.0] * _POINTS
        shown.insert(
            3, Tile(Status.WAITING, waiting, jobs_with("status:waiting"), line(nothing), area(nothing))
        )
    return {"tiles": shown, "whole": True, "windows": WINDOWS, "is_new": not there}


def _tile(
    status: Status, moved: dict[str, list[int]], there: dict[str, int], asked: Stretched, known: int
) -> Tile:
    came = moved[_CAME[status]]
    drawn = gathered(came[:known], _POINTS)
    within = asked.within if status.is_terminal else []
    number = sum(came) if status.is_terminal else max(there.get(status, 0), 0)
    return Tile(
        status, number, jobs_with(f"status:{status.lower()}", *within), line(drawn), area(drawn)
    )  # fmt: skip


async def _own_tiles(look: Look, asked: Stretched) -> list[Tile]:
    """Show what the days say about one tenant: minutes are of all tenants together."""
    await look.require(list_usage)
    last = (await look.call.ask(database_clock())).date()
    first = last - timedelta(days=6 if asked.window == "7d" else 0)
    days = await look.call.ask(figures.usage_by_day(first, last, look.principal.tenant))
    shown: list[Tile] = []
    for status in (Status.COMPLETED, Status.FAILED, Status.CANCELLED):
        came = [getattr(day, status.lower()) for day in days]
        where = jobs_with(f"status:{status.lower()}", f"since:{'7d' if asked.window == '7d' else '24h'}")
        shown.append(Tile(status, sum(came), where, line(came), area(came)))
    return shown


async def _moved(look: Look, stretch: Stretch) -> dict[str, list[int]]:
    found = await look.call.ask(figures.flow(stretch.first, stretch.last, stretch.width))
    by_place = {each.at: each for each in found}
    names = figures.Flow._fields[1:]
    return {
        name: [getattr(by_place.get(place), name, 0) for place in stretch.places] for name in names
    }  # fmt: skip


@overview.panel("figures", rest=5)
async def charts(look: Look, asked: Stretched) -> dict[str, Any]:
    """Show throughput and latency over one stretch of time."""
    if look.principal.tenant is not None:
        return {"whole": False}
    await look.require(show_statistics)
    stretch = stretch_of(asked, await look.call.ask(database_clock()))
    moved = await _moved(look, stretch)
    places = stretch.places
    series: dict[str, list[Any]] = {
        name: [round(n / stretch.minutes(place), 2) for place, n in zip(places, moved[name], strict=True)]
        for name in _STACK
    }
    stride = stretch.stride(sum(moved["rows"]))
    series |= await _latencies(look, stretch, stride)
    rows = [
        (place, *(series[name][n] for name in series))
        for n, place in enumerate(places)
        if any(series[name][n] for name in series)
    ]
    return {
        "whole": True, "series": json.dumps(_drawn(stretch, series)), "rows": rows[::-1][:200], "stretch": stretch,
        "windows": WINDOWS, "sampled": stride > timedelta(minutes=1),
    }  # fmt: skip


def _drawn(stretch: Stretch, series: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Give what is drawn: the minute that runs is kept apart, because as one of many it would look like a fall."""
    places = stretch.places
    known = [stretch.is_known(place) for place in places]
    throughput = {
        name: [value if is_known else None for value, is_known in zip(series[name], known, strict=True)]
        for name in _STACK
    }
    so_far = [
        round(sum(series[name][n] for name in _STACK), 2) if place <= stretch.now and not known[n] else None
        for n, place in enumerate(places)
    ]
    at = [int(place.timestamp()) for place in places]
    return {"at": at, **series, **throughput, "so_far": so_far}


async def _latencies(look: Look, stretch: Stretch, stride: timedelta) -> dict[str, list[float | None]]:
    asking = figures.latency(stretch.first, stretch.last, stretch.width, stride)
    found = {(each.at, each.what): each for each in await look.call.ask(asking)}
    return {
        f"{what}_{mark}": [
            _significant(getattr(found.get((place, what)), mark, None)) for place in stretch.places
        ]
        for what in ("wait", "run")
        for mark in ("p50", "p95")
    }


def _significant(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


@overview.panel("figures", "queues", "workers", rest=2)
async def oldest(look: Look) -> dict[str, Any]:
    """Show for each queue how long its oldest job has waited."""
    if look.principal.tenant is not None:
        return {"queues": [], "whole": False, "more": 0, "now": None}
    now = await look.call.ask(database_clock())
    waiting = [queue for queue in (await look.at(list_queues)).items if queue.oldest is not None]
    waiting.sort(key=_since)
    return {
        "queues": waiting[:_SHOWN_QUEUES],
        "more": max(len(waiting) - _SHOWN_QUEUES, 0),
        "whole": True,
        "now": now,
        "long": _LONG_WAIT,
        "none_at_all": timedelta(),
        "leads": {
            queue.name: jobs_with(term("queue", queue.name), "status:pending,retry") for queue in waiting
        },
    }


def _since(queue: QueueView) -> str:
    return queue.oldest.isoformat() if queue.oldest else ""


@dataclass(slots=True)
class Group:
    """Failures of one task that have their error in common."""

    task: str
    type: str
    print: str
    number: int = 0
    last: Any = None

    def terms(self, within: list[str]) -> list[str]:
        """Write which jobs these are."""
        said = [term("error", fixed) for each in (self.type, self.print) if (fixed := fixed_part(each))]
        return ["status:failed", term("task", self.task), *said, *within]


@overview.panel("figures", rest=2)
async def failing(look: Look, asked: Stretched) -> dict[str, Any]:
    """Group the newest failures by task and error."""
    await look.require(list_jobs)
    if look.principal.tenant is not None:
        return {"groups": [], "whole": False}
    stretch = stretch_of(asked, await look.call.ask(database_clock()))
    found = await look.call.ask(figures.newest_failures(stretch.first, stretch.last, LOOKED_AT))
    groups = _grouped(found)
    return {
        "groups": [
            {
                "task": group.task, "type": group.type, "print": group.print, "number": group.number,
                "last": group.last, "leads": jobs_with(*group.terms(asked.within)),
                "again": again(*group.terms(asked.within)),
            }
            for group in groups[:_SHOWN_GROUPS]
        ],
        "whole": True,
        "is_cut": len(found) == LOOKED_AT,
    }  # fmt: skip


def _grouped(failures: Iterable[figures.Failure]) -> list[Group]:
    groups: dict[tuple[str, str, str], Group] = {}
    for failure in failures:
        key = (failure.task, fingerprint(failure.type), fingerprint(failure.message))
        group = groups.setdefault(key, Group(*key))
        group.number += 1
        group.last = max(filter(None, (group.last, failure.at)))
    return sorted(groups.values(), key=lambda group: -group.number)


overview.page("/", "Overview", attention, tiles, charts, oldest, failing, asked=Stretched)
