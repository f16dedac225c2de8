"""When a schedule fires: the times of a cron line in a time zone or of an interval, and what becomes of missed ones.

cronsim reads the line and counts wall-clock time; the zone is applied here, because cronsim 2.8 loses half an hour after
a clock change of 30 minutes, and answers with the past when it starts in the second pass of a repeated hour. It also takes
0-0/2 for 0/2, every second one from there on.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Any, Literal, NamedTuple, TypeAlias, get_args
from uuid import UUID
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from holdfast.domain.errors import BadInput
from holdfast.domain.sentence import ago, span

Missed: TypeAlias = Literal["skip", "one", "all"]
Overlap: TypeAlias = Literal["allow", "skip", "replace"]

# How many missed times one pass goes through: those that each become a job, and those that do not.
FIRED_A_PASS = 100
SKIPPED_A_PASS = 10_000

_SECOND = timedelta(seconds=1)
_LONGEST_CRON = 200
_LONGEST_EVERY = timedelta(days=3660)
_HOURS_OF_A_DAY = 24
_FEWEST_FIELDS, _MOST_FIELDS = 5, 6
# No zone changes its offset twice within this time, and none is looked at further than the horizon at once.
_STEP = timedelta(hours=12)
_HORIZON = timedelta(days=366)
_YEARS_TO_LOOK = 50
_STEPPED_RANGE = re.compile(r"\b0*(\w+)-0*(\w+)/0*[1-9]\d*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """A cron line in a time zone, or an interval; exactly one of them."""

    cron: str | None = None
    every: timedelta | None = None
    tz: str = "UTC"

    def __post_init__(self) -> None:
        if (self.cron is None) == (self.every is None):
            raise BadInput(
                'a schedule needs a cron line ("0 9 * * mon-fri") or every=timedelta(…), and not both'
            )
        _zone(self.tz)
        if self.cron is not None:
            _refuse_bad_cron(self.cron)
        if self.every is not None:
            _refuse_bad_interval(self.every)

    def times(self, after: datetime, anchor: datetime) -> Iterator[datetime]:
        """Give the times after a moment, in UTC; an interval counts from its anchor, so that it never drifts."""
        moment = after.astimezone(UTC)
        if self.every is not None:
            return _by_interval(self.every, anchor.astimezone(UTC), moment)
        cron = self.cron or ""
        fires_every_hour = len(_walk(cron, moment).hours) == _HOURS_OF_A_DAY
        return (_by_elapsed_time if fires_every_hour else _by_wall_clock)(cron, _zone(self.tz), moment)

    def first(self, count: int, after: datetime, anchor: datetime) -> list[datetime]:
        """Give the next few times after a moment, in the schedule's own zone."""
        zone = _zone(self.tz)
        return [at.astimezone(zone) for at in islice(self.times(after, anchor), count)]

    def __str__(self) -> str:
        """Say it as a person would."""
        if self.every is not None:
            return f"every {span(self.every)}"
        told: str = _walk(self.cron or "", datetime(2000, 1, 1, tzinfo=UTC)).explain()
        return f"{told[0].lower()}{told[1:]} {self.tz}"


def _walk(cron: str, after: datetime) -> CronSim:
    """Walk through the times of a line; a range of one is that one, whatever its step."""
    return CronSim(_STEPPED_RANGE.sub(_range_of_one, cron.upper()), after)


def _range_of_one(found: re.Match[str]) -> str:
    first, last = found.groups()
    return first if first == last else found[0]


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    # A name may be a folder, too long for a file, or no path at all: zoneinfo passes the system's own errors on.
    except (KeyError, ValueError, OSError, TypeError) as error:
        raise BadInput(f"tz={name!r} is no time zone: write a name such as Europe/Lisbon or UTC") from error


def _refuse_bad_cron(cron: str) -> None:
    fields = cron.split()
    if len(cron) > _LONGEST_CRON or len(fields) not in {_FEWEST_FIELDS, _MOST_FIELDS}:
        raise BadInput(
            f"{cron[:_LONGEST_CRON]!r} is no cron line: it has five fields (minute hour day month weekday), "
            "or six with the second in front"
        )
    try:
        first = next(_walk(cron, datetime(2000, 1, 1)), None)  # noqa: DTZ001 - wall-clock time has no zone
    except (CronSimError, AssertionError, ValueError) as error:
        raise BadInput(f"cron line {cron!r}: {str(error) or 'it cannot be read'}") from error
    if first is None:
        raise BadInput(f"cron line {cron!r} never fires: no year has such a day")


def _refuse_bad_interval(every: timedelta) -> None:
    if not _SECOND <= every <= _LONGEST_EVERY or every % _SECOND:
        raise BadInput(
            f"every={every} is no interval of a schedule: it is whole seconds, from 1 second to ten years"
        )


def _by_interval(every: timedelta, anchor: datetime, after: datetime) -> Iterator[datetime]:
    number = max((after - anchor) // every + 1, 1)
    while True:
        yield anchor + number * every
        number += 1


def _by_wall_clock(cron: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Fire a line that names hours: once in an hour that comes twice; what a gap swallows, at its end."""
    last = after
    for wall in _walk(cron, after.astimezone(zone).replace(tzinfo=None)):
        at = _moment(wall, zone)
        if at > last:
            yield at
            last = at


def _moment(wall: datetime, zone: ZoneInfo) -> datetime:
    """Find when a zone's clocks first show this time, or the end of the gap that swallowed it."""
    at = wall.replace(tzinfo=zone).astimezone(UTC)
    if at.astimezone(zone).replace(tzinfo=None) == wall:
        return at
    # Inside a gap, fold 0 reads the offset before it and fold 1 the one after: the change lies between the two.
    earlier = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _change(zone, earlier, at)


def _by_elapsed_time(cron: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Fire a line that has every hour: whenever the clocks show such a time, also in both passes of a repeated hour."""
    start, reach = after, timedelta()
    while start.year <= after.year + _YEARS_TO_LOOK:
        # As long as the offset stays, wall-clock time is time.
        offset = start.astimezone(zone).utcoffset() or timedelta()
        stop = _offset_ends(zone, start)
        for wall in _walk(cron, (start + offset - reach).replace(tzinfo=None)):
            at = wall.replace(tzinfo=UTC) - offset
            if at >= stop:
                break
            yield at
        start, reach = stop, _SECOND  # from now on the beginning belongs to the stretch


def _offset_ends(zone: ZoneInfo, start: datetime) -> datetime:
    at = start
    while at < start + _HORIZON:
        if _offset(zone, at) != _offset(zone, at + _STEP):
            return _change(zone, at, at + _STEP)
        at += _STEP
    return at


def _change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """Find the second at which a zone's offset has changed between two moments."""
    old = _offset(zone, before)
    low, high = int(before.timestamp()), -int(-after.timestamp() // 1)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, datetime.fromtimestamp(middle, UTC)) == old:
            low = middle
        else:
            high = middle
    return datetime.fromtimestamp(high, UTC)


def _offset(zone: ZoneInfo, at: datetime) -> timedelta | None:
    return at.astimezone(zone).utcoffset()


class Due(NamedTuple):
    """A schedule whose time may have come, as the database tells it; the times are all by the database's clock."""

    name: str
    version: int
    timing: Timing
    anchor: datetime
    missed: Missed
    settled_to: datetime
    now: datetime


class Plan(NamedTuple):
    """What to do about a schedule: which times may fire, which were missed, and when to look again."""

    slots: list[datetime]
    missed: list[datetime]
    next_at: datetime | None


def plan(due: Due) -> Plan:
    """Decide what becomes of the times that have passed since the schedule was settled."""
    times = due.timing.times(due.settled_to, due.anchor)
    most = FIRED_A_PASS if due.missed == "all" else SKIPPED_A_PASS
    passed = list(islice(takewhile(lambda at: at <= due.now, times), most))
    next_at = next(due.timing.times(passed[-1] if passed else due.settled_to, due.anchor), None)
    if due.missed == "all":
        return Plan(passed, [], next_at)
    if next_at is not None and next_at <= due.now:
        return Plan([], passed, next_at)  # the newest is still to come: none of these will be it
    return Plan(passed[-1:], passed[:-1], next_at)


def refuse_unknown_policies(missed: str, overlap: str) -> None:
    """Refuse a policy that does not exist."""
    if missed not in get_args(Missed):
        raise BadInput(f"missed={missed!r} is not one of {', '.join(get_args(Missed))}")
    if overlap not in get_args(Overlap):
        raise BadInput(f"overlap={overlap!r} is not one of {', '.join(get_args(Overlap))}")


@dataclass(frozen=True, slots=True)
class Schedule:
    """One schedule as the database knows it."""

    name: str
    task: str
    payload: dict[str, Any]
    options: dict[str, Any]
    cron: str | None
    every: timedelta | None
    tz: str
    anchor: datetime
    missed: Missed
    overlap: Overlap
    declared: bool
    next_at: datetime | None
    settled_to: datetime
    paused_at: datetime | None
    paused_by: str | None
    paused_for: str | None
    withdrawn_at: datetime | None
    task_has_worker: bool
    last_slot: datetime | None
    last_outcome: str | None
    last_job_id: UUID | None
    now: datetime

    @property
    def timing(self) -> Timing:
        """When it fires."""
        return Timing(cron=self.cron, every=self.every, tz=self.tz)

    @property
    def status(self) -> str:
        """Active, or since when and why it is not."""
        if self.paused_at is not None:
            why = f": {self.paused_for}" if self.paused_for else ""
            return f"paused by {self.paused_by} {ago(self.paused_at, self.now)}{why}"
        if self.withdrawn_at is not None:
            return f"no longer declared in code (noticed {ago(self.withdrawn_at, self.now)})"
        return "active"

    @property
    def is_active(self) -> bool:
        """Whether it fires when its time comes."""
        return self.paused_at is None and self.withdrawn_at is None

    def next(self, count: int = 10) -> list[datetime]:
        """Give its next times from now on, in its own zone; paused or not."""
        return self.timing.first(count, self.now, self.anchor)

    def as_json(self) -> dict[str, Any]:
        """Write it for programs."""
        told = asdict(self)
        del told["now"]
        state = "active" if self.is_active else "paused" if self.paused_at else "withdrawn"
        return {**told, "status": state, "sentence": str(self.timing)}


class ScheduleRun(NamedTuple):
    """What became of one time of a schedule; several missed ones in a row share one entry."""

    slot: datetime
    last_slot: datetime
    times: int
    outcome: str
    at: datetime
    job_id: UUID | None
    actor: str
    detail: str | None
