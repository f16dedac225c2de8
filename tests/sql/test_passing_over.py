"""Who comes for several passes over what somebody else is at, and waits for nobody: a sweep, admission, retention, upkeep."""

from collections.abc import Callable

import pytest

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.gates import admit, limited
from sql.standing import claimed, due, held_by_the_dead, planned
from sql.support import Machine, meanwhile, until_it_waits

A_JOB = "select from holdfast.job where id = (select min(j.id::text)::uuid from holdfast.job j where {}) for no key update"


def parked(machine: Machine) -> None:
    limited(machine)
    for _ in range(3):
        machine.enqueue(payload={"user_id": 1})
    admit(machine)
    machine.run("delete from holdfast.slot where n is not null")


def overdue(machine: Machine) -> None:
    claimed(machine)
    machine.run("update holdfast.job set deadline_at = now() - interval '1 second'")


def forgettable(machine: Machine) -> None:
    machine.register(retention=60)
    for _ in range(2):
        machine.job_in(Status.CANCELLED)
    machine.advance(120)
    while machine.one("select * from holdfast.project()")["more"]:
        pass


def late_to_be_limited(machine: Machine) -> None:
    """Let two run, and two stand in line, in a queue that is limited now, as nobody has noticed yet."""
    claimed(machine)
    for _ in range(2):
        machine.enqueue()
    machine.run("update holdfast.queue set job_limit = 5 where name = 'default'")


def scheduled(machine: Machine) -> None:
    machine.run('select holdfast.create_schedule(\'{"name": "s", "task": "t", "every": 3600}\')')


FIRES = """
select holdfast.fire_schedule(s.name, s.version, s.settled_to, array[s.settled_to + interval '1 hour'], '{}', 0, s.settled_to + interval '2 hours')
  from holdfast.schedule s
"""


@pytest.mark.parametrize(
    ("stand_there", "somebody_is_at", "come", "answer"),
    [
        pytest.param(due, A_JOB.format("true"), "select admitted from holdfast.admit_due(10)", "[(1,)]", id="admit_due"),
        pytest.param(
            parked, A_JOB.format("j.held_by is not null"), "select holdfast.admit_waiters('limit:user:1', 1)",
            "[(['default'],)]", id="admit_waiters",
        ),
        pytest.param(
            planned, "select from holdfast.dispatch limit 1 for no key update",
            "select count(*) from holdfast.take_dispatches(gen_random_uuid(), '{ci}', 10, 90)", "[(1,)]", id="take_dispatches",
        ),
        pytest.param(held_by_the_dead, A_JOB.format("true"), "select holdfast.return_jobs(null, 10)", "[(1,)]", id="return_jobs"),
        pytest.param(overdue, A_JOB.format("true"), "select holdfast.end_overdue(10)", "[(1,)]", id="end_overdue"),
        pytest.param(forgettable, A_JOB.format("true"), "select holdfast.apply_retention(10)", "[(1,)]", id="apply_retention"),
        pytest.param(scheduled, "select from holdfast.schedule for no key update", FIRES, "[(None,)]", id="fire_schedule"),
        pytest.param(
            claimed, "select from holdfast.upkeep for update", "select removed, more from holdfast.keep_up()", "[(None, None)]",
            id="keep_up",
        ),
        pytest.param(
            late_to_be_limited, A_JOB.format("j.status = 'RUNNING'"),
            "with counted as materialized (select holdfast.count_running('default')) select count(*) from counted",
            "[(1,)]", id="count_running",
        ),
        pytest.param(
            late_to_be_limited, A_JOB.format("j.claim_order is not null"), "select holdfast.clear_line(10)", "[(1,)]", id="clear_line",
        ),
        pytest.param(claimed, "select from holdfast.heal for update", "select holdfast.heal(10)", "[(0,)]", id="heal"),
        pytest.param(claimed, "select from holdfast.projection for update", "select more from holdfast.project()", "[(None,)]", id="project"),
        pytest.param(
            claimed, "select from holdfast.projection for update", "select holdfast.forget_projected(10)", "[(0,)]", id="forget_projected",
        ),
    ],
)  # fmt: skip
def test_nobody_waits_for_what_somebody_is_at(
    lasting: Machine,
    holdfast_db: ScratchDatabase,
    stand_there: Callable[[Machine], None],
    somebody_is_at: str,
    come: str,
    answer: str,
) -> None:
    stand_there(lasting)

    with meanwhile(holdfast_db) as (somebody, ask):
        somebody.execute(somebody_is_at)
        asked = ask(come)
        until_it_waits(holdfast_db, asked)

        assert asked.done()
        assert asked.result() == answer
