"""How an app looks at one job, at what waits and what comes next, and at what was used."""

from datetime import date
from uuid import UUID

from holdfast.domain.feed import Usage
from holdfast.domain.job import AttemptRecord, Job, Transition
from holdfast.domain.line import Line
from holdfast.runtime.handle import as_uuid
from holdfast.runtime.link import Link
from holdfast.store import inspect, overview, project
from holdfast.store.inspect import upcoming


class Reading:
    """The part of an app that products show figures with."""

    link: Link

    def job(self, job_id: UUID | str) -> Job | None:
        """Look one job up; None when there is none, or none any more."""
        return self.link.perform(inspect.find_job(as_uuid(job_id)))

    async def ajob(self, job_id: UUID | str) -> Job | None:
        """Look one job up; None when there is none, or none any more."""
        return await self.link.aperform(inspect.find_job(as_uuid(job_id)))

    def attempts(self, job_id: UUID | str) -> list[AttemptRecord]:
        """List what a job's attempts left behind, the first one first: outcome, worker, error, log lines."""
        return self.link.perform(inspect.attempts(as_uuid(job_id)))

    async def aattempts(self, job_id: UUID | str) -> list[AttemptRecord]:
        """List what a job's attempts left behind; see attempts."""
        return await self.link.aperform(inspect.attempts(as_uuid(job_id)))

    def upcoming(self, limit: int = 50) -> list[Job]:
        """List the jobs that wait for their time, the next to run first."""
        return self.link.perform(upcoming(limit))

    async def aupcoming(self, limit: int = 50) -> list[Job]:
        """List the jobs that wait for their time, the next to run first."""
        return await self.link.aperform(upcoming(limit))

    def line(self, queue: str = "default") -> Line:
        """Look at what waits in a queue, in line or for its time: how many jobs of which tasks, and since when the first does.

        What a limit, a rate, a paused task or a flag holds back does not count, nor what waits for events or people.
        """
        return self.link.perform(overview.line(queue))

    async def aline(self, queue: str = "default") -> Line:
        """Look at what waits in a queue; see line."""
        return await self.link.aperform(overview.line(queue))

    def history(self, job_id: UUID | str) -> list[Transition]:
        """List a job's moves, the first one first: from where, where to, when, by whom, and why; of no job there are none."""
        return self.link.perform(inspect.history(as_uuid(job_id)))

    async def ahistory(self, job_id: UUID | str) -> list[Transition]:
        """List a job's moves; see history."""
        return await self.link.aperform(inspect.history(as_uuid(job_id)))

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
