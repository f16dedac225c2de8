"""A handle on an enqueued job: wait for it, and get its typed result."""

import asyncio
import json
import math
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import UUID

from holdfast.domain.errors import BadInput, JobFailed, JobNotFound, WaitTimedOut
from holdfast.domain.states import Status
from holdfast.runtime import chance
from holdfast.store.outcome import JobOutcome, job_outcome

if TYPE_CHECKING:
    from holdfast.runtime.link import Link

R = TypeVar("R")


class _Handle(Generic[R]):
    """What both handles know."""

    def __init__(self, link: "Link", job_id: UUID, created: bool, decode: Callable[[str], R]) -> None:
        self._link = link
        self.decode = decode
        self.id = job_id
        self.created = created

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id})"

    def _read(self, outcome: JobOutcome | None) -> JobOutcome:
        if outcome is None:
            raise JobNotFound(f"no job has the id {self.id}: was its transaction committed?")
        return outcome

    def _result(self, outcome: JobOutcome) -> R:
        if outcome.status is Status.COMPLETED:
            return self.decode(outcome.result if outcome.result is not None else "null")
        told: dict[str, Any] = json.loads(outcome.error) if outcome.error else {}
        why = f": {told.get('type')}: {told.get('message')}" if told else ""
        raise JobFailed(f"job {self.id} is {outcome.status}{why}", self.id, outcome.status)

    def _late(self, timeout: float | None) -> WaitTimedOut:
        return WaitTimedOut(f"job {self.id} had not ended after {timeout} s; it goes on")


def pauses(timeout: float | None) -> Iterator[float]:
    """How long to pause between looks: short at first, for jobs that take milliseconds, then gently.

    There is always a first look, and one more when the time is up.
    """
    until = math.inf if timeout is None else time.monotonic() + timeout
    pause = 0.005
    while (left := until - time.monotonic()) > 0:
        yield min(pause * chance.between(0.8, 1.2), left)
        pause = min(pause * 1.5, 0.5)
    yield 0.0


def as_uuid(job_id: UUID | str) -> UUID:
    """Read a job's id."""
    try:
        return job_id if isinstance(job_id, UUID) else UUID(job_id)
    except ValueError as error:
        raise BadInput(f"{job_id!r} is not a job id") from error


def awaited(job: "Handle[Any] | AsyncHandle[Any] | UUID | str") -> tuple[UUID, Callable[[str], Any]]:
    """Read a job to wait for: its id, and how its result is read."""
    return (job.id, job.decode) if isinstance(job, _Handle) else (as_uuid(job), json.loads)


class Handle(_Handle[R]):
    """A job, for synchronous code."""

    def status(self) -> Status:
        """Look where the job is now."""
        return self._read(self._link.perform(job_outcome(self.id))).status

    def wait(self, timeout: float | None = None) -> Status:
        """Wait until the job has ended and say how."""
        return self._ended(timeout).status

    def result(self, timeout: float | None = None) -> R:
        """Wait for the job's result; raises JobFailed when there is none to come."""
        return self._result(self._ended(timeout))

    def _ended(self, timeout: float | None) -> JobOutcome:
        for pause in pauses(timeout):
            outcome = self._read(self._link.perform(job_outcome(self.id)))
            if outcome.status.is_terminal:
                return outcome
            time.sleep(pause)
        raise self._late(timeout)


class AsyncHandle(_Handle[R]):
    """A job, for asynchronous code."""

    async def status(self) -> Status:
        """Look where the job is now."""
        return self._read(await self._link.aperform(job_outcome(self.id))).status

    async def wait(self, timeout: float | None = None) -> Status:  # noqa: ASYNC109 - as Handle.wait
        """Wait until the job has ended and say how."""
        return (await self._ended(timeout)).status

    async def result(self, timeout: float | None = None) -> R:  # noqa: ASYNC109 - as Handle.result
        """Wait for the job's result; raises JobFailed when there is none to come."""
        return self._result(await self._ended(timeout))

    async def _ended(self, timeout: float | None) -> JobOutcome:  # noqa: ASYNC109 - as wait
        for pause in pauses(timeout):
            outcome = self._read(await self._link.aperform(job_outcome(self.id)))
            if outcome.status.is_terminal:
                return outcome
            await asyncio.sleep(pause)
        raise self._late(timeout)
