"""What runs report: accepted once, from the run that owns the attempt, until the job has ended; and their limits."""

from uuid import uuid4

import pytest

from holdfast.domain.states import Status
from sql.runs import callback, dispatch, handed_over, notes, sent, take
from sql.support import Machine


def test_a_run_that_completes_completes_its_job(each_machine: Machine) -> None:
    job = sent(each_machine)

    assert callback(each_machine, job, "started", run_id="7", run_url="https://ci/7") == "ok"
    assert callback(each_machine, job, "heartbeat", run_id="7") == "ok"
    assert callback(each_machine, job, "completed", run_id="7", result={"ip": "203.0.113.9"}) == "ok"

    row = each_machine.job(job["id"])
    assert (row["status"], row["result"]) == ("COMPLETED", {"ip": "203.0.113.9"})
    last = each_machine.history(job["id"])[-1]
    assert (last["actor"], last["reason"]) == ("executor:ci", "run 7")
    assert dispatch(each_machine, job)["state"] == "over"
    assert notes(each_machine, job)[-3:] == ["callback.started", "callback.heartbeat", "callback.completed"]


def test_a_run_that_fails_fails_its_job_with_step_and_run_in_error_and_history(each_machine: Machine) -> None:
    job = sent(each_machine, max_retries=0)
    callback(each_machine, job, "started", run_id="7")

    assert callback(each_machine, job, "failed", run_id="7", message="no quota", step="create vm") == "ok"

    row = each_machine.job(job["id"])
    assert row["status"] == "FAILED"
    assert {"message": "no quota", "step": "create vm", "run_id": "7", "kind": "executor"}.items() <= row[
        "error"
    ].items()
    last = each_machine.history(job["id"])[-1]
    assert (last["actor"], last["reason"]) == ("executor:ci", "no quota, step create vm, run 7")
    assert last["metadata"]["step"] == "create vm"


def test_a_failed_run_is_retried_within_the_jobs_retries(machine: Machine) -> None:
    job = sent(machine, max_retries=1, retry_in=30)

    callback(machine, job, "failed", message="flaky")

    row = machine.job(job["id"])
    assert (row["status"], row["retry_count"]) == ("RETRY", 1)
    assert machine.attempts(job["id"])[0]["worker"] == "executor:ci"


def test_a_failure_that_is_not_recoverable_fails_the_job_whatever_retries_are_left(machine: Machine) -> None:
    job = sent(machine, max_retries=5)

    callback(machine, job, "failed", message="no such image", recoverable=False)

    assert machine.status(job["id"]) is Status.FAILED


def test_progress_is_kept_and_told(machine: Machine) -> None:
    job = sent(machine)

    callback(machine, job, "progress", done=3, total=10, note="packages")

    row = machine.one("select done, total, note from holdfast.progress where job_id = %s", job["id"])
    assert row == {"done": 3, "total": 10, "note": "packages"}


@pytest.mark.parametrize("action", ["started", "heartbeat", "progress", "completed", "failed"])
def test_the_same_callback_again_gets_the_same_answer_and_changes_nothing(
    machine: Machine, action: str
) -> None:
    job = sent(machine, max_retries=0)
    first = callback(machine, job, action, nonce="n1", done=1)
    before = (machine.job(job["id"]), machine.history(job["id"]), notes(machine, job), dispatch(machine, job))
    machine.advance(10)

    again = callback(machine, job, action, nonce="n1", done=1)

    assert (first, again) == ("ok", "ok")
    after = (machine.job(job["id"]), machine.history(job["id"]), notes(machine, job), dispatch(machine, job))
    assert after == before


def test_another_body_under_the_same_nonce_is_refused(machine: Machine) -> None:
    job = sent(machine)
    callback(machine, job, "heartbeat", nonce="n1")

    assert callback(machine, job, "completed", nonce="n1") == "nonce_reused"
    assert machine.status(job["id"]) is Status.RUNNING


def test_an_attempt_that_was_superseded_is_told_so(machine: Machine) -> None:
    old = sent(machine, max_retries=3)
    callback(machine, old, "failed", message="first")
    machine.claim(machine.worker())

    assert callback(machine, old, "completed") == "stale_attempt"
    assert machine.status(old["id"]) is Status.RUNNING


def test_of_two_runs_for_one_attempt_the_first_to_report_wins(machine: Machine) -> None:
    job = sent(machine)
    callback(machine, job, "started", run_id="7")

    assert callback(machine, job, "started", run_id="8") == "other_run"
    assert callback(machine, job, "completed", run_id="8") == "other_run"
    assert machine.status(job["id"]) is Status.RUNNING
    assert callback(machine, job, "completed", run_id="7") == "ok"
    assert callback(machine, job, "started", run_id="8") == "other_run"


@pytest.mark.parametrize("end", ["completed", "failed", "cancel"])
@pytest.mark.parametrize("late", ["started", "heartbeat", "progress", "completed", "failed"])
def test_after_the_end_no_callback_changes_anything(machine: Machine, end: str, late: str) -> None:
    job = sent(machine, max_retries=0)
    if end == "cancel":
        machine.value("select holdfast.cancel(%s)", job["id"])
    else:
        callback(machine, job, end)
    before = (machine.job(job["id"]), machine.history(job["id"]), notes(machine, job))

    assert callback(machine, job, late, done=1) == "already_over"
    assert (machine.job(job["id"]), machine.history(job["id"]), notes(machine, job)) == before


def test_another_executors_job_is_not_to_be_found(machine: Machine) -> None:
    job = sent(machine)

    assert callback(machine, job, "completed", executor="other") == "not_found"
    assert callback(machine, {**job, "id": uuid4()}, "completed") == "not_found"
    assert callback(machine, {**job, "claim_id": uuid4()}, "completed") == "not_found"
    assert machine.status(job["id"]) is Status.RUNNING


def test_an_unknown_action_is_refused(machine: Machine) -> None:
    job = sent(machine)

    with machine.refused("HF005", "'paused' is not one of"):
        callback(machine, job, "paused")


def test_nonces_are_forgotten_long_after_their_signatures_have_expired(machine: Machine) -> None:
    job = sent(machine)
    callback(machine, job, "heartbeat", nonce="n1")
    machine.advance(86_000)
    machine.rows("select * from holdfast.upkeep()")
    assert machine.count("holdfast.callback_nonce") == 1

    machine.advance(500)
    machine.rows("select * from holdfast.upkeep()")

    assert machine.count("holdfast.callback_nonce") == 0


# -- limits --------------------------------------------------------------------------------------------------------------


def test_silence_since_the_dispatch_fails_a_run_that_never_reported(each_machine: Machine) -> None:
    job = sent(each_machine, max_retries=0)
    each_machine.advance(599)
    each_machine.sweep()
    assert each_machine.status(job["id"]) is Status.RUNNING

    each_machine.advance(2)
    swept = each_machine.sweep()

    row = each_machine.job(job["id"])
    assert swept["overdue"] == 1
    assert (row["status"], row["error"]["message"], row["reason"]) == (
        "FAILED", "Timeout: no heartbeat for 600 s", "Timeout: no heartbeat for 600 s",
    )  # fmt: skip
    assert (row["error"]["kind"], each_machine.history(job["id"])[-1]["actor"]) == ("heartbeat", "sweeper")


def test_silence_counts_from_the_last_callback(machine: Machine) -> None:
    job = sent(machine, max_retries=0, run=86_400)
    for _ in range(5):
        machine.advance(590)
        callback(machine, job, "heartbeat")
        machine.sweep()
        assert machine.status(job["id"]) is Status.RUNNING

    machine.advance(601)
    machine.sweep()

    assert machine.job(job["id"])["error"]["type"] == "HeartbeatTimeout"


def test_a_run_that_beats_for_ever_is_ended_by_the_limit_of_the_whole_run(each_machine: Machine) -> None:
    job = sent(each_machine, max_retries=0, run=900)
    callback(each_machine, job, "started", run_id="7")
    for seconds in (500, 350):
        each_machine.advance(seconds)
        callback(each_machine, job, "heartbeat", run_id="7")
        each_machine.sweep()
    assert each_machine.status(job["id"]) is Status.RUNNING

    each_machine.advance(61)
    callback(each_machine, job, "heartbeat", run_id="7")
    each_machine.sweep()

    assert each_machine.status(job["id"]) is Status.FAILED
    error = each_machine.job(job["id"])["error"]
    assert (error["message"], error["kind"]) == ("Timeout: the run took longer than 900 s", "timeout")


def test_a_run_that_is_given_up_is_cancelled_and_retried_within_the_jobs_retries(machine: Machine) -> None:
    job = sent(machine, max_retries=1)
    callback(machine, job, "started", run_id="7")
    machine.advance(601)

    machine.sweep()

    assert machine.status(job["id"]) is Status.RETRY
    assert [(call["wanted"], call["run_id"]) for call in take(machine)] == [("cancel", "7")]


def test_a_job_that_was_not_sent_yet_is_not_silent(machine: Machine) -> None:
    job = handed_over(machine)
    machine.advance(5000)

    machine.sweep()

    assert machine.status(job["id"]) is Status.RUNNING


def test_whoever_looks_at_a_job_finds_that_its_run_fell_silent(each_machine: Machine) -> None:
    job = sent(each_machine, max_retries=0)
    each_machine.advance(601)

    outcome = each_machine.one("select * from holdfast.job_outcome(%s)", job["id"])

    assert outcome["status"] == "FAILED"
    assert "no heartbeat for 600 s" in outcome["error"]


def test_looking_in_a_read_only_transaction_changes_nothing_and_works(lasting: Machine) -> None:
    job = sent(lasting)
    lasting.advance(601)

    with lasting.connection.transaction():
        lasting.run("set transaction read only")
        outcome = lasting.one("select * from holdfast.job_outcome(%s)", job["id"])

    assert outcome["status"] == "RUNNING"


# -- what waits for a run to stop ----------------------------------------------------------------------------------------


def held_compensation(machine: Machine, job_id: object, dispatch_id: object) -> object:
    return machine.value(
        "insert into holdfast.job (task, compensates, claim_order, held_by) values ('t', %s, null, 'run:' || %s::text) returning id",
        job_id, dispatch_id,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("action", "run_id", "is_released"),
    [("failed", "7", True), ("completed", "7", True), ("heartbeat", "7", False), ("failed", "8", False)],
)
def test_a_compensation_waits_until_the_cancelled_run_has_reported_its_end(
    machine: Machine, action: str, run_id: str, is_released: bool
) -> None:
    job = sent(machine)
    callback(machine, job, "started", run_id="7")
    machine.value("select holdfast.cancel(%s)", job["id"])
    held_by = machine.value("select holdfast.still_held(%s)", job["dispatch"])
    assert held_by == f"run:{job['dispatch']}"
    undo = held_compensation(machine, job["id"], job["dispatch"])

    callback(machine, job, action, run_id=run_id)

    row = machine.one(
        "select held_by is null as free, claim_order is not null as in_line from holdfast.job where id = %s",
        undo,
    )
    assert row == {"free": is_released, "in_line": is_released}
    assert (machine.value("select holdfast.still_held(%s)", job["dispatch"]) is None) == is_released
