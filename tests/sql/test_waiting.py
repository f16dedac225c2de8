"""Jobs that wait: what wakes them, and what does not."""

from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from guarantees.audit import left_at_rest
from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.gates import admit, in_line, limited
from sql.support import (
    Machine,
    Row,
    machine_on,
    meanwhile,
    refused,
    rows_read,
    until_it_waits,
    until_somebody_waits,
)


def claimed(machine: Machine, many: int = 1) -> list[Row]:
    for _ in range(many):
        machine.enqueue()
    return machine.claim(machine.worker())


def test_what_a_job_waited_for_before_does_not_end_its_sleep(machine: Machine) -> None:
    (first,) = claimed(machine)
    machine.ask("wait_for_event", first, "event paid", "", "paid", None, None)
    assert machine.value("select holdfast.emit('paid')") == 1
    (second,) = machine.claim(machine.worker("other"))
    # A branch beside the wait comes first this time.
    machine.ask("sleep_until", second, "sleep", None, 3600.0, None, None)

    assert machine.value("select holdfast.emit('paid')") == 0
    assert in_line(machine) == set()


def test_jobs_that_a_job_waited_for_before_do_not_end_its_sleep(machine: Machine) -> None:
    waiting, other = claimed(machine, 2)
    machine.ask("wait_for_jobs", waiting, "wait_for", "", [other["id"]], 60.0, None)
    machine.advance(61)
    admit(machine)
    (again,) = machine.claim(machine.worker("other"))
    machine.ask("sleep_until", again, "sleep", None, 3600.0, None, None)
    machine.move(other["id"], Status.COMPLETED)

    assert in_line(machine) == set()


def test_jobs_cannot_wait_for_each_other_for_ever(machine: Machine) -> None:
    one, two, three = claimed(machine, 3)
    for waiting, awaited in ((one, two), (two, three)):
        machine.ask("wait_for_jobs", waiting, "wait_for", "", [awaited["id"]], None, None)

    with machine.refused("HF005", str(three["id"]), "for ever"):
        machine.ask("wait_for_jobs", three, "wait_for", "", [one["id"]], None, None)
    assert machine.ask("wait_for_jobs", three, "wait_for", "", [one["id"]], 60.0, None)["waits"]


def beside_a_wait(machine: Machine) -> tuple[Row, Row, Row]:
    """Let a job wait for another whose time is up, and then, in a branch beside that, for a third."""
    waiting, first, then = claimed(machine, 3)
    machine.ask("wait_for_jobs", waiting, "first", "", [first["id"]], 60.0, None)
    machine.advance(61)
    admit(machine)
    (again,) = machine.claim(machine.worker("other"))
    machine.ask("wait_for_jobs", again, "then", "", [then["id"]], None, None)
    return waiting, first, then


def test_jobs_that_a_job_waited_for_before_do_not_end_its_wait_for_others(machine: Machine) -> None:
    _, first, then = beside_a_wait(machine)

    machine.move(first["id"], Status.COMPLETED)
    assert in_line(machine) == set()
    assert left_at_rest(machine.connection) == []

    machine.move(then["id"], Status.COMPLETED)
    assert len(in_line(machine)) == 1


def test_an_end_that_comes_while_who_waited_turns_to_others_does_not_count(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    waiting, first, then = claimed(lasting, 3)
    lasting.ask("wait_for_jobs", waiting, "first", "", [first["id"]], 60.0, None)
    lasting.advance(61)
    admit(lasting)
    (again,) = lasting.claim(lasting.worker("other"))
    with meanwhile(holdfast_db) as (turning, ask):
        Machine(turning).ask("wait_for_jobs", again, "then", "", [then["id"]], None, None)
        asked = ask("select holdfast.cancel(%s)::text", first["id"])
        until_it_waits(holdfast_db, asked)
        turning.commit()
        assert asked.result() == "[('CANCELLED',)]"

    assert left_at_rest(lasting.connection) == []
    wait = "select * from holdfast.wait_for_jobs(%s, %s, %s, 'wait_for', '', %s, null, null)"
    told = refused(lasting, wait, then["id"], then["attempt"], then["claim_id"], [waiting["id"]])
    assert told == "HF005"  # each would wait for the other


def test_a_cancel_waits_for_nobody_who_waits_for_its_job_no_more(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    waiting, first, _ = beside_a_wait(lasting)

    with meanwhile(holdfast_db) as (holder, ask):
        Machine(holder).run("select from holdfast.job where id = %s for no key update", waiting["id"])
        asked = ask("select holdfast.cancel(%s)::text", first["id"])
        until_it_waits(holdfast_db, asked)
        assert asked.done()
        assert asked.result() == "[('CANCELLED',)]"


def test_what_a_job_waited_for_before_is_kept_for_it_when_another_wait_is_over_at_once(
    machine: Machine,
) -> None:
    waiting, first, ended = claimed(machine, 3)
    machine.move(ended["id"], Status.COMPLETED)
    machine.ask("wait_for_jobs", waiting, "first", "", [first["id"]], 60.0, None)
    machine.advance(61)
    admit(machine)
    (again,) = machine.claim(machine.worker("other"))
    assert not machine.ask("wait_for_jobs", again, "then", "", [ended["id"]], None, None)["waits"]

    machine.move(first["id"], Status.COMPLETED)

    assert machine.value("select holdfast.is_needed(%s, null)", first["id"])


def test_a_job_may_wait_for_one_that_waited_for_it_before(machine: Machine) -> None:
    waiting, first, _ = beside_a_wait(machine)

    wait = "select * from holdfast.wait_for_jobs(%s, %s, %s, 'wait_for', '', %s, null, null)"
    assert refused(machine, wait, first["id"], first["attempt"], first["claim_id"], [waiting["id"]]) is None


def test_a_job_waits_again_for_what_it_waited_for_before(machine: Machine) -> None:
    waiting, first, then = beside_a_wait(machine)
    machine.move(then["id"], Status.COMPLETED)
    (again,) = machine.claim(machine.worker("third"))
    machine.ask("wait_for_jobs", again, "then", "", [then["id"]], None, None)

    assert machine.ask("wait_for_jobs", again, "first", "", [first["id"], first["id"]], None, None)["waits"]
    machine.move(first["id"], Status.COMPLETED)
    assert in_line(machine) == {waiting["id"]}


def test_a_job_cannot_wait_for_what_was_enqueued_after_it(machine: Machine) -> None:
    (parent,) = claimed(machine)
    (child,) = machine.enqueue_many([{"task": "t", "payload": {}, "after": [str(parent["id"])]}])

    with machine.refused("HF005", "for ever"):
        machine.ask("wait_for_jobs", parent, "wait_for", "", [child["job_id"]], None, None)


def test_an_event_lets_nobody_go_on_who_has_been_let_go_already(machine: Machine) -> None:
    limited(machine)  # so that it comes into the line through admission
    machine.enqueue()
    admit(machine)
    (waiting,) = machine.claim(machine.worker())
    machine.ask("wait_for_event", waiting, "event paid", "", "paid", None, None)
    assert machine.value("select holdfast.emit('paid')") == 1
    woken = machine.job(waiting["id"])

    assert machine.value("select holdfast.emit('paid')") == 0
    assert machine.job(waiting["id"]) == woken


def test_an_end_does_not_move_who_waits_for_a_slot_since_another_end(machine: Machine) -> None:
    first, then = claimed(machine, 2)
    limited(machine, "narrow", release_while_waiting=True)
    machine.enqueue("narrow", {"user_id": 1})
    admit(machine)
    worker = machine.worker("other")
    (waiting,) = machine.claim(worker, tasks=("narrow",))
    machine.ask("wait_for_jobs", waiting, "first", "", [first["id"]], 60.0, None)
    machine.advance(61)
    admit(machine)
    (again,) = machine.claim(worker, tasks=("narrow",))
    machine.ask("wait_for_jobs", again, "then", "", [then["id"]], None, None)
    machine.enqueue("narrow", {"user_id": 1})  # has the slot meanwhile
    admit(machine)
    machine.move(then["id"], Status.COMPLETED)
    admit(machine)
    parked = machine.job(waiting["id"])
    assert parked["held_by"] == "limit:user:1"

    machine.move(first["id"], Status.COMPLETED)

    assert machine.job(waiting["id"]) == parked


def test_an_end_does_not_move_who_waits_for_a_slot_since_its_time_has_come(machine: Machine) -> None:
    (awaited,) = claimed(machine)
    limited(machine, "narrow", release_while_waiting=True)
    machine.enqueue("narrow", {"user_id": 1})
    admit(machine)
    (waiting,) = machine.claim(machine.worker("other"), tasks=("narrow",))
    machine.ask("wait_for_jobs", waiting, "wait_for", "", [awaited["id"]], 60.0, None)
    machine.enqueue("narrow", {"user_id": 1})  # has the slot meanwhile
    admit(machine)
    machine.advance(61)
    admit(machine)
    parked = machine.job(waiting["id"])
    assert parked["held_by"] == "limit:user:1"

    machine.move(awaited["id"], Status.COMPLETED)

    assert machine.job(waiting["id"]) == parked


def test_an_event_does_not_move_who_waits_for_a_slot_since_its_time_has_come(machine: Machine) -> None:
    limited(machine, "narrow", release_while_waiting=True)
    machine.enqueue("narrow", {"user_id": 1})
    admit(machine)
    (waiting,) = machine.claim(machine.worker(), tasks=("narrow",))
    machine.ask("wait_for_event", waiting, "event paid", "", "paid", 60.0, None)
    machine.enqueue("narrow", {"user_id": 1})  # has the slot meanwhile
    admit(machine)
    machine.advance(61)
    admit(machine)
    parked = machine.job(waiting["id"])
    assert parked["held_by"] == "limit:user:1"

    machine.value("select holdfast.emit('paid')")

    assert machine.job(waiting["id"]) == parked


def test_neither_an_end_nor_an_event_moves_who_is_due_since_its_time_has_come(machine: Machine) -> None:
    (awaited,) = claimed(machine)
    limited(machine, "narrow", most=2)  # so that it comes into the line through admission
    for _ in range(2):
        machine.enqueue("narrow", {"user_id": 1})
    admit(machine)
    child, paid = machine.claim(machine.worker("other"), 2, tasks=("narrow",))
    machine.ask("wait_for_jobs", child, "wait_for", "", [awaited["id"]], 60.0, None)
    machine.ask("wait_for_event", paid, "event paid", "", "paid", 60.0, None)
    machine.advance(90)
    due = [machine.job(waiting["id"]) for waiting in (child, paid)]

    machine.move(awaited["id"], Status.COMPLETED)
    machine.value("select holdfast.emit('paid')")

    assert [machine.job(waiting["id"]) for waiting in (child, paid)] == due
    admit(machine)
    assert in_line(machine) == {child["id"], paid["id"]}


def test_an_event_counts_nobody_who_is_cancelled_meanwhile(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    (waiting,) = claimed(lasting)
    lasting.ask("wait_for_event", waiting, "event paid", "", "paid", None, None)

    with meanwhile(holdfast_db) as (canceller, ask):
        canceller.execute("select holdfast.cancel(%s)", [waiting["id"]])
        asked = ask("select holdfast.emit('paid')")
        until_it_waits(holdfast_db, asked)
        canceller.commit()

        assert asked.result() == "[(0,)]"

    assert lasting.value("select count(*) from holdfast.activity where kind = 'event'") == 0


def in_a_session(database: ScratchDatabase, statement: str, *parameters: object) -> str:
    """Tell what a statement answers, or the SQLSTATE that it is refused with."""
    with machine_on(database.owner_url) as machine:
        try:
            return str(machine.value(statement, *parameters))
        except psycopg.Error as error:
            return str(error.sqlstate)


def parent_and_child(machine: Machine) -> tuple[Row, UUID]:
    (parent,) = claimed(machine)
    (child,) = machine.enqueue_many([{"task": "child", "payload": {}, "parent": str(parent["id"])}])
    return parent, child["job_id"]


def failure_of(running: Row) -> dict[str, object]:
    return {
        "id": str(running["id"]), "attempt": running["attempt"], "claim_id": str(running["claim_id"]), "outcome": "failed",
        "error": {"type": "Boom", "message": "no", "kind": "error", "recoverable": False}, "recoverable": False,
    }  # fmt: skip


WAITS = "select waits from holdfast.wait_for_jobs(%s, %s, %s, 'wait_for', '', %s, %s, null)"


def test_a_wait_for_a_child_and_a_cancel_of_its_parent_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("child")
    parent, child = parent_and_child(lasting)
    fence = (parent["id"], parent["attempt"], parent["claim_id"])

    with machine_on(holdfast_db.owner_url) as other, ThreadPoolExecutor(2) as pool:
        with other.connection.transaction():
            other.rows("select from holdfast.job where id = %s for update", child)
            waits = pool.submit(in_a_session, holdfast_db, WAITS, *fence, [child], None)
            until_somebody_waits(holdfast_db, 1)
            cancels = pool.submit(in_a_session, holdfast_db, "select holdfast.cancel(%s)::text", parent["id"])
            until_somebody_waits(holdfast_db, 2)
        told = (waits.result(), cancels.result())

    assert told == ("True", "CANCELLED")
    assert lasting.status(child) is Status.CANCELLED


@pytest.mark.new_database
@pytest.mark.parametrize("by", ["cancel", "bulk", "replace"])
def test_a_cancel_of_a_child_and_one_of_its_waiting_parent_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase, by: str
) -> None:
    lasting.register("child")
    (parent,) = claimed(lasting)
    (born,) = lasting.enqueue_many(
        [{"task": "child", "payload": {}, "parent": str(parent["id"]), "key": "k"}]
    )
    child = born["job_id"]
    lasting.ask("wait_for_jobs", parent, "wait_for", "", [child], None, None)
    cancel = "select holdfast.cancel(%s)::text"

    with machine_on(holdfast_db.owner_url) as other, ThreadPoolExecutor(2) as pool:
        with other.connection.transaction():
            # The one has the child, the other comes for its parent and then for the child, before the first comes for the parent.
            other.rows("select from holdfast.wait where job_id = %s for update", parent["id"])
            if by == "cancel":
                first = pool.submit(in_a_session, holdfast_db, cancel, child)
            elif by == "replace":
                again = Jsonb([{"task": "child", "payload": {}, "key": "k", "on_conflict": "replace"}])
                first = pool.submit(
                    in_a_session, holdfast_db, "select created::text from holdfast.enqueue_many(%s)", again
                )
            else:
                operation = lasting.value("select holdfast.new_id()")
                lasting.value(
                    "select holdfast.begin_operation(%s, null, 'cancel', null, null, 'all', 'ann', null, %s, %s)",
                    operation, [child], Jsonb([{"name": "holdfast.bulk", "queue": "holdfast"}]),
                )  # fmt: skip
                first = pool.submit(
                    in_a_session, holdfast_db, "select done::text from holdfast.run_chunk(%s, 1)", operation
                )
            until_somebody_waits(holdfast_db, 1)
            second = pool.submit(in_a_session, holdfast_db, cancel, parent["id"])
            until_somebody_waits(holdfast_db, 2)
        told = {first.result(), second.result()}

    assert told == {"CANCELLED", {"cancel": "CANCELLED", "bulk": "1", "replace": "true"}[by]}
    assert lasting.status(child) is lasting.status(parent["id"]) is Status.CANCELLED


@pytest.mark.new_database
def test_the_end_of_a_child_and_a_cancel_of_its_waiting_parent_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("child")
    parent, child = parent_and_child(lasting)
    (running,) = lasting.claim(worker := lasting.worker(lease=10**6), tasks=("child",))
    lasting.ask("wait_for_jobs", parent, "wait_for", "", [child], None, None)

    with machine_on(holdfast_db.owner_url) as other, ThreadPoolExecutor(1) as pool:
        with other.connection.transaction():
            # As a cancel does, which has the parent and then comes for its wait.
            other.rows("select from holdfast.job where id = %s for no key update", parent["id"])
            ends = pool.submit(
                in_a_session, holdfast_db, "select count(*) from holdfast.complete(%s, %s, %s, %s, '{1}')",
                worker, [child], [running["attempt"]], [running["claim_id"]],
            )  # fmt: skip
            until_somebody_waits(holdfast_db, 1)
            other.value("select holdfast.cancel(%s)::text", parent["id"])
        told = ends.result()

    assert told == "0"
    assert lasting.status(parent["id"]) is Status.CANCELLED
    assert lasting.status(child) is Status.COMPLETED
    assert lasting.count("holdfast.wait") == 0


@pytest.mark.new_database
def test_a_wait_that_is_asked_again_and_the_end_of_what_it_waits_for_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("child")
    parent, child = parent_and_child(lasting)
    (running,) = lasting.claim(worker := lasting.worker(lease=10**6), tasks=("child",))
    lasting.ask("wait_for_jobs", parent, "wait_for", "", [child], 60.0, None)
    holdfast_db.clock.advance(61)
    admit(lasting)
    (again,) = lasting.claim(worker)
    fence = (again["id"], again["attempt"], again["claim_id"])
    # Among many that wait: few would be looked through for those that this end frees, and no other be locked.
    lasting.enqueue_many([{"task": "child", "payload": {}, "run_in": 3600} for _ in range(2000)])
    lasting.run("analyze holdfast.job")

    with machine_on(holdfast_db.owner_url) as other, ThreadPoolExecutor(2) as pool:
        with other.connection.transaction():
            other.rows("select from holdfast.wait where job_id = %s for update", parent["id"])
            ends = pool.submit(
                in_a_session, holdfast_db, "select count(*) from holdfast.complete(%s, %s, %s, %s, '{1}')",
                worker, [child], [running["attempt"]], [running["claim_id"]],
            )  # fmt: skip
            until_somebody_waits(holdfast_db, 1)
            waits = pool.submit(in_a_session, holdfast_db, WAITS, *fence, [child], None)
            until_somebody_waits(holdfast_db, 2)
        told = (ends.result(), waits.result())

    assert told == ("0", "False")
    assert lasting.status(again["id"]) is Status.RUNNING


@pytest.mark.parametrize("first_to_commit", ["cancel", "end"])
def test_no_wait_is_left_of_a_running_job_that_is_cancelled_beside_the_end_of_what_it_waits_for(
    lasting: Machine, holdfast_db: ScratchDatabase, first_to_commit: str
) -> None:
    lasting.register("child")
    parent, child = parent_and_child(lasting)
    (running,) = lasting.claim(worker := lasting.worker(lease=10**6), tasks=("child",))
    lasting.ask("wait_for_jobs", parent, "wait_for", "", [child], 60.0, None)
    holdfast_db.clock.advance(61)
    admit(lasting)
    (again,) = lasting.claim(worker)
    ends = ("select count(*) from holdfast.complete(%s, %s, %s, %s, '{1}')",
            worker, [child], [running["attempt"]], [running["claim_id"]])  # fmt: skip
    cancels = ("select holdfast.cancel(%s)::text", again["id"])
    held, beside = (ends, cancels) if first_to_commit == "cancel" else (cancels, ends)

    with machine_on(holdfast_db.owner_url) as other, ThreadPoolExecutor(1) as pool:
        with other.connection.transaction():
            other.rows(*held)
            asked = pool.submit(in_a_session, holdfast_db, *beside)
            until_it_waits(holdfast_db, asked)

        # An end tells how many were not its to end.
        assert asked.result() == ("CANCELLED" if first_to_commit == "cancel" else "0")

    assert lasting.status(again["id"]) is Status.CANCELLED
    assert lasting.status(child) is Status.COMPLETED
    assert lasting.count("holdfast.wait") == 0


@pytest.mark.parametrize("by", ["cancel", "bulk"])
def test_a_cancel_that_moves_nothing_waits_for_nobody(
    lasting: Machine, holdfast_db: ScratchDatabase, by: str
) -> None:
    ended = lasting.enqueue(tenant="acme" if by == "cancel" else "globex")
    other = lasting.enqueue(tenant="globex")
    (follower,) = lasting.enqueue_many(
        [{"task": "t", "payload": {}, "tenant": "globex", "after": [str(ended), str(other)]}]
    )
    if by == "cancel":
        for status in (Status.RUNNING, Status.COMPLETED):
            lasting.move(ended, status)
        told, asked = "HF001", ("select holdfast.cancel(%s)::text", ended)
    else:
        operation = lasting.value("select holdfast.new_id()")
        lasting.value(
            "select holdfast.begin_operation(%s, 'acme', 'cancel', null, null, 'all', 'ann', null, %s, %s)",
            operation, [ended], Jsonb([{"name": "holdfast.bulk", "queue": "holdfast"}]),
        )  # fmt: skip
        told, asked = "1", ("select skipped::text from holdfast.run_chunk(%s, 1)", operation)

    with machine_on(holdfast_db.owner_url) as other_session, ThreadPoolExecutor(1) as pool:
        with other_session.connection.transaction():
            other_session.rows("select from holdfast.job where id = %s for update", follower["job_id"])
            answer = pool.submit(in_a_session, holdfast_db, *asked)
            until_it_waits(holdfast_db, answer)
            waited = not answer.done()
        assert answer.result() == told

    assert not waited


@pytest.mark.new_database
def test_the_end_of_a_child_that_others_wait_behind_and_a_cancel_of_its_parent_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    limited(lasting, "child", key="one")
    (parent,) = claimed(lasting)
    children = lasting.enqueue_many([{"task": "child", "payload": {}, "parent": str(parent["id"])}] * 2)
    admit(lasting)
    (running,) = lasting.claim(worker := lasting.worker(lease=10**6), tasks=("child",))
    (parked,) = {child["job_id"] for child in children} - {running["id"]}
    lasting.ask("wait_for_jobs", parent, "wait_for", "", [running["id"]], None, None)

    with machine_on(holdfast_db.owner_url) as other, ThreadPoolExecutor(2) as pool:
        with other.connection.transaction():
            # The end has a slot to offer and is about to tell the parent; its cancel has that and comes for who waits for the slot.
            other.rows("select from holdfast.wait where job_id = %s for update", parent["id"])
            ends = pool.submit(
                in_a_session, holdfast_db, "select count(*) from holdfast.complete(%s, %s, %s, %s, '{1}')",
                worker, [running["id"]], [running["attempt"]], [running["claim_id"]],
            )  # fmt: skip
            until_somebody_waits(holdfast_db, 1)
            cancels = pool.submit(in_a_session, holdfast_db, "select holdfast.cancel(%s)::text", parent["id"])
            wait([cancels], timeout=1)
        told = (ends.result(), cancels.result())

    assert told == ("0", "CANCELLED")
    assert lasting.status(parent["id"]) is lasting.status(parked) is Status.CANCELLED


@pytest.mark.new_database
@pytest.mark.parametrize("awaited", ["first", "follower"])
def test_a_failure_that_cancels_a_follower_and_a_cancel_of_the_parent_of_both_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase, awaited: str
) -> None:
    lasting.register("child")
    (parent,) = claimed(lasting)
    child = {"task": "child", "payload": {}, "parent": str(parent["id"]), "max_retries": 0}
    (first,) = lasting.enqueue_many([child])
    (follower,) = lasting.enqueue_many([{**child, "after": [str(first["job_id"])]}])
    (running,) = lasting.claim(worker := lasting.worker(lease=10**6), tasks=("child",))
    waits_for = {"first": first, "follower": follower}[awaited]["job_id"]
    lasting.ask("wait_for_jobs", parent, "wait_for", "", [waits_for], None, None)

    with machine_on(holdfast_db.owner_url) as other, ThreadPoolExecutor(2) as pool:
        with other.connection.transaction():
            # The failure is about to tell the parent; a cancel has that and comes for the follower.
            other.rows("select from holdfast.wait where job_id = %s for update", parent["id"])
            fails = pool.submit(
                in_a_session,
                holdfast_db,
                "select status::text from holdfast.settle(%s, %s)",
                worker,
                Jsonb([failure_of(running)]),
            )
            until_somebody_waits(holdfast_db, 1)
            cancels = pool.submit(in_a_session, holdfast_db, "select holdfast.cancel(%s)::text", parent["id"])
            wait([cancels], timeout=1)
        told = (fails.result(), cancels.result())

    assert told == ("FAILED", "CANCELLED")
    assert lasting.status(parent["id"]) is lasting.status(follower["job_id"]) is Status.CANCELLED


@pytest.mark.parametrize("cancels", ["nobody", "a follower"])
def test_a_failure_waits_for_nobody_who_is_at_a_child_that_goes_on(
    lasting: Machine, holdfast_db: ScratchDatabase, cancels: str
) -> None:
    lasting.register("child")
    lasting.enqueue()
    (parent,) = lasting.claim(worker := lasting.worker(lease=10**6))
    (child,) = lasting.enqueue_many([{"task": "child", "payload": {}, "parent": str(parent["id"])}])
    if cancels == "a follower":
        lasting.enqueue_many([{"task": "child", "payload": {}, "after": [str(parent["id"])]}])

    with machine_on(holdfast_db.owner_url) as other, ThreadPoolExecutor(1) as pool:
        with other.connection.transaction():
            other.rows("select from holdfast.job where id = %s for update", child["job_id"])
            fails = pool.submit(
                in_a_session,
                holdfast_db,
                "select status::text from holdfast.settle(%s, %s)",
                worker,
                Jsonb([failure_of(parent)]),
            )
            until_it_waits(holdfast_db, fails)
            waited = not fails.done()
        assert fails.result() == "FAILED"

    assert not waited
    assert lasting.status(child["job_id"]) is Status.PENDING


@pytest.mark.new_database
@pytest.mark.parametrize("who", ["cancel", "bulk", "follower", "wait"])
def test_the_end_of_a_child_and_who_comes_for_it_and_its_waiting_parent_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase, who: str
) -> None:
    lasting.register("child")
    parent, child = parent_and_child(lasting)
    (running,) = lasting.claim(worker := lasting.worker(lease=10**6), tasks=("child",))
    lasting.ask("wait_for_jobs", parent, "wait_for", "", [child], None, None)
    both = [parent["id"], child]
    asked: tuple[Any, ...]
    match who:
        case "cancel":
            told, asked = "HF001", ("select holdfast.cancel(%s)::text", child)
        case "bulk":
            operation = lasting.value("select holdfast.new_id()")
            lasting.value(
                "select holdfast.begin_operation(%s, null, 'cancel', null, null, 'all', 'ann', null, %s, %s)",
                operation, both, Jsonb([{"name": "holdfast.bulk", "queue": "holdfast"}]),
            )  # fmt: skip
            told, asked = "1", ("select skipped::text from holdfast.run_chunk(%s, 1)", operation)
        case "follower":
            after = Jsonb([{"task": "child", "payload": {}, "after": [str(one) for one in both]}])
            told, asked = "True", ("select created from holdfast.enqueue_many(%s)", after)
        case _:
            (other_parent,) = claimed(lasting)
            fence = (other_parent["id"], other_parent["attempt"], other_parent["claim_id"])
            told, asked = "True", (WAITS, *fence, both, None)

    with machine_on(holdfast_db.owner_url) as other, ThreadPoolExecutor(2) as pool:
        with other.connection.transaction():
            # The end has the child and is about to tell the parent.
            other.rows("select from holdfast.wait where job_id = %s for update", parent["id"])
            ends = pool.submit(
                in_a_session, holdfast_db, "select count(*) from holdfast.complete(%s, %s, %s, %s, '{1}')",
                worker, [child], [running["attempt"]], [running["claim_id"]],
            )  # fmt: skip
            until_somebody_waits(holdfast_db, 1)
            comes = pool.submit(in_a_session, holdfast_db, *asked)
            until_somebody_waits(holdfast_db, 2)
        answers = (ends.result(), comes.result())

    assert answers == ("0", told)
    assert lasting.status(child) is Status.COMPLETED
    assert lasting.status(parent["id"]) is (Status.CANCELLED if who == "bulk" else Status.WAITING)


def test_a_wait_for_jobs_planned_for_a_small_table_does_not_read_all_of_a_large_one(machine: Machine) -> None:
    machine.register("child")
    worker = machine.worker(lease=10**6)

    def reads() -> int:
        machine.enqueue()
        (parent,) = machine.claim(worker)
        (child,) = machine.enqueue_many([{"task": "child", "payload": {}, "parent": str(parent["id"])}])
        before = rows_read(machine)
        machine.ask("wait_for_jobs", parent, "wait_for", "", [child["job_id"]], None, None)
        return rows_read(machine) - before

    for _ in range(7):  # after the fifth a plan is kept
        reads()
    machine.enqueue_many([{"task": "child", "payload": {}, "run_in": 60}] * 3000)

    assert reads() < 100


@pytest.mark.new_database
def test_the_end_of_a_child_and_a_call_that_would_replace_it_and_is_to_run_after_its_parent_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("child")
    parent, child = claimed(lasting)[0], lasting.enqueue("child", key="k")
    (running,) = lasting.claim(worker := lasting.worker(lease=10**6), tasks=("child",))
    lasting.ask("wait_for_jobs", parent, "wait_for", "", [child], None, None)
    another = lasting.enqueue()
    after = [str(parent["id"]), str(another)]
    replaces = {"task": "child", "payload": {}, "key": "k", "on_conflict": "replace", "after": after}

    with machine_on(holdfast_db.owner_url) as other, ThreadPoolExecutor(2) as pool:
        with other.connection.transaction():
            other.rows("select from holdfast.job where id = %s for update", another)
            comes = pool.submit(
                in_a_session, holdfast_db, "select created from holdfast.enqueue_many(%s)", Jsonb([replaces])
            )
            until_somebody_waits(holdfast_db, 1)
            ends = pool.submit(
                in_a_session, holdfast_db, "select count(*) from holdfast.complete(%s, %s, %s, %s, '{1}')",
                worker, [child], [running["attempt"]], [running["claim_id"]],
            )  # fmt: skip
            until_somebody_waits(holdfast_db, 2)
        answers = (ends.result(), comes.result())

    assert answers == ("0", "False")
    assert lasting.status(child) is Status.COMPLETED
