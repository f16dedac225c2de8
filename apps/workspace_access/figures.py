"""Figures of the last 24 hours for a dashboard, as JSON: `python -m apps.workspace_access.figures`."""

import asyncio
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from statistics import fmean

from apps.workspace_access.logs import PROVISIONING
from apps.workspace_access.tasks import app
from holdfast import Job, Status

# All that began within the day, and whatever is still open, however old.
SEARCHES = (f"task:{PROVISIONING} since:24h", f"task:{PROVISIONING} status:pending,retry,running")
WORDS = {
    Status.PENDING: "pending",
    Status.RETRY: "pending",
    Status.RUNNING: "processing",
    Status.COMPLETED: "completed",
    Status.FAILED: "failed",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """How many jobs are in a status, and for how many seconds those have been that came first and last."""

    jobs: int
    oldest: float
    newest: float


@dataclass(frozen=True, slots=True)
class Figures:
    """What a dashboard shows; None where nothing has ended yet."""

    ended: int
    success_rate: float | None
    mean_seconds: float | None  # from finalized to ready, retries and all
    p95_seconds: float | None
    retries: dict[int, int]  # how many jobs needed how many
    queue: dict[str, Standing]


async def read_figures() -> Figures:
    """Ask for the jobs, and add up."""
    found = {job.id: job for job in chain(*[await _jobs(search) for search in SEARCHES])}
    asked_for = [job for job in found.values() if job.compensates is None]
    ended = [job for job in asked_for if job.status in {Status.COMPLETED, Status.FAILED}]
    seconds = sorted(_seconds(job) for job in ended if job.status is Status.COMPLETED)
    return Figures(
        ended=len(ended),
        success_rate=len(seconds) / len(ended) if ended else None,
        mean_seconds=fmean(seconds) if seconds else None,
        p95_seconds=seconds[math.ceil(0.95 * len(seconds)) - 1] if seconds else None,
        retries=dict(sorted(Counter(job.retry_count for job in ended).items())),
        queue=_by_status(list(found.values())),
    )


async def _jobs(search: str) -> list[Job]:
    found = await app.ajobs(search)
    jobs = found.jobs
    while found.next is not None:
        found = await app.ajobs(search, before=found.next)
        jobs += found.jobs
    return jobs


def _seconds(job: Job) -> float:
    return ((job.finished_at or job.now) - job.created_at).total_seconds()


def _by_status(jobs: Sequence[Job]) -> dict[str, Standing]:
    undoing = {job.compensates for job in jobs if job.finished_at is None}
    ages: defaultdict[str, list[float]] = defaultdict(list)
    for job in jobs:
        if job.compensates is None:
            word = "rollback_needed" if job.id in undoing else WORDS.get(job.status, job.status.lower())
            ages[word].append((job.now - job.updated_at).total_seconds())
    return {word: Standing(len(each), max(each), min(each)) for word, each in sorted(ages.items())}


async def _told() -> str:
    try:
        return json.dumps(asdict(await read_figures()), indent=2)
    finally:
        await app.aclose()


if __name__ == "__main__":
    sys.stdout.write(f"{asyncio.run(_told())}\n")
