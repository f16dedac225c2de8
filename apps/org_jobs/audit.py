"""Usage once more, added up from the history of every job: slow, and what the quick figures must equal."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, date
from decimal import Decimal
from typing import TypeAlias

from apps.org_jobs.app import app
from apps.org_jobs.rules import WORDS
from apps.org_jobs.usage import MICROSECOND, Usage
from holdfast import Job, Status

ENDS = {Status.COMPLETED, Status.FAILED, Status.CANCELLED}

Key: TypeAlias = tuple[date, str | None, str]


def usage_by_history(org_id: str | None = None) -> list[Usage]:
    """Add up what an organisation's jobs did, or everybody's."""
    sums: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    for job in _jobs(org_id):
        _add(job, sums)
    in_order = sorted(sums.items(), key=lambda one: (one[0][0], one[0][1] or "", one[0][2]))
    return [_usage(*key, counts) for key, counts in in_order]


def _jobs(org_id: str | None) -> Iterator[Job]:
    """Go through all jobs, page by page."""
    found = app.jobs(tenant=org_id)
    yield from found.jobs
    while found.next is not None:
        found = app.jobs(tenant=org_id, before=found.next)
        yield from found.jobs


def _add(job: Job, sums: defaultdict[Key, Counter[str]]) -> None:
    moves = app.history(job.id)
    for before, move in zip([None, *moves], moves, strict=False):
        counts = sums[move.at.astimezone(UTC).date(), job.tenant, job.task]
        counts["jobs"] += before is None
        counts["runs"] += move.to_status is Status.RUNNING
        counts["requeued"] += move.to_status is Status.RETRY
        if move.to_status in ENDS:
            counts[WORDS[move.to_status]] += 1
            counts["attempts"] += move.attempt
        if before is not None and move.from_status is Status.RUNNING:
            counts["microseconds"] += (move.at - before.at) // MICROSECOND


def _usage(day: date, org_id: str | None, job_type: str, counts: Counter[str]) -> Usage:
    return Usage(
        day,
        org_id,
        job_type,
        jobs=counts["jobs"],
        runs=counts["runs"],
        success=counts["success"],
        failed=counts["failed"],
        cancelled=counts["cancelled"],
        requeued=counts["requeued"],
        attempts=counts["attempts"],
        seconds=counts["microseconds"] * Decimal("1e-6"),
    )
