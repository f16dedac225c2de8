"""Handing jobs over to outside executors: the intent, the calls and their retries, and cancelling runs."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.runs import callback, dispatch, failed_call, handed_over, notes, sent, take
from sql.support import Machine, machine_on, meanwhile, refused, until_it_waits, until_somebody_waits

TAKES = "select wanted from holdfast.take_dispatches(gen_random_uuid(), '{ci}', 10, 90)"
FAILS = """select holdfast.dispatch_failed(%s, 1, '{"type": "DispatchFailed", "message": "no"}', true, false, 1, 8)"""


def test_a_job_that_is_handed_over_stays_running_and_leaves_its_worker(each_machine: Machine) -> None:
    job = handed_over(each_machine)

    row = each_machine.job(job["id"])
    assert (row["status"], row["holder"], row["deadline_at"]) == ("RUNNING", job["dispatch"], None)
    assert dispatch(each_machine, job)["state"] == "planned"
    assert notes(each_machine, job) == ["dispatch.planned"]


def test_the_worker_that_handed_a_job_over_can_neither_complete_nor_fail_it(machine: Machine) -> None:
    job = handed_over(machine)

    assert [row["status"] for row in machine.complete(job["worker"], job)] == ["RUNNING"]
    assert [row["recorded"] for row in machine.settle(job["worker"], job, outcome="released")] == [False]
    assert machine.status(job["id"]) is Status.RUNNING


def test_an_attempt_that_handed_its_job_over_can_write_nothing_more(machine: Machine) -> None:
    job = handed_over(machine)

    with machine.refused("HF011"):
        machine.value(
            "select holdfast.complete_here(%s, %s, %s, null, null)",
            job["id"],
            job["attempt"],
            job["claim_id"],
        )


def test_the_death_of_the_worker_that_handed_a_job_over_does_not_matter(machine: Machine) -> None:
    job = handed_over(machine)

    machine.fall_silent(job["worker"])
    machine.sweep()

    assert machine.status(job["id"]) is Status.RUNNING


def test_a_hand_over_repeated_after_a_lost_answer_is_the_same_one(machine: Machine) -> None:
    job = handed_over(machine)
    again = "select holdfast.hand_over(%s, %s, %s, 'ci', '{}', 600, 900, 0, null)"

    assert machine.value(again, job["id"], job["attempt"], job["claim_id"]) == job["dispatch"]
    callback(machine, job, "completed")
    assert machine.value(again, job["id"], job["attempt"], job["claim_id"]) == job["dispatch"]


def test_a_hand_over_that_waits_for_its_own_first_try_is_the_same_one(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.enqueue()
    (claimed,) = lasting.claim(lasting.worker())

    def hand_over(machine: Machine) -> object:
        return machine.value(
            "select holdfast.hand_over(%s, %s, %s, 'ci', '{}', 600, 900, 0, null)",
            claimed["id"], claimed["attempt"], claimed["claim_id"],
        )  # fmt: skip

    with machine_on(holdfast_db.url) as other, ThreadPoolExecutor(1) as threads:
        with lasting.connection.transaction():
            first = hand_over(lasting)
            again = threads.submit(hand_over, other)
            until_somebody_waits(holdfast_db)

        assert again.exception() is None
        assert again.result() == first


def test_a_call_that_failed_though_its_run_has_reported_is_superseded(machine: Machine) -> None:
    job = handed_over(machine, max_retries=0)
    take(machine)
    callback(machine, job, "started", run_id="7")

    assert failed_call(machine, job, 1, permanent=True) == "superseded"
    assert machine.status(job["id"]) is Status.RUNNING


def test_an_attempt_that_lost_its_job_cannot_hand_it_over(machine: Machine) -> None:
    job_id = machine.enqueue()
    (claimed,) = machine.claim(machine.worker())

    with machine.refused("HF011"):
        machine.value(
            "select holdfast.hand_over(%s, %s, %s, 'ci', '{}', 600, 900, 0, null)", job_id, claimed["attempt"], uuid4()
        )  # fmt: skip


def test_a_call_is_taken_once_and_again_when_its_lease_has_ended(each_machine: Machine) -> None:
    handed_over(each_machine)

    (first,) = take(each_machine)
    assert (first["wanted"], first["try"]) == ("start", 1)
    assert take(each_machine) == []
    each_machine.advance(91)
    (second,) = take(each_machine)
    assert (second["wanted"], second["try"]) == ("find", 2)


def test_of_two_that_take_a_call_at_once_one_makes_it(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    handed_over(lasting)

    with meanwhile(holdfast_db) as (first, ask):
        assert [row["wanted"] for row in take(Machine(first))] == ["start"]
        asked = ask(TAKES)
        until_it_waits(holdfast_db, asked)
        first.commit()

        assert asked.result() == "[]"


def test_a_call_that_another_worker_takes_meanwhile_is_superseded(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    job = handed_over(lasting)
    take(lasting)
    holdfast_db.clock.advance(91)

    with meanwhile(holdfast_db) as (other, ask):
        assert [row["try"] for row in take(Machine(other))] == [2]
        asked = ask(FAILS, job["dispatch"])
        until_it_waits(holdfast_db, asked)
        other.commit()

        assert asked.result() == "[('superseded',)]"

    assert dispatch(lasting, job)["state"] == "calling"


def test_a_call_that_fails_and_a_cancel_at_once_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    job = handed_over(lasting)
    take(lasting)

    with meanwhile(holdfast_db) as (holder, ask):
        holder.execute("select from holdfast.job where id = %s for no key update", [job["id"]])
        failed = ask(FAILS, job["dispatch"])
        until_it_waits(holdfast_db, failed)
        cancelled = refused(Machine(holder), "select holdfast.cancel(%s)", job["id"])  # and takes it back
        holder.commit()

        assert (cancelled, failed.result()) == (None, "[('failed',)]")


def test_a_worker_takes_only_calls_of_executors_it_knows(machine: Machine) -> None:
    handed_over(machine)

    assert machine.rows("select * from holdfast.take_dispatches(%s, '{other}', 10, 90)", uuid4()) == []


@pytest.mark.parametrize(("doubtful", "wanted"), [(False, "start"), (True, "find")])
def test_a_failed_call_is_tried_again_and_looked_for_first_when_it_may_have_been_obeyed(
    machine: Machine, doubtful: bool, wanted: str
) -> None:
    job = handed_over(machine, max_retries=0)
    take(machine)

    assert failed_call(machine, job, 1, doubtful=doubtful, delay=4) == "planned"
    assert take(machine) == []
    machine.advance(5)
    (again,) = take(machine)

    assert again["wanted"] == wanted
    row = machine.job(job["id"])
    assert (row["status"], row["attempt"], row["retry_count"]) == ("RUNNING", 1, 0)


def test_a_refused_call_fails_the_job_at_once_whatever_retries_it_has(each_machine: Machine) -> None:
    job = handed_over(each_machine, max_retries=5)
    take(each_machine)

    assert failed_call(each_machine, job, 1, permanent=True) == "failed"

    row = each_machine.job(job["id"])
    assert (row["status"], row["error"]["message"], row["reason"]) == ("FAILED", "no", "no")
    assert each_machine.history(job["id"])[-1]["actor"] == "executor:ci"
    assert dispatch(each_machine, job)["cancel_wanted_at"] is None


def test_calls_that_fail_too_often_use_one_of_the_jobs_retries(machine: Machine) -> None:
    job = handed_over(machine, max_retries=1, retry_in=30)
    take(machine)

    assert failed_call(machine, job, 1, doubtful=True, most=1) == "failed"

    row = machine.job(job["id"])
    assert (row["status"], row["retry_count"], row["error"]["tries"]) == ("RETRY", 1, 1)
    assert row["due_at"] is not None
    assert row["claim_order"] is None
    assert dispatch(machine, job)["cancel_wanted_at"] is not None  # a run may exist all the same


def test_only_the_newest_try_of_a_call_can_say_that_it_failed(machine: Machine) -> None:
    job = handed_over(machine)
    take(machine)
    machine.advance(91)
    take(machine)

    assert failed_call(machine, job, 1, permanent=True) == "superseded"
    assert machine.status(job["id"]) is Status.RUNNING


def test_a_call_that_succeeded_late_counts_and_is_not_made_again(machine: Machine) -> None:
    job = handed_over(machine)
    take(machine)
    machine.advance(91)
    take(machine)

    machine.value("select holdfast.dispatch_sent(%s, '77', 'https://ci/77')", job["dispatch"])
    machine.advance(1000)

    assert take(machine) == []
    row = dispatch(machine, job)
    assert (row["state"], row["run_ref"], row["run_url"]) == ("sent", "77", "https://ci/77")


def test_a_sign_of_life_proves_that_the_call_was_obeyed(machine: Machine) -> None:
    job = handed_over(machine)
    take(machine)

    callback(machine, job, "started", run_id="7")
    machine.advance(91)

    assert take(machine) == []
    assert dispatch(machine, job)["state"] == "sent"


def test_cancelling_a_job_cancels_its_run_without_waiting_for_it(each_machine: Machine) -> None:
    job = sent(each_machine)
    callback(each_machine, job, "started", run_id="7")

    each_machine.value("select holdfast.cancel(%s)", job["id"])

    assert each_machine.status(job["id"]) is Status.CANCELLED
    calls = take(each_machine)
    assert [(call["wanted"], call["run_id"], call["try"]) for call in calls] == [("cancel", "7", 1)]
    each_machine.value("select holdfast.dispatch_cancelled(%s, false, null, null)", job["dispatch"])
    each_machine.advance(1000)
    assert take(each_machine) == []
    assert dispatch(each_machine, job)["cancelled_at"] is not None


def test_cancelling_a_job_that_nobody_was_called_for_calls_nobody(machine: Machine) -> None:
    job = handed_over(machine)

    machine.value("select holdfast.cancel(%s)", job["id"])

    assert take(machine) == []


def test_a_cancel_that_failed_is_tried_again_while_somebody_wants_it(machine: Machine) -> None:
    job = sent(machine)
    machine.value("select holdfast.cancel(%s)", job["id"])
    take(machine)

    machine.value("select holdfast.dispatch_cancelled(%s, false, '{}', 2)", job["dispatch"])
    assert take(machine) == []
    machine.advance(3)

    assert [call["wanted"] for call in take(machine)] == ["cancel"]


def test_a_job_cancelled_while_its_executor_is_called_has_its_run_cancelled(machine: Machine) -> None:
    job = handed_over(machine)
    take(machine)

    machine.value("select holdfast.cancel(%s)", job["id"])
    machine.value("select holdfast.dispatch_sent(%s, '9', null)", job["dispatch"])

    assert [(call["wanted"], call["run_ref"]) for call in take(machine)] == [("cancel", "9")]
    assert machine.status(job["id"]) is Status.CANCELLED


def project_and_keep_up(machine: Machine) -> None:
    while machine.one("select * from holdfast.project()")["more"]:
        pass  # retention leaves alone what the projector has not seen
    machine.rows("select * from holdfast.upkeep()")


def test_the_dispatches_of_a_removed_job_go_with_it(lasting: Machine) -> None:
    lasting.register("t", retention=60)
    job = sent(lasting)
    callback(lasting, job, "completed")
    lasting.advance(120)

    project_and_keep_up(lasting)

    assert (
        lasting.count() == lasting.count("holdfast.dispatch") == lasting.count("holdfast.callback_nonce") == 0
    )


@pytest.mark.parametrize(
    "told",
    ["dispatch_sent(%s, null, null)", "dispatch_cancelled(%s, false, null, 1)"],
    ids=["sent", "cancelled"],
)
def test_what_is_noted_of_a_run_is_noted_with_its_job_in_hand(
    lasting: Machine, holdfast_db: ScratchDatabase, told: str
) -> None:
    """Who follows a job reads notes by their numbers: of two, the first must not be written last."""
    job = handed_over(lasting)
    take(lasting)
    if "cancelled" in told:
        lasting.value("select holdfast.cancel(%s)", job["id"])

    with meanwhile(holdfast_db) as (noting, ask):
        noting.execute(f"select holdfast.{told}", [job["dispatch"]])
        asked = ask("select from holdfast.job where id = %s for no key update", job["id"])
        until_it_waits(holdfast_db, asked)

        assert not asked.done()


def test_retention_keeps_a_run_that_is_to_be_cancelled_until_its_executor_was_told(lasting: Machine) -> None:
    lasting.register("t", retention=60)
    job = sent(lasting)
    lasting.value("select holdfast.cancel(%s)", job["id"])
    lasting.advance(120)
    project_and_keep_up(lasting)
    assert [call["wanted"] for call in take(lasting)] == ["cancel"]

    project_and_keep_up(lasting)
    lasting.rows("select holdfast.dispatch_cancelled(%s, true, null, null)", job["dispatch"])
    project_and_keep_up(lasting)

    assert lasting.count() == lasting.count("holdfast.dispatch") == 0


def test_retention_gives_up_a_cancel_that_nobody_could_deliver_for_a_month(lasting: Machine) -> None:
    lasting.register("t", retention=60)
    job = sent(lasting)
    lasting.value("select holdfast.cancel(%s)", job["id"])
    lasting.advance(29 * 86400)
    project_and_keep_up(lasting)
    assert lasting.count() == 1

    lasting.advance(2 * 86400)
    project_and_keep_up(lasting)

    assert lasting.count() == 0
