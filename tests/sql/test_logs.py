"""Log lines of attempts that run: saved once each, only by who has the job, and one with what the attempt brings in the end."""

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from holdfast.domain.job import AttemptRecord
from holdfast.domain.states import Status
from holdfast.store.call import perform_alone_sync
from holdfast.store.inspect import attempts
from sql.support import Machine, Row


@pytest.fixture
def worker(machine: Machine) -> UUID:
    return machine.worker("w-1")


@pytest.fixture
def claimed(machine: Machine, worker: UUID) -> Row:
    machine.enqueue()
    (claimed,) = machine.claim(worker)
    return claimed


def said(*words: str) -> list[dict[str, Any]]:
    return [{"message": word} for word in words]


def save(machine: Machine, worker: UUID, claimed: Row, first: int, *words: str) -> int:
    """Save lines as the attempt's, of which so many come before; gives how many there are then."""
    saved = machine.one(
        "select * from holdfast.save_logs(%s, %s, %s, %s, %s, %s)",
        worker, [claimed["id"]], [claimed["attempt"]], [claimed["claim_id"]], [first], [json.dumps(said(*words))],
    )  # fmt: skip
    return int(saved["kept"])


def left(machine: Machine, claimed: Row) -> list[AttemptRecord]:
    """Read what attempts left, as everybody does."""
    return perform_alone_sync(machine.connection, attempts(claimed["id"]))


def parts(machine: Machine) -> int:
    return machine.count("holdfast.log_part")


def test_lines_can_be_read_while_the_attempt_runs(machine: Machine, worker: UUID, claimed: Row) -> None:
    assert save(machine, worker, claimed, 0, "one", "two") == 2
    assert save(machine, worker, claimed, 2, "three") == 3

    (record,) = left(machine, claimed)
    assert (record.outcome, record.worker, record.error) == ("running", "w-1", None)
    assert record.logs == said("one", "two", "three")


def test_a_repeat_after_a_lost_answer_saves_what_is_new_and_nothing_twice(
    machine: Machine, worker: UUID, claimed: Row
) -> None:
    save(machine, worker, claimed, 0, "one", "two")

    assert save(machine, worker, claimed, 0, "one", "two", "three") == 3
    assert save(machine, worker, claimed, 0, "one", "two", "three") == 3
    assert left(machine, claimed)[0].logs == said("one", "two", "three")


def test_lines_with_a_gap_before_them_are_not_saved(machine: Machine, worker: UUID, claimed: Row) -> None:
    save(machine, worker, claimed, 0, "one")

    assert save(machine, worker, claimed, 2, "three") == 1
    assert left(machine, claimed)[0].logs == said("one")


@pytest.mark.parametrize("wrong", ["attempt", "claim_id"])
def test_who_has_lost_the_job_saves_nothing(machine: Machine, worker: UUID, claimed: Row, wrong: str) -> None:
    stale = {**claimed, "attempt": 7} if wrong == "attempt" else {**claimed, "claim_id": uuid4()}

    assert save(machine, worker, stale, 0, "from beyond") == 0
    assert parts(machine) == 0


def test_another_worker_saves_nothing(machine: Machine, claimed: Row) -> None:
    assert save(machine, machine.worker("w-2"), claimed, 0, "not mine") == 0
    assert parts(machine) == 0


def test_nothing_is_saved_after_the_end(machine: Machine, worker: UUID, claimed: Row) -> None:
    machine.complete(worker, claimed)

    assert save(machine, worker, claimed, 0, "late") == 0
    assert parts(machine) == 0


def test_the_end_brings_all_lines_and_each_is_there_once(
    machine: Machine, worker: UUID, claimed: Row
) -> None:
    save(machine, worker, claimed, 0, "one")

    machine.complete(worker, claimed, logs=json.dumps(said("one", "two")))

    (record,) = left(machine, claimed)
    assert (record.outcome, record.logs) == ("completed", said("one", "two"))
    assert parts(machine) == 0


def test_a_failure_brings_all_lines_and_each_is_there_once(
    machine: Machine, worker: UUID, claimed: Row
) -> None:
    save(machine, worker, claimed, 0, "one")

    machine.settle(
        worker, claimed, outcome="failed", error={"type": "Boom"}, delay=0, logs=said("one", "two")
    )

    (record,) = left(machine, claimed)
    assert (record.outcome, record.logs) == ("failed", said("one", "two"))
    assert parts(machine) == 0


def test_a_wait_brings_all_lines_and_each_is_there_once(machine: Machine, worker: UUID, claimed: Row) -> None:
    save(machine, worker, claimed, 0, "one")

    machine.ask("sleep_until", claimed, "nap", None, 60, None, json.dumps(said("one", "two")))

    (record,) = left(machine, claimed)
    assert (record.outcome, record.logs) == ("waiting", said("one", "two"))
    assert parts(machine) == 0


def test_a_save_that_comes_through_beside_the_end_doubles_nothing(
    machine: Machine, worker: UUID, claimed: Row
) -> None:
    machine.complete(worker, claimed, logs=json.dumps(said("one", "two")))

    machine.run(
        "insert into holdfast.log_part values (%s, 1, 0, default, 'w-1', %s)",
        claimed["id"],
        json.dumps(said("one")),
    )

    assert [record.logs for record in left(machine, claimed)] == [said("one", "two")]


def test_the_lines_of_an_attempt_stay_when_its_worker_dies(
    machine: Machine, worker: UUID, claimed: Row
) -> None:
    save(machine, worker, claimed, 0, "one", "two")

    machine.fall_silent(worker)
    machine.sweep()
    save(machine, worker, claimed, 2, "from beyond")

    (record,) = left(machine, claimed)
    assert (record.outcome, record.logs) == ("crashed", said("one", "two"))
    assert record.error is not None
    assert record.error["type"] == "WorkerDied"


def test_the_lines_of_an_attempt_stay_when_somebody_cancels_it(
    machine: Machine, worker: UUID, claimed: Row
) -> None:
    save(machine, worker, claimed, 0, "one")

    machine.run("select holdfast.cancel(%s)", claimed["id"])

    (record,) = left(machine, claimed)
    assert (record.outcome, record.logs) == ("cancelled", said("one"))
    assert machine.status(claimed["id"]) is Status.CANCELLED


def test_each_attempt_has_its_own_lines(machine: Machine, worker: UUID, claimed: Row) -> None:
    save(machine, worker, claimed, 0, "first")
    machine.settle(worker, claimed, outcome="released", delay=0)
    (again,) = machine.claim(worker)

    save(machine, worker, again, 0, "second")

    assert [(each.attempt, each.outcome, each.logs) for each in left(machine, claimed)] == [
        (1, "retry", said("first")),
        (2, "running", said("second")),
    ]


def test_many_attempts_are_saved_in_one_call(machine: Machine, worker: UUID) -> None:
    for _ in range(20):
        machine.enqueue()
    claimed = machine.claim(worker, 20)

    saved = machine.rows(
        "select * from holdfast.save_logs(%s, %s, %s, %s, %s, %s)",
        worker, [c["id"] for c in claimed], [1] * 20, [c["claim_id"] for c in claimed], [0] * 20, [json.dumps(said("x"))] * 20,
    )  # fmt: skip

    assert {(row["id"], row["kept"]) for row in saved} == {(c["id"], 1) for c in claimed}
    assert parts(machine) == 20
