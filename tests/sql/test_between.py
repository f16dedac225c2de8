"""Between the parts: what a gate, a flow, a compensation and retention do to each other's jobs."""

from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
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


def test_a_retried_fan_in_gets_the_results_that_the_failed_one_got(machine: Machine) -> None:
    machine.register()
    worker = machine.worker()
    first, second = machine.enqueue(), machine.enqueue()
    (fan_in,) = machine.enqueue_many([{"task": "t", "payload": {}, "after": [str(second), str(first)]}])
    machine.complete(worker, *machine.claim(worker), result="7")
    fail(machine, worker, claim_one(machine, worker))

    retried = machine.value("select holdfast.retry(%s)", fan_in["job_id"])

    results = machine.rows("select * from holdfast.results_of(%s)", retried)
    assert [(row["id"], row["result"]) for row in results] == [(second, "7"), (first, "7")]


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


@pytest.mark.parametrize("between", [0, 2], ids=["directly", "through others"])
def test_a_job_cannot_wait_for_what_waits_for_it(machine: Machine, between: int) -> None:
    machine.register()
    last = job_id = machine.enqueue()
    claimed = claim_one(machine, machine.worker())
    for _ in range(between + 1):
        last = machine.enqueue_many([{"task": "t", "payload": {}, "after": [str(last)]}])[0]["job_id"]

    with machine.refused("HF005", "that wait for it"):
        machine.rows(
            "select * from holdfast.wait_for_jobs(%s, %s, %s, 'w', null, %s, null, null)",
            job_id, claimed["attempt"], claimed["claim_id"], [last],
        )  # fmt: skip


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


def test_an_event_that_nobody_waits_for_any_more_does_not_end_a_sleep(machine: Machine) -> None:
    machine.register()
    worker = machine.worker()
    job_id = machine.enqueue()
    claimed = claim_one(machine, worker)
    fence = (job_id, claimed["attempt"], claimed["claim_id"])
    machine.rows("select * from holdfast.wait_for_event(%s, %s, %s, 'paid', null, 'paid', 10, null)", *fence)
    machine.advance(11)
    admit(machine)
    claimed = claim_one(machine, worker)
    fence = (job_id, claimed["attempt"], claimed["claim_id"])
    # The release of today sleeps where that of yesterday waited.
    machine.rows("select * from holdfast.sleep_until(%s, %s, %s, 'rest', null, 3600, null, null)", *fence)

    machine.value("select holdfast.emit('paid')")

    assert machine.claim(worker) == []


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


def test_retention_keeps_what_a_compensation_is_to_undo(machine: Machine) -> None:
    undoing = failed_and_undone(machine)

    assert expire(machine) == 0

    worker = machine.worker("other")
    fail(machine, worker, claim_one(machine, worker))
    assert machine.status(undoing) is Status.FAILED
    machine.value("select holdfast.retry(%s)", undoing)  # undoes the same job: it must still be known
    assert expire(machine) == 0


def test_retention_keeps_the_results_that_a_fan_in_still_waits_for(machine: Machine) -> None:
    machine.register()
    worker = machine.worker(lease=10**6)
    quick, slow = machine.enqueue(), machine.enqueue(run_in="10 hours")
    (fan_in,) = machine.enqueue_many([{"task": "t", "payload": {}, "after": [str(quick), str(slow)]}])
    machine.complete(worker, claim_one(machine, worker), result="7")

    assert expire(machine) == 0

    results = machine.rows("select * from holdfast.results_of(%s)", fan_in["job_id"])
    assert [row["id"] for row in results] == [quick, slow]


def test_retention_keeps_the_children_of_a_job_that_has_not_ended(machine: Machine) -> None:
    machine.register()
    worker = machine.worker(lease=10**6)
    machine.enqueue()
    parent = claim_one(machine, worker)
    child = machine.value(
        "select holdfast.enqueue_children(%s, %s, %s, 'c', null, %s, null)",
        parent["id"], parent["attempt"], parent["claim_id"], Jsonb([{"task": "t", "payload": {}}]),
    )[0]  # fmt: skip
    machine.complete(worker, claim_one(machine, worker))

    assert expire(machine) == 0
    machine.complete(worker, parent)
    assert (expire(machine), machine.rows("select from holdfast.job where id = %s", child)) == (2, [])


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
