"""Jobs that run after others: born waiting, tied to what they need, refused where they could never start."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.gates import admit, held, in_line, limited
from sql.support import Machine, meanwhile, refused, until_it_waits, until_somebody_waits


def after(machine: Machine, *needed: UUID, **options: Any) -> UUID:
    (row,) = machine.enqueue_many(
        [{"task": "t", "payload": {}, "after": [str(one) for one in needed], **options}]
    )
    job: UUID = row["job_id"]
    return job


def ended(machine: Machine, job: UUID, status: Status = Status.COMPLETED) -> None:
    if status is not Status.CANCELLED:
        machine.move(job, Status.RUNNING)
    machine.move(job, status)


def test_a_job_starts_when_all_that_it_needs_has_completed(each_machine: Machine) -> None:
    one, two = each_machine.enqueue(), each_machine.enqueue()
    child = after(each_machine, one, two)
    assert held(each_machine, child) == "jobs"

    ended(each_machine, one)
    assert in_line(each_machine) == {two}
    ended(each_machine, two)

    assert in_line(each_machine) == {child}
    assert each_machine.count("holdfast.wait") == 0
    assert each_machine.count("holdfast.dependency") == 2


def test_what_has_completed_already_counts_as_met(machine: Machine) -> None:
    done = machine.job_in(Status.COMPLETED)
    running = machine.job_in(Status.RUNNING)

    assert in_line(machine) == set()
    first = after(machine, done)
    second = after(machine, done, running)

    assert in_line(machine) == {first}
    machine.move(running, Status.COMPLETED)
    assert in_line(machine) == {first, second}


def test_a_time_and_jobs_are_both_waited_for(machine: Machine) -> None:
    one = machine.enqueue()
    child = after(machine, one, run_in=60)
    done = machine.job_in(Status.COMPLETED)
    other = after(machine, done, run_in=60)

    ended(machine, one)
    admit(machine)
    assert in_line(machine) == set()
    machine.advance(61)
    admit(machine)

    assert in_line(machine) == {child, other}


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
def test_what_a_job_needs_takes_it_along_when_it_fails(machine: Machine, status: Status) -> None:
    one = machine.enqueue()
    child = after(machine, one)
    grandchild = after(machine, child)

    ended(machine, one, status)

    assert machine.status(child) is Status.CANCELLED
    assert machine.status(grandchild) is Status.CANCELLED
    assert str(one) in machine.job(child)["reason"]


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
def test_a_job_may_run_whatever_became_of_what_it_needs(machine: Machine, status: Status) -> None:
    one = machine.enqueue()
    before = after(machine, one, on_parent_failure="run")

    ended(machine, one, status)
    behind = after(machine, one, on_parent_failure="run")

    assert in_line(machine) == {before, behind}


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
def test_a_job_that_could_never_start_is_refused(machine: Machine, status: Status) -> None:
    one = machine.job_in(status)

    with machine.refused("HF005", str(one), status.value, "on_parent_failure"):
        after(machine, one)
    assert machine.count() == 1


def test_a_job_that_does_not_exist_cannot_be_needed(machine: Machine) -> None:
    nobody = uuid4()

    with machine.refused("HF005", str(nobody), "does not exist"):
        after(machine, nobody)


@pytest.mark.parametrize("given", [["nonsense"], "x", [1], [None], {}])
def test_after_takes_ids_and_nothing_else(machine: Machine, given: object) -> None:
    with machine.refused("HF005", "list of job ids"):
        machine.enqueue_many([{"task": "t", "payload": {}, "after": given}])


@pytest.mark.parametrize("given", ["nonsense", 1, None])
def test_who_replaces_a_job_runs_after_ids_and_nothing_else(machine: Machine, given: object) -> None:
    machine.enqueue(key="k")

    with machine.refused("HF005", "list of job ids"):
        machine.enqueue_many(
            [{"task": "t", "payload": {}, "key": "k", "on_conflict": "replace", "after": [given]}]
        )


def test_an_unknown_policy_is_refused(machine: Machine) -> None:
    with machine.refused("HF005", "hope", "cancel, run"):
        after(machine, machine.enqueue(), on_parent_failure="hope")


def test_a_batch_may_name_what_stands_before_it(machine: Machine) -> None:
    a, b, c = (str(machine.value("select holdfast.new_id()")) for _ in range(3))

    machine.enqueue_many(
        [
            {"id": a, "task": "t", "payload": {}},
            {"id": b, "task": "t", "payload": {}, "after": [a]},
            {"id": c, "task": "t", "payload": {}, "after": [a, b, b]},
        ]
    )

    assert in_line(machine) == {UUID(a)}
    ended(machine, UUID(a))
    assert in_line(machine) == {UUID(b)}
    ended(machine, UUID(b))
    assert in_line(machine) == {UUID(c)}


@pytest.mark.parametrize("needs", [{0: [1], 1: [0]}, {0: [0]}, {0: [1]}])
def test_a_cycle_is_refused(machine: Machine, needs: dict[int, list[int]]) -> None:
    ids = [str(machine.value("select holdfast.new_id()")) for _ in range(2)]
    jobs = [
        {"id": ids[n], "task": "t", "payload": {}, "after": [ids[m] for m in needs.get(n, [])]}
        for n in range(2)
    ]

    with machine.refused("HF005", "a cycle"):
        machine.enqueue_many(jobs)
    assert machine.count() == 0


def test_a_job_may_need_one_that_another_stands_for(machine: Machine) -> None:
    holder = machine.enqueue(key="k")
    a, b = (str(machine.value("select holdfast.new_id()")) for _ in range(2))

    made = machine.enqueue_many(
        [
            {"id": a, "task": "t", "payload": {}, "key": "k"},
            {"id": b, "task": "t", "payload": {}, "after": [a]},
        ]
    )

    assert made[0]["job_id"] == holder
    ended(machine, holder)
    assert in_line(machine) == {UUID(b)}


def chain_of_keys(machine: Machine, policy: str, **child: Any) -> tuple[UUID, UUID]:
    """Enqueue a job and one that runs after it, whose key comes before in the order in which keys are settled."""
    first, second = (str(machine.value("select holdfast.new_id()")) for _ in range(2))
    jobs = [
        {"id": first, "task": "t", "payload": {}, "key": "b", "on_conflict": policy},
        {"id": second, "task": "t", "payload": {}, "key": "a", "on_conflict": "replace", "after": [first], **child},
    ]  # fmt: skip
    assert refused(machine, "select holdfast.enqueue_many(%s)", Jsonb(jobs)) is None
    made = machine.enqueue_many(jobs)
    return made[0]["job_id"], made[1]["job_id"]


@pytest.mark.parametrize("policy", ["replace", "return"])
@pytest.mark.parametrize("is_limited", [False, True])
def test_a_flow_that_replaces_another_runs_in_its_own_order(
    machine: Machine, policy: str, is_limited: bool
) -> None:
    if is_limited:
        limited(machine, key="all", most=2)
    old = chain_of_keys(machine, policy)

    new = chain_of_keys(machine, policy)

    assert new[1] != old[1]
    assert (new[0] == old[0]) == (policy == "return")
    assert {machine.status(job) for job in {*old} - {*new}} == {Status.CANCELLED}
    admit(machine)
    assert (in_line(machine), held(machine, new[1])) == ({new[0]}, "jobs")
    ended(machine, new[0])
    admit(machine)
    assert in_line(machine) == {new[1]}


def test_a_job_in_place_of_another_waits_for_its_time_and_for_what_it_needs(machine: Machine) -> None:
    chain_of_keys(machine, "replace")
    first, second = chain_of_keys(machine, "replace", run_in=60)

    ended(machine, first)
    admit(machine)
    assert in_line(machine) == set()
    machine.advance(61)
    admit(machine)

    assert in_line(machine) == {second}


def test_a_repeat_after_a_lost_answer_ties_nothing_twice(machine: Machine) -> None:
    one = machine.enqueue()
    job = {
        "id": str(machine.value("select holdfast.new_id()")),
        "task": "t",
        "payload": {},
        "after": [str(one)],
    }

    machine.enqueue_many([job])
    machine.enqueue_many([job])

    assert machine.value("select remaining from holdfast.wait") == 1


def test_a_child_knows_its_parent(machine: Machine) -> None:
    parent = machine.enqueue()

    (row,) = machine.enqueue_many([{"task": "t", "payload": {}, "parent": str(parent)}])

    assert machine.job(row["job_id"])["parent_id"] == parent


def test_a_limited_follower_still_needs_its_slot(machine: Machine) -> None:
    limited(machine, "t", key="one")
    first = machine.enqueue()
    admit(machine)
    child = after(machine, first)
    blocker = machine.enqueue()
    admit(machine)

    ended(machine, first)
    admit(machine)

    assert in_line(machine) == {blocker}
    assert held(machine, child) == "limit:one"


def test_thousands_of_parents_of_one_job_work(machine: Machine) -> None:
    rows = machine.enqueue_many([{"task": "t", "payload": {}} for _ in range(2_000)])
    parents = [row["job_id"] for row in rows]

    child = after(machine, *parents)
    assert machine.value("select remaining from holdfast.wait where job_id = %s", child) == 2_000
    worker = machine.worker()
    for _ in range(10):
        claimed = machine.claim(worker, 200)
        machine.complete(worker, *claimed)

    assert in_line(machine) == {child}


@pytest.mark.parametrize("followed", [True, False], ids=["again", "for the first time"])
def test_a_job_that_ends_while_it_is_followed_starts_its_follower(
    lasting: Machine, holdfast_db: ScratchDatabase, followed: bool
) -> None:
    worker, needed = lasting.worker(), lasting.enqueue()
    (claimed,) = lasting.claim(worker)
    first = {after(lasting, needed)} if followed else set()
    child = lasting.value("select holdfast.new_id()")
    job = {"id": str(child), "task": "t", "payload": {}, "after": [str(needed)]}

    with meanwhile(holdfast_db) as (ends, ask):
        Machine(ends).complete(worker, claimed)
        asked = ask("select created from holdfast.enqueue_many(%s)", Jsonb([job]))
        until_it_waits(holdfast_db, asked)
        ends.commit()

        assert asked.result() == "[(True,)]"

    assert in_line(lasting) == {child, *first}


def test_what_was_let_go_and_claimed_meanwhile_is_not_put_into_the_line_again(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    job = after(lasting, lasting.job_in(Status.RUNNING))
    worker = lasting.worker()
    let_go = "select holdfast.let_go(array[%s])"

    with meanwhile(holdfast_db) as (first, ask):
        first.execute(let_go, [job])
        assert Machine(first).claim(worker)
        asked = ask(let_go, job)
        until_it_waits(holdfast_db, asked)
        first.commit()

        assert asked.result() == "[('',)]"

    assert lasting.status(job) is Status.RUNNING
    assert lasting.job(job)["claim_order"] is None


def test_two_ends_that_the_same_jobs_wait_for_do_not_deadlock_in_whatever_order_those_name_them(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    for _ in range(2):
        lasting.enqueue()
    one, two = lasting.claim(lasting.worker())
    first = after(lasting, one["id"], two["id"])
    second = after(lasting, two["id"], one["id"])
    # It has no lock_timeout, which this may take longer than.
    ends = "select holdfast.complete_here(%s, %s, %s, null, null)"

    with meanwhile(holdfast_db) as (holder, ask):
        holder.execute("select from holdfast.wait where job_id = %s for update", [first])
        told = []
        for number, each in enumerate((one, two), 1):
            told.append(ask(ends, each["id"], each["attempt"], each["claim_id"]))
            until_somebody_waits(holdfast_db, number)
        holder.commit()

        assert [each.result() for each in told] == ["[('',)]", "[('',)]"]

    assert in_line(lasting) == {first, second}
