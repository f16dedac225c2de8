"""What a person changes of a job: its priority, its queue, that it is kept; and what stays right around it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from holdfast.domain.states import Status
from sql.gates import admit, held, in_line, limited, rated, slots
from sql.support import TERMINAL, Machine

OPEN = tuple(status for status in Status if not status.is_terminal)
WAITS = tuple(status for status in OPEN if status is not Status.RUNNING)


@pytest.fixture
def two(machine: Machine) -> Machine:
    """Give a machine that has a second queue, `slow`."""
    machine.register("other", queue="slow")
    return machine


def reprioritise(machine: Machine, job_id: UUID, priority: int, **said: Any) -> None:
    machine.value(
        "select holdfast.reprioritise(%s, %s, %s, %s)", job_id, priority, said.get("actor", "ana"), "because"
    )


def move(machine: Machine, job_id: UUID, queue: str = "slow") -> None:
    machine.value("select holdfast.move_to_queue(%s, %s, 'ana', 'because')", job_id, queue)


def delete(machine: Machine, job_id: UUID) -> None:
    machine.value("select holdfast.delete_job(%s, 'ana', 'because', '10.0.0.7')", job_id)


def project(machine: Machine) -> None:
    while machine.one("select * from holdfast.project()")["more"]:
        pass


def told(machine: Machine, job_id: UUID) -> list[tuple[Any, ...]]:
    rows = machine.rows(
        "select kind, actor, data from holdfast.activity where job_id = %s order by id", job_id
    )
    return [(row["kind"], row["actor"], row["data"]) for row in rows]


# -- priority --------------------------------------------------------------------------------------------------------------


def test_a_point_of_priority_is_36_seconds_in_line(machine: Machine) -> None:
    job_id = machine.enqueue(priority=5)
    before = machine.job(job_id)

    reprioritise(machine, job_id, 15)

    after = machine.job(job_id)
    assert after["priority"] == 15
    assert before["claim_order"] - after["claim_order"] == timedelta(seconds=360)
    assert told(machine, job_id) == [("job.reprioritised", "ana", {"from": 5, "to": 15, "reason": "because"})]


def test_a_job_with_more_priority_is_claimed_before_an_older_one(machine: Machine) -> None:
    old, new = machine.enqueue(), machine.enqueue()

    reprioritise(machine, new, 1)

    assert [row["id"] for row in machine.claim(machine.worker(), 1)] == [new]
    assert machine.job(new)["ready_at"] < machine.job(new)["started_at"]
    assert machine.status(old) is Status.PENDING


@pytest.mark.parametrize("status", OPEN)
def test_whatever_has_not_ended_can_be_given_a_priority(machine: Machine, status: Status) -> None:
    job_id = machine.job_in(status)

    reprioritise(machine, job_id, -100)

    row = machine.job(job_id)
    assert (row["priority"], row["status"]) == (-100, status)


@pytest.mark.parametrize("status", TERMINAL)
def test_what_has_ended_has_no_place_in_line(machine: Machine, status: Status) -> None:
    job_id = machine.job_in(status)

    with machine.refused("HF001", status):
        reprioritise(machine, job_id, 1)


def test_what_runs_keeps_its_priority_for_the_next_attempt(machine: Machine) -> None:
    worker, job_id = machine.worker(), machine.enqueue()
    claimed = machine.claim(worker)

    reprioritise(machine, job_id, 50)
    machine.settle(worker, *claimed, outcome="released")

    row = machine.job(job_id)
    assert row["claim_order"] == row["due_at"] - timedelta(seconds=50 * 36)


def test_a_parked_job_with_more_priority_comes_out_first(machine: Machine) -> None:
    limited(machine)
    first, second, third = (machine.enqueue(payload={"user_id": 1}) for _ in range(3))
    admit(machine)
    assert in_line(machine) == {first}

    reprioritise(machine, third, 10)
    worker = machine.worker()
    machine.complete(worker, *machine.claim(worker))

    assert in_line(machine) == {third}
    assert held(machine, second) == "limit:user:1"


@pytest.mark.parametrize("priority", [-101, 101, None])
def test_a_priority_has_bounds(machine: Machine, priority: int) -> None:
    with machine.refused("HF005", "-100 to 100"):
        reprioritise(machine, machine.enqueue(), priority)


def test_what_is_so_already_is_told_nobody(two: Machine) -> None:
    job_id = two.enqueue()

    reprioritise(two, job_id, 0)
    move(two, job_id, "default")

    assert told(two, job_id) == []


# -- queue -----------------------------------------------------------------------------------------------------------------


def test_a_moved_job_stands_in_the_other_line_at_its_place(two: Machine) -> None:
    job_id = two.enqueue()
    place = two.job(job_id)["claim_order"]

    move(two, job_id)

    assert two.claim(two.worker()) == []
    assert two.job(job_id)["claim_order"] == place
    assert [row["id"] for row in two.claim(two.worker(), queue="slow")] == [job_id]
    assert told(two, job_id) == [
        ("job.moved", "ana", {"from": "default", "to": "slow", "status": "PENDING", "seq": 1, "reason": "because"})
    ]  # fmt: skip


@pytest.mark.parametrize("status", WAITS)
def test_whatever_waits_can_be_moved(two: Machine, status: Status) -> None:
    job_id = two.job_in(status)

    move(two, job_id)

    row = two.job(job_id)
    assert (row["queue"], row["status"]) == ("slow", status)


@pytest.mark.parametrize("status", [Status.RUNNING, *TERMINAL])
def test_what_runs_or_has_ended_is_not_moved(two: Machine, status: Status) -> None:
    job_id = two.job_in(status)

    with two.refused("HF001", "cannot be moved", status):
        move(two, job_id)

    assert two.job(job_id)["queue"] == "default"


def test_a_queue_that_nobody_knows_is_a_slip_of_the_pen(two: Machine) -> None:
    job_id = two.enqueue()

    with two.refused("HF005", "'slwo'", "no worker serves it"):
        move(two, job_id, "slwo")
    with two.refused("HF005", "Holdfast's own"):
        move(two, job_id, "holdfast")


def test_a_queue_that_only_a_worker_serves_is_known(machine: Machine) -> None:
    job_id = machine.enqueue()
    machine.run(
        "insert into holdfast.worker (id, name, host, pid, version, queues, tasks, lease)"
        " values (gen_random_uuid(), 'w', 'h', 1, '0', '{\"apart\": 1}', '{t}', interval '30 s')"
    )

    move(machine, job_id, "apart")

    assert machine.job(job_id)["queue"] == "apart"


def test_holdfasts_own_jobs_stay_in_its_queue(two: Machine) -> None:
    two.register("holdfast.bulk", queue="holdfast")
    job_id = two.enqueue("holdfast.bulk")

    with two.refused("HF001", "stays in its queue"):
        move(two, job_id)


def test_a_job_from_a_paused_queue_runs_in_the_other(two: Machine) -> None:
    two.value("select holdfast.pause_queue('default')")
    job_id = two.enqueue()
    assert two.claim(two.worker()) == []

    move(two, job_id)

    assert len(two.claim(two.worker(), queue="slow")) == 1


def test_a_job_in_a_paused_queue_waits(two: Machine) -> None:
    two.value("select holdfast.pause_queue('slow')")
    job_id = two.enqueue()

    move(two, job_id)

    assert two.claim(two.worker()) == two.claim(two.worker(), queue="slow") == []
    assert two.status(job_id) is Status.PENDING


def test_a_slot_of_the_old_queue_goes_to_who_waits_for_it(two: Machine) -> None:
    two.value("select holdfast.limit_queue('default', 1)")
    first, second = two.enqueue(), two.enqueue()
    admit(two)
    assert slots(two, "queue:default") == {1: first}

    move(two, first)

    assert slots(two, "queue:default") == {1: second}
    assert in_line(two) == {first, second}
    assert two.rows("select key from holdfast.slot where job_id = %s", first) == []


def test_a_job_that_waited_for_the_old_queues_limit_waits_no_more(two: Machine) -> None:
    two.value("select holdfast.limit_queue('default', 1)")
    first, second = two.enqueue(), two.enqueue()
    admit(two)
    assert held(two, second) == "limit:queue:default"

    move(two, second)
    assert held(two, second) is None
    admit(two)

    assert [row["id"] for row in two.claim(two.worker(), queue="slow")] == [second]
    assert in_line(two) == {first}


def test_a_limited_queue_takes_no_more_than_its_limit_from_those_that_are_moved_there(two: Machine) -> None:
    two.value("select holdfast.limit_queue('slow', 2)")
    jobs = [two.enqueue() for _ in range(4)]
    for job_id in jobs:
        move(two, job_id)
    admit(two)

    claimed = two.claim(two.worker(), queue="slow")

    assert [row["id"] for row in claimed] == jobs[:2]
    assert [held(two, job_id) for job_id in jobs[2:]] == ["limit:queue:slow"] * 2
    two.complete(two.worker(), *claimed)


def test_a_moved_job_frees_the_limited_queue_when_it_ends(two: Machine) -> None:
    two.value("select holdfast.limit_queue('slow', 1)")
    jobs = [two.enqueue() for _ in range(2)]
    for job_id in jobs:
        move(two, job_id)
    admit(two)
    worker = two.worker()

    two.complete(worker, *two.claim(worker, queue="slow"))

    assert [row["id"] for row in two.claim(worker, queue="slow")] == [jobs[1]]


def test_a_retry_in_line_gives_the_old_queues_slot_back(two: Machine) -> None:
    two.value("select holdfast.limit_queue('default', 1)")
    first, second = two.enqueue(), two.enqueue()
    worker = two.worker()
    admit(two)
    two.settle(worker, *two.claim(worker), outcome="released")
    admit(two)
    two.complete(worker, *two.claim(worker))  # the second, which the slot went to
    admit(two)
    assert slots(two, "queue:default") == {1: first}

    move(two, first)

    assert slots(two, "queue:default") == {}
    assert two.status(second) is Status.COMPLETED


def test_the_limits_and_rates_of_its_task_stay_with_a_moved_job(two: Machine) -> None:
    limited(two)
    first, second = (two.enqueue(payload={"user_id": 1}) for _ in range(2))
    admit(two)

    move(two, first)
    move(two, second)
    admit(two)

    assert slots(two, "user:1") == {1: first}
    assert held(two, second) == "limit:user:1"


def test_a_granted_start_is_not_spent_by_a_move(two: Machine) -> None:
    rated(two, most=1)
    two.value("select holdfast.limit_queue('slow', 1)")
    job_id = two.enqueue()
    admit(two)

    move(two, job_id)
    admit(two)

    assert [row["id"] for row in two.claim(two.worker(), queue="slow")] == [job_id]


def test_a_job_that_needs_another_is_let_go_in_its_new_queue(two: Machine) -> None:
    two.value("select holdfast.limit_queue('slow', 1)")
    needed = two.enqueue()
    (row,) = two.enqueue_many([{"task": "t", "payload": {}, "after": [str(needed)]}])
    job_id = row["job_id"]

    move(two, job_id)
    worker = two.worker()
    two.complete(worker, *two.claim(worker))
    assert two.claim(worker, queue="slow") == []  # through admission only
    admit(two)

    assert [each["id"] for each in two.claim(worker, queue="slow")] == [job_id]


# -- delete ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", OPEN)
def test_what_has_not_ended_is_not_deleted(machine: Machine, status: Status) -> None:
    job_id = machine.job_in(status)

    with machine.refused("HF001", "only what has ended"):
        delete(machine, job_id)


def test_a_job_whose_end_is_not_counted_yet_is_not_deleted(machine: Machine) -> None:
    job_id = machine.job_in(Status.FAILED)

    with machine.refused("HF001", "not been counted yet"):
        delete(machine, job_id)


def test_a_deleted_job_leaves_the_audit_and_nothing_else(lasting: Machine) -> None:
    job_id = lasting.job_in(Status.FAILED, tenant="acme", payload={"card": 4111})
    project(lasting)

    delete(lasting, job_id)

    tables = lasting.rows(
        "select c.table_name as name from information_schema.columns c"
        " join information_schema.tables t using (table_schema, table_name)"
        " where c.table_schema = 'holdfast' and c.column_name = 'job_id' and t.table_type = 'BASE TABLE' and c.table_name <> 'feed'"
    )
    left = {
        row["name"]: lasting.value(f"select count(*) from holdfast.{row['name']} where job_id = %s", job_id)
        for row in tables
    }
    assert {name for name, count in left.items() if count} == set()
    assert lasting.count() == 0
    kept = lasting.one("select actor, address, action, target, tenant, reason, data from holdfast.audit")
    assert kept["data"].pop("created_at")
    assert kept["data"].pop("finished_at")
    assert kept == {
        "actor": "ana", "address": "10.0.0.7", "action": "job.delete", "target": str(job_id), "tenant": "acme", "reason": "because",
        "data": {"task": "t", "queue": "default", "status": "FAILED", "attempt": 1},
    }  # fmt: skip
    with lasting.refused("HF003"):
        lasting.run("delete from holdfast.audit")


def test_what_another_job_still_needs_is_not_deleted(lasting: Machine) -> None:
    failed = lasting.job_in(Status.FAILED)
    lasting.value("select holdfast.retry(%s)", failed)
    project(lasting)

    with lasting.refused("HF001", "needs it"):
        delete(lasting, failed)


def test_a_failed_compensation_that_a_retry_waits_for_is_not_deleted(lasting: Machine) -> None:
    lasting.register("t", options={"compensate": True})
    failed = lasting.job_in(Status.FAILED)
    undoing = lasting.value("select id from holdfast.job where compensates = %s", failed)
    retry = lasting.value("select holdfast.retry(%s)", failed)
    for status in (Status.RUNNING, Status.FAILED):
        lasting.move(undoing, status)
    project(lasting)

    with lasting.refused("HF001", "needs it"):
        delete(lasting, undoing)
    lasting.value("select holdfast.cancel(%s)", retry)
    project(lasting)
    delete(lasting, undoing)


def test_a_deletion_leaves_the_door_closed_behind_it(lasting: Machine) -> None:
    first, second = lasting.job_in(Status.FAILED), lasting.job_in(Status.FAILED)
    project(lasting)

    with lasting.refused("HF003"):
        delete(lasting, first)
        lasting.run("delete from holdfast.job where id = %s", second)


# -- counts ----------------------------------------------------------------------------------------------------------------


def counted(machine: Machine) -> dict[tuple[str, str], int]:
    rows = machine.rows(
        "select queue, status::text, entered - departed as now from holdfast.tally where entered <> departed"
    )
    return {(row["queue"], row["status"]): row["now"] for row in rows}


@pytest.mark.parametrize("passes", ["each", "last"])
def test_counts_follow_a_job_through_its_queues_whenever_they_are_made(lasting: Machine, passes: str) -> None:
    lasting.register("other", queue="slow")

    def pass_by() -> None:
        if passes == "each":
            project(lasting)

    worker = lasting.worker()
    jobs = [lasting.enqueue() for _ in range(3)]
    pass_by()
    move(lasting, jobs[0])
    pass_by()
    claimed = lasting.claim(worker, queue="slow")
    pass_by()
    lasting.settle(worker, *claimed, outcome="failed", error={"type": "Boom"}, delay=60)
    pass_by()
    move(lasting, jobs[0], "default")
    move(lasting, jobs[1])
    project(lasting)

    assert counted(lasting) == {
        ("default", "PENDING"): 1,
        ("default", "RETRY"): 1,
        ("slow", "PENDING"): 1,
    }
    started = lasting.rows(
        "select queue, sum(started)::int as n from holdfast.statistic group by 1 having sum(started) > 0"
    )
    assert started == [{"queue": "slow", "n": 1}]


def test_the_feed_tells_that_a_job_moved_but_nobodys_words(lasting: Machine) -> None:
    lasting.register("other", queue="slow")
    job_id = lasting.enqueue(subject="order:1")

    move(lasting, job_id)
    project(lasting)

    (event,) = lasting.rows("select data from holdfast.feed where kind = 'job.moved'")
    assert event["data"] == {"task": "t", "from": "default", "to": "slow", "status": "PENDING", "seq": 1}
