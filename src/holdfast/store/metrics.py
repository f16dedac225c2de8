"""What monitoring reads: the projector's running totals, and a few bounded looks. No job is counted."""

from typing import NamedTuple

from holdfast.domain.health import COUNT_CAP
from holdfast.store.call import Call, query, single


class Tally(NamedTuple):
    """How often jobs of a task came to a state, ever, and how many are in it now."""

    queue: str
    task: str
    state: str
    entered: int
    present: int


class Duration(NamedTuple):
    """One bucket of how long jobs of a task waited or ran."""

    queue: str
    task: str
    what: str
    bucket: int
    jobs: int
    seconds: float


class Presence(NamedTuple):
    """Who is there."""

    workers: int
    approvals: int


def tallies() -> Call[list[Tally]]:
    """List the totals by state, as of the projector's last pass."""
    return query("tally", lambda rows: [Tally(*row) for row in rows])


def durations() -> Call[list[Duration]]:
    """List the buckets that are not empty, in order."""
    return query("durations", lambda rows: [Duration(*row) for row in rows])


def line_ages() -> Call[dict[str, float]]:
    """Say for each queue how long its oldest job in line has waited."""
    return query("line_ages", lambda rows: {str(queue): float(age) for queue, age in rows})


def presence() -> Call[Presence]:
    """Count live workers, and open approvals up to the cap."""
    return query("presence", lambda rows: Presence(*rows[0]), cap=COUNT_CAP)


def refusals() -> Call[int]:
    """Say how often a guard of the tables refused a write."""
    return query("refusals", single)
