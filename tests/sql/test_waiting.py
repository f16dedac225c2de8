"""Jobs that wait: what wakes them, and what does not."""

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.gates import admit, in_line, limited
from sql.support import Machine, Row, meanwhile, until_it_waits


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
