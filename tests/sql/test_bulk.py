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


@pytest.mark.new_database
@pytest.mark.parametrize("action", ["retry", "cancel"])
def test_a_change_reads_its_own_job_also_with_plans_from_when_there_were_few(
    lasting: Machine, action: str
) -> None:
    lasting.run(
        "alter table holdfast.job set (autovacuum_enabled = off); set plan_cache_mode = force_generic_plan"
    )
    make = failed if action == "retry" else Machine.enqueue
    make(lasting, "t")
    lasting.run("analyze holdfast.job")
    for _ in range(8):  # by then the plans are kept
        lasting.value(f"select holdfast.{action}(%s)", make(lasting, "t"))
    job_id = make(lasting, "t")
    lasting.enqueue_many([{"task": "t", "payload": {}} for _ in range(5_000)])

    with lasting.connection.transaction():
        before = rows_read(lasting)
        lasting.value(f"select holdfast.{action}(%s)", job_id)
        read = rows_read(lasting) - before

    assert read < 1_000


@pytest.mark.new_database
@pytest.mark.parametrize("action", ["retry", "cancel", "reprioritise"])
def test_a_chunk_reads_its_own_jobs_also_with_plans_from_when_there_were_few(
    lasting: Machine, action: str
) -> None:
    lasting.run(
        "alter table holdfast.job set (autovacuum_enabled = off); set plan_cache_mode = force_generic_plan"
    )
    make = failed if action == "retry" else Machine.enqueue
    make(lasting, "t")
    lasting.run("analyze holdfast.job")
    for _ in range(8):  # by then the plans are kept
        lasting.one(
            "select * from holdfast.run_chunk(%s, 1)", begun(lasting, make(lasting, "t"), action=action)
        )
    chunk = begun(lasting, *[make(lasting, "t") for _ in range(20)], action=action)
    lasting.enqueue_many([{"task": "t", "payload": {}} for _ in range(5_000)])

    with lasting.connection.transaction():
        before = rows_read(lasting)
        lasting.one("select * from holdfast.run_chunk(%s, 1)", chunk)
        read = rows_read(lasting) - before

    assert read < 2_000


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
