"""A schedule's times, against an oracle that looks at every single minute of the nights on which the clocks change."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from holdfast.domain.errors import BadInput
from holdfast.domain.schedule import Due, Missed, Timing, plan
from world.often import LONG
from world.often import times as times_of_a_test

ZONES = ["Europe/Lisbon", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata"]
FIRST, LAST = datetime(2015, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
ANCHOR = datetime(2000, 1, 1, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LINES = [
    "0 9 * * mon-fri",
    "30 1 * * *",
    "15 2 * * *",
    "0,30 0-3 * * *",
    "45 1,2 * * sun",
    "*/10 2 * * *",
    "* 4 * * *",
    "0 */2 * * *",
    "*/7 * * * *",
    "45 * * * *",
    "0 0 1 * *",
    "5 0 1,15 4,10 *",
]


# -- the oracle --------------------------------------------------------------------------------------------------------


@cache
def changes(zone: str) -> list[datetime]:
    """Find the hours in which a zone's clocks change."""
    hours = [FIRST + number * HOUR for number in range(int((LAST - FIRST) / HOUR))]
    offsets = [at.astimezone(ZoneInfo(zone)).utcoffset() for at in hours]
    return [hour for hour, (one, other) in zip(hours, pairwise(offsets), strict=False) if one != other]


@cache
def values(field: str, low: int, high: int) -> frozenset[int]:
    for name, number in {"sun": "0", "mon": "1", "fri": "5"}.items():
        field = field.replace(name, number)
    found: set[int] = set()
    for part in field.split(","):
        term, _, step = part.partition("/")
        first, _, last = (f"{low}-{high}" if term == "*" else term).partition("-")
        found |= set(range(int(first), int(last or first) + 1, int(step or 1)))
    return frozenset(found)


class Line:
    """A cron line, read by other code than the one under test."""

    def __init__(self, line: str) -> None:
        minute, hour, day, month, weekday = line.split()
        self.minutes, self.hours = values(minute, 0, 59), values(hour, 0, 23)
        self.days, self.months = values(day, 1, 31), values(month, 1, 12)
        self.weekdays = {number % 7 for number in values(weekday, 0, 7)}
        self.both = "*" in {day[0], weekday[0]}

    def matches(self, wall: datetime) -> bool:
        if wall.minute not in self.minutes or wall.hour not in self.hours or wall.month not in self.months:
            return False
        by_day, by_weekday = wall.day in self.days, wall.isoweekday() % 7 in self.weekdays
        return by_day and by_weekday if self.both else by_day or by_weekday


@cache
def shown(zone: str, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """Give every minute with what the clocks show in it."""
    minutes = [start + number * MINUTE for number in range(int((end - start) / MINUTE) + 1)]
    return [(at.astimezone(ZoneInfo(zone)).replace(tzinfo=None), at) for at in minutes]


@cache
def first_shown(zone: str, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """Give what the clocks show for the first time, or jump over, with the minute in which they do."""
    found: list[tuple[datetime, datetime]] = []
    minutes = shown(zone, start, end)
    latest = minutes[0][0] - MINUTE  # what was shown already, or jumped over, does not count again
    for wall, at in minutes:
        while latest < wall:
            latest += MINUTE
            found.append((latest, at))
    return found


def oracle(line: str, zone: str, start: datetime, end: datetime) -> list[datetime]:
    """Look at every minute: what the clocks show, and what they never show because they jump over it."""
    read = Line(line)
    minutes = (shown if len(read.hours) == 24 else first_shown)(zone, start, end)
    return list(dict.fromkeys(at for wall, at in minutes if read.matches(wall)))


def times(line: str, zone: str, start: datetime, end: datetime) -> list[datetime]:
    """Give the times from start to end, both included."""
    found: list[datetime] = []
    for at in Timing(cron=line, tz=zone).times(start - timedelta(seconds=1), ANCHOR):
        if at > end:
            break
        found.append(at)
    return found


def windows(zone: str) -> Iterator[tuple[datetime, datetime]]:
    """Give the days around every change, and some others; begun at midnight UTC, long before anything repeats."""
    ordinary = random.Random(zone).sample(range(3650), 4)
    for at in [*changes(zone), *(FIRST + number * DAY for number in ordinary)]:
        midnight = at.replace(hour=0)
        yield midnight - 2 * DAY, midnight + 2 * DAY


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("line", LINES)
def test_ten_years_of_clock_changes_agree_with_every_single_minute(line: str, zone: str) -> None:
    for start, end in list(windows(zone))[:: 1 if LONG else 6]:
        assert times(line, zone, start, end) == oracle(line, zone, start, end), (line, zone, start)


def _terms(low: int, high: int) -> st.SearchStrategy[str]:
    """Give a field of a line: everything, a number, a range, each with a step or not, or several of them."""
    number = st.integers(low, high)
    ends = st.tuples(number, number).map(lambda two: f"{min(two)}-{max(two)}")
    stepped = st.tuples(ends | st.just("*"), st.integers(1, high)).map(lambda two: f"{two[0]}/{two[1]}")
    some = st.lists(number.map(str) | ends | stepped, min_size=1, max_size=3).map(",".join)
    return st.just("*") | some


# Days and months are rarely named: on most nights such a line would not fire at all.
_RANDOM_LINES = st.tuples(
    _terms(0, 59), _terms(0, 23), st.just("*") | st.just("*") | _terms(1, 31), st.just("*") | _terms(1, 12), st.just("*") | _terms(0, 7)
).map(" ".join)  # fmt: skip
# Clocks that change at midnight, by half an hour, by two hours, in a month of fasting, or over the date line.
_ODD_ZONES = [*ZONES, "America/Santiago", "Africa/Cairo", "Antarctica/Troll", "Africa/Casablanca", "Asia/Gaza", "Asia/Pyongyang"]  # fmt: skip


@given(_RANDOM_LINES, st.sampled_from(_ODD_ZONES), st.integers(0, 10**6))
@example("* 0-0/1 * * *", "Europe/Lisbon", 0)
@example("07-7/2 * * * *", "UTC", 0)
@example("0 9 13 * 5", "Europe/Lisbon", 0)  # a Friday, and not the 13th
@settings(max_examples=times_of_a_test(40, 5_000))
def test_whatever_the_line_it_agrees_with_every_single_minute(line: str, zone: str, nth: int) -> None:
    nights = list(windows(zone))
    start, end = nights[nth % len(nights)]
    try:
        Timing(cron=line, tz=zone)
    except BadInput:  # 30 February
        assume(False)  # noqa: FBT003 - as hypothesis has it

    assert times(line, zone, start, end) == oracle(line, zone, start, end)


def test_the_zones_have_changes_to_be_tested_with() -> None:
    assert {zone: len(changes(zone)) for zone in ZONES} == {
        "Europe/Lisbon": 22,
        "America/New_York": 22,
        "Australia/Lord_Howe": 22,
        "America/Sao_Paulo": 9,
        "Asia/Kolkata": 0,
    }


# -- a table for people ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "zone", "after", "expected"),
    [
        # The hour from 1 to 2 does not exist: its end stands for it.
        ("30 1 * * *", "Europe/Lisbon", "2025-03-30T00:00+00:00", "2025-03-30T02:00+01:00"),
        # The hour from 1 to 2 comes twice: once is enough.
        ("30 1 * * *", "Europe/Lisbon", "2025-10-26T01:30+01:00", "2025-10-27T01:30+00:00"),
        ("45 1 * * *", "Europe/Lisbon", "2025-10-26T01:30+00:00", "2025-10-27T01:45+00:00"),
        # Every hour is every hour, in both passes.
        ("30 * * * *", "Europe/Lisbon", "2025-10-26T01:30+01:00", "2025-10-26T01:30+00:00"),
        # Half an hour is skipped, and half an hour comes twice.
        ("15 2 * * *", "Australia/Lord_Howe", "2025-10-05T00:00+10:30", "2025-10-05T02:30+11:00"),
        ("45 1 * * *", "Australia/Lord_Howe", "2025-04-06T01:45+11:00", "2025-04-07T01:45+10:30"),
        ("0 4 * * *", "Australia/Lord_Howe", "2025-10-05T00:00+10:30", "2025-10-05T04:00+11:00"),
        # Midnight itself does not exist.
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00-03:00", "2018-11-04T01:00-02:00"),
        # A whole day does not exist.
        ("0 9 30 12 *", "Pacific/Apia", "2011-12-29T12:00-10:00", "2011-12-31T00:00+14:00"),
        # A sixth field in front is the second, and obeys the same rules.
        ("15 30 1 * * *", "Europe/Lisbon", "2025-10-26T01:30:15+01:00", "2025-10-27T01:30:15+00:00"),
        ("0 0 29 2 *", "UTC", "2025-01-01T00:00+00:00", "2028-02-29T00:00+00:00"),
        ("0 0 L * *", "UTC", "2025-02-01T00:00+00:00", "2025-02-28T00:00+00:00"),
        ("0 0 * * fri#2", "UTC", "2025-08-01T00:00+00:00", "2025-08-08T00:00+00:00"),
    ],
)
def test_the_nights_worth_a_line_of_their_own(line: str, zone: str, after: str, expected: str) -> None:
    (first,) = Timing(cron=line, tz=zone).first(1, datetime.fromisoformat(after), ANCHOR)

    assert first.isoformat() == datetime.fromisoformat(expected).isoformat()


@given(
    st.sampled_from(LINES),
    st.sampled_from(ZONES),
    st.datetimes(FIRST.replace(tzinfo=None), LAST.replace(tzinfo=None), timezones=st.just(UTC)),
)
@settings(max_examples=150)
def test_asking_again_from_any_of_the_times_continues_them(line: str, zone: str, start: datetime) -> None:
    timing = Timing(cron=line, tz=zone)
    at_once = timing.first(6, start, ANCHOR)

    one_by_one = [start]
    for _ in range(6):
        one_by_one += timing.first(1, one_by_one[-1], ANCHOR)

    assert one_by_one[1:] == at_once
    # Two times of one zone are compared by their clocks, which go back once a year.
    moments = [each.astimezone(UTC) for each in one_by_one]
    assert all(one < other for one, other in pairwise(moments))


@given(
    st.timedeltas(timedelta(seconds=1), timedelta(days=400)).map(
        lambda every: timedelta(seconds=int(every.total_seconds()))
    ),
    st.datetimes(
        FIRST.replace(tzinfo=None, year=1990), LAST.replace(tzinfo=None, year=2090), timezones=st.just(UTC)
    ),
)
@settings(max_examples=100)
def test_an_interval_counts_from_its_anchor_and_begins_after_it(every: timedelta, after: datetime) -> None:
    first, second = Timing(every=every).first(2, after, ANCHOR)

    assert (first - ANCHOR) % every == timedelta()
    assert first > max(after, ANCHOR)
    assert first - every <= max(after, ANCHOR)
    assert second - first == every


@pytest.mark.parametrize(
    ("timing", "said"),
    [
        (
            Timing(cron="0 9 * * mon-fri", tz="Europe/Lisbon"),
            "at 09:00 on Monday through Friday Europe/Lisbon",
        ),
        (Timing(cron="*/5 * * * *"), "every fifth minute of every hour UTC"),
        (Timing(every=timedelta(minutes=90)), "every 1 h 30 min"),
    ],
)
def test_a_timing_is_said_in_words(timing: Timing, said: str) -> None:
    assert str(timing) == said


@pytest.mark.parametrize(
    "line",
    ["", "* * * *", "@daily", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *",
     "5-1 * * * *", "x * * * *", "* * * * 5#6", "0 0 30 2 *", "9" * 5000 + " * * * *", "* * * * * * *", "0 0 * * L"],
)  # fmt: skip
def test_a_line_that_cannot_be_read_or_never_fires_is_refused(line: str) -> None:
    with pytest.raises(BadInput, match="cron line"):
        Timing(cron=line)


@pytest.mark.parametrize(
    "zone", ["", "Mars/Olympus", "../passwd", "/etc/passwd", "Europe", "x" * 5000, "a\0b"]
)
def test_a_zone_that_does_not_exist_is_refused(zone: str) -> None:
    with pytest.raises(BadInput, match="no time zone"):
        Timing(cron="0 9 * * *", tz=zone)


# -- plans ---------------------------------------------------------------------------------------------------------------


def due(missed: Missed, hours_down: float, every: timedelta = HOUR) -> Due:
    return Due("s", 1, Timing(every=every), ANCHOR, missed, ANCHOR, ANCHOR + hours_down * HOUR)


@pytest.mark.parametrize("missed", ["skip", "one", "all"])
def test_nothing_that_has_not_passed_is_in_a_plan(missed: Missed) -> None:
    assert plan(due(missed, 0.5)) == ([], [], ANCHOR + HOUR)


@pytest.mark.parametrize("missed", ["skip", "one"])
def test_of_several_that_have_passed_only_the_newest_may_fire(missed: Missed) -> None:
    assert plan(due(missed, 3.5)) == (
        [ANCHOR + 3 * HOUR],
        [ANCHOR + HOUR, ANCHOR + 2 * HOUR],
        ANCHOR + 4 * HOUR,
    )


def test_each_of_them_may_fire_where_all_are_wanted() -> None:
    assert plan(due("all", 3.5)) == ([ANCHOR + number * HOUR for number in (1, 2, 3)], [], ANCHOR + 4 * HOUR)


def test_a_pass_is_bounded_and_the_next_one_goes_on_where_it_ended() -> None:
    fired = plan(due("all", 1000))
    skipped = plan(due("one", 1000, timedelta(seconds=1)))

    assert (len(fired.slots), fired.next_at) == (100, ANCHOR + 101 * HOUR)
    assert (skipped.slots, len(skipped.missed)) == ([], 10_000)
    assert skipped.next_at == ANCHOR + timedelta(seconds=10_001)
