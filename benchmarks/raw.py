"""The raw-SQL limit: what PostgreSQL gives for the same rows, every job kept, one history row a transition.

psycopg 3, one connection, binary, batches of 500, claim and complete in two commits, history in a CTE.
It promises nothing else: no guard, no fence, no retry; it is the line to be measured against, not a queue to use.
"""

import asyncio
import json
import pathlib
import sys
import uuid
from typing import Any

import psycopg
import uvloop
from benchmarks.gate import WARM_UP, Bench, payload, serve

CLAIM_BATCH = 500

INSERT = """
with born as (
  insert into raw.job (task, payload, claim_order)
  select j.task, j.payload::jsonb, clock_timestamp()
    from unnest(%b::text[], %b::text[]) as j (task, payload)
  returning id, seq, status, attempt)
insert into raw.job_history (job_id, seq, to_status, attempt)
select born.id, born.seq, born.status, born.attempt
  from born
"""

INSERT_ONE = """
with born as (
  insert into raw.job (task, payload, claim_order)
  values (%b, %b::text::jsonb, clock_timestamp())
  returning id, seq, status, attempt)
insert into raw.job_history (job_id, seq, to_status, attempt)
select born.id, born.seq, born.status, born.attempt
  from born
"""

INSERT_ONE_AND_NOTIFY = f"{INSERT_ONE} returning pg_notify('raw_job', '')"

CLAIM = """
with taken as materialized (
  select j.id
    from raw.job j
   where j.queue = 'default' and j.claim_order is not null
   order by j.queue, j.claim_order, j.id
   limit %b
     for no key update skip locked),
moved as (
  update raw.job j
     set status = 'RUNNING', claim_order = null, attempt = j.attempt + 1, seq = j.seq + 1,
         holder = %b, claim_id = %b, updated_at = clock_timestamp()
    from taken
   where j.id = taken.id
  returning j.id, j.task, j.payload::text as payload, j.attempt, j.seq),
recorded as (
  insert into raw.job_history (job_id, seq, from_status, to_status, attempt)
  select moved.id, moved.seq, 'PENDING', 'RUNNING', moved.attempt
    from moved)
select moved.id, moved.task, moved.payload, moved.attempt
  from moved
"""

COMPLETE = """
with moved as (
  update raw.job j
     set status = 'COMPLETED', holder = null, result = o.result::jsonb, seq = j.seq + 1,
         finished_at = clock_timestamp(), updated_at = clock_timestamp()
    from unnest(%b::uuid[], %b::int[], %b::text[]) as o (id, attempt, result)
   where j.id = o.id and j.status = 'RUNNING' and j.attempt = o.attempt
  returning j.id, j.attempt, j.seq)
insert into raw.job_history (job_id, seq, from_status, to_status, attempt)
select moved.id, moved.seq, 'RUNNING', 'COMPLETED', moved.attempt
  from moved
"""

Row = tuple[uuid.UUID, str, str, int]


class Raw(Bench):
    """The statements above behind the commands of the gate.

    The setting `waking` sends a NOTIFY with every single enqueue, which the latency case needs and the others do not want.
    """

    async def open(self) -> None:
        """Open the one connection."""
        self.connection = psycopg.connect(self.url, autocommit=True, prepare_threshold=0)
        # The plans must be those of a warm system, whatever the table's statistics say when it was last empty.
        self.connection.execute("set enable_seqscan = off")
        self.connection.execute("set enable_sort = off")
        self.connection.execute("set enable_bitmapscan = off")
        self.holder = uuid.uuid4()

    async def install(self) -> None:
        """Create the two tables."""
        schema = pathlib.Path(__file__).with_name("raw.sql").read_text(encoding="utf-8")
        self.connection.execute(schema, prepare=False)

    async def enqueue(self, task: str, number: int) -> None:
        """Insert one job and its history row; one commit."""
        statement = INSERT_ONE_AND_NOTIFY if self.setting == "waking" else INSERT_ONE
        self.connection.execute(statement, (task, json.dumps(payload(number))))

    async def enqueue_batch(self, jobs: int) -> None:
        """Insert the jobs and their history rows in one statement."""
        texts = [json.dumps(payload(number)) for number in range(jobs)]
        self.connection.execute(INSERT, (["noop"] * jobs, texts))

    async def work_once(self) -> None:
        """Claim and complete what is there."""
        while rows := self._claim():
            self._complete(rows)

    async def work(self) -> None:
        """Claim and complete without a pause; wait for a notification when the line is empty."""
        with psycopg.connect(self.url, autocommit=True) as listening:
            listening.execute("listen raw_job")
            await asyncio.to_thread(self._work, listening)

    def _work(self, listening: psycopg.Connection[Any]) -> None:
        while True:
            while rows := self._claim():
                self._complete(rows)
            for _ in listening.notifies(timeout=1, stop_after=1):
                break

    def _claim(self) -> list[Row]:
        with self.connection.cursor(binary=True) as cursor:
            cursor.execute(CLAIM, (CLAIM_BATCH, self.holder, uuid.uuid4()))
            rows: list[Row] = cursor.fetchall()
        for _, task, text, _ in rows:
            number = json.loads(text)["number"]
            if task == "stamp" and number != WARM_UP:
                self.stamp(number)
        return rows

    def _complete(self, rows: list[Row]) -> None:
        ids, attempts = [row[0] for row in rows], [row[3] for row in rows]
        self.connection.execute(COMPLETE, (ids, attempts, ["null"] * len(rows)))


async def main() -> None:
    await serve(Raw(*sys.argv[1:3]))


if __name__ == "__main__":
    uvloop.run(main())
