"""How an app steers jobs that exist: handles, cancel, retry, events."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from holdfast.domain.payload import encode_result
from holdfast.domain.search import parse, quoted
from holdfast.domain.states import Status
from holdfast.runtime.handle import AsyncHandle, Handle, as_uuid
from holdfast.runtime.link import Link
from holdfast.store import change, finish
from holdfast.store.call import Call
from holdfast.store.foreign import aask_through, ask_through
from holdfast.store.ids import new_id
from holdfast.store.search import Found, find_jobs
from holdfast.store.steps import emit
from holdfast.store.tenants import set_tenant_weight


class Steering:
    """The part of an app that people and products steer jobs with."""

    link: Link

    def handle(self, job_id: UUID | str) -> Handle[Any]:
        """Get a handle on a job by its id."""
        return Handle(self.link, as_uuid(job_id), created=False, decode=json.loads)

    def jobs(
        self,
        search: str = "",
        *,
        where: Mapping[str, str] | None = None,
        tenant: str | None = None,
        limit: int = 50,
        before: UUID | str | None = None,
    ) -> Found:
        """Find jobs, newest first, in the words of `holdfast job list -q`; `next` of the answer goes into `before`.

        Given a tenant, nobody else's are found, whatever the search says. `where={"subject": "agent:7"}` is for values that come
        from elsewhere: whatever stands in them, each is one value.
        """
        return self.link.perform(_found(search, where or {}, tenant, limit, before))

    async def ajobs(
        self,
        search: str = "",
        *,
        where: Mapping[str, str] | None = None,
        tenant: str | None = None,
        limit: int = 50,
        before: UUID | str | None = None,
    ) -> Found:
        """Find jobs; see jobs."""
        return await self.link.aperform(_found(search, where or {}, tenant, limit, before))

    def cancel(self, job_id: UUID | str, *, actor: str | None = None, reason: str | None = None) -> Status:
        """Cancel a job that has not ended."""
        return Status(self.link.perform(finish.cancel(as_uuid(job_id), actor, reason)))

    def retry(
        self, job_id: UUID | str, *, actor: str | None = None, reason: str | None = None
    ) -> Handle[Any]:
        """Retry a FAILED job as a new job that names it."""
        new = self.link.perform(finish.retry(as_uuid(job_id), actor, reason, new_id()))
        return Handle(self.link, new, created=True, decode=json.loads)

    def reprioritise(
        self, job_id: UUID | str, priority: int, *, actor: str | None = None, reason: str | None = None
    ) -> None:
        """Give a job that has not ended another priority, -100 to 100; one that runs has it from its next attempt on."""
        self.link.perform(change.reprioritise(as_uuid(job_id), priority, actor, reason))

    def move(
        self, job_id: UUID | str, queue: str, *, actor: str | None = None, reason: str | None = None
    ) -> None:
        """Put a job that waits into another queue."""
        self.link.perform(change.move_to_queue(as_uuid(job_id), queue, actor, reason))

    def delete(self, job_id: UUID | str, *, actor: str | None = None, reason: str | None = None) -> None:
        """Delete a job that has ended, with its history; the audit keeps who did it."""
        self.link.perform(change.delete_job(as_uuid(job_id), actor, reason))

    async def areprioritise(
        self, job_id: UUID | str, priority: int, *, actor: str | None = None, reason: str | None = None
    ) -> None:
        """Give a job another priority; see reprioritise."""
        await self.link.aperform(change.reprioritise(as_uuid(job_id), priority, actor, reason))

    async def amove(
        self, job_id: UUID | str, queue: str, *, actor: str | None = None, reason: str | None = None
    ) -> None:
        """Put a job that waits into another queue."""
        await self.link.aperform(change.move_to_queue(as_uuid(job_id), queue, actor, reason))

    async def adelete(
        self, job_id: UUID | str, *, actor: str | None = None, reason: str | None = None
    ) -> None:
        """Delete a job that has ended; see delete."""
        await self.link.aperform(change.delete_job(as_uuid(job_id), actor, reason))

    def set_tenant_weight(self, tenant: str, weight: int) -> None:
        """Give a tenant that many jobs, 1 to 1000, for every one that another tenant gets."""
        self.link.perform(set_tenant_weight(tenant, weight))

    async def aset_tenant_weight(self, tenant: str, weight: int) -> None:
        """Give a tenant that many jobs, 1 to 1000, for every one that another tenant gets."""
        await self.link.aperform(set_tenant_weight(tenant, weight))

    def ahandle(self, job_id: UUID | str) -> AsyncHandle[Any]:
        """Get a handle on a job by its id, for asynchronous code."""
        return AsyncHandle(self.link, as_uuid(job_id), created=False, decode=json.loads)

    async def acancel(
        self, job_id: UUID | str, *, actor: str | None = None, reason: str | None = None
    ) -> Status:
        """Cancel a job that has not ended."""
        return Status(await self.link.aperform(finish.cancel(as_uuid(job_id), actor, reason)))

    async def aretry(
        self, job_id: UUID | str, *, actor: str | None = None, reason: str | None = None
    ) -> AsyncHandle[Any]:
        """Retry a FAILED job as a new job that names it."""
        new = await self.link.aperform(finish.retry(as_uuid(job_id), actor, reason, new_id()))
        return AsyncHandle(self.link, new, created=True, decode=json.loads)

    def emit(self, event: str, payload: Any = None, *, tenant: str | None = None, conn: Any = None) -> int:
        """Emit an event that tasks wait for with ctx.event; kept for 30 days for those who come later. Answers how many it woke."""
        written = encode_result(payload)
        if conn is None:
            return self.link.perform(emit(event, written, tenant, None))
        values = {"event": event, "payload": written, "tenant": tenant, "actor": None}
        return int(ask_through(conn, "emit", values, "app.aemit(…, conn=…)")[0][0])

    async def aemit(
        self, event: str, payload: Any = None, *, tenant: str | None = None, conn: Any = None
    ) -> int:
        """Emit an event that tasks wait for with ctx.event; see emit."""
        written = encode_result(payload)
        if conn is None:
            return await self.link.aperform(emit(event, written, tenant, None))
        values = {"event": event, "payload": written, "tenant": tenant, "actor": None}
        return int((await aask_through(conn, "emit", values))[0][0])


def _found(
    search: str, where: Mapping[str, str], tenant: str | None, limit: int, before: UUID | str | None
) -> Call[Found]:
    place = None if before is None else as_uuid(before)
    terms = (f"{name}:{quoted(value)}" for name, value in where.items())
    return find_jobs(parse(" ".join([search, *terms])).within(tenant), limit, before=place)
