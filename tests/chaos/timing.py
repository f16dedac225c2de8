"""How soon, for the judge: a dead worker's jobs come back, and work goes on after a fault."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from chaos.evidence import Evidence, Job
from chaos.strikes.strike import Record

Case = tuple[str, Any]

LATE, ALL_LATE = "a dead worker's job came back too late", "dead workers' jobs came back too late"
STANDS, FEW = "throughput did not come back", "customers can hardly ask"
SLOW = frozenset({LATE, ALL_LATE, STANDS, FEW})

# What a sweep on a busy machine may take beyond the stated bound of lease + lease / 6 * 1.3.
SLACK = 3.0
MANY = 20  # of which half must do without slack
RECOVERED_WITHIN = 10.0
KEEPS_UP = 0.95
FEWEST_ARRIVALS = 40
LONGEST = 8.0  # what the longest of the tasks takes, with a delay of its own and a little patience
ASKED_FOR = 0.25  # of the rate, at the least, for customers who wait for an answer before they ask again


def bound(lease: float) -> float:
    """The stated recovery bound: the lease, and at most a sweep's interval."""
    return lease + lease / 6 * 1.3


def looked_for(lease: float) -> float:
    """So long the database may not be away after a worker's death, for its recovery to be judged."""
    return bound(lease) + SLACK + lease


def recovery(evidence: Evidence) -> Iterator[Case]:
    """A job whose worker died is claimable again within the bound, unless the database itself was away meanwhile.

    On a busy machine some may be late by the slack, but not half of them.
    """
    took = sorted(seconds for _, _, seconds in recoveries(evidence))
    if len(took) >= MANY and took[len(took) // 2] > bound(evidence.lease):
        yield ALL_LATE, f"half of {len(took)} after {took[len(took) // 2]:.2f} s"
    for record, job, seconds in recoveries(evidence):
        if seconds > bound(evidence.lease) + SLACK:
            yield LATE, (record.name, job, f"{seconds:.2f} s")


def recoveries(evidence: Evidence) -> Iterator[tuple[Record, str, float]]:
    """How long each job took to leave the hands of a worker that died.

    Not one with an outside run: its worker's last words may have handed it over, and then it is in no worker's hands.
    """
    hit = {job for record in evidence.records for job in record.jobs}
    hit = {job for job in hit if job in evidence.jobs and evidence.jobs[job].task != "runs_elsewhere"}
    moves: dict[str, list[float]] = defaultdict(list)
    for move in evidence.moves:
        if move.job in hit:
            moves[move.job].append(move.at)
    away = [(one.began, one.ended + evidence.lease) for one in evidence.records if one.away]
    for record in evidence.records:
        last = record.at + looked_for(evidence.lease)
        if not record.jobs or any(began < last and record.at < ended for began, ended in away):
            continue
        for job in record.jobs:
            next_at = min((at for at in moves[job] if at > record.at), default=None)
            if next_at is not None:
                yield record, job, next_at - record.at


def throughput(evidence: Evidence) -> Iterator[Case]:
    """Within ten seconds of a fault's end what comes in is kept up with: measured where calm lasted long enough to tell."""
    for record, came, went, seconds in calm(evidence):
        if came < evidence.rate * seconds * ASKED_FOR:
            yield FEW, (record.name, f"{came} jobs came in {seconds:.1f} s")
        if went < came * KEEPS_UP:
            yield STANDS, (record.name, f"{went} of {came} ended in time")


def calms(evidence: Evidence) -> list[tuple[float, float]]:
    """The times from the tenth second after a fault to the next, and to the end of the load."""
    nexts = [*(one.began for one in evidence.records[1:]), evidence.loaded_until]
    ends = [record.ended for record in evidence.records]
    return [
        (ended + RECOVERED_WITHIN, following)
        for ended, following in zip(ends, nexts, strict=False)
        if ended + RECOVERED_WITHIN < following
    ] or ([] if ends else [(0.0, evidence.loaded_until)])


def calm(evidence: Evidence) -> Iterator[tuple[Record, int, int, float]]:
    """The calm after a fault, from its tenth second on: how many jobs came in, how many were worked off, and in which time.

    Those of them that ended before the calm did; or, where a fault has left a line of waiting ones, all that ended while they came.
    Work that stands still shows in both; raw speed does not, which a busy machine has not always.
    """
    by_birth = sorted(evidence.jobs.values(), key=born)
    ends = sorted(job.ended for job in by_birth if job.ended is not None)
    nexts = [*(one.began for one in evidence.records[1:]), evidence.loaded_until]
    for record, following in zip(evidence.records, nexts, strict=False):
        since, until = record.ended + RECOVERED_WITHIN, min(following, evidence.loaded_until)
        last = until - LONGEST
        if (last - since) * evidence.rate < FEWEST_ARRIVALS:
            continue
        came = by_birth[bisect_left(by_birth, since, key=born) : bisect_left(by_birth, last, key=born)]
        in_time = sum(job.ended is not None and job.ended < until for job in came)
        meanwhile = bisect_left(ends, last) - bisect_left(ends, since)
        yield record, len(came), max(in_time, meanwhile), last - since


def born(job: Job) -> float:
    return job.born
