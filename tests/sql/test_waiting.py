"""Jobs that wait: what wakes them, and what does not."""

from holdfast.domain.states import Status
from sql.gates import admit, in_line
from sql.support import Machine, Row


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
