"""Between the parts: what a gate, a flow, a compensation and retention do to each other's jobs."""

from typing import Any
from uuid import UUID

import pytest

from sql.support import Machine, Row


def admit(machine: Machine) -> None:
    machine.rows("select * from holdfast.admit_due(1000)")


def claim_one(machine: Machine, worker: UUID) -> Row:
    (claimed,) = machine.claim(worker, 1)
    return claimed


def fail(machine: Machine, worker: UUID, claimed: Row) -> None:
    machine.settle(worker, claimed, outcome="failed", error={"type": "Boom"}, recoverable=False, reason="no")


def failed_and_undone(machine: Machine, **options: Any) -> UUID:
    """Fail a job of a task that compensates; answers the compensation."""
    machine.register(options={"compensate": True, **options})
    worker = machine.worker()
    job_id = machine.enqueue(payload={"user": 1})
    admit(machine)
    fail(machine, worker, claim_one(machine, worker))
    undoing: UUID = machine.value("select id::uuid from holdfast.job where compensates = %s", job_id)
    return undoing


# -- compensation ------------------------------------------------------------------------------------------------------------


def test_a_compensation_waits_for_no_slot_of_its_task(machine: Machine) -> None:
    undoing = failed_and_undone(machine, limits=[{"key": "user:{user}", "max": 1}])
    machine.enqueue(payload={"user": 1})  # takes the slot, and may keep it for days
    admit(machine)
    machine.sweep()
    admit(machine)

    assert machine.job(undoing)["held_by"] is None
    assert undoing in {row["id"] for row in machine.claim(machine.worker("other"))}


def test_a_rollout_does_not_keep_a_compensation_back(machine: Machine) -> None:
    undoing = failed_and_undone(machine, flag="NEW")
    machine.value("select holdfast.set_flag('NEW', true, 0)")
    admit(machine)
    machine.sweep()
    admit(machine)

    assert [row["id"] for row in machine.claim(machine.worker("other"))] == [undoing]


def test_a_paused_compensation_stays_parked_until_its_task_resumes(machine: Machine) -> None:
    undoing = failed_and_undone(machine)
    machine.value("select holdfast.pause_task('t')")
    machine.advance(5)
    machine.sweep()
    before = machine.job(undoing)
    machine.advance(5)
    machine.value("select holdfast.release_compensations(100)")

    assert before["held_by"] == "task:t"
    assert machine.job(undoing) == before


# -- flows ---------------------------------------------------------------------------------------------------------------------


def test_jobs_of_a_limited_queue_can_wait_for_others_of_it(machine: Machine) -> None:
    machine.register()
    machine.value("select holdfast.limit_queue('default', 1)")
    worker = machine.worker()
    first, second = machine.enqueue(), machine.enqueue()
    admit(machine)
    claimed = claim_one(machine, worker)
    assert machine.job(second)["held_by"] == "limit:queue:default"

    machine.rows(
        "select * from holdfast.wait_for_jobs(%s, %s, %s, 'w', null, %s, null, null)",
        first, claimed["attempt"], claimed["claim_id"], [second],
    )  # fmt: skip

    assert [row["id"] for row in machine.claim(worker)] == [second]


# -- flags ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"flag": "OTHER"}], ids=["no flag", "another flag"])
def test_a_release_without_the_flag_frees_what_the_flag_held_back(
    machine: Machine, options: dict[str, Any]
) -> None:
    machine.register(options={"flag": "NEW"})
    machine.value("select holdfast.set_flag('NEW', false)")
    job_id = machine.enqueue()
    admit(machine)
    assert machine.job(job_id)["held_by"] == "flag:NEW:0"

    machine.register(options=options)
    admit(machine)

    assert [row["id"] for row in machine.claim(machine.worker())] == [job_id]


# -- waits ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timeout", "told"), [(None, "waits for event paid"), (60, "waits for event paid until 20")]
)
def test_the_reason_of_a_wait_names_its_end_if_it_has_one(
    machine: Machine, timeout: int | None, told: str
) -> None:
    machine.register()
    job_id = machine.enqueue()
    claimed = claim_one(machine, machine.worker())
    machine.rows(
        "select * from holdfast.wait_for_event(%s, %s, %s, 'paid', null, 'paid', %s::float8, null)",
        job_id, claimed["attempt"], claimed["claim_id"], timeout,
    )  # fmt: skip

    reason = machine.job(job_id)["reason"]
    assert reason.startswith(told)
    assert reason.endswith("UTC" if timeout else "paid")


# -- retention -----------------------------------------------------------------------------------------------------------------


def expire(machine: Machine) -> int:
    machine.register(
        retention=60, options=machine.value("select options from holdfast.task where name = 't'")
    )
    machine.advance(3600)
    machine.run(
        "update holdfast.projection set snapshot = pg_current_snapshot(), adopted_at = 'infinity', cluster = holdfast.cluster()"
    )
    removed: int = machine.value("select holdfast.apply_retention(1000)")
    return removed


def test_retention_leaves_no_wait_behind(machine: Machine) -> None:
    machine.register()
    worker = machine.worker(lease=10**6)
    job_id = machine.enqueue()
    claimed = claim_one(machine, worker)
    machine.rows(
        "select * from holdfast.wait_for_event(%s, %s, %s, 'paid', null, 'paid', 10, null)",
        job_id, claimed["attempt"], claimed["claim_id"],
    )  # fmt: skip
    machine.value("select holdfast.emit('paid')")
    machine.complete(worker, claim_one(machine, worker))  # a release that does not wait any more

    assert expire(machine) == 1
    assert machine.count("holdfast.wait") == 0
