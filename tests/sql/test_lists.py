"""Lists of jobs: by whatever they are narrowed down, an index answers."""

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from holdfast.domain.search import parse
from holdfast.store.call import perform_sync
from holdfast.store.search import count_jobs, find_jobs
from holdfast.testing import TestServer
from sql.support import Machine, rows_read

JOBS = 20_000
# Past the guards and without history: what counts here is what the columns hold.
LOAD = """
insert into holdfast.job (claim_order, id, task, queue, tenant, subject, tags, payload, status, finished_at, holder, claim_id, error)
select case when s.status = 'PENDING' then clock_timestamp() end,
       overlay(overlay(holdfast.uuid_at('2026-01-01T00:00:00Z'::timestamptz + n * interval '1 minute')::text placing '7' from 15)
               placing lpad(to_hex(n), 12, '0') from 25)::uuid,
       'task-' || mod(n, 50), 'queue-' || mod(n, 4), 'tenant-' || mod(n, 200), 'booking:' || mod(n, 5000),
       jsonb_build_array('tag-' || mod(n, 300)), jsonb_build_object('n', mod(n, 1000)), s.status, case when holdfast.is_terminal(s.status) then clock_timestamp() end,
       case when s.status = 'RUNNING' then gen_random_uuid() end, gen_random_uuid(), '{}'
  from generate_series(1, %s) as n
  cross join lateral (
    select case when mod(n, 400) = 0 then 'FAILED' when mod(n, 1000) = 1 then 'RUNNING' when mod(n, 100) = 7 then 'PENDING'
                else 'COMPLETED' end::holdfast.job_status as status) as s
"""
# The same questions asked without a thought for indexes.
PLAINLY = "select id from holdfast.job j where {} order by id desc limit 20"


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


QUESTIONS: dict[str, tuple[str, str]] = {
    "nothing": ("", "true"),
    "a frequent status": ("status:completed", "status = 'COMPLETED'"),
    "a rare status": ("status:failed", "status = 'FAILED'"),
    "RUNNING": ("status:running", "status = 'RUNNING'"),
    "a status nobody is in": ("status:waiting", "status = 'WAITING'"),
    "two statuses": ("status:failed,pending", "status in ('FAILED', 'PENDING')"),
    "a frequent and a rare status": ("status:completed,running", "status in ('COMPLETED', 'RUNNING')"),
    "task": ("task:task-7", "task = 'task-7'"),
    "a task nobody has": ("task:none", "task = 'none'"),
    "tenant": ("tenant:tenant-7", "tenant = 'tenant-7'"),
    "subject": ("subject:booking:7", "subject = 'booking:7'"),
    "tag": ("tag:tag-7", "tags ? 'tag-7'"),
    "queue": ("queue:queue-1 since:2000d", "queue = 'queue-1'"),
    "after": ("since:2026-01-14T00:00Z", "id >= holdfast.uuid_at('2026-01-14T00:00Z')"),
    "before": ("until:2026-01-02T00:00Z", "id < holdfast.uuid_at('2026-01-02T00:00Z')"),
    "a day": (
        "since:2026-01-05T00:00Z until:2026-01-06T00:00Z",
        "id >= holdfast.uuid_at('2026-01-05T00:00Z') and id < holdfast.uuid_at('2026-01-06T00:00Z')",
    ),
    "task and status": ("task:task-0 status:failed", "task = 'task-0' and status = 'FAILED'"),
    "tenant and status": ("tenant:tenant-0 status:failed", "tenant = 'tenant-0' and status = 'FAILED'"),
    "tenant and tag": ("tenant:tenant-1 tag:tag-1", "tenant = 'tenant-1' and tags ? 'tag-1'"),
    "a tenant among the frequent": (
        "status:completed task:task-3 tenant:tenant-3",
        "status = 'COMPLETED' and task = 'task-3' and tenant = 'tenant-3'",
    ),
    "an id": ("id:019b8b", "id::text like '019b8b%'"),
    "an id and a status": ("id:019b8b status:completed", "id::text like '019b8b%' and status = 'COMPLETED'"),
}
# A look that finds little goes on to its bound, which is more than these tables have.
LOOKS: dict[str, tuple[str, str]] = {
    "a pattern": ("task:task-1* since:2000d", "task like 'task-1%'"),
    "payload": ("payload.n:13 since:2000d", "payload @> '{\"n\": 13}'"),
    "label": ("label:nobody since:2000d", "false"),
}
BEFORE = UUID("019b8000-0000-7000-8000-000000000000")


@pytest.mark.parametrize("what", [*QUESTIONS, *LOOKS])
def test_a_list_reads_no_table_from_end_to_end(full: Machine, what: str) -> None:
    call = find_jobs(parse({**QUESTIONS, **LOOKS}[what][0]), 20)

    plan = [line for (line,) in full.connection.execute(f"explain {call.sql}", call.parameters)]

    assert not [line for line in plan if "Seq Scan on job" in line], "\n".join(plan)


@pytest.mark.parametrize("what", QUESTIONS)
def test_a_list_reads_not_many_more_rows_than_it_shows(full: Machine, what: str) -> None:
    call = find_jobs(parse(QUESTIONS[what][0]), 20)

    with full.connection.transaction():
        before = rows_read(full)
        perform_sync(full.connection, call)
        read = rows_read(full) - before

    assert read <= JOBS / 10


@pytest.mark.parametrize("what", [*QUESTIONS, *LOOKS])
@pytest.mark.parametrize("before", [None, BEFORE], ids=["first", "next"])
def test_a_list_shows_what_was_asked_for_newest_first(full: Machine, what: str, before: UUID | None) -> None:
    text, plainly = {**QUESTIONS, **LOOKS}[what]
    if before is not None:
        plainly = f"({plainly}) and id < '{before}'"

    found = perform_sync(full.connection, find_jobs(parse(text), 20, before=before))

    expected = full.connection.execute(PLAINLY.format(plainly)).fetchall()
    assert [job.id for job in found.jobs] == [job_id for (job_id,) in expected]


def test_a_look_stops_at_its_bound_and_goes_on_from_there(
    full: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.store.search.LOOKED_AT", 1500)
    search = parse("payload.n:13 since:2000d")
    found, before, questions = [], None, 0
    while True:
        page = perform_sync(full.connection, find_jobs(search, 2, before=before))
        found += page.jobs
        questions += 1
        if page.next is None:
            break
        before = page.next

    expected = full.connection.execute(
        "select id from holdfast.job where payload @> '{\"n\": 13}' order by id desc"
    ).fetchall()
    assert [job.id for job in found] == [job_id for (job_id,) in expected]
    assert len(found) == 20
    assert questions > 10


def test_a_count_has_a_bound(full: Machine) -> None:
    assert perform_sync(full.connection, count_jobs(parse("status:failed"), 100)) == (50, True)
    assert perform_sync(full.connection, count_jobs(parse("status:completed"), 100)) == (100, False)


def test_an_index_that_a_database_may_have_is_used_when_it_is_there(full: Machine) -> None:
    call = find_jobs(parse("payload.n:13"), 20)
    with full.connection.transaction(force_rollback=True):
        full.run("create index job_by_payload on holdfast.job using gin (payload jsonb_path_ops)")
        found = perform_sync(full.connection, call)

    assert len(found.jobs) == 20
    assert found.since is None
    # Without it the newest week is looked at, and all these jobs are older.
    assert perform_sync(full.connection, call).jobs == []
