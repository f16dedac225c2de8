"""Logs: what attempts say while they run, on its way into the database with each one's fence."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.domain.job import ClaimedJob
from holdfast.store.arrays import Ints, Uuids
from holdfast.store.call import Call, Row, function
from holdfast.store.claim import Fence


class NewLines(NamedTuple):
    """Lines of an attempt that the database may not have yet, and how many come before them."""

    job: ClaimedJob
    first: int
    lines: Sequence[dict[str, Any]]


def save_logs(worker_id: UUID, news: Sequence[NewLines]) -> Call[dict[Fence, int]]:
    """Save new lines of attempts; answers how many of each the database has now. It may be repeated."""
    jobs = [each.job for each in news]
    return function(
        "save_logs", worker_id,
        Uuids([job.id for job in jobs]), Ints([job.attempt for job in jobs]), Uuids([job.claim_id for job in jobs]),
        Ints([each.first for each in news]), [json.dumps(each.lines) for each in news],
        read=_read_kept, types=("", "", "", "", "", "text[]"),
    )  # fmt: skip


def _read_kept(rows: list[Row]) -> dict[Fence, int]:
    return {(job_id, claim_id): kept for job_id, claim_id, kept in rows}
