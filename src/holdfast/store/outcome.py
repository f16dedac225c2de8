"""What came of a job, for whoever waits for it."""

from typing import NamedTuple
from uuid import UUID

from holdfast.domain.states import Status
from holdfast.store.call import Call, Row, function


class JobOutcome(NamedTuple):
    """A job's status with its result and error as JSON text."""

    status: Status
    result: str | None
    error: str | None


def job_outcome(job_id: UUID) -> Call[JobOutcome | None]:
    """Look where a job is; None when no such job is visible."""
    return function("job_outcome", job_id, read=_read)


def _read(rows: list[Row]) -> JobOutcome | None:
    if not rows or rows[0][0] is None:
        return None
    status, result, error = rows[0]
    return JobOutcome(Status(status), result, error)
