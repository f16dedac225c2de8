"""What a task may ask about the job it is running."""

import json
from contextvars import ContextVar
from typing import Any, cast
from uuid import UUID

from holdfast.domain.errors import LeaseLost
from holdfast.domain.job import ClaimedJob

current: ContextVar["Context | None"] = ContextVar("holdfast_context", default=None)


class Context:
    """One attempt, as its task sees it. Annotate a task's first parameter with it to get it."""

    __slots__ = ("_job", "_stopped", "log_lines")

    def __init__(self, job: ClaimedJob) -> None:
        self._job = job
        self.log_lines: list[dict[str, Any]] | None = None
        self._stopped: bool = False  # set by the loop, read by a thread: a plain flag is enough

    @property
    def job_id(self) -> UUID:
        """The job; stable over its attempts, and so the idempotency key to offer to others."""
        return self._job.id

    @property
    def attempt(self) -> int:
        """How often the job was claimed, this time included."""
        return self._job.attempt

    @property
    def task(self) -> str:
        """The task's registered name."""
        return self._job.task

    @property
    def retry_count(self) -> int:
        """How many retries failures have used."""
        return self._job.retry_count

    @property
    def max_retries(self) -> int:
        """How many retries failures may use."""
        return self._job.max_retries

    @property
    def tenant(self) -> str | None:
        """Whose job it is."""
        return self._job.tenant

    @property
    def subject(self) -> str | None:
        """What it is about."""
        return self._job.subject

    @property
    def label(self) -> str | None:
        """Its human title."""
        return cast("str | None", self._extra("label"))

    @property
    def key(self) -> str | None:
        """Its unique or dedupe key."""
        return cast("str | None", self._extra("key"))

    @property
    def requested_by(self) -> str | None:
        """Who asked for it."""
        return cast("str | None", self._extra("requested_by"))

    @property
    def trace_parent(self) -> str | None:
        """The W3C traceparent of who enqueued it."""
        return cast("str | None", self._extra("trace_parent"))

    @property
    def metadata(self) -> dict[str, Any]:
        """What else was given with it."""
        return self._extra("metadata") or {}

    def _extra(self, name: str) -> Any:
        return json.loads(self._job.extras)[name] if self._job.extras else None

    @property
    def stopped(self) -> bool:
        """Whether the attempt should end: the job was cancelled, timed out, or belongs to another attempt now.

        A task in a thread cannot be stopped from outside; a long one asks this now and then.
        """
        return self._stopped

    def raise_if_stopped(self) -> None:
        """End the attempt here when it should end."""
        if self.stopped:
            raise LeaseLost(self.job_id, self.attempt)

    def stop(self) -> None:
        """Tell the task to end. The worker calls this."""
        self._stopped = True
