"""What jobs cost: per organisation, type and day, as rows and as CSV."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from uuid import UUID

from apps.org_jobs.app import app
from apps.org_jobs.rules import WORDS
from holdfast import Status

MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Usage:
    """What one organisation's jobs of one type did on one day (UTC)."""

    day: date
    org_id: str | None
    type: str
    jobs: int
    runs: int
    success: int
    failed: int
    cancelled: int
    requeued: int
    attempts: int  # of the jobs that ended
    seconds: Decimal


def usage(
    org_id: str | None = None,
    job_type: str | None = None,
    first: date | None = None,
    last: date | None = None,
) -> list[Usage]:
    """List usage, of everybody unless told."""
    return [
        Usage(
            day=one.day,
            org_id=one.tenant,
            type=one.task,
            jobs=one.enqueued,
            runs=one.runs,
            success=one.completed,
            failed=one.failed,
            cancelled=one.cancelled,
            requeued=one.retried,
            attempts=one.attempts,
            seconds=one.run_seconds,
        )
        for one in app.usage(tenant=org_id, task=job_type, first=first, last=last)
    ]


@dataclass(frozen=True, slots=True)
class Record:
    """One run of a job, which has ended."""

    outcome: str
    attempts: int
    ended_at: datetime
    seconds: Decimal


def records(job_id: UUID) -> list[Record]:
    """List the usage records of one job: its history has a row where a run began and a row where it ended."""
    return [
        Record(
            outcome="requeued" if ended.to_status is Status.RETRY else WORDS[ended.to_status],
            attempts=ended.attempt,
            ended_at=ended.at,
            seconds=(ended.at - began.at) // MICROSECOND * Decimal("1e-6"),  # exact, as the sums are
        )
        for began, ended in pairwise(app.history(job_id))
        if ended.from_status is Status.RUNNING
    ]


def as_csv(rows: Sequence[Usage]) -> str:
    """Write usage for a spreadsheet."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Usage)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()
