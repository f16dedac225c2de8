"""Operations on many jobs: what one job is refused stops none of the others."""

from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.gates import admit, limited
from sql.support import Machine, Row, meanwhile, refused, rows_read, until_it_waits


def begun(machine: Machine, *jobs: UUID, action: str = "retry") -> UUID:
    """Begin an operation of one chunk."""
    made: UUID = machine.value("select holdfast.new_id()")
    machine.value(
        "select holdfast.begin_operation(%s, null, %s, %s, null, 'x', 'ana', null, %s, %s)",
        made, action, 5 if action == "reprioritise" else None, list(jobs), Jsonb([{"name": "holdfast.bulk"}]),
    )  # fmt: skip
    return made


def retried(machine: Machine, *jobs: UUID) -> Row:
    """Retry jobs with an operation of one chunk."""
    made = begun(machine, *jobs)
    assert not refused(machine, "select holdfast.run_chunk(%s, 1)", made)
    machine.one("select * from holdfast.run_chunk(%s, 1)", made)
    return machine.one("select * from holdfast.operation_chunk where operation_id = %s", made)


def failed(machine: Machine, task: str, **options: Any) -> UUID:
    job_id = machine.enqueue(task, **options)
    admit(machine)
    machine.move(job_id, Status.RUNNING)
    machine.move(job_id, Status.FAILED)
    return job_id


def test_a_retry_that_a_limit_rejects_is_counted_as_refused(machine: Machine) -> None:
    limited(machine, "one", key="user:{u}", policy="reject")
    first, second = (failed(machine, "one", payload={"u": 1}) for _ in range(2))
    other = failed(machine, "t")

    chunk = retried(machine, first, second, other)

    assert (chunk["done"], chunk["skipped"]) == (2, 1)
    (refusal,) = chunk["refusals"]
    assert refusal["job"] == str(second)
    assert "user:1" in refusal["why"]
    assert not machine.rows("select from holdfast.job where retry_of = %s", second)


def test_of_two_failed_jobs_of_one_key_one_is_retried(machine: Machine) -> None:
    first, second = (failed(machine, "t", key="k") for _ in range(2))

    chunk = retried(machine, first, second)

    assert (chunk["done"], chunk["skipped"]) == (1, 1)
    assert "holds its key" in chunk["refusals"][0]["why"]


def make(machine: Machine, action: str) -> UUID:
    """Make a job to which this may be done."""
    return failed(machine, "t") if action == "retry" else machine.enqueue()


@pytest.fixture
def early(lasting: Machine) -> Machine:
    """Keep plans from when there was one job."""
    lasting.run("alter table holdfast.job set (autovacuum_enabled = off)")
    lasting.run("set plan_cache_mode = force_generic_plan")
    lasting.enqueue()
    lasting.run("analyze holdfast.job")
    return lasting


def read_by(machine: Machine, statement: str, job_id: UUID) -> int:
    """Count the rows of jobs that a statement reads when there are thousands."""
    machine.enqueue_many([{"task": "t", "payload": {}} for _ in range(5_000)])
    with machine.connection.transaction():
        before = rows_read(machine)
        machine.one(statement, job_id)
        return rows_read(machine) - before


@pytest.mark.new_database
@pytest.mark.parametrize("action", ["retry", "cancel"])
def test_a_change_reads_its_own_job_also_with_plans_from_when_there_were_few(
    early: Machine, action: str
) -> None:
    change = f"select holdfast.{action}(%s)"
    for _ in range(8):
        early.one(change, make(early, action))

    assert read_by(early, change, make(early, action)) < 1_000


@pytest.mark.new_database
@pytest.mark.parametrize("action", ["retry", "cancel", "reprioritise"])
def test_a_chunk_reads_its_own_jobs_also_with_plans_from_when_there_were_few(
    early: Machine, action: str
) -> None:
    run = "select * from holdfast.run_chunk(%s, 1)"
    for _ in range(8):
        early.one(run, begun(early, make(early, action), action=action))
    chunk = begun(early, *[make(early, action) for _ in range(20)], action=action)

    assert read_by(early, run, chunk) < 2_000


def test_who_comes_for_a_chunk_that_is_being_run_is_told_what_became_of_it(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    made = begun(lasting, failed(lasting, "t"))
    run = "select * from holdfast.run_chunk(%s, 1)"

    with meanwhile(holdfast_db) as (running, ask):
        done = running.execute(run, [made]).fetchone()
        asked = ask(run, made)
        until_it_waits(holdfast_db, asked)
        running.commit()

        assert (done, asked.result()) == ((1, 0), "[(1, 0)]")

    assert lasting.value("select done from holdfast.operation_chunk") == 1
