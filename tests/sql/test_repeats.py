"""An answer that was lost: the same attempt asks again, and finds what its first call did."""

from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from sql.support import Machine, Row


@pytest.fixture
def running(machine: Machine) -> Row:
    """A claimed job, as its attempt knows it."""
    machine.enqueue()
    (claimed,) = machine.claim(machine.worker())
    return claimed


def test_a_sleep_that_was_none_is_none_when_it_is_asked_again(machine: Machine, running: Row) -> None:
    answers = [machine.ask("sleep_until", running, "sleep", "", 0.0, None, None) for _ in range(2)]

    assert answers == [{"sleep_until": False}] * 2
    assert machine.count("holdfast.step") == 1


@pytest.mark.parametrize("further", [0, 1])
def test_an_event_that_was_taken_is_given_again(machine: Machine, running: Row, further: int) -> None:
    for number in range(1 + further):
        machine.value("select holdfast.emit('paid', %s)", Jsonb(number))

    answers = [machine.ask("wait_for_event", running, "event paid", "", "paid", None, None) for _ in range(2)]

    assert answers == [{"waits": False, "timed_out": False, "payload": "0"}] * 2
    assert machine.status(running["id"]) is Status.RUNNING
    assert machine.count("holdfast.wait") == 0


def test_an_event_that_did_not_come_in_time_does_not_when_it_is_asked_again(
    machine: Machine, running: Row
) -> None:
    first = machine.ask("wait_for_event", running, "event paid", "", "paid", 0.0, None)
    machine.value("select holdfast.emit('paid')")

    assert machine.ask("wait_for_event", running, "event paid", "", "paid", 0.0, None) == first
    assert (first["waits"], first["timed_out"]) == (False, True)


def test_an_event_is_emitted_once(machine: Machine, running: Row) -> None:
    machine.ask("wait_for_event", running, "event paid", "", "paid", None, None)
    token = uuid4()

    answers = [
        machine.value("select holdfast.emit('paid', %s, p_token => %s)", Jsonb(1), token) for _ in range(2)
    ]

    assert answers == [1, 1]
    assert machine.count("holdfast.event") == 1


def test_jobs_that_had_ended_have_ended_when_they_are_asked_for_again(machine: Machine, running: Row) -> None:
    other = machine.job_in(Status.COMPLETED)

    answers = [machine.ask("wait_for_jobs", running, "wait_for", "", [other], None, None) for _ in range(2)]

    assert answers == [{"waits": False, "timed_out": False}] * 2


@pytest.mark.parametrize("many", [0, 2])
def test_children_are_enqueued_once(machine: Machine, running: Row, many: int) -> None:
    jobs = Jsonb([{"task": "t", "payload": {}} for _ in range(many)])

    answers: list[list[UUID]] = [
        machine.ask("enqueue_children", running, "parts", "", jobs, None)["enqueue_children"]
        for _ in range(2)
    ]

    assert answers[0] == answers[1]
    assert len(answers[0]) == many
    assert machine.count() == 1 + many
