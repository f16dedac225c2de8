"""What jobs cost: per organisation, type and day, as rows and as CSV."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from apps.org_jobs.app import app
from apps.org_jobs.rules import WORDS
from holdfast import Status

RECORDS = """
select r.outcome, r.attempts, r.ended_at, r.seconds
  from org_jobs.usage_record r
 where r.job_id = %s
 order by r.attempts"""


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


def records(job_id: UUID) -> list[dict[str, Any]]:
    """List the usage records of one job: one a run that has ended."""
    with app.transaction() as connection:
        rows = connection.execute(RECORDS, [job_id]).fetchall()
    return [
        {
            "outcome": "requeued" if outcome == Status.RETRY else WORDS[Status(outcome)],
            "attempts": attempts,
            "ended_at": ended_at.isoformat(),
            "seconds": float(seconds),
        }
        for outcome, attempts, ended_at, seconds in rows
    ]


def as_csv(rows: Sequence[Usage]) -> str:
    """Write usage for a spreadsheet."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Usage)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()
