"""Holdfast behind the gate, with its default settings: the only module of the harness that calls it.

Held back by running the worker until it is idle for the warm-up job, and again, for good, at `go`.
The setting `silent` switches waking off in the enqueuing session; `elsewhere` makes the worker serve a queue nobody enqueues to.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import uvloop
from benchmarks.gate import BATCH, NAME, NOTE, Bench, payload, serve

from holdfast import Holdfast

SILENT = "options=-c%20holdfast.quiet%3Don"

# As the owner may, and only the owner: past the guards and without history, so that a million rows take seconds.
# Triggers that are always enabled must be so again, or the next drain would not measure what is shipped.
INSERT_FINISHED = """
do $$
declare
  v_always text[] := array(
    select t.tgname
      from pg_trigger t
     where t.tgrelid = 'holdfast.job'::regclass and not t.tgisinternal and t.tgenabled = 'A');
  v_name text;
begin
  alter table holdfast.job disable trigger user;
  insert into holdfast.job (task, status, claim_order, attempt, seq, claim_id, finished_at, payload, result)
  select 'noop', 'COMPLETED', null, 1, 3, gen_random_uuid(), clock_timestamp(), {payload}::jsonb, 'null'
    from generate_series(1, {jobs});
  alter table holdfast.job enable trigger user;
  foreach v_name in array v_always loop
    execute format('alter table holdfast.job enable always trigger %I', v_name);
  end loop;
end $$
"""


class Ours(Bench):
    """Holdfast as `holdfast worker` runs it: one process, uvloop, default settings."""

    async def open(self) -> None:
        """Declare the application; it connects by itself."""
        joint = "&" if "?" in self.url else "?"
        self.address = f"{self.url}{joint}{SILENT}" if self.setting == "silent" else self.url
        self.app = Holdfast(self.address)

        @self.app.task(name="noop")
        async def noop(number: int, name: str, note: str) -> None:
            """Do nothing."""

        @self.app.task(name="stamp")
        async def stamp(number: int, name: str, note: str) -> None:  # noqa: ARG001 - every job carries the same payload
            """Note the moment."""
            self.stamp(number)

        self.tasks = {"noop": noop, "stamp": stamp}

    async def install(self) -> None:
        """Migrate."""
        self.app.migrate()

    async def enqueue(self, task: str, number: int) -> None:
        """Enqueue one job with the blocking call, the quicker one where nothing else happens meanwhile."""
        self.tasks[task].enqueue(number, NAME, NOTE)

    async def enqueue_batch(self, jobs: int) -> None:
        """Enqueue in one call."""
        noop = self.tasks["noop"]
        self.app.enqueue_many([noop.job(number, NAME, NOTE) for number in range(jobs)])

    async def work_once(self) -> None:
        """Work until idle."""
        await self.app.run_worker(until_idle=True)

    async def work(self) -> None:
        """Work for good."""
        if self.setting == "elsewhere":
            await self.app.run_worker(queues={"elsewhere": 1})
        else:
            await self.app.run_worker(projector=self.setting != "unprojected")

    async def open_threads(self, threads: int) -> None:
        """Give every enqueuing thread an application, and so a connection, of its own; a first job opens it."""
        self.benches = [Ours(self.url, self.setting) for _ in range(threads)]
        for bench in self.benches:
            await bench.open()
            await bench.enqueue("noop", 1)

    async def enqueue_in_threads(self, seconds: float) -> int:
        """Enqueue one by one in each thread, all threads at once, for that long; return how many jobs that made."""
        with ThreadPoolExecutor(len(self.benches)) as threads:
            return sum(threads.map(lambda bench: bench.enqueue_for(seconds), self.benches))

    def enqueue_for(self, seconds: float) -> int:
        """Enqueue `noop` jobs one by one for that long and return how many."""
        noop = self.tasks["noop"]
        until = time.perf_counter() + seconds
        jobs = 0
        while time.perf_counter() < until:
            noop.enqueue(1, NAME, NOTE)
            jobs += 1
        return jobs

    async def fill_tenants(self, jobs: int, tenants: int) -> None:
        """Enqueue `noop` jobs in batches, in turn for each of so many tenants; 0: for none."""
        noop = self.tasks["noop"]
        makers = [noop.using(tenant=f"tenant-{number}") for number in range(tenants)] or [noop]
        for first in range(0, jobs, BATCH):
            numbers = range(first, min(first + BATCH, jobs))
            self.app.enqueue_many([makers[n % len(makers)].job(n, NAME, NOTE) for n in numbers])

    async def enqueue_late(self, number: int) -> int:
        """Enqueue a `stamp` job of one more tenant and return the moment before the call."""
        moment = time.monotonic_ns()
        self.tasks["stamp"].using(tenant="the late one").enqueue(number, NAME, NOTE)
        return moment

    async def insert_finished(self, jobs: int) -> None:
        """Put finished jobs into the table as if they had been worked off long ago."""
        text = psycopg.sql.Literal(json.dumps(payload(1)))
        statement = psycopg.sql.SQL(INSERT_FINISHED).format(payload=text, jobs=psycopg.sql.Literal(jobs))
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)
            connection.execute("vacuum analyze holdfast.job")


async def main() -> None:
    await serve(Ours(*sys.argv[1:3]))


if __name__ == "__main__":
    uvloop.run(main())
