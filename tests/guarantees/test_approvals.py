"""A job that asks survives the death of its worker at every point, and goes on after its gate exactly once."""

from typing import Any, get_args

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.waiting import until
from holdfast import Holdfast
from holdfast.domain.approval import OnExpiry

# Every point on the way to the gate, and every point after it, each in a queue of its own; the decision is a saved step too.
BEFORE = {f"before {point}": point for point in ("claimed:1", "step_ran:1", "step_saved:1", "put_aside:1")}
AFTER = {
    f"after {point}": point
    for point in ("claimed:1", "step_saved:1", "step_ran:1", "step_saved:2", "ran:1", "finished:1")
}


def until_asked(shop: Holdfast, times: int = 1) -> None:
    until("somebody is asked", lambda: len(shop.approvals.list()) == times)


def test_a_job_that_asks_goes_on_after_its_gate_wherever_its_workers_are_killed(
    stage: Stage, shop: Holdfast
) -> None:
    queues = dict.fromkeys([*BEFORE, *AFTER], 2)
    jobs = {queue: tasks.refund.using(queue=queue).enqueue(900) for queue in queues}
    for queue, point in BEFORE.items():
        stage.kill_at(point, queues={queue: 2})
    first = stage.worker_after_kills(queues=queues)
    until_asked(shop, len(jobs))
    first.kill()
    for asked in shop.approvals.list():
        shop.approvals.approve(asked.id, actor="ann")
    for queue, point in AFTER.items():
        stage.kill_at(point, queues={queue: 2})

    stage.worker_after_kills(queues=queues)
    stage.until_counts(COMPLETED=len(jobs))

    assert {stage.job(job.id)["result"] for job in jobs.values()} == {"ann"}
    assert [len(shop.approvals.of_job(job.id)) for job in jobs.values()] == [1] * len(jobs)
    # An effect whose step was not yet saved is repeated, and only that one.
    assert _times(stage, "look up", jobs) == {**dict.fromkeys(jobs, 1), "before step_ran:1": 2}
    assert _times(stage, "pay", jobs) == {**dict.fromkeys(jobs, 1), "after step_ran:1": 2}
    assert stage.ledger("put back") == []
    stage.audit()


def test_an_approval_expires_once_though_the_worker_that_saw_it_expire_is_killed(
    stage: Stage, shop: Holdfast
) -> None:
    jobs = {policy: tasks.refund.enqueue(900, policy) for policy in get_args(OnExpiry)}
    first = stage.worker()
    until_asked(shop, len(jobs))
    first.kill()
    stage.database.clock.advance(3601)
    stage.kill_at("swept")

    stage.worker_after_kills()
    stage.until_counts(FAILED=2, COMPLETED=3)

    rows = {policy: stage.job(job.id) for policy, job in jobs.items()}
    assert rows["approve"]["result"] == "system"
    assert [rows[policy]["error"]["type"] for policy in ("fail", "deny")] == [
        "ApprovalExpired",
        "ApprovalDenied",
    ]
    assert [len(shop.approvals.of_job(job.id)) for job in jobs.values()] == [1, 1, 1]
    assert _times(stage, "pay", jobs) == {"fail": 0, "deny": 0, "approve": 1}
    assert _times(stage, "put back", jobs) == {"fail": 1, "deny": 1, "approve": 0}
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


def _times(stage: Stage, event: str, jobs: dict[str, Any]) -> dict[str, int]:
    return {name: len(stage.ledger(event, job.id)) for name, job in jobs.items()}
