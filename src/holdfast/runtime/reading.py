"""How an app looks at what comes next and at what was used."""

from datetime import date

from holdfast.domain.feed import Usage
from holdfast.domain.job import Job
from holdfast.runtime.link import Link
from holdfast.store import project
from holdfast.store.inspect import upcoming


class Reading:
    """The part of an app that products show figures with."""

    link: Link

    def upcoming(self, limit: int = 50) -> list[Job]:
        """List the jobs that wait for their time, the next to run first."""
        return self.link.perform(upcoming(limit))

    async def aupcoming(self, limit: int = 50) -> list[Job]:
        """List the jobs that wait for their time, the next to run first."""
        return await self.link.aperform(upcoming(limit))

    def usage(
        self,
        *,
        tenant: str | None = None,
        task: str | None = None,
        first: date | None = None,
        last: date | None = None,
    ) -> list[Usage]:
        """List usage by day (UTC), tenant and task; of one tenant, one task and these days if told."""
        return self.link.perform(project.usage(tenant, task, first, last))

    async def ausage(
        self,
        *,
        tenant: str | None = None,
        task: str | None = None,
        first: date | None = None,
        last: date | None = None,
    ) -> list[Usage]:
        """List usage by day (UTC), tenant and task; see usage."""
        return await self.link.aperform(project.usage(tenant, task, first, last))
