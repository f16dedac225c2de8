"""Quotas: a soft mark is told once a period, a hard one refuses; enqueue counts nothing."""

from decimal import Decimal

import pytest

from holdfast.testing import ScratchDatabase
from sql.support import Machine, meanwhile, until_it_waits
from sql.test_project import kinds, project_all


def set_quota(machine: Machine, tenant: str = "acme", **marks: object) -> None:
    given = {"task": None, "period": "day", "measure": "enqueued", "soft": None, "hard": None, **marks}
    machine.value(
        "select holdfast.set_quota(%s, %s, %s, %s, %s::numeric, %s::numeric)", tenant, *given.values()
    )


def enqueue(machine: Machine, jobs: int, tenant: str = "acme", task: str = "t") -> None:
    for _ in range(jobs):
        machine.enqueue(task, tenant=tenant)
    project_all(machine)


def test_passing_the_soft_mark_is_told_once_a_period(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    set_quota(lasting, soft=2)
    for _ in range(4):
        enqueue(lasting, 1)
    assert kinds(lasting, "tenant:acme") == ["quota.soft"]

    holdfast_db.clock.advance(86400)
    enqueue(lasting, 2)

    assert kinds(lasting, "tenant:acme") == ["quota.soft", "quota.soft"]


def test_passing_the_hard_mark_refuses_jobs_until_the_period_ends(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    set_quota(lasting, hard=2)
    enqueue(lasting, 2)

    with lasting.refused("HF013", "'acme'", "quota of 2 enqueued a day"):
        lasting.enqueue(tenant="acme")
    lasting.enqueue(tenant="zen")
    lasting.enqueue()
    holdfast_db.clock.advance(86400)
    lasting.enqueue(tenant="acme")

    assert kinds(lasting, "tenant:acme") == ["quota.hard"]


def test_a_quota_of_one_task_leaves_the_others_alone(lasting: Machine) -> None:
    lasting.register("u")
    set_quota(lasting, task="u", hard=1)
    enqueue(lasting, 3)
    enqueue(lasting, 1, task="u")

    lasting.enqueue(tenant="acme")
    with lasting.refused("HF013"):
        lasting.enqueue("u", tenant="acme")


def test_raising_a_quota_opens_it_at_once_and_a_new_one_counts_what_was_used(lasting: Machine) -> None:
    enqueue(lasting, 3)
    set_quota(lasting, hard=3)
    with lasting.refused("HF013"):
        lasting.enqueue(tenant="acme")

    set_quota(lasting, hard=4)
    lasting.enqueue(tenant="acme")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Europe/Berlin"])
def test_a_month_ends_with_the_month_wherever_the_session_is(machine: Machine, zone: str) -> None:
    machine.run(f"set local timezone = '{zone}'")
    ahead = (
        "select extract(epoch from timestamptz '2027-03-29 12:00Z' - pg_catalog.clock_timestamp())::float8"
    )
    machine.advance(machine.value(ahead))
    set_quota(machine, period="month", hard=1)

    enqueue(machine, 1)

    until = machine.value("select reached_until = timestamptz '2027-04-01 00:00Z' from holdfast.quota")
    assert until
    with machine.refused("HF013"):
        machine.enqueue(tenant="acme")


def test_a_quota_without_marks_is_removed(lasting: Machine) -> None:
    enqueue(lasting, 3)
    set_quota(lasting, hard=1)

    set_quota(lasting)

    lasting.enqueue(tenant="acme")
    assert lasting.count("holdfast.quota") == 0


def test_a_repeat_after_a_lost_answer_finds_its_job_though_the_quota_is_reached(lasting: Machine) -> None:
    job_id = lasting.enqueue(tenant="acme")
    set_quota(lasting, hard=1)
    project_all(lasting)

    assert lasting.enqueue(id=job_id, tenant="acme") == job_id


@pytest.mark.parametrize(("measure", "mark"), [("runs", 1), ("run_seconds", Decimal("50.5"))])
def test_quotas_measure_runs_and_time_as_well(
    lasting: Machine, holdfast_db: ScratchDatabase, measure: str, mark: object
) -> None:
    set_quota(lasting, measure=measure, period="month", hard=mark)
    worker = lasting.worker()
    lasting.enqueue(tenant="acme")
    project_all(lasting)
    lasting.enqueue(tenant="acme")
    claimed = lasting.claim(worker, 1)
    holdfast_db.clock.advance(60)
    lasting.complete(worker, *claimed)
    project_all(lasting)

    with lasting.refused("HF013", measure):
        lasting.enqueue(tenant="acme")


def test_of_two_that_find_a_mark_passed_at_once_one_tells_it(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    enqueue(lasting, 2)
    lasting.run(
        "insert into holdfast.quota (tenant, period, measure, soft) values ('acme', 'day', 'enqueued', 2)"
    )
    judge = "select holdfast.judge_quotas('{acme}')"

    with meanwhile(holdfast_db) as (first, ask):
        first.execute(judge)
        asked = ask(judge)
        until_it_waits(holdfast_db, asked)
        first.commit()

        assert asked.result() == "[('',)]"
    project_all(lasting)

    assert kinds(lasting, "tenant:acme") == ["quota.soft"]
