"""PgQueuer behind the gate: `default` is its own defaults, `best` a pool and batches of 500.

Held back by shutting the first PgQueuer down after the warm-up job and starting a second one, on connections opened before the wait, at `go`.
"""

import asyncio
import json
import sys

import asyncpg
import uvloop
from benchmarks.gate import Bench, payload, serve
from pgqueuer import AsyncpgDriver, AsyncpgPoolDriver, PgQueuer, Queries
from pgqueuer.models import Job

BEST_BATCH = 500
BEST_POOL = 10


class PgQueuerBench(Bench):
    """PgQueuer with asyncpg and uvloop, as its own command line runs it."""

    async def open(self) -> None:
        """Connect once for enqueuing and once, or with a pool, for the worker."""
        self.queries = Queries(AsyncpgDriver(await asyncpg.connect(self.url)))
        self.driver = await self._driver()

    async def install(self) -> None:
        """Install its schema with its defaults: every table logged."""
        await self.queries.install()

    async def enqueue(self, task: str, number: int) -> None:
        """Enqueue one job."""
        await self.queries.enqueue(task, json.dumps(payload(number)).encode())

    async def enqueue_batch(self, jobs: int) -> None:
        """Enqueue with arrays."""
        payloads: list[bytes | None] = [json.dumps(payload(number)).encode() for number in range(jobs)]
        await self.queries.enqueue(["noop"] * jobs, payloads, [0] * jobs)

    async def work_once(self) -> None:
        """Run until the warm-up job has started, then shut down, which flushes its outcome."""
        application = self._application()
        running = asyncio.create_task(self._run(application))
        await self.warmed.wait()
        application.shutdown.set()
        await running
        self.driver = await self._driver()

    async def work(self) -> None:
        """Run for good."""
        await self._run(self._application())

    async def _driver(self) -> AsyncpgDriver | AsyncpgPoolDriver:
        """Connect for one PgQueuer: it does not take back a driver that another has left."""
        if self.setting == "best":
            return AsyncpgPoolDriver(
                await asyncpg.create_pool(self.url, min_size=BEST_POOL, max_size=BEST_POOL)
            )
        return AsyncpgDriver(await asyncpg.connect(self.url))

    def _application(self) -> PgQueuer:
        application = PgQueuer(self.driver)

        application.entrypoint("noop")(self._noop)
        application.entrypoint("stamp")(self._stamp)
        return application

    async def _noop(self, _job: Job) -> None:
        """Do nothing."""

    async def _stamp(self, job: Job) -> None:
        """Note the moment."""
        self.stamp(json.loads(job.payload or b"{}")["number"])

    async def _run(self, application: PgQueuer) -> None:
        if self.setting == "best":
            await application.run(batch_size=BEST_BATCH)
        else:
            await application.run()


async def main() -> None:
    await serve(PgQueuerBench(*sys.argv[1:3]))


if __name__ == "__main__":
    uvloop.run(main())
