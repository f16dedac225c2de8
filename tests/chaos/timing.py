"""How soon, for the judge: a dead worker's jobs come back, work is found by looking, and it goes on after a fault."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median_high
from typing import Any, NamedTuple

from chaos.app import POLL_SECONDS
from chaos.evidence import Evidence, Job, Move
from chaos.offer import offer_of
from chaos.strikes.strike import Record

Case = tuple[str, Any]

LATE, ALL_LATE = "a dead worker's job came back too late", "dead workers' jobs came back too late"
UNSEEN, ALL_UNSEEN = "nobody looked for a job", "nobody looks for jobs"
STANDS, FEW = "throughput did not come back", "customers can hardly ask"
ALL_FEW = "customers are answered less often than they could ask"
SLOW = frozenset({LATE, ALL_LATE, UNSEEN, ALL_UNSEEN, STANDS, FEW, ALL_FEW})

# What a sweep, or a look, on a busy machine may take beyond its bound.
SLACK = 3.0
FEWEST_DEATHS = 4  # of which half must be in time: where there are fewer, a busy machine may be the cause
FEWEST_UNTOLD = 3
RECOVERED_WITHIN = 10.0
KEEPS_UP = 0.95
FEWEST_ARRIVALS = 40
SWEEPER = "sweeper"  # in the history
LONGEST = 8.0  # what the longest of the tasks takes, with a delay of its own and a little patience
# Of the rate, at the least, for customers who wait for an answer before they ask again: in every calm, and mostly.
ASKED_FOR, MOSTLY_ASKED_FOR = 0.25, 0.95
FEWEST_CALMS = 4  # of which half must be as usual: where there are fewer, a busy machine may be the cause
# Whose jobs are in the line when they are born, but for those with a delay.
IN_LINE_AT_ONCE = frozenset(
    {"plain", "writes", "writes_in_thread", "stumbles", "fails", "steps", "asks", "says"}
)


def longest_sweep(lease: float) -> float:
    """The time between two sweeps of a worker, with its jitter."""
    return lease / 6 * 1.3


def bound(lease: float) -> float:
    """The stated recovery bound: the lease, and at most a sweep's interval."""
    return lease + longest_sweep(lease)


def looked_for(lease: float) -> float:
    """So long the database may not be away after a worker's death, for its recovery to be judged."""
    return bound(lease) + SLACK + lease


# -- recovery ------------------------------------------------------------------------------------------------------------


class Death(NamedTuple):
    """A worker's, and how long each of its jobs took to leave its hands."""

    how: str
    took: dict[str, float]

    @property
    def slowest(self) -> float:
        return max(self.took.values())


def recovery(evidence: Evidence) -> Iterator[Case]:
    """A job whose worker died is claimable again within the bound, unless the database itself was away meanwhile.

    On a busy machine a death may be noticed late by the slack, but not more than half of them. A death counts once, however many
    jobs it left: they come back together.
    """
    found = list(deaths(evidence))
    slowest = sorted(death.slowest for death in found)
    if len(slowest) >= FEWEST_DEATHS and _lower_median(slowest) > bound(evidence.lease):
        yield (
            ALL_LATE,
            f"more than half of {len(slowest)} deaths after {_lower_median(slowest):.2f} s or more",
        )
    for death in found:
        for job, seconds in death.took.items():
            if seconds > bound(evidence.lease) + SLACK:
                yield LATE, (death.how, job, f"{seconds:.2f} s")


def deaths(evidence: Evidence) -> Iterator[Death]:
    """The deaths of workers whose time is known, with what each held: kills, freezes, and pills, which die as they start.

    Not one in whose time the database was away. Nor a job with an outside run: its worker's last words may have handed it over,
    and then it is in no worker's hands.
    """
    away = [(one.began, one.ended + evidence.lease) for one in evidence.records if one.away]
    lives = _lives(evidence)
    for how, at, jobs in (*_struck_dead(evidence), *_poisoned(evidence, lives)):
        last = at + looked_for(evidence.lease)
        if any(began < last and at < ended for began, ended in away):
            continue
        took = {job: after for job in jobs if (after := _next_after(lives[job], at)) is not None}
        if took:
            yield Death(how, took)


def _struck_dead(evidence: Evidence) -> Iterator[tuple[str, float, list[str]]]:
    for record in evidence.records:
        known = [job for job in record.jobs if job in evidence.jobs]
        yield record.name, record.at, [job for job in known if evidence.jobs[job].task != "runs_elsewhere"]


def _poisoned(evidence: Evidence, lives: dict[str, list[Move]]) -> Iterator[tuple[str, float, list[str]]]:
    """Where it was a worker that died: a suspect runs in a process of its own, whose worker says so at once."""
    for job in evidence.jobs.values():
        if job.task == "pill":
            for claim, following in pairwise(lives[job.id]):
                if claim.to == "RUNNING" and following.actor == SWEEPER:
                    yield "poison_pill", claim.at, [job.id]


def _lives(evidence: Evidence) -> dict[str, list[Move]]:
    """The moves of those whom a death has met."""
    met = {job for record in evidence.records for job in record.jobs}
    met |= {job.id for job in evidence.jobs.values() if job.task == "pill"}
    lives: dict[str, list[Move]] = defaultdict(list)
    for move in evidence.moves:
        if move.job in met:
            lives[move.job].append(move)
    return lives


def _next_after(life: Sequence[Move], at: float) -> float | None:
    return min((move.at - at for move in life if move.at > at), default=None)


def _lower_median(ordered: Sequence[float]) -> float:
    return ordered[(len(ordered) - 1) // 2]


# -- looking without being told ------------------------------------------------------------------------------------------


def polling(evidence: Evidence) -> Iterator[Case]:
    """Who hears no notification looks by himself: while jobs are in the line somebody claims, at the latest after a poll's pause.

    Whether it is this job or one before it does not matter: a line of waiting ones is not the pollers' fault.
    """
    for record, waits in untold(evidence):
        if len(waits) >= FEWEST_UNTOLD and _lower_median(sorted(waits.values())) > longest_pause():
            yield (
                ALL_UNSEEN,
                (
                    record.name,
                    f"half of {len(waits)} jobs for {_lower_median(sorted(waits.values())):.2f} s or more",
                ),
            )
        for job, seconds in waits.items():
            if seconds > longest_pause() + SLACK:
                yield UNSEEN, (record.name, job, f"{seconds:.2f} s")


def longest_pause() -> float:
    """The time between two looks, with its jitter."""
    return POLL_SECONDS * 1.25


def untold(evidence: Evidence) -> Iterator[tuple[Record, dict[str, float]]]:
    """How long after each job's birth somebody claimed, of those of which nobody was told until then.

    Where a database was away just before, workers wait before they ask it again. Retention takes claims with the history.
    """
    claimed = sorted(move.at for move in evidence.moves if move.to == "RUNNING")
    for record in evidence.records if evidence.is_kept else ():
        if record.name != "lose_notifications" or _was_away(evidence, record):
            continue
        waits = {}
        for job in evidence.jobs.values():
            if record.began <= job.born < record.ended - longest_pause() and _is_in_line(evidence, job):
                place = bisect_left(claimed, job.born)
                waits[job.id] = (claimed[place] if place < len(claimed) else evidence.loaded_until) - job.born
        yield record, waits


def _was_away(evidence: Evidence, record: Record) -> bool:
    before = record.began - RECOVERED_WITHIN
    return any(one.away and before < one.ended and one.began <= record.began for one in evidence.records)


def _is_in_line(evidence: Evidence, job: Job) -> bool:
    wanted = evidence.wanted.get(job.id)
    return wanted is not None and wanted.run_in is None and job.task in IN_LINE_AT_ONCE


# -- the calm ------------------------------------------------------------------------------------------------------------


class Calm(NamedTuple):
    """The time from the tenth second after a fault to the next, or to the end of the load."""

    record: Record
    since: float
    until: float


class Kept(NamedTuple):
    """What a calm came to: what customers were offered and answered, how many jobs came in, and how many were worked off."""

    record: Record
    offered: float
    answered: int
    came: int
    went: int

    @property
    def share(self) -> float:
        return self.answered / self.offered


def calms(evidence: Evidence) -> list[Calm]:
    """Where there was no fault at all, nothing is a calm after one."""
    following = [*(one.began for one in evidence.records[1:]), evidence.loaded_until]
    found = [
        Calm(record, record.ended + RECOVERED_WITHIN, min(until, evidence.loaded_until))
        for record, until in zip(evidence.records, following, strict=False)
    ]
    return [one for one in found if one.since < one.until]


def throughput(evidence: Evidence) -> Iterator[Case]:
    """Within ten seconds of a fault's end what comes in is kept up with, and as much is asked for as before: where calm lasted long enough.

    A busy machine may answer less in one calm, but not in more than half of them.
    """
    found = list(kept_up(evidence))
    shares = [kept.share for kept in found]
    if len(shares) >= FEWEST_CALMS and median_high(shares) < MOSTLY_ASKED_FOR:
        yield (
            ALL_FEW,
            f"of what was offered {median_high(shares):.1%} or less was answered in more than half of {len(shares)} calms",
        )
    for kept in found:
        if kept.share < ASKED_FOR:
            yield (
                FEW,
                (kept.record.name, f"{kept.answered} were answered of {kept.offered:.0f} that were offered"),
            )
        if kept.went < kept.came * KEEPS_UP:
            yield STANDS, (kept.record.name, f"{kept.went} of {kept.came} ended in time")


def kept_up(evidence: Evidence) -> Iterator[Kept]:
    """Look at each calm that is long enough.

    Of the jobs that came in, those that ended before the calm did; or, where a fault has left a line of waiting ones, all that ended
    while they came. Work that stands still shows in both; raw speed does not, which a busy machine has not always.
    """
    by_birth = sorted(evidence.jobs.values(), key=born)
    births = [job.born for job in by_birth]
    ends = sorted(job.ended for job in by_birth if job.ended is not None)
    answers = _answers(evidence)
    for record, since, until in calms(evidence):
        last = until - LONGEST
        offered = offer_of(evidence.rate).jobs * (last - since)
        if offered < FEWEST_ARRIVALS:
            continue
        came = by_birth[bisect_left(births, since) : bisect_left(births, last)]
        in_time = sum(job.ended is not None and job.ended < until for job in came)
        answered = bisect_left(answers, last) - bisect_left(answers, since)
        yield Kept(record, offered, answered, len(came), max(in_time, _between(ends, since, last)))


def _answers(evidence: Evidence) -> list[float]:
    """When customers were told about a job that they had asked for: parts of a flow are one, and what comes by itself is none."""
    return sorted(
        note["at"]
        for note in evidence.client_log
        if note["what"] == "enqueue" and note["outcome"] in {"ok", "refused"} and "at" in note
        for _ in note["keys"]
    )


def _between(times: Sequence[float], since: float, until: float) -> int:
    return bisect_left(times, until) - bisect_left(times, since)


def born(job: Job) -> float:
    return job.born
