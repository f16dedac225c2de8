"""The desks: who is refused because a limit is reached, and who is let in, is judged by how many were there."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from math import inf

from chaos.app import AT_A_DESK
from chaos.evidence import Evidence, Job
from chaos.notes import Note
from chaos.timing import Case

# An end is written down a moment before others can see it: its commit may take so long, or as long as the strike that it falls into.
SEEN_WITHIN = 1.0


def desks(evidence: Evidence) -> Iterator[Case]:
    """Nobody is let in where as many are as may be, and nobody is refused where there is room."""
    at_desk: dict[int, list[Job]] = defaultdict(list)
    for job in evidence.jobs.values():
        if job.task == "at_desk":
            at_desk[job.payload["desk"]].append(job)
    yield from _too_many(evidence, at_desk)
    yield from _refused_with_room(evidence, at_desk)


def _too_many(evidence: Evidence, at_desk: dict[int, list[Job]]) -> Iterator[Case]:
    """Count those who certainly were there: from when somebody was told so, or they were claimed, to their end."""
    there = _there_by(evidence)
    for desk, jobs in at_desk.items():
        changes = [(there[job.id], 1) for job in jobs if there.get(job.id, inf) < (job.ended or inf)]
        changes += [
            (job.ended, -1) for job in jobs if job.ended is not None and there.get(job.id, inf) < job.ended
        ]
        inside = 0
        for at, change in sorted(changes):
            inside += change
            if inside > AT_A_DESK:
                yield "more were at a desk than may be", (desk, at)
                break


def _there_by(evidence: Evidence) -> dict[str, float]:
    """Since when each job is certainly there; its birth has an earlier time, from before it waited for others to be counted."""
    there: dict[str, float] = {}
    for note in evidence.client_log:
        if note["what"] == "enqueue" and note["outcome"] == "ok":
            there.update((job, min(note["at"], there.get(job, inf))) for job in note["about"])
    for move in evidence.moves:
        if move.to == "RUNNING":
            there[move.job] = min(move.at, there.get(move.job, inf))
    return there


def _refused_with_room(evidence: Evidence, at_desk: dict[int, list[Job]]) -> Iterator[Case]:
    """Count those who may have been there at any time between question and answer."""
    strikes = sorted({(record.began, record.ended) for record in evidence.records})
    stays = {desk: [(job.born, _seen_to_end(job, strikes)) for job in jobs] for desk, jobs in at_desk.items()}
    asked_at = {tuple(note["about"]): note["at"] for note in _asked(evidence, "asked")}
    for note in _asked(evidence, "refused"):
        if note["said"] != "LimitReached":
            continue
        since = asked_at[tuple(note["about"])]
        wanted = Counter(evidence.wanted[job].payload["desk"] for job in note["about"])
        may_be_there = {
            desk: sum(born <= note["at"] and gone >= since for born, gone in stays.get(desk, ()))
            for desk in wanted
        }
        if all(may_be_there[desk] + many <= AT_A_DESK for desk, many in wanted.items()):
            yield "a desk refused somebody though it had room", (note["about"], may_be_there)


def _asked(evidence: Evidence, outcome: str) -> Iterable[Note]:
    return (
        note
        for note in evidence.client_log
        if note["what"] == "enqueue" and note["outcome"] == outcome and note["kind"] == "at_desk"
    )


def _seen_to_end(job: Job, strikes: list[tuple[float, float]]) -> float:
    """When at the latest everybody saw that a job had ended."""
    if job.ended is None:
        return inf
    place = bisect_left(strikes, (job.ended + SEEN_WITHIN, inf)) - 1
    return max(job.ended, strikes[place][1] if place >= 0 else 0.0) + SEEN_WITHIN
