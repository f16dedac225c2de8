"""Lists of jobs: by whatever they are narrowed down, an index answers."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

import psycopg
import pytest

from holdfast.domain.states import Status
from holdfast.store import inspect
from holdfast.store.call import perform_sync
from holdfast.store.inspect import Filters
from holdfast.testing import TestServer
from sql.support import Machine, rows_read

JOBS = 20_000
# Past the guards and without history: what counts here is what the columns hold.
LOAD = """
insert into holdfast.job (claim_order, id, task, queue, tenant, subject, tags, status, finished_at, holder, claim_id, error)
select case when s.status = 'PENDING' then clock_timestamp() end,
       overlay(overlay(holdfast.uuid_at('2026-01-01T00:00:00Z'::timestamptz + n * interval '1 minute')::text placing '7' from 15)
               placing lpad(to_hex(n), 12, '0') from 25)::uuid,
       'task-' || mod(n, 50), 'queue-' || mod(n, 4), 'tenant-' || mod(n, 200), 'booking:' || mod(n, 5000),
       jsonb_build_array('tag-' || mod(n, 300)), s.status, case when holdfast.is_terminal(s.status) then clock_timestamp() end,
       case when s.status = 'RUNNING' then gen_random_uuid() end, gen_random_uuid(), '{}'
  from generate_series(1, %s) as n
  cross join lateral (
    select case when mod(n, 400) = 0 then 'FAILED' when mod(n, 1000) = 1 then 'RUNNING' when mod(n, 100) = 7 then 'PENDING'
                else 'COMPLETED' end::holdfast.job_status as status) as s
"""
# The same question as a list's, asked without a thought for indexes.
PLAINLY = """
select id
  from holdfast.job
 where (%(status)s::text is null or status::text = %(status)s)
   and (%(task)s::text is null or task = %(task)s)
   and (%(queue)s::text is null or queue = %(queue)s)
   and (%(tenant)s::text is null or tenant = %(tenant)s)
   and (%(subject)s::text is null or subject = %(subject)s)
   and (%(tag)s::text is null or tags ? %(tag)s)
   and (%(created_after)s::timestamptz is null or id >= holdfast.uuid_at(%(created_after)s))
   and (%(created_before)s::timestamptz is null or id < holdfast.uuid_at(%(created_before)s))
   and (%(before_id)s::uuid is null or id < %(before_id)s)
 order by id desc
 limit 20
"""


@pytest.fixture(scope="module")
def full(holdfast_server: TestServer) -> Iterator[Machine]:
    """Give a table with many jobs, which the tests only read."""
    with (
        holdfast_server.database() as database,
        psycopg.connect(database.owner_url, autocommit=True) as connection,
    ):
        machine = Machine(connection)
        machine.run("alter table holdfast.job disable trigger user")
        machine.run(LOAD, JOBS)
        machine.run("vacuum analyze holdfast.job")
        yield machine


FILTERS: dict[str, Filters] = {
    "nothing": Filters(),
    "a frequent status": Filters(status=Status.COMPLETED),
    "a rare status": Filters(status=Status.FAILED),
    "RUNNING": Filters(status=Status.RUNNING),
    "a status nobody is in": Filters(status=Status.WAITING),
    "task": Filters(task="task-7"),
    "a task nobody has": Filters(task="none"),
    "tenant": Filters(tenant="tenant-7"),
    "subject": Filters(subject="booking:7"),
    "tag": Filters(tag="tag-7"),
    "queue": Filters(queue="queue-1"),
    "after": Filters(created_after=datetime.fromisoformat("2026-01-14T00:00:00+00:00")),
    "before": Filters(created_before=datetime.fromisoformat("2026-01-02T00:00:00+00:00")),
    "a day": Filters(
        created_after=datetime.fromisoformat("2026-01-05T00:00:00+00:00"),
        created_before=datetime.fromisoformat("2026-01-06T00:00:00+00:00"),
    ),
    "task and status": Filters(task="task-0", status=Status.FAILED),
    "tenant and status": Filters(tenant="tenant-0", status=Status.FAILED),
    "the next page": Filters(status=Status.COMPLETED, before_id=UUID("019b8000-0000-7000-8000-000000000000")),
}


@pytest.mark.parametrize("what", FILTERS)
def test_a_list_reads_no_table_from_end_to_end(full: Machine, what: str) -> None:
    call = inspect.list_jobs(FILTERS[what], limit=20)

    plan = [line for (line,) in full.connection.execute(f"explain {call.sql}", call.parameters)]

    assert not [line for line in plan if "Seq Scan on job" in line], "\n".join(plan)


@pytest.mark.parametrize("what", FILTERS)
def test_a_list_reads_not_many_more_rows_than_it_shows(full: Machine, what: str) -> None:
    call = inspect.list_jobs(FILTERS[what], limit=20)

    with full.connection.transaction():
        before = rows_read(full)
        perform_sync(full.connection, call)
        read = rows_read(full) - before

    assert read <= JOBS / 10


@pytest.mark.parametrize("what", FILTERS)
def test_a_list_shows_what_was_asked_for_newest_first(full: Machine, what: str) -> None:
    filters = FILTERS[what]

    jobs = perform_sync(full.connection, inspect.list_jobs(filters, limit=20))

    plainly = full.connection.execute(PLAINLY, asdict(filters)).fetchall()
    assert [job.id for job in jobs] == [job_id for (job_id,) in plainly]
