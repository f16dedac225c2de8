"""How an app enqueues: all or none, in a transaction of its own or the caller's."""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from holdfast.domain.encryption import Keys
from holdfast.domain.errors import BadInput, UnknownTask
from holdfast.domain.job import Enqueued, NewJob
from holdfast.runtime import tracing
from holdfast.runtime.handle import AsyncHandle, Handle
from holdfast.runtime.link import Link
from holdfast.runtime.logs import events
from holdfast.runtime.registry import AnyTask
from holdfast.runtime.sealing import sealed
from holdfast.store.enqueue import chunks, enqueue_many
from holdfast.store.foreign import aenqueue_through, enqueue_through


class Enqueuing(ABC):
    """The part of an app that makes jobs."""

    link: Link
    tasks: dict[str, AnyTask]
    _registered: set[str]  # tasks that this database is known to have
    encryption: Keys | None

    @abstractmethod
    def declared(self, names: set[str]) -> str:
        """Write the definitions of these tasks, for a database that has not seen them yet."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Open a transaction for rows of your own and the jobs they lead to: give its connection to `using(conn=…)`.

        The end of the block commits, an error rolls back; DatabaseUnavailable from the end says that nobody knows which.
        """
        with self.link.transaction() as transaction:
            yield transaction.connection

    @asynccontextmanager
    async def atransaction(self) -> AsyncIterator[Any]:
        """Open a transaction for rows of your own and the jobs they lead to; see transaction."""
        async with self.link.atransaction() as transaction:
            yield transaction.connection

    def enqueue_many(self, jobs: Iterable[NewJob], *, conn: Any = None) -> list[Handle[Any]]:
        """Enqueue jobs made by task.job(…): all or none; in the caller's transaction when conn is given."""
        with tracing.enqueuing(_new_jobs(jobs)) as wanted:
            made = self._made(self.sealed(wanted), conn)
        return [
            Handle(self.link, one.job_id, one.created, self.decoder(job))
            for job, one in _paired(wanted, made)
        ]

    def _made(self, wanted: Sequence[NewJob], conn: Any) -> list[list[Enqueued]]:
        parts = list(chunks(wanted))
        names = {job.task for job in wanted}
        if conn is not None:
            made = enqueue_through(conn, parts, self.declared(names))
        elif names <= self._registered:
            try:
                made = self._enqueue(parts, None)
            except UnknownTask:  # the database was made anew meanwhile
                made = self._enqueue(parts, self.declared(names))
        else:
            made = self._enqueue(parts, self.declared(names))
            self._registered |= names
        return made

    async def aenqueue_many(self, jobs: Iterable[NewJob], *, conn: Any = None) -> list[AsyncHandle[Any]]:
        """Enqueue jobs made by task.job(…): all or none; in the caller's transaction when conn is given."""
        with tracing.enqueuing(_new_jobs(jobs)) as wanted:
            made = await self._amade(self.sealed(wanted), conn)
        return [
            AsyncHandle(self.link, one.job_id, one.created, self.decoder(job))
            for job, one in _paired(wanted, made)
        ]

    async def _amade(self, wanted: Sequence[NewJob], conn: Any) -> list[list[Enqueued]]:
        parts = list(chunks(wanted))
        names = {job.task for job in wanted}
        if conn is not None:
            made = await aenqueue_through(conn, parts, self.declared(names))
        elif names <= self._registered:
            try:
                made = await self._aenqueue(parts, None)
            except UnknownTask:  # the database was made anew meanwhile
                made = await self._aenqueue(parts, self.declared(names))
        else:
            made = await self._aenqueue(parts, self.declared(names))
            self._registered |= names
        return made

    def _enqueue(self, parts: list[list[NewJob]], declared: str | None) -> list[list[Enqueued]]:
        if len(parts) == 1:
            return [self.link.perform(enqueue_many(parts[0], declared))]
        if not parts:
            return []
        return self.link.perform_together(lambda: (enqueue_many(part, declared) for part in parts))

    async def _aenqueue(self, parts: list[list[NewJob]], declared: str | None) -> list[list[Enqueued]]:
        if len(parts) == 1:
            return [await self.link.aperform(enqueue_many(parts[0], declared))]
        if not parts:
            return []
        return await self.link.aperform_together(lambda: (enqueue_many(part, declared) for part in parts))

    def sealed(self, jobs: Sequence[NewJob]) -> list[NewJob]:
        """Encrypt the payloads of new jobs, if this app encrypts."""
        keys = self.encryption
        return list(jobs) if keys is None else [sealed(keys, job) for job in jobs]

    def decoder(self, job: NewJob) -> Callable[[str], Any]:
        """Say how the job's result is read."""
        task = self.tasks.get(job.task)
        return task.codec.decode_result if task else json.loads


def _new_jobs(jobs: Iterable[NewJob]) -> list[NewJob]:
    listed = list(jobs)
    for place, job in enumerate(listed):
        if not isinstance(job, NewJob):
            raise BadInput(
                f"jobs[{place}] is a {type(job).__name__}: make jobs with task.job(…) or task.using(…).job(…)"
            )
    return listed


def _paired(jobs: Sequence[NewJob], made: list[list[Enqueued]]) -> list[tuple[NewJob, Enqueued]]:
    flat = [one for part in made for one in part]
    events.info("jobs:created", extra={"count": sum(one.created for one in flat)})
    return list(zip(jobs, flat, strict=True))
