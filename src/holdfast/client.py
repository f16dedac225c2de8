"""A client of Holdfast's HTTP service, for programs that cannot reach the database: `pip install "holdfast[client]"`."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from uuid import UUID, uuid4

from holdfast.domain import remote as _remote
from holdfast.domain.errors import Configuration as _Configuration
from holdfast.domain.errors import DatabaseUnavailable as _DatabaseUnavailable
from holdfast.domain.errors import JobFailed as _JobFailed
from holdfast.domain.errors import NotAllowed as _NotAllowed
from holdfast.domain.errors import WaitTimedOut as _WaitTimedOut
from holdfast.domain.job import Enqueued
from holdfast.domain.remote import RemoteJob, Service
from holdfast.domain.remote_events import EventReader as _EventReader
from holdfast.domain.remote_events import EventsMissed, RemoteEvent
from holdfast.domain.remote_events import topic as _topic

try:
    import httpx as _httpx
except ImportError as _error:
    raise _Configuration("the client needs httpx: pip install 'holdfast[client]'") from _error

__all__ = ["AsyncClient", "Client", "Enqueued", "EventsMissed", "RemoteEvent", "RemoteJob", "Service"]

_T = TypeVar("_T")
_PASSING = frozenset({429, 502, 503, 504})
_TRIES = 6
_LONGEST_PAUSE = 30.0
_LONGEST_WAIT = 30.0
_TIMEOUT = 10.0
# The service says something every 15 seconds, if only that nothing happened.
_LONGEST_SILENCE = 40.0
# How long a stream is sought anew before its follower is told that it is away.
_LONGEST_OUTAGE = 300.0


class _Performing:
    """What both clients know: where the service is, who they are, and when to ask again."""

    def __init__(self, url: str, key: str) -> None:
        if not url.startswith(("http://", "https://")):
            raise _Configuration(f"the service's address {url!r} must begin with https:// or http://")
        self._options: dict[str, Any] = {
            "base_url": url.rstrip("/") + "/api/v1",
            "headers": {"Authorization": f"Bearer {key}"},
            "timeout": _TIMEOUT,
            "follow_redirects": False,
        }

    @staticmethod
    def _request(client: Any, ask: _remote.Ask[Any], key: str) -> Any:
        # Every POST brings a key, so that a repeat after a lost answer does nothing twice.
        headers = {**ask.headers, **({"Idempotency-Key": key} if ask.method == "POST" else {})}
        timeout = _httpx.Timeout(_TIMEOUT, read=_TIMEOUT + ask.patience)
        return client.build_request(
            ask.method, ask.path, json=ask.body, params=dict(ask.query), headers=headers, timeout=timeout
        )

    @staticmethod
    def _read(ask: _remote.Ask[_T], response: Any) -> _T:
        if not response.is_success:
            raise _remote.refusal(response.status_code, response.content)
        return ask.read(response.json())

    @staticmethod
    def _pause(number: int, response: Any = None) -> float:
        said = response.headers.get("retry-after", "") if response is not None else ""
        if said.isdigit():
            return min(float(said), _LONGEST_PAUSE)
        return min(0.1 * 2.0**number, _LONGEST_PAUSE) * random.uniform(0.5, 1.5)  # noqa: S311 - no secret


class _Following:
    """A stream that is followed over as many connections as it takes: what is asked, and when to ask again."""

    def __init__(self, topic: Mapping[str, str], after: str | None, patience: float) -> None:
        self.reader = _EventReader(after)
        self._topic = topic
        self._patience = patience
        self._lost_at: float | None = None
        self._tries = 0

    @property
    def asked(self) -> dict[str, Any]:
        """What httpx is told to ask."""
        self.reader.begin()
        headers = {"Accept": "text/event-stream", **self.reader.headers()}
        timeout = _httpx.Timeout(_TIMEOUT, read=_LONGEST_SILENCE)
        return {
            "method": "GET", "url": "/events", "params": dict(self._topic), "headers": headers, "timeout": timeout,
        }  # fmt: skip

    def pause(self, error: Exception | None = None, response: Any = None) -> float:
        """Say how long to wait before coming again; raises when the service has been away for too long."""
        if self.reader.has_begun:
            self._lost_at, self._tries = None, 0
        self._lost_at = time.monotonic() if self._lost_at is None else self._lost_at
        if time.monotonic() - self._lost_at > self._patience:
            said = f"answers {response.status_code}" if response is not None else f"does not answer: {error}"
            raise _DatabaseUnavailable(f"the service {said}") from error
        self._tries += 1
        return _Performing._pause(min(self._tries, 10) - 1, response)  # noqa: SLF001 - of this module


class Client(_Performing):
    """Enqueues, watches and steers jobs through the service. Safe to share between threads."""

    def __init__(self, url: str, *, key: str) -> None:
        super().__init__(url, key)
        self._http = _httpx.Client(**self._options)

    def enqueue(self, task: str, payload: Mapping[str, Any] | None = None, **options: Any) -> Enqueued:
        """Enqueue a job; options are those of task.using(…), for example key, run_at, queue and subject."""
        return self._perform(_remote.enqueue(_remote.new_job(task, payload, options)))

    def enqueue_many(self, jobs: Iterable[Mapping[str, Any]]) -> list[Enqueued]:
        """Enqueue up to 1,000 jobs, {"task", "payload", …}, together: all of them, or none."""
        return self._perform(_remote.enqueue_many(list(jobs)))

    def job(self, job_id: UUID | str) -> RemoteJob:
        """Look at a job."""
        return self._perform(_remote.show(job_id))

    def jobs(self, search: str = "", *, part: int = 200) -> Iterator[RemoteJob]:
        """Go through the jobs that fit a search, newest first: client.jobs("status:failed task:charge*")."""
        after: str | None = None
        while True:
            found = self._perform(_remote.search(search, after, part))
            yield from found.jobs
            if found.next is None:
                return
            after = found.next

    def wait(self, job_id: UUID | str, timeout: float | None = None) -> RemoteJob:
        """Wait until a job has ended; WaitTimedOut when that takes longer."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _LONGEST_WAIT if deadline is None else min(deadline - time.monotonic(), _LONGEST_WAIT)
            job = self._perform(_remote.wait(job_id, max(round(left, 3), 0.0)))
            if job.finished_at is not None:
                return job
            _give_up(job, deadline, timeout)

    def result(self, job_id: UUID | str, timeout: float | None = None) -> Any:
        """Wait for a job's result; JobFailed when it ends in another way."""
        return _result_of(self.wait(job_id, timeout))

    def cancel(self, job_id: UUID | str, *, reason: str | None = None) -> RemoteJob:
        """Cancel a job that has not ended."""
        return self._perform(_remote.steer(job_id, "cancel", reason))

    def retry(self, job_id: UUID | str, *, reason: str | None = None) -> RemoteJob:
        """Retry a FAILED job as a new job."""
        return self._perform(_remote.steer(job_id, "retry", reason))

    def reprioritise(self, job_id: UUID | str, priority: int, *, reason: str | None = None) -> RemoteJob:
        """Give a job that has not ended another priority, -100 to 100."""
        return self._perform(_remote.steer(job_id, "reprioritise", reason, priority=priority))

    def move(self, job_id: UUID | str, queue: str, *, reason: str | None = None) -> RemoteJob:
        """Put a job that waits into another queue."""
        return self._perform(_remote.steer(job_id, "move", reason, queue=queue))

    def delete(self, job_id: UUID | str, *, reason: str | None = None) -> None:
        """Delete a job that has ended, with its history."""
        return self._perform(_remote.delete(job_id, reason))

    def decide(
        self,
        approval_id: UUID | str,
        decision: Literal["approve", "deny"],
        *,
        reason: str | None = None,
        version: str | None = None,
    ) -> dict[str, Any]:
        """Approve or deny."""
        return self._perform(_remote.decide(approval_id, decision, reason, version))

    def events(
        self,
        *,
        subject: str | None = None,
        tenant: str | None = None,
        job: UUID | str | None = None,
        after: str | None = None,
        patience: float = _LONGEST_OUTAGE,
    ) -> Generator[RemoteEvent, None, None]:
        """Follow a subject, a tenant or a job from now on, or behind the id `after`, until you stop.

        A cut connection is resumed without gap or repeat. EventsMissed when that cannot be;
        DatabaseUnavailable when the service stays away for longer than `patience` seconds.
        """
        following = _Following(_topic(subject, tenant, job), after, patience)
        while True:
            try:
                with self._http.stream(**following.asked) as response:
                    if response.is_success:
                        for some in response.iter_bytes():
                            yield from following.reader.read(some)
                    elif response.status_code not in _PASSING:
                        raise _remote.refusal(response.status_code, response.read())
                pause = following.pause(response=response)
            except _httpx.TransportError as error:
                pause = following.pause(error)
            time.sleep(pause)

    def _perform(self, ask: _remote.Ask[_T]) -> _T:
        key = str(uuid4())
        for number in range(_TRIES):
            try:
                response = self._http.send(self._request(self._http, ask, key))
            except _httpx.TransportError as error:
                if number == _TRIES - 1:
                    raise _DatabaseUnavailable(f"the service does not answer: {error}") from error
                pause = self._pause(number)
            else:
                if response.status_code not in _PASSING or number == _TRIES - 1:
                    return self._read(ask, response)
                pause = self._pause(number, response)
            time.sleep(pause)
        raise AssertionError  # the last try answers or raises

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_Performing):
    """Enqueues, watches and steers jobs through the service, for asynchronous code."""

    def __init__(self, url: str, *, key: str) -> None:
        super().__init__(url, key)
        self._http = _httpx.AsyncClient(**self._options)

    async def enqueue(self, task: str, payload: Mapping[str, Any] | None = None, **options: Any) -> Enqueued:
        """Enqueue a job; see Client.enqueue."""
        return await self._perform(_remote.enqueue(_remote.new_job(task, payload, options)))

    async def enqueue_many(self, jobs: Iterable[Mapping[str, Any]]) -> list[Enqueued]:
        """Enqueue up to 1,000 jobs together: all of them, or none."""
        return await self._perform(_remote.enqueue_many(list(jobs)))

    async def job(self, job_id: UUID | str) -> RemoteJob:
        """Look at a job."""
        return await self._perform(_remote.show(job_id))

    async def jobs(self, search: str = "", *, part: int = 200) -> AsyncIterator[RemoteJob]:
        """Go through the jobs that fit a search, newest first."""
        after: str | None = None
        while True:
            found = await self._perform(_remote.search(search, after, part))
            for job in found.jobs:
                yield job
            if found.next is None:
                return
            after = found.next

    async def wait(self, job_id: UUID | str, timeout: float | None = None) -> RemoteJob:  # noqa: ASYNC109 - of the job
        """Wait until a job has ended; WaitTimedOut when that takes longer."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _LONGEST_WAIT if deadline is None else min(deadline - time.monotonic(), _LONGEST_WAIT)
            job = await self._perform(_remote.wait(job_id, max(round(left, 3), 0.0)))
            if job.finished_at is not None:
                return job
            _give_up(job, deadline, timeout)

    async def result(self, job_id: UUID | str, timeout: float | None = None) -> Any:  # noqa: ASYNC109 - of the job
        """Wait for a job's result; JobFailed when it ends in another way."""
        return _result_of(await self.wait(job_id, timeout))

    async def cancel(self, job_id: UUID | str, *, reason: str | None = None) -> RemoteJob:
        """Cancel a job that has not ended."""
        return await self._perform(_remote.steer(job_id, "cancel", reason))

    async def retry(self, job_id: UUID | str, *, reason: str | None = None) -> RemoteJob:
        """Retry a FAILED job as a new job."""
        return await self._perform(_remote.steer(job_id, "retry", reason))

    async def reprioritise(
        self, job_id: UUID | str, priority: int, *, reason: str | None = None
    ) -> RemoteJob:
        """Give a job that has not ended another priority, -100 to 100."""
        return await self._perform(_remote.steer(job_id, "reprioritise", reason, priority=priority))

    async def move(self, job_id: UUID | str, queue: str, *, reason: str | None = None) -> RemoteJob:
        """Put a job that waits into another queue."""
        return await self._perform(_remote.steer(job_id, "move", reason, queue=queue))

    async def delete(self, job_id: UUID | str, *, reason: str | None = None) -> None:
        """Delete a job that has ended, with its history."""
        return await self._perform(_remote.delete(job_id, reason))

    async def decide(
        self,
        approval_id: UUID | str,
        decision: Literal["approve", "deny"],
        *,
        reason: str | None = None,
        version: str | None = None,
    ) -> dict[str, Any]:
        """Approve or deny."""
        return await self._perform(_remote.decide(approval_id, decision, reason, version))

    async def events(
        self,
        *,
        subject: str | None = None,
        tenant: str | None = None,
        job: UUID | str | None = None,
        after: str | None = None,
        patience: float = _LONGEST_OUTAGE,
    ) -> AsyncGenerator[RemoteEvent, None]:
        """Follow a subject, a tenant or a job; see Client.events."""
        following = _Following(_topic(subject, tenant, job), after, patience)
        while True:
            try:
                async with self._http.stream(**following.asked) as response:
                    if response.is_success:
                        async for some in response.aiter_bytes():
                            for event in following.reader.read(some):
                                yield event
                    elif response.status_code not in _PASSING:
                        raise _remote.refusal(response.status_code, await response.aread())
                pause = following.pause(response=response)
            except _httpx.TransportError as error:
                pause = following.pause(error)
            await asyncio.sleep(pause)

    async def _perform(self, ask: _remote.Ask[_T]) -> _T:
        key = str(uuid4())
        for number in range(_TRIES):
            try:
                response = await self._http.send(self._request(self._http, ask, key))
            except _httpx.TransportError as error:
                if number == _TRIES - 1:
                    raise _DatabaseUnavailable(f"the service does not answer: {error}") from error
                pause = self._pause(number)
            else:
                if response.status_code not in _PASSING or number == _TRIES - 1:
                    return self._read(ask, response)
                pause = self._pause(number, response)
            await asyncio.sleep(pause)
        raise AssertionError  # the last try answers or raises

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _give_up(job: RemoteJob, deadline: float | None, timeout: float | None) -> None:
    if deadline is not None and time.monotonic() >= deadline:
        raise _WaitTimedOut(f"job {job.id} had not ended after {timeout:g} s: it is {job.status}")


def _result_of(job: RemoteJob) -> Any:
    if job.status != "COMPLETED":
        said = (job.error or {}).get("message") or job.why
        raise _JobFailed(f"job {job.id} is {job.status}: {said}", job.id, job.status)
    if job.told.get("hidden"):
        raise _NotAllowed(f"the result of job {job.id} is not shown: {job.told['hidden']}")
    return job.result
