"""Searches as SQL find the same jobs as a look at one job at a time, whatever is searched for."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from holdfast.domain.search import Term, parse
from holdfast.domain.states import Status
from holdfast.store.call import perform_sync
from holdfast.store.search import count_jobs, find_jobs
from sql.support import Machine, Row
from world.often import times, within
from world.searches import LETTERS, SEARCHES, VALUES, fits, written

NAMES = st.text(LETTERS, min_size=1, max_size=4)
MEMBERS = st.dictionaries(
    st.sampled_from(["a", "b", "A", "ü"]),
    VALUES | st.lists(VALUES, max_size=2) | st.dictionaries(st.sampled_from(["a", "b"]), VALUES, max_size=2),
    max_size=3,
)
JOB = st.fixed_dictionaries(
    {"payload": MEMBERS, "status": st.sampled_from(Status)},
    optional={
        "task": NAMES,
        "queue": NAMES,
        "tenant": NAMES,
        "subject": NAMES,
        "key": NAMES,
        "label": NAMES,
        "tags": st.lists(NAMES, max_size=2),
        "error": NAMES,
        "worker": NAMES,
        "age": st.integers(0, 10**6),
    },
)
# Past the guards: what counts here is what the columns hold.
_INSERT = """
insert into holdfast.job (id, task, queue, tenant, subject, key, key_scope, label, tags, payload, status, attempt, error, holder, last_holder, finished_at)
select overlay(overlay(holdfast.uuid_at(holdfast.clock() - make_interval(secs => %(age)s))::text placing '7' from 15)
               placing lpad(to_hex(%(nth)s::int), 12, '0') from 25)::uuid,
       %(task)s, %(queue)s, %(tenant)s, %(subject)s, %(key)s::text, case when %(key)s::text is not null then 'ever' end, %(label)s, %(tags)s, %(payload)s,
       %(status)s::holdfast.job_status, %(attempt)s, %(error)s,
       case when %(status)s = 'RUNNING' then %(worker)s::uuid end, case when %(status)s in ('FAILED', 'CANCELLED') then %(worker)s::uuid end,
       case when %(status)s in ('COMPLETED', 'FAILED', 'CANCELLED') then holdfast.clock() end
"""
_ROWS = """
select j.id::uuid, j.status::text, j.task::text, j.queue::text, j.tenant::text, j.subject::text, j.key::text, j.label::text, j.tags, j.payload, j.attempt, j.error,
       array(select n from holdfast.worker w, unnest(array[w.name, w.host]) as n where w.id = coalesce(j.holder, j.last_holder)) as workers
  from holdfast.job j
 order by j.id desc
"""


def put(machine: Machine, nth: int, job: dict[str, Any]) -> None:
    nothing = dict.fromkeys(("tenant", "subject", "key", "label"))
    told = {"type": "Boom", "message": job["error"]} if "error" in job else None
    worker = machine.worker(job["worker"]) if "worker" in job else machine.worker("w")
    machine.connection.execute(
        _INSERT,
        {
            **nothing, "task": "t", "queue": "default", "age": 0, **job,
            "nth": nth, "attempt": nth % 4, "worker": worker,
            "tags": Jsonb(job["tags"]) if "tags" in job else None,
            "payload": Jsonb(job["payload"]),
            "error": Jsonb(told) if told else None,
        },
    )  # fmt: skip


@pytest.fixture
def unguarded(machine: Machine) -> Machine:
    """Give a table that takes any row; all of it is rolled back."""
    machine.run("set local session_replication_role = replica")
    machine.run("alter table holdfast.job disable trigger user")
    machine.run("delete from holdfast.worker")
    return machine


@pytest.mark.timeout(within(600))
def test_a_search_finds_what_fits_one_by_one(unguarded: Machine) -> None:
    machine, found = unguarded, 0

    @given(jobs=st.lists(JOB, min_size=1, max_size=8), terms=SEARCHES)
    @settings(max_examples=times(75, 5_000), database=None, suppress_health_check=list(HealthCheck))
    def look(jobs: list[dict[str, Any]], terms: list[Term]) -> None:
        nonlocal found
        with machine.connection.transaction(force_rollback=True):
            for nth, job in enumerate(jobs, 1):
                put(machine, nth, job)
            search = parse(" ".join(map(written, terms)))
            wanted = [row["id"] for row in machine.rows(_ROWS) if all_fit(terms, row, machine)]

            told = perform_sync(machine.connection, find_jobs(search, 100))
            counted = perform_sync(machine.connection, count_jobs(search, 100))

            if (
                told.since is not None
            ):  # nothing narrows it down, and it names no time: only the newest are looked at
                wanted = [one for one in wanted if born(one) >= told.since.timestamp()]
            assert [job.id for job in told.jobs] == wanted
            assert counted.number == len(wanted)
            found += len(wanted)

    look()

    assert found > times(15, 1_000)


def all_fit(terms: list[Term], row: Row, machine: Machine) -> bool:
    now = machine.value("select holdfast.clock()")
    return all(fits(term, row, now) for term in terms)


def born(job_id: Any) -> float:
    return float((job_id.int >> 80) / 1000)
