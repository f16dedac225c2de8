"""Live events: topics, where a reader stands in one, and how an event is written to a stream."""

import heapq
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

# Where a reader stands: (id,) in a channel; in a job (moves, happenings), which are numbered apart. Larger is later.
Place: TypeAlias = tuple[int, ...]
_PLACE = re.compile(r"\d{1,18}(\.\d{1,18})?")
# An event's name stands on a line of its own: nothing may end that line, nor pass for one of ours or the browser's.
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,200}")
RESET = "reset"
READY = "ready"
_TAKEN = {RESET, READY, "open", "error", "message"}
GONE = "events before this id are no longer kept"
UNKNOWN = "this id is not of this stream"
TOO_MANY = "too many events lie between"


@dataclass(frozen=True, slots=True)
class ChannelTopic:
    """A channel of the feed, as one tenant sees it; '*' sees everything."""

    channel: str
    sees: str


@dataclass(frozen=True, slots=True)
class JobTopic:
    """One job, whether or not it has a subject."""

    job_id: UUID


Topic: TypeAlias = ChannelTopic | JobTopic


class LiveEvent(NamedTuple):
    """An event ready to be written: only its id is missing, which depends on what a reader has had."""

    place: Place
    body: bytes


def read_place(text: str, like: Place) -> Place | None:
    """Read what a reader says it has had; None when it is no place of this topic."""
    if not _PLACE.fullmatch(text):
        return None
    place = tuple(int(part) for part in text.split("."))
    return place if len(place) == len(like) else None


def written_place(place: Place) -> str:
    """Write a place as the id of an event."""
    return ".".join(map(str, place))


def lags(place: Place, behind: Place) -> bool:
    """Whether something lies between a place and another."""
    return any(one < other for one, other in zip(place, behind, strict=True))


def later(one: Place, other: Place) -> Place:
    """Give the place that is behind both."""
    return tuple(map(max, one, other))


def event_body(kind: str, job_id: UUID | None, at: datetime, data: Mapping[str, Any]) -> bytes:
    """Write an event; JSON escapes what would end a line."""
    told = {
        "kind": kind,
        "job_id": None if job_id is None else str(job_id),
        "at": at.isoformat(),
        "data": data,
    }
    return _body(kind if _NAME.fullmatch(kind) and kind not in _TAKEN else None, told)


def reset(place: Place, why: str) -> LiveEvent:
    """Say that what lies before a place will not come: the reader loads anew what it shows."""
    return LiveEvent(place, _body(RESET, {"reason": why}))


def ready(place: Place) -> bytes:
    """Say that a stream has begun, and from where: a reader that is cut before the first event resumes here."""
    return _identified(place, _body(READY, {}))


def identified(event: LiveEvent, place: Place) -> bytes:
    """Write an event under the id of the place that it leads to."""
    return _identified(place, event.body)


def _identified(place: Place, body: bytes) -> bytes:
    return f"id: {written_place(place)}\n".encode() + body


def _body(name: str | None, told: Mapping[str, Any]) -> bytes:
    written = f"data: {json.dumps(told, separators=(',', ':'))}\n\n"
    return (f"event: {name}\n{written}" if name else written).encode()


class ChannelRow(NamedTuple):
    """An event of a channel as it is stored; without a kind it is another tenant's."""

    id: int
    kind: str | None
    job_id: UUID | None
    at: datetime
    data: dict[str, Any]


class JobRow(NamedTuple):
    """A move of a job (seq) or what happened to it without one (note)."""

    seq: int
    note: int
    kind: str
    job_id: UUID
    at: datetime
    data: dict[str, Any]


class News(NamedTuple):
    """What came behind a place, and how far that leads; a reader's place moves over what it may not see, too."""

    events: list[LiveEvent]
    place: Place


def written_news(news: News, place: Place) -> tuple[bytes, Place]:
    """Write what came behind a place, and give the place that it leads to."""
    pieces = []
    for event in news.events:
        place = later(place, event.place)
        pieces.append(identified(event, place))
    return b"".join(pieces), later(place, news.place)


def channel_news(rows: Iterable[ChannelRow], after: Place) -> News:
    """Make events of a channel's rows; a jump in the ids says that some are gone."""
    events: list[LiveEvent] = []
    (last,) = after
    for row in rows:
        if row.id > last + 1:
            events.append(reset((row.id - 1,), GONE))
        if row.kind is not None:
            events.append(LiveEvent((row.id,), event_body(row.kind, row.job_id, row.at, row.data)))
        last = row.id
    return News(events, (last,))


def job_news(rows: Sequence[JobRow], after: Place) -> News:
    """Make events of a job's moves and happenings, by time; each kind stays in its own order, whatever clocks say."""
    moves = [row for row in rows if row.seq]
    happenings = [row for row in rows if row.note]
    events = [
        LiveEvent((row.seq, row.note), event_body(row.kind, row.job_id, row.at, row.data))
        for row in heapq.merge(moves, happenings, key=lambda row: row.at)
    ]
    return News(events, reduce(later, (event.place for event in events), after))
