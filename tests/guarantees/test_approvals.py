"""A job that asks survives the death of its worker at every point, and goes on after its gate exactly once."""

import signal

import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.waiting import until
from holdfast import Holdfast


def until_asked(shop: Holdfast) -> None:
    until("somebody is asked", shop.approvals.list)


@pytest.mark.parametrize("point", ["claimed", "step_ran", "step_saved", "put_aside"])
def test_a_worker_killed_on_the_way_to_the_gate_loses_nothing(
    stage: Stage, shop: Holdfast, point: str
) -> None:
    job = tasks.refund.enqueue(900)
    doomed = stage.start_worker(env={"HOLDFAST_TESTING": "1", "HOLDFAST_CRASH_AT": point})
    assert doomed.until_gone() == -signal.SIGKILL

    stage.worker()
    until_asked(shop)
    (asked,) = shop.approvals.list("all")
    shop.approvals.approve(asked.id, actor="ann")
    row = stage.until_status(job.id, "COMPLETED")

    assert row["result"] == "ann"
    assert len(stage.ledger("look up", job.id)) == (2 if point == "step_ran" else 1)
    assert len(stage.ledger("pay", job.id)) == 1
    stage.audit()


@pytest.mark.parametrize("point", ["claimed", "step_ran", "step_saved", "ran"])
def test_a_worker_killed_after_the_approval_asks_nobody_again(
    stage: Stage, shop: Holdfast, point: str
) -> None:
    job = tasks.refund.enqueue(900)
    first = stage.worker()
    until_asked(shop)
    first.kill()
    shop.approvals.approve(shop.approvals.list()[0].id, actor="ben")
    doomed = stage.start_worker(env={"HOLDFAST_TESTING": "1", "HOLDFAST_CRASH_AT": point})
    assert doomed.until_gone() == -signal.SIGKILL

    stage.worker()
    row = stage.until_status(job.id, "COMPLETED")

    assert row["result"] == "ben"
    assert len(shop.approvals.list("all")) == 1
    assert len(stage.ledger("look up", job.id)) == 1
    assert len(stage.ledger("pay", job.id)) == (2 if point == "step_ran" else 1)
    stage.audit()


def test_a_waiting_job_needs_no_worker_at_all(stage: Stage, shop: Holdfast) -> None:
    job = tasks.refund.enqueue(900)
    worker = stage.worker()
    until_asked(shop)
    worker.kill()

    shop.approvals.deny(shop.approvals.list()[0].id, actor="ann", reason="no")

    row = stage.until_status(job.id, "FAILED")
    assert row["error"]["type"] == "ApprovalDenied"
    assert stage.moves(job.id) == ["PENDING", "RUNNING", "WAITING_FOR_APPROVAL", "FAILED"]
    stage.audit()
