"""Upkeep: what time does to jobs; any process may run it."""

from datetime import timedelta
from typing import NamedTuple

from holdfast.store.call import Call, Row, function, nothing, single


class Admitted(NamedTuple):
    """How many jobs entered the line, and in how many seconds the next one is due."""

    entered: int
    next_in: float | None


class Swept(NamedTuple):
    """What a sweep did."""

    died: int
    returned: int
    overdue: int
    expired: int


class Kept(NamedTuple):
    """What an upkeep did; all None when another process was at it."""

    partitions: int | None
    removed: int | None
    forgotten: int | None
    more: bool | None


def admit_due(limit: int) -> Call[Admitted]:
    """Put into the line what is due."""
    return function("admit_due", limit, read=lambda rows: Admitted(*_first(rows)))


def sweep(limit: int = 1000) -> Call[Swept]:
    """Find silent workers, overdue attempts and expired approvals."""
    return function("sweep", limit, read=lambda rows: Swept(*_first(rows)))


def keep_up(limit: int) -> Call[Kept]:
    """Make partitions ahead, apply retention to so many jobs at most, forget workers long gone."""
    return function("keep_up", limit, read=lambda rows: Kept(*_first(rows)))


def pause_queue(queue: str, actor: str | None, reason: str | None, resume_in: timedelta | None) -> Call[None]:
    """Let nobody claim from a queue until it is resumed."""
    return function(
        "pause_queue",
        queue,
        actor,
        reason,
        resume_in,
        read=nothing,
        types=("text", "text", "text", "interval"),
    )


def resume_queue(queue: str) -> Call[bool]:
    """Open a queue again; answers whether it was paused."""
    return function("resume_queue", queue, read=single)


def _first(rows: list[Row]) -> Row:
    return rows[0]
