"""What every context knows of the job it runs, whatever kind of task asks."""

import json
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from holdfast.domain.backoff import BackoffLike
from holdfast.domain.errors import LeaseLost
from holdfast.domain.job import ClaimedJob
from holdfast.domain.outcome import Recorded
from holdfast.domain.redaction import NOTHING, Hidden
from holdfast.domain.task import backoff_rule
from holdfast.runtime.durable import Durable
from holdfast.runtime.threads import InThreads, Threads

if TYPE_CHECKING:
    from concurrent.futures import Future

    from holdfast.runtime.registry import AnyTask

# A branch may wait for one that has failed, and would do so for ever.
PATIENCE = 300.0

current: ContextVar["JobContext | None"] = ContextVar("holdfast_context", default=None)
# What is hidden of the job that is worked at outside of its attempts, as when an executor is called for it.
hidden_outside: ContextVar[Hidden] = ContextVar("holdfast_hidden", default=NOTHING)


def hidden_here() -> Hidden:
    """Say what must not be told by whatever runs now."""
    context = current.get()
    return hidden_outside.get() if context is None else context.hidden


class JobContext:
    """One attempt, as its task sees it."""

    __slots__ = (
        "_durable",
        "_hidden",
        "_in_threads",
        "_job",
        "_payload_text",
        "_result",
        "_stopped",
        "_task",
        "log_lines",
        "settings",
        "threads",
    )

    def __init__(self, job: ClaimedJob, task: "AnyTask") -> None:
        self._job = job
        self._task = task
        self.settings = task.settings  # of this attempt: the task may have changed its backoff
        self.log_lines: list[dict[str, Any]] | None = None
        self._stopped: bool = False  # set by the loop, read by a thread: a plain flag is enough
        self._durable: Durable | None = None
        self.threads: Threads | None = None  # given by who runs it
        self._in_threads: InThreads | None = None
        self._result: str | None = None
        self._hidden: Hidden | None = None
        self._payload_text = job.payload

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

    @property
    def compensates(self) -> UUID | None:
        """The job whose effects this one undoes."""
        told = self._extra("compensates")
        return UUID(told) if told else None

    @property
    def hidden(self) -> Hidden:
        """What the task redacts of this job."""
        if self._hidden is None:
            paths = self._task.settings.options.get("redact")
            self._hidden = Hidden.of(json.loads(self._payload_text) if paths else None, paths)
        return self._hidden

    def read(self, payload: str) -> None:
        """Take the payload as the task reads it: what an encrypted one hides is known from now on."""
        self._payload_text = payload
        self._hidden = None

    def _extra(self, name: str) -> Any:
        return json.loads(self._job.extras).get(name) if self._job.extras else None

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

    def set_result(self, value: Any) -> None:
        """Say what the job's result is, before the transaction that completes it ends."""
        self._result = self._task.codec.encode_result(value)

    def use_backoff(self, backoff: BackoffLike) -> None:
        """Space this attempt's failures from here on like this, and not as the task does: for a customer's or a plan's own backoff."""
        self.settings = replace(self.settings, backoff=backoff_rule(backoff))
        if self._durable is not None:
            self._durable.settings = self.settings

    # -- what the worker asks --------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Tell the task to end."""
        self._stopped = True

    async def see_out(self, seconds: float | None) -> None:
        """Let what branches of the task have under way end and be saved: what retries or undoes the job must not run beside it."""
        self.stop()
        if self._durable is not None:
            await self._durable.beside.ended(PATIENCE if seconds is None else min(seconds, PATIENCE))

    @property
    def durable(self) -> Durable:
        """The attempt's durable side, made when first needed: most jobs need none."""
        if self._durable is None:
            self._durable = Durable(self._job, self.settings, self.captured_logs, lambda: self._stopped)
        return self._durable

    @property
    def in_threads(self) -> InThreads:
        """What the attempt runs in threads; made when first needed, as the durable side."""
        if self._in_threads is None:
            assert self.threads is not None, "nothing of a job runs in a thread but in an attempt"  # noqa: S101 - our own mistake
            self._in_threads = InThreads(self.threads)
        return self._in_threads

    @property
    def thread_going_on(self) -> "Future[Any] | None":
        """A thread of the attempt that has not ended, if there is one: the task's own or a step's."""
        return None if self._in_threads is None else self._in_threads.going_on

    def replay(self, durable: Durable) -> None:
        """Walk along what another job has done, and do nothing else."""
        self._durable = durable

    @property
    def recorded(self) -> Recorded | None:
        """The outcome, when the database has it already."""
        done = self._durable.recorded_as if self._durable is not None else None
        return None if done is None else Recorded(done)

    @property
    def must_close(self) -> bool:
        """Whether there may be saved steps that the code no longer calls."""
        return self._job.attempt > 1 and self._task.takes_context

    @property
    def claimed(self) -> ClaimedJob:
        """The job with its fence."""
        return self._job

    @property
    def given_result(self) -> str | None:
        """What set_result was given, as JSON text."""
        return self._result

    def captured_logs(self) -> str | None:
        """Write down what the attempt has logged so far, as JSON text."""
        return json.dumps(self.log_lines) if self.log_lines else None
