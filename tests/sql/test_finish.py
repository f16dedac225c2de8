"""Finish: every write shows its fence, a stale one writes nothing, a repeated one is a success."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.support import Machine, Row, rows_read

BOOM = {"type": "Boom", "message": "no", "traceback": "long"}


@pytest.fixture
def worker(machine: Machine) -> UUID:
    return machine.worker("w-1")


@pytest.fixture
def claimed(machine: Machine, worker: UUID) -> Row:
    machine.enqueue()
    (claimed,) = machine.claim(worker)
    return claimed


# -- complete ----------------------------------------------------------------------------------------------------------------


def test_a_completed_job_keeps_its_result_and_its_fence(each_machine: Machine) -> None:
    worker, job_id = each_machine.worker("w-1"), each_machine.enqueue()
    (claimed,) = each_machine.claim(worker)

    refused = each_machine.complete(worker, claimed, result='{"sum": 3}')

    job = each_machine.job(job_id)
    assert refused == []
    assert (job["status"], job["result"], job["claim_id"], job["holder"]) == (
        "COMPLETED",
        {"sum": 3},
        claimed["claim_id"],
        None,
    )
    assert each_machine.path(job_id) == [Status.PENDING, Status.RUNNING, Status.COMPLETED]
    assert each_machine.history(job_id)[-1]["actor"] == "w-1"


def test_many_attempts_are_completed_in_one_call(machine: Machine, worker: UUID) -> None:
    for _ in range(20):
        machine.enqueue()
    claimed = machine.claim(worker, 20)

    assert machine.complete(worker, *reversed(claimed)) == []
    assert machine.value("select count(*) from holdfast.job where status = 'COMPLETED'") == 20


def test_log_lines_are_kept_with_the_attempt(machine: Machine, worker: UUID, claimed: Row) -> None:
    machine.complete(worker, claimed, logs='[{"message": "hello"}]')

    (attempt,) = machine.attempts(claimed["id"])
    assert (attempt["outcome"], attempt["logs"], attempt["worker"]) == (
        "completed",
        [{"message": "hello"}],
        "w-1",
    )


def taken_by_another(machine: Machine, claimed: Row) -> None:
    machine.move(claimed["id"], Status.RETRY, reason="by hand")
    machine.move(claimed["id"], Status.RUNNING)


STOLEN: dict[str, tuple[Callable[[Machine, Row], Any], Status]] = {
    "another attempt": (taken_by_another, Status.RUNNING),
    "cancelled": (lambda m, c: m.value("select holdfast.cancel(%s)", c["id"]), Status.CANCELLED),
    "failed": (lambda m, c: m.move(c["id"], Status.FAILED, reason="by hand"), Status.FAILED),
    "to be retried": (lambda m, c: m.move(c["id"], Status.RETRY, reason="by hand"), Status.RETRY),
    "waiting": (lambda m, c: m.move(c["id"], Status.WAITING), Status.WAITING),
}


@pytest.mark.parametrize("what", STOLEN)
def test_completing_a_job_that_is_no_longer_ones_own_is_refused_and_said(
    machine: Machine, worker: UUID, claimed: Row, what: str
) -> None:
    steal, status = STOLEN[what]
    steal(machine, claimed)
    before = machine.job(claimed["id"]), machine.history(claimed["id"])

    refused = machine.complete(worker, claimed, result="1", logs='["late"]')

    assert [(row["id"], row["status"]) for row in refused] == [(claimed["id"], status.value)]
    assert (machine.job(claimed["id"]), machine.history(claimed["id"])) == before
    assert machine.attempts(claimed["id"]) == []


@pytest.mark.parametrize(
    "forged", [{"attempt": 0}, {"attempt": 2}, {"claim_id": uuid4()}, {"attempt": None}, {"claim_id": None}]
)
@pytest.mark.parametrize("outcome", ["complete", "failed", "crashed", "released", "cancelled"])
def test_a_wrong_fence_opens_nothing(
    machine: Machine, worker: UUID, claimed: Row, forged: Row, outcome: str
) -> None:
    wrong = {**claimed, **forged}
    if wrong["claim_id"] is None and outcome != "complete":
        wrong["claim_id"] = "00000000-0000-0000-0000-000000000000"

    if outcome == "complete":
        answer = machine.complete(worker, wrong)
        assert len(answer) == 1
    else:
        (settled,) = machine.settle(worker, wrong, outcome=outcome, error=BOOM)
        assert (settled["status"], settled["recorded"]) == ("RUNNING", False)

    assert machine.status(claimed["id"]) is Status.RUNNING


def test_a_job_that_does_not_exist_is_reported_without_a_status(machine: Machine, worker: UUID) -> None:
    nothing = {"id": uuid4(), "attempt": 1, "claim_id": uuid4()}

    assert machine.complete(worker, nothing) == [{"id": nothing["id"], "status": None}]
    assert machine.settle(worker, nothing, outcome="failed", error=BOOM) == [
        {"id": nothing["id"], "status": None, "recorded": False}
    ]


def test_completing_twice_by_the_same_attempt_is_a_success_written_once(
    machine: Machine, worker: UUID, claimed: Row
) -> None:
    machine.complete(worker, claimed, result="1", logs='["a"]')
    before = machine.job(claimed["id"]), machine.history(claimed["id"]), machine.attempts(claimed["id"])

    assert machine.complete(worker, claimed, result="2", logs='["b"]') == []

    assert (
        machine.job(claimed["id"]),
        machine.history(claimed["id"]),
        machine.attempts(claimed["id"]),
    ) == before


def test_the_lost_of_a_batch_do_not_take_the_others_with_them(machine: Machine, worker: UUID) -> None:
    ids = [machine.enqueue() for _ in range(3)]
    claimed = machine.claim(worker, 3)
    machine.value("select holdfast.cancel(%s)", ids[1])

    refused = machine.complete(worker, *claimed)

    assert [row["id"] for row in refused] == [ids[1]]
    assert [machine.status(job_id) for job_id in ids] == [
        Status.COMPLETED,
        Status.CANCELLED,
        Status.COMPLETED,
    ]


# -- settle ------------------------------------------------------------------------------------------------------------------

#  outcome, options → status, retry_count, crash_count, suspect, error kept, in the line at once
OUTCOMES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"outcome": "failed", "delay": 60}, {"status": "RETRY", "retry_count": 1, "in_line": False}),
    ({"outcome": "failed", "delay": 0}, {"status": "RETRY", "retry_count": 1, "in_line": True}),
    ({"outcome": "failed"}, {"status": "RETRY", "retry_count": 1, "in_line": True}),
    ({"outcome": "failed", "recoverable": False, "delay": 60}, {"status": "FAILED", "in_line": False}),
    ({"outcome": "failed", "max_retries": 0, "delay": 60}, {"status": "FAILED", "in_line": False}),
    ({"outcome": "crashed"}, {"status": "RETRY", "crash_count": 1, "suspect": True, "in_line": True}),
    (
        {"outcome": "crashed", "max_retries": 0},
        {"status": "RETRY", "crash_count": 1, "suspect": True, "in_line": True},
    ),
    ({"outcome": "crashed", "crash_cap": 1}, {"status": "FAILED", "crash_count": 1, "in_line": False}),
    ({"outcome": "released"}, {"status": "RETRY", "error": False, "in_line": True}),
    ({"outcome": "released", "max_retries": 0}, {"status": "RETRY", "error": False, "in_line": True}),
    ({"outcome": "cancelled"}, {"status": "CANCELLED", "in_line": False}),
]


@pytest.mark.parametrize(("given", "wanted"), OUTCOMES)
def test_what_becomes_of_an_attempt(
    machine: Machine, worker: UUID, given: dict[str, Any], wanted: dict[str, Any]
) -> None:
    settings = {name: value for name, value in given.items() if name in {"max_retries", "crash_cap"}}
    outcome = {name: value for name, value in given.items() if name not in settings}
    machine.register("t", **settings)
    job_id = machine.enqueue()
    (claimed,) = machine.claim(worker)

    (settled,) = machine.settle(worker, claimed, error=BOOM, reason="because", **outcome)

    job = machine.job(job_id)
    expected = {"retry_count": 0, "crash_count": 0, "suspect": False, "error": True, **wanted}
    assert settled == {"id": job_id, "status": job["status"], "recorded": True}
    assert (job["status"], job["retry_count"], job["crash_count"]) == (
        expected["status"], expected["retry_count"], expected["crash_count"],
    )  # fmt: skip
    assert job["suspect"] is expected["suspect"]
    assert job["error"] == (BOOM if expected["error"] else None)
    assert (job["claim_order"] is not None) is expected["in_line"]
    assert (job["due_at"] is not None) is (job["status"] == "RETRY")
    assert (job["holder"], job["deadline_at"]) == (None, None)
    assert machine.history(job_id)[-1]["reason"] == "because"


def test_a_retry_is_due_after_its_delay(machine: Machine, worker: UUID, claimed: Row) -> None:
    machine.settle(worker, claimed, outcome="failed", error=BOOM, delay=42)

    job = machine.job(claimed["id"])
    assert 41.9 < (job["due_at"] - job["updated_at"]).total_seconds() <= 42


def test_retries_end_at_their_maximum(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    lasting.register("t", max_retries=2)
    worker, job_id = lasting.worker(), lasting.enqueue()

    statuses = [
        lasting.settle(worker, *lasting.claim(worker), outcome="failed", error=BOOM, delay=0)[0]["status"]
        for _ in range(3)
    ]

    assert statuses == ["RETRY", "RETRY", "FAILED"]
    assert (lasting.job(job_id)["retry_count"], lasting.job(job_id)["attempt"]) == (2, 3)
    assert [attempt["attempt"] for attempt in lasting.attempts(job_id)] == [1, 2, 3]


def test_crashes_end_at_their_cap(machine: Machine, worker: UUID) -> None:
    job_id = machine.enqueue()
    first = machine.settle(worker, *machine.claim(worker), outcome="crashed", error=BOOM)

    others = [
        machine.settle(worker, *machine.claim_suspect(worker), outcome="crashed", error=BOOM)
        for _ in range(2)
    ]

    assert [answer[0]["status"] for answer in [first, *others]] == ["RETRY", "RETRY", "FAILED"]
    assert machine.job(job_id)["crash_count"] == 3


def test_a_suspect_that_is_released_stays_a_suspect(machine: Machine, worker: UUID) -> None:
    job_id = machine.enqueue()
    machine.settle(worker, *machine.claim(worker), outcome="crashed", error=BOOM)

    machine.settle(worker, *machine.claim_suspect(worker), outcome="released")

    assert machine.job(job_id)["suspect"] is True


@pytest.mark.parametrize("outcome", ["failed", "complete"])
def test_a_suspect_that_ended_an_attempt_is_none_any_more(
    machine: Machine, worker: UUID, outcome: str
) -> None:
    job_id = machine.enqueue()
    machine.settle(worker, *machine.claim(worker), outcome="crashed", error=BOOM)
    (claimed,) = machine.claim_suspect(worker)

    if outcome == "complete":
        machine.complete(worker, claimed)
    else:
        machine.settle(worker, claimed, outcome=outcome, error=BOOM)

    assert machine.job(job_id)["suspect"] is False


def test_every_attempts_error_is_kept(machine: Machine, worker: UUID, claimed: Row) -> None:
    machine.settle(worker, claimed, outcome="failed", error=BOOM, logs=["a line"])

    (attempt,) = machine.attempts(claimed["id"])
    assert (attempt["attempt"], attempt["worker"], attempt["outcome"]) == (1, "w-1", "failed")
    assert (attempt["error"], attempt["logs"]) == (BOOM, ["a line"])


def test_an_attempt_that_left_nothing_has_no_row(machine: Machine, worker: UUID, claimed: Row) -> None:
    machine.settle(worker, claimed, outcome="released")

    assert machine.attempts(claimed["id"]) == []


@pytest.mark.parametrize("outcome", ["failed", "crashed", "released", "cancelled"])
def test_settling_twice_by_the_same_attempt_is_a_success_written_once(
    machine: Machine, worker: UUID, claimed: Row, outcome: str
) -> None:
    machine.settle(worker, claimed, outcome=outcome, error=BOOM, reason="because", delay=60)
    before = machine.job(claimed["id"]), machine.history(claimed["id"]), machine.attempts(claimed["id"])

    (repeated,) = machine.settle(worker, claimed, outcome=outcome, error=BOOM, reason="because", delay=60)

    assert repeated["recorded"] is True
    assert (
        machine.job(claimed["id"]),
        machine.history(claimed["id"]),
        machine.attempts(claimed["id"]),
    ) == before


@pytest.mark.parametrize("what", STOLEN)
def test_settling_a_job_that_is_no_longer_ones_own_is_refused_and_said(
    machine: Machine, worker: UUID, claimed: Row, what: str
) -> None:
    steal, status = STOLEN[what]
    steal(machine, claimed)
    before = machine.job(claimed["id"]), machine.history(claimed["id"])

    answer = machine.settle(worker, claimed, outcome="failed", error=BOOM, delay=0)

    assert answer == [{"id": claimed["id"], "status": status.value, "recorded": False}]
    assert (machine.job(claimed["id"]), machine.history(claimed["id"])) == before


def test_an_outcome_that_nobody_knows_is_refused(machine: Machine, worker: UUID, claimed: Row) -> None:
    with machine.refused("HF005", "exploded"):
        machine.settle(worker, claimed, outcome="exploded", error=BOOM)


def test_a_failure_without_an_error_is_refused(machine: Machine, worker: UUID, claimed: Row) -> None:
    with machine.refused("HF001", "FAILED needs an error"):
        machine.settle(worker, claimed, outcome="failed", recoverable=False)


# -- heartbeat ---------------------------------------------------------------------------------------------------------------


def test_a_heartbeat_says_what_was_lost(machine: Machine, worker: UUID) -> None:
    ids = [machine.enqueue() for _ in range(3)]
    claimed = machine.claim(worker, 3)
    machine.value("select holdfast.cancel(%s)", ids[1])

    answer = machine.one(
        "select * from holdfast.beat(%s, %s, %s)",
        worker,
        [c["id"] for c in claimed],
        [c["claim_id"] for c in claimed],
    )

    assert answer == {"alive": True, "lost": [ids[1]]}


def test_a_heartbeat_tells_a_dead_worker_so(machine: Machine, worker: UUID) -> None:
    machine.value("select holdfast.retire_worker(%s)", worker)

    assert machine.one("select * from holdfast.beat(%s, '{}', '{}')", worker) == {"alive": False, "lost": []}


def test_a_goodbye_gives_everything_back_uncounted(machine: Machine, worker: UUID, claimed: Row) -> None:
    machine.value("select holdfast.retire_worker(%s)", worker)

    job = machine.job(claimed["id"])
    assert (job["status"], job["retry_count"], job["crash_count"], job["suspect"]) == ("RETRY", 0, 0, False)
    assert [row["id"] for row in machine.claim(machine.worker())] == [claimed["id"]]


def test_who_was_declared_dead_says_no_goodbye(machine: Machine, worker: UUID, claimed: Row) -> None:
    machine.run("update holdfast.worker set died_at = holdfast.clock() where id = %s", worker)
    machine.value("select holdfast.retire_worker(%s)", worker)
    machine.sweep()

    job = machine.job(claimed["id"])
    assert (job["status"], job["suspect"]) == ("RETRY", True)


def test_who_was_declared_dead_is_not_asleep(machine: Machine, worker: UUID) -> None:
    machine.run("update holdfast.worker set died_at = holdfast.clock() where id = %s", worker)
    machine.value("select holdfast.fall_asleep(%s, '{default}')", worker)

    assert machine.count("holdfast.sleeper") == 0


# -- plans -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", ["auto", "force_generic_plan"])
def test_plans_made_for_an_empty_table_do_not_read_all_of_a_full_one(
    machine: Machine, worker: UUID, cache: str
) -> None:
    machine.run("analyze holdfast.job")
    machine.run(f"set local plan_cache_mode = {cache}")

    def cycle() -> None:
        machine.enqueue_many([{"task": "t", "payload": {}} for _ in range(10)])
        machine.enqueue_many([{"task": "t", "payload": {}, "key": str(uuid4())} for _ in range(2)])
        claimed = machine.claim(worker, 12)
        machine.one(
            "select * from holdfast.beat(%s, %s, %s)",
            worker,
            [c["id"] for c in claimed],
            [c["claim_id"] for c in claimed],
        )
        machine.complete(worker, *claimed[:6], logs="[]")
        machine.settle(worker, *claimed[6:9], outcome="failed", error=BOOM, recoverable=False)
        machine.settle(worker, *claimed[9:], outcome="released")
        machine.complete(worker, *machine.claim(worker, 3))
        machine.value("select holdfast.retry(%s)", claimed[6]["id"])
        machine.complete(worker, *machine.claim(worker, 1))
        machine.rows("select * from holdfast.admit_due(10)")
        machine.sweep()

    nothing = {"id": uuid4(), "attempt": 1, "claim_id": uuid4()}
    for _ in range(8):
        machine.claim(worker)
        machine.complete(worker, nothing, logs="[]")
        machine.settle(worker, nothing, outcome="released")
        machine.one("select * from holdfast.beat(%s, %s, %s)", worker, [nothing["id"]], [nothing["claim_id"]])
        machine.rows("select * from holdfast.admit_due(10)")
        machine.sweep()
    for _ in range(8):
        cycle()
    machine.run("alter table holdfast.job disable trigger user")
    machine.run(
        "insert into holdfast.job (task, status, claim_order, finished_at) select 't', 'COMPLETED', null, clock_timestamp() from generate_series(1, 20000)"
    )
    machine.run("alter table holdfast.job enable trigger user")
    before = rows_read(machine)

    cycle()

    assert rows_read(machine) - before < 2_000
