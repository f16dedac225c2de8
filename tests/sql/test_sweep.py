"""Sweep: silent workers and overdue attempts, and nobody else."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.support import Machine, Row, machine_on, until_somebody_waits


@pytest.mark.parametrize("max_retries", [0, 3])
def test_a_silent_workers_job_is_retried_uncounted_and_suspected(
    each_machine: Machine, max_retries: int
) -> None:
    each_machine.register("t", max_retries=max_retries)
    worker, job_id = each_machine.worker("w-1"), each_machine.enqueue()
    each_machine.claim(worker)
    each_machine.fall_silent(worker)

    answer = each_machine.sweep()

    job = each_machine.job(job_id)
    assert (answer["died"], answer["returned"], answer["overdue"]) == (1, 1, 0)
    assert (job["status"], job["retry_count"], job["crash_count"], job["suspect"]) == ("RETRY", 0, 0, True)
    assert job["claim_order"] is not None
    recorded = each_machine.history(job_id)[-1]
    assert (recorded["actor"], recorded["reason"]) == ("sweeper", "worker w-1 died")


def test_the_attempt_that_a_worker_died_in_is_kept(machine: Machine) -> None:
    worker, job_id = machine.worker("w-1"), machine.enqueue()
    machine.claim(worker)
    machine.fall_silent(worker)

    machine.sweep()

    (attempt,) = machine.attempts(job_id)
    assert (attempt["outcome"], attempt["worker"], attempt["error"]["type"]) == (
        "crashed",
        "w-1",
        "WorkerDied",
    )


def test_a_living_workers_jobs_are_left_alone(machine: Machine) -> None:
    dead, living = machine.worker(), machine.worker()
    machine.enqueue()
    machine.claim(dead)
    job_id = machine.enqueue()
    machine.claim(living)
    machine.fall_silent(dead)

    machine.sweep()

    assert (machine.status(job_id), machine.job(job_id)["holder"]) == (Status.RUNNING, living)


def test_a_worker_is_silent_only_after_its_own_lease(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    lasting.worker(lease=30)
    lasting.worker(lease=300)
    holdfast_db.clock.advance(60)

    assert lasting.sweep()["died"] == 1


def test_a_heartbeat_keeps_a_worker_alive(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    worker = lasting.worker(lease=30)
    holdfast_db.clock.advance(25)
    lasting.one("select * from holdfast.beat(%s, '{}', '{}')", worker)
    holdfast_db.clock.advance(25)

    assert lasting.sweep()["died"] == 0


def test_a_second_sweep_finds_nothing_more(machine: Machine) -> None:
    worker, job_id = machine.worker(), machine.enqueue()
    machine.claim(worker)
    machine.fall_silent(worker)
    machine.sweep()
    before = machine.history(job_id)

    answer = machine.sweep()

    assert (answer["died"], answer["returned"]) == (0, 0)
    assert machine.history(job_id) == before


def test_jobs_that_a_dead_worker_claimed_too_late_are_found_by_the_next_sweep(machine: Machine) -> None:
    worker, job_id = machine.worker(), machine.enqueue()
    machine.run("update holdfast.worker set died_at = holdfast.clock() where id = %s", worker)
    machine.move(job_id, Status.RUNNING, holder=worker)

    assert machine.sweep()["returned"] == 1


# -- the blame for a crash -----------------------------------------------------------------------------------------------------


def crash_alone(machine: Machine) -> None:
    """Let a worker take the suspect and die with it."""
    worker = machine.worker()
    machine.claim_suspect(worker)
    machine.fall_silent(worker)
    machine.sweep()


def test_only_a_crash_suffered_alone_is_charged(machine: Machine) -> None:
    worker, job_id = machine.worker(), machine.enqueue()
    machine.claim(worker)
    machine.fall_silent(worker)
    machine.sweep()
    among_others = machine.job(job_id)["crash_count"]

    crash_alone(machine)

    assert (among_others, machine.job(job_id)["crash_count"]) == (0, 1)


def test_at_the_crash_cap_a_job_fails_with_an_error(machine: Machine) -> None:
    machine.register("t", crash_cap=2, max_retries=0)
    worker, job_id = machine.worker(), machine.enqueue()
    machine.claim(worker)
    machine.fall_silent(worker)
    machine.sweep()

    crash_alone(machine)
    crash_alone(machine)

    job = machine.job(job_id)
    assert (job["status"], job["crash_count"], job["retry_count"]) == ("FAILED", 2, 0)
    assert job["error"]["type"] == "WorkerCrashed"
    assert len(machine.attempts(job_id)) == 3


# -- deadlines -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("max_retries", "status"), [(1, Status.RETRY), (0, Status.FAILED)])
def test_an_attempt_past_its_deadline_ends_though_its_worker_lives(
    lasting: Machine, holdfast_db: ScratchDatabase, max_retries: int, status: Status
) -> None:
    lasting.register("t", timeout=10, max_retries=max_retries)
    worker, job_id = lasting.worker(lease=3600), lasting.enqueue()
    lasting.claim(worker)
    holdfast_db.clock.advance(60)

    answer = lasting.sweep()

    job, recorded = lasting.job(job_id), lasting.history(job_id)[-1]
    assert (answer["died"], answer["overdue"]) == (0, 1)
    assert (Status(job["status"]), job["retry_count"]) == (status, max_retries)
    assert (recorded["reason"], job["error"]["type"]) == ("deadline passed", "DeadlinePassed")
    assert lasting.attempts(job_id)[0]["outcome"] == "failed"


def test_an_attempt_before_its_deadline_goes_on(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    lasting.register("t", timeout=100)
    worker, job_id = lasting.worker(lease=3600), lasting.enqueue()
    lasting.claim(worker)
    holdfast_db.clock.advance(60)

    lasting.sweep()

    assert lasting.status(job_id) is Status.RUNNING


def test_whoever_runs_an_overdue_attempt_is_told(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    lasting.register("t", timeout=10)
    worker, job_id = lasting.worker(lease=3600), lasting.enqueue()
    lasting.claim(worker)
    holdfast_db.clock.advance(60)
    lasting.run("listen holdfast_cancel")

    lasting.sweep()

    assert [note.payload for note in lasting.connection.notifies(timeout=0.5)] == [str(job_id)]


# -- a finish and a sweep at once ----------------------------------------------------------------------------------------------


@pytest.fixture
def silent_claim(lasting: Machine) -> tuple[UUID, Row]:
    worker = lasting.worker("w-1")
    lasting.enqueue()
    (claimed,) = lasting.claim(worker)
    lasting.fall_silent(worker)
    return worker, claimed


def test_a_sweep_leaves_alone_what_is_being_finished(
    lasting: Machine, holdfast_db: ScratchDatabase, silent_claim: tuple[UUID, Row]
) -> None:
    worker, claimed = silent_claim
    with machine_on(holdfast_db.url) as finisher, finisher.connection.transaction():
        finisher.complete(worker, claimed)

        answer = lasting.sweep()

    assert (answer["died"], answer["returned"]) == (1, 0)
    assert lasting.path(claimed["id"]) == [Status.PENDING, Status.RUNNING, Status.COMPLETED]


def test_a_finish_that_waits_for_a_sweep_is_refused(
    lasting: Machine, holdfast_db: ScratchDatabase, silent_claim: tuple[UUID, Row]
) -> None:
    worker, claimed = silent_claim

    def finish() -> list[Row]:
        with machine_on(holdfast_db.url) as finisher:
            return finisher.complete(worker, claimed, result="1")

    with ThreadPoolExecutor(1) as threads:
        with lasting.connection.transaction():
            lasting.sweep()
            finished = threads.submit(finish)
            until_somebody_waits(holdfast_db)
        refused = finished.result()

    assert [row["status"] for row in refused] == ["RETRY"]
    assert lasting.path(claimed["id"]) == [Status.PENDING, Status.RUNNING, Status.RETRY]


def test_a_settlement_that_waits_for_a_sweep_is_refused(
    lasting: Machine, holdfast_db: ScratchDatabase, silent_claim: tuple[UUID, Row]
) -> None:
    worker, claimed = silent_claim

    def settle() -> list[Row]:
        with machine_on(holdfast_db.url) as finisher:
            return finisher.settle(
                worker, claimed, outcome="failed", error={"type": "Boom"}, recoverable=False
            )

    with ThreadPoolExecutor(1) as threads:
        with lasting.connection.transaction():
            lasting.sweep()
            settled = threads.submit(settle)
            until_somebody_waits(holdfast_db)
        (answer,) = settled.result()

    assert (answer["status"], answer["recorded"]) == ("RETRY", False)
    assert lasting.path(claimed["id"]) == [Status.PENDING, Status.RUNNING, Status.RETRY]


def test_a_settlement_that_waits_for_its_own_first_try_is_told_that_it_is_recorded(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.enqueue(max_retries=0)
    worker = lasting.worker()
    (claimed,) = lasting.claim(worker)
    told: dict[str, Any] = {"outcome": "failed", "error": {"type": "Boom"}}

    def settle_again() -> list[Row]:
        with machine_on(holdfast_db.url) as finisher:
            return finisher.settle(worker, claimed, **told)

    with ThreadPoolExecutor(1) as threads:
        with lasting.connection.transaction():
            lasting.settle(worker, claimed, **told)
            again = threads.submit(settle_again)
            until_somebody_waits(holdfast_db)
        (answer,) = again.result()

    assert (answer["status"], answer["recorded"]) == ("FAILED", True)


def test_a_finish_after_the_sweep_and_a_new_claim_does_not_touch_the_new_attempt(
    lasting: Machine, silent_claim: tuple[UUID, Row]
) -> None:
    worker, claimed = silent_claim
    lasting.sweep()
    (taken,) = lasting.claim_suspect(lasting.worker("w-2"))

    refused = lasting.complete(worker, claimed, result="1")

    job = lasting.job(claimed["id"])
    assert [row["status"] for row in refused] == ["RUNNING"]
    assert (job["claim_id"], job["attempt"], job["result"]) == (taken["claim_id"], 2, None)


def test_sweeps_at_once_return_each_job_once(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    worker = lasting.worker()
    ids = [lasting.enqueue() for _ in range(30)]
    lasting.claim(worker, 30)
    lasting.fall_silent(worker)

    def sweep(_: int) -> Row:
        with machine_on(holdfast_db.url) as sweeper:
            return sweeper.sweep()

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(sweep, range(4)))

    assert sum(answer["returned"] for answer in answers) == 30
    assert all(lasting.path(job_id) == [Status.PENDING, Status.RUNNING, Status.RETRY] for job_id in ids)
