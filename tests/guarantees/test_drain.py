"""A worker that is asked to stop finishes what is short, gives back what is long, and counts neither as a failure."""

import signal
import time
from typing import Any

import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.waiting import until
from holdfast import Holdfast


def test_a_short_job_finishes_before_the_worker_ends(stage: Stage, shop: Holdfast) -> None:
    worker = stage.worker(lease=60.0, drain_timeout=60.0)
    job = tasks.hold.enqueue("it")
    stage.until_started(job.id)

    worker.signal(signal.SIGTERM)
    worker.until_event("worker:draining")
    until("it claims no more", lambda: not stage.listening())
    late = tasks.note.enqueue(1)
    stage.let_go("it")

    assert worker.until_gone() == 0
    assert stage.job(job.id)["result"] == "attempt 1"
    # A claim that was under way may have taken it, and given it back; it was not begun.
    assert stage.ledger(job_id=late.id) == []
    assert stage.status(late.id) in {"PENDING", "RETRY"}
    stage.audit()


def test_long_jobs_are_given_back_at_the_drain_timeout_and_taken_by_others_at_once(
    stage: Stage, shop: Holdfast
) -> None:
    worker = stage.worker(lease=60.0, drain_timeout=0.5)
    long = [tasks.hold.enqueue("long"), tasks.hold_thread.enqueue("long"), tasks.hold_process.enqueue("long")]
    for job in long:
        stage.until_started(job.id)
    stage.worker(lease=60.0)

    asked_at = time.monotonic()
    worker.signal(signal.SIGTERM)
    taken = [stage.until_started(job.id, attempt=2) for job in long]
    stage.let_go("long")

    # Long before the lease of 60 s.
    assert max(one["at"] for one in taken) - asked_at < 20
    assert worker.until_gone() == 0
    for job in long:
        row = stage.until_status(job.id, "COMPLETED")
        assert (row["attempt"], row["retry_count"], row["crash_count"], row["suspect"]) == (2, 0, 0, False)
    stage.audit()


@pytest.mark.parametrize(
    "stubborn", [tasks.ignore_everything, tasks.ignore_everything_in_a_step], ids=lambda task: task.name
)
def test_a_thread_that_never_ends_does_not_keep_the_process(
    stage: Stage, shop: Holdfast, stubborn: Any
) -> None:
    worker = stage.worker(lease=60.0, drain_timeout=0.2)
    job = stubborn.enqueue()
    stage.until_started(job.id)

    worker.signal(signal.SIGTERM)

    assert worker.until_gone(within=15) == 0
    assert stage.status(job.id) == "RETRY"


def test_a_second_interrupt_ends_the_worker_at_once_and_releases_its_jobs(
    stage: Stage, shop: Holdfast
) -> None:
    worker = stage.worker(lease=60.0, drain_timeout=600.0)
    job = tasks.hold.enqueue("it")
    stage.until_started(job.id)

    worker.signal(signal.SIGINT)
    worker.until_event("worker:draining")
    worker.signal(signal.SIGINT)

    assert worker.until_gone() == 130
    row = stage.job(job.id)
    assert (row["status"], row["retry_count"], row["crash_count"], row["suspect"]) == ("RETRY", 0, 0, False)
    assert row["claim_order"] is not None
    stage.audit()


def test_rolling_restarts_lose_nothing_and_count_nothing(stage: Stage, shop: Holdfast) -> None:
    jobs = shop.enqueue_many([tasks.nap.job(n) for n in range(150)])
    for _ in range(4):
        worker = stage.worker(concurrency=3, drain_timeout=5.0)
        done = stage.counts().get("COMPLETED", 0)
        stage.until_done(min(done + 11, 140))
        worker.signal(signal.SIGTERM)
        assert worker.until_gone() == 0
    stage.worker()
    stage.until_counts(COMPLETED=len(jobs))

    assert stage.value("select max(retry_count + crash_count) from holdfast.job") == 0
    assert len(stage.ledger("end")) == len(jobs)
    stage.audit()
