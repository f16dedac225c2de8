"""Procrastinate behind the gate, tuned: 30 jobs at a time, a pool as large.

Held back by running the worker without waiting (it returns when it has caught up) for the warm-up job, and again, waiting, at `go`.
"""

import logging
import sys

import uvloop
from benchmarks.gate import Bench, payload, serve
from procrastinate import App, PsycopgConnector

CONCURRENCY = 30


class ProcrastinateBench(Bench):
    """Procrastinate with its psycopg connector and uvloop."""

    async def open(self) -> None:
        """Open the pool, with a connection for every job that may run at once and two for the worker itself."""
        logging.getLogger("procrastinate").setLevel(logging.ERROR)
        connector = PsycopgConnector(conninfo=self.url, min_size=4, max_size=CONCURRENCY + 2)
        self.app = App(connector=connector)

        async def noop(number: int, name: str, note: str) -> None:
            """Do nothing."""

        async def stamp(number: int, name: str, note: str) -> None:  # noqa: ARG001 - every job carries the same payload
            """Note the moment."""
            self.stamp(number)

        self.tasks = {
            function.__name__: self.app.task(name=function.__name__)(function) for function in (noop, stamp)
        }
        await self.app.open_async()

    async def install(self) -> None:
        """Apply its schema."""
        await self.app.schema_manager.apply_schema_async()

    async def enqueue(self, task: str, number: int) -> None:
        """Defer one job."""
        await self.tasks[task].defer_async(**payload(number))

    async def enqueue_batch(self, jobs: int) -> None:
        """Defer with its batch call."""
        await self.tasks["noop"].batch_defer_async(*(payload(number) for number in range(jobs)))

    async def work_once(self) -> None:
        """Catch up and return."""
        await self.app.run_worker_async(concurrency=CONCURRENCY, wait=False, install_signal_handlers=False)

    async def work(self) -> None:
        """Run for good."""
        await self.app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False)


async def main() -> None:
    await serve(ProcrastinateBench(*sys.argv[1:3]))


if __name__ == "__main__":
    uvloop.run(main())
