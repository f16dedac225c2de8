"""A cancelled job is CANCELLED at once and for good; whoever runs it is told, with notifications or without."""

import os

import psutil
import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.proxy import Proxy
from guarantees.waiting import until
from holdfast import Holdfast, Status


def test_an_async_task_is_cancelled_by_a_notification(stage: Stage, shop: Holdfast) -> None:
    # Its heartbeat would notice in ten seconds at the earliest.
    stage.worker(lease=60.0)
    job = tasks.hold.enqueue("it")
    stage.until_started(job.id)

    assert shop.cancel(job.id) is Status.CANCELLED
    until("the task is cancelled", lambda: stage.ledger("cancelled", job.id), within=8)

    assert stage.status(job.id) == "CANCELLED"
    stage.audit()


def test_an_async_task_is_cancelled_by_the_heartbeat_when_notifications_are_lost(
    stage: Stage, shop: Holdfast, proxy: Proxy
) -> None:
    proxy.drops_notifications = True
    stage.worker(url=proxy.url, lease=2.0)
    job = tasks.hold.enqueue("it")
    stage.until_started(job.id)

    shop.cancel(job.id)
    until("the task is cancelled", lambda: stage.ledger("cancelled", job.id), within=10)

    assert stage.status(job.id) == "CANCELLED"


def test_a_task_in_a_thread_is_told_to_stop_and_its_result_is_refused(stage: Stage, shop: Holdfast) -> None:
    stage.worker(lease=60.0)
    job = tasks.hold_thread.enqueue("it")
    stage.until_started(job.id)

    shop.cancel(job.id)
    until("the task has noticed", lambda: stage.ledger("stopped", job.id), within=8)
    after = tasks.note.enqueue(1)
    stage.until_status(after.id, "COMPLETED")

    row = stage.job(job.id)
    assert (row["status"], row["result"]) == ("CANCELLED", None)
    stage.audit()


def test_a_task_in_a_process_is_ended_with_its_process(stage: Stage, shop: Holdfast) -> None:
    stage.worker(lease=60.0)
    job = tasks.hold_process.enqueue("it")
    child = stage.until_started(job.id)["pid"]

    shop.cancel(job.id)
    until("the child is gone", lambda: not psutil.pid_exists(child), within=8)

    assert stage.status(job.id) == "CANCELLED"
    stage.audit()


def test_an_outcome_after_a_cancel_is_refused(stage: Stage, shop: Holdfast, proxy: Proxy) -> None:
    proxy.drops_notifications = True
    worker = stage.worker(url=proxy.url, lease=600.0)
    job = tasks.hold.enqueue("it")
    stage.until_started(job.id)

    shop.cancel(job.id)
    stage.let_go("it")
    worker.until_event("job:lease_lost")

    row = stage.job(job.id)
    assert (row["status"], row["result"]) == ("CANCELLED", None)
    assert stage.moves(job.id) == ["PENDING", "RUNNING", "CANCELLED"]
    stage.audit()


@pytest.mark.parametrize("slots", [1, 2])
def test_cancelled_jobs_free_their_slots(stage: Stage, shop: Holdfast, slots: int) -> None:
    stage.worker(lease=60.0, concurrency=slots)
    for n in range(5):
        held = [tasks.hold.enqueue(f"{n}-{i}") for i in range(slots)]
        for job in held:
            stage.until_started(job.id)
            shop.cancel(job.id)

    after = tasks.note.enqueue(1)

    stage.until_status(after.id, "COMPLETED")
    assert os.getpid() not in {one["pid"] for one in stage.ledger()}
