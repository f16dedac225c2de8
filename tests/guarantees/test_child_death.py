"""A child process that dies fails the attempt in it and nothing else."""

import os
import signal

import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from holdfast import Holdfast


@pytest.mark.parametrize("how", ["sigkill", "segfault"])
def test_a_child_that_dies_by_itself_fails_its_attempt_only(stage: Stage, shop: Holdfast, how: str) -> None:
    worker = stage.worker(lease=60.0)
    beside = tasks.hold.enqueue("beside")
    stage.until_started(beside.id)

    job = tasks.die_in_child.enqueue(how)
    row = stage.until_status(job.id, "FAILED")
    stage.let_go("beside")

    assert (row["crash_count"], row["error"]["type"], row["error"]["kind"]) == (3, "ProcessDied", "crash")
    assert stage.until_status(beside.id, "COMPLETED")["attempt"] == 1
    assert worker.lives
    stage.audit()


def test_a_child_killed_from_outside_is_replaced_and_its_job_runs_again(stage: Stage, shop: Holdfast) -> None:
    stage.worker(lease=60.0)
    job = tasks.hold_process.enqueue("it")
    first = stage.until_started(job.id)

    os.kill(first["pid"], signal.SIGKILL)
    second = stage.until_started(job.id, attempt=2)
    stage.let_go("it")
    row = stage.until_status(job.id, "COMPLETED")

    assert second["pid"] != first["pid"]
    assert (row["result"], row["crash_count"], row["retry_count"]) == ("attempt 2", 1, 0)
    stage.audit()
