"""Whatever a task raises, its job gets an outcome and its worker lives."""

from typing import Any

import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.waiting import until
from holdfast import Holdfast


@pytest.mark.parametrize("executor", ["loop", "thread", "process"])
def test_whatever_a_task_raises_its_job_has_an_outcome_and_its_worker_lives(
    stage: Stage, shop: Holdfast, executor: str
) -> None:
    by_executor: dict[str, Any] = {
        "loop": tasks.nasty,
        "thread": tasks.nasty_in_thread,
        "process": tasks.nasty_in_process,
    }
    task = by_executor[executor]
    jobs = {how: task.enqueue(how) for how in tasks.NASTY}
    worker = stage.worker(lease=60.0)

    def open_ends() -> dict[str, str]:
        return {
            how: status
            for how, job in jobs.items()
            if (status := stage.status(job.id)) in {"PENDING", "RUNNING"}
        }

    until(
        lambda: f"no job is left without an outcome: {open_ends()}\n{stage.told}",
        lambda: not worker.lives or not open_ends(),
        within=20,
    )

    assert worker.lives, worker.tail
    after = [tasks.note.enqueue(n) for n in range(60)]
    for one in after:
        stage.until_status(one.id, "COMPLETED")
    stage.audit()
