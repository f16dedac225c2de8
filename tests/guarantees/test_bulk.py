"""A worker killed at any point of an operation on many jobs: no job is skipped, none is touched twice."""

import signal
from typing import Any
from uuid import UUID

import psutil
import psycopg
import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.waiting import until
from holdfast import Holdfast
from holdfast.domain.bulk import Change
from holdfast.domain.search import parse
from holdfast.runtime.bulk import asked, creating
from holdfast.store.access import enter
from service.asking import leave_failed, times_retried
from sql.support import Machine
from sql.test_project import project_all
from world.often import points

JOBS = 1100  # three chunks
ONLY_IT: dict[str, Any] = {"queues": {"holdfast": 1}, "lease": 1.0}


def begun(shop: Holdfast, change: Change) -> UUID:
    with shop.link.transaction() as transaction:
        transaction.perform(enter("*"))
        return asked(creating(change, parse("task:note"), "ana", "again"), transaction.perform)


def operation(stage: Stage, shop: Holdfast) -> UUID:
    shop.enqueue_many([tasks.note.job(n) for n in range(JOBS)])
    leave_failed(stage.owner, "note")
    return begun(shop, Change("retry"))


def assert_done_once(stage: Stage, made: UUID) -> None:
    row = stage.until_status(made, "COMPLETED")
    assert row["result"] == {"done": JOBS, "skipped": 0}
    assert times_retried(stage.owner, "note") == [(1, JOBS)]


@pytest.mark.parametrize(
    "point", points(["claimed:1", "step_saved:1", "step_saved:2", "step_saved:3", "ran:1"], step=4)
)
def test_an_operation_goes_on_where_its_worker_was_killed(stage: Stage, shop: Holdfast, point: str) -> None:
    made = operation(stage, shop)
    doomed = stage.start_worker(env={"HOLDFAST_TESTING": "1", "HOLDFAST_CRASH_AT": point}, **ONLY_IT)
    assert doomed.until_gone() == -signal.SIGKILL

    stage.worker(**ONLY_IT)

    assert_done_once(stage, made)
    stage.audit()


def test_a_worker_killed_inside_a_chunk_leaves_nothing_of_it(stage: Stage, shop: Holdfast) -> None:
    made = operation(stage, shop)
    (locked,) = stage.rows(
        "select jobs[250] from holdfast.operation_chunk where operation_id = %s and nth = 2", made
    )
    with psycopg.connect(stage.database.owner_url) as locking:
        locking.execute("select from holdfast.job where id = %s for update", locked)
        doomed = stage.worker(**ONLY_IT)
        until(
            "the worker waits inside the second chunk",
            lambda: stage.value(
                "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%%run_chunk%%'"
            ),
        )
        doomed.kill()
    until("its session is gone", lambda: not psutil.pid_exists(doomed.pid))
    assert stage.value("select count(*) from holdfast.operation_chunk where finished_at is not null") >= 1

    stage.worker(**ONLY_IT)

    assert_done_once(stage, made)
    stage.audit()


def test_a_zombie_cannot_repeat_a_chunk(stage: Stage, shop: Holdfast) -> None:
    made = operation(stage, shop)
    (locked,) = stage.rows(
        "select jobs[1] from holdfast.operation_chunk where operation_id = %s and nth = 2", made
    )
    with psycopg.connect(stage.database.owner_url) as locking:
        locking.execute("select from holdfast.job where id = %s for update", locked)
        zombie = stage.worker(**ONLY_IT)
        until(
            "the worker waits inside the second chunk",
            lambda: stage.value(
                "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%%run_chunk%%'"
            ),
        )
        zombie.freeze()
    stage.worker(**ONLY_IT)
    until("another worker has the operation", lambda: stage.job(made)["attempt"] == 2)
    zombie.thaw()

    assert_done_once(stage, made)
    stage.audit()


CHANGED = {
    "reprioritise": "select count(*), count(distinct job_id) from holdfast.activity where kind = 'job.reprioritised'",
    "move": "select count(*), count(distinct job_id) from holdfast.activity where kind = 'job.moved'",
    "delete": "select count(*), count(distinct target) from holdfast.audit where action = 'job.delete'",
}
LEFT = {
    "reprioritise": ("select distinct priority::text from holdfast.job where task = 'note'", [("9",)]),
    "move": ("select distinct queue from holdfast.job where task = 'note'", [("elsewhere",)]),
    "delete": ("select id::text from holdfast.job where task = 'note'", []),
}


@pytest.mark.parametrize(
    "change",
    [Change("reprioritise", priority=9), Change("move", queue="elsewhere"), Change("delete")],
    ids=lambda change: change.action,
)
def test_a_change_of_many_jobs_goes_on_where_its_worker_was_killed(
    stage: Stage, shop: Holdfast, change: Change
) -> None:
    shop.enqueue_many([tasks.note.job(n) for n in range(JOBS)])
    stage.owner.execute("insert into holdfast.queue (name) values ('elsewhere')")
    if change.action == "delete":
        leave_failed(stage.owner, "note")
        project_all(Machine(stage.owner))
    made = begun(shop, change)
    stage.kill_at("step_saved:2", queues={"holdfast": 1})

    stage.worker_after_kills(queues={"holdfast": 1})

    row = stage.until_status(made, "COMPLETED")
    assert row["result"] == {"done": JOBS, "skipped": 0}
    assert stage.rows(CHANGED[change.action]) == [(JOBS, JOBS)]
    statement, left = LEFT[change.action]
    assert stage.rows(statement) == left
    stage.audit()
