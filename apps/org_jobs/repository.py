"""The queue as the product knows it. Code against JobRepository; HoldfastRepository is what is behind it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from apps.org_jobs.rules import WORDS, dedupe_key, stored_key
from holdfast import Claimed, Holdfast, LeaseLost, Status, UnknownTask


class NotClaimed(Exception):
    """Nobody claimed this job through this repository, or it is marked already."""

    def __init__(self, job_id: UUID) -> None:
        super().__init__(f"job {job_id} is not claimed here: only what claim() gave can be marked, and once")
        self.job_id = job_id


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job to run now."""

    id: UUID
    type: str
    org_id: str | None
    payload: dict[str, Any]
    attempts: int


class JobRepository(Protocol):
    """All that the product needs of a queue."""

    def enqueue(
        self,
        job_type: str,
        org_id: str | None,
        payload: Mapping[str, Any],
        run_at: datetime | None = None,
        *,
        dedupe: bool = False,
    ) -> UUID:
        """Queue a job and give its id; with dedupe, that of its queued or running twin if there is one."""
        ...

    def claim(self, n: int) -> list[ClaimedJob]:
        """Take at most n jobs that can run now."""
        ...

    def mark_success(self, job_id: UUID) -> None:
        """Record that a claimed job is done."""
        ...

    def mark_failure(self, job_id: UUID, error: str) -> str:
        """Record that a claimed job failed; gives what it is now: queued again, or failed."""
        ...


class HoldfastRepository:
    """Jobs on Holdfast: a type is a task, an organisation a tenant. A worker, a tick or this repository may run them."""

    def __init__(self, app: Holdfast) -> None:
        self._app = app
        self._claimed: dict[UUID, Claimed] = {}  # each carries its attempt's token, which no caller sees

    def enqueue(
        self,
        job_type: str,
        org_id: str | None,
        payload: Mapping[str, Any],
        run_at: datetime | None = None,
        *,
        dedupe: bool = False,
    ) -> UUID:
        """Queue a job; see JobRepository."""
        if job_type not in self._app.tasks:
            raise UnknownTask(f"no job type is called {job_type!r}: there are {sorted(self._app.tasks)}")
        key = stored_key(dedupe_key(job_type, org_id, payload)) if dedupe else None
        task = self._app.tasks[job_type]
        return task.using(tenant=org_id, run_at=run_at, key=key).enqueue(**payload).id

    def claim(self, n: int) -> list[ClaimedJob]:
        """Take at most n jobs that can run now; they are kept alive until they are marked."""
        claimed = self._app.claim(n)
        self._claimed.update({job.id: job for job in claimed})
        return [ClaimedJob(job.id, job.task, job.tenant, job.payload, job.attempt) for job in claimed]

    def mark_success(self, job_id: UUID) -> None:
        """Record that a claimed job is done."""
        self._mark(job_id, Claimed.complete)

    def mark_failure(self, job_id: UUID, error: str) -> str:
        """Record that a claimed job failed; gives what it is now."""
        status: Status = self._mark(job_id, lambda job: job.fail(error))
        return WORDS[status]

    def _mark(self, job_id: UUID, mark: Callable[[Claimed], Any]) -> Any:
        job = self._claimed.get(job_id)
        if job is None:
            raise NotClaimed(job_id)
        try:
            told = mark(job)
        except LeaseLost:
            self._claimed.pop(job_id, None)
            raise
        # Not before: when the database is away, the job is still ours and can be marked again.
        self._claimed.pop(job_id, None)
        return told
