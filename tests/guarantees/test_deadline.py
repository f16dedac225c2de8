"""A hung task is not a dead worker: its deadline ends it, with a reason of its own."""

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.waiting import until
from holdfast import Holdfast


def test_an_async_task_that_takes_too_long_is_ended_by_its_timeout(stage: Stage, shop: Holdfast) -> None:
    stage.worker(lease=60.0)

    job = tasks.too_long.enqueue()
    row = stage.until_status(job.id, "FAILED")

    assert row["error"]["kind"] == "timeout"
    stage.audit()


def test_a_task_that_hangs_its_loop_is_ended_by_another_workers_sweep(stage: Stage, shop: Holdfast) -> None:
    hung = stage.worker(lease=600.0)
    job = tasks.hang.enqueue("it")
    stage.until_started(job.id)

    stage.database.clock.advance(12)
    stage.worker(lease=600.0)
    row = stage.until_status(job.id, "FAILED")
    stage.let_go("it")
    until("the hung task has ended", lambda: stage.ledger("end", job.id))
    after = [tasks.note.enqueue(n) for n in range(20)]
    for one in after:
        stage.until_status(one.id, "COMPLETED")

    assert (row["reason"], row["error"]["type"]) == ("deadline passed", "DeadlinePassed")
    assert stage.value("select count(*) from holdfast.worker where died_at is not null") == 0
    assert stage.status(job.id) == "FAILED"
    assert hung.lives
    stage.audit()
