"""A worker that was frozen beyond its lease wakes up as a stranger: nothing it did counts, and it works on under a new name."""

import time
from typing import Any

import psycopg
import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.waiting import until
from guarantees.workers import WorkerProcess
from holdfast import Holdfast

WAITING_TO_BE_WRITTEN = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%%holdfast.settle%%'"


@pytest.fixture
def zombie(stage: Stage, shop: Holdfast) -> WorkerProcess:
    return stage.worker(poll=0.5)


def test_a_thawed_zombie_cannot_touch_the_attempt_that_runs_now(stage: Stage, zombie: WorkerProcess) -> None:
    job = tasks.hold.enqueue("z")
    stage.until_started(job.id)
    zombie.freeze()
    stage.worker()
    stage.until_started(job.id, attempt=2)

    stage.let_go("z", attempt=1)
    zombie.thaw()
    zombie.until_event("worker:declared_dead")
    until(
        "the zombie has let go", lambda: zombie.events("job:lease_lost") or stage.ledger("cancelled", job.id)
    )

    row = stage.job(job.id)
    assert (row["status"], row["attempt"]) == ("RUNNING", 2)
    stage.let_go("z", attempt=2)
    assert stage.until_status(job.id, "COMPLETED")["result"] == "attempt 2"
    stage.audit()


def test_a_thawed_zombie_cannot_change_the_outcome_of_another_attempt(
    stage: Stage, zombie: WorkerProcess
) -> None:
    job = tasks.hold.enqueue("z")
    stage.until_started(job.id)
    zombie.freeze()
    stage.worker()
    stage.let_go("z", attempt=2)
    stage.until_status(job.id, "COMPLETED")

    stage.let_go("z", attempt=1)
    zombie.thaw()
    zombie.until_event("worker:declared_dead")
    until(
        "the zombie has let go", lambda: zombie.events("job:lease_lost") or stage.ledger("cancelled", job.id)
    )

    row = stage.job(job.id)
    assert (row["result"], row["attempt"], row["retry_count"]) == ("attempt 2", 2, 0)
    assert stage.moves(job.id) == ["PENDING", "RUNNING", "RETRY", "RUNNING", "COMPLETED"]
    stage.audit()


def test_a_thawed_zombie_works_on_under_a_new_name_and_is_woken_as_before(
    stage: Stage, zombie: WorkerProcess
) -> None:
    stage.until_asleep()
    zombie.freeze()
    sweeper = stage.worker()
    until(
        "the zombie is declared dead",
        lambda: stage.value("select count(*) from holdfast.worker where died_at is not null"),
    )
    sweeper.kill()

    zombie.thaw()
    zombie.until_event("worker:declared_dead")
    until("it has two names", lambda: len(set(stage.names(zombie))) == 2)
    until(
        lambda: f"the new identity asks to be woken\n{stage.told}",
        lambda: stage.value(
            "select count(*) from holdfast.sleeper s join holdfast.worker w on w.id = s.worker_id where w.died_at is null and w.pid = %s",
            zombie.pid,
        ),
    )
    job = tasks.note.enqueue(1)
    stage.until_status(job.id, "COMPLETED")

    actor = stage.value(
        "select actor from holdfast.job_history where job_id = %s and to_status = 'COMPLETED'", job.id
    )
    assert actor == stage.names(zombie)[1]


def declare_dead(stage: Stage, which: str = "true") -> None:
    """Do what a sweep does with the silent, whether or not they have just been heard; their jobs return together, the oldest first in line."""
    # At once, or the worker's own sweep takes some of them back, and the line is another.
    with stage.owner.transaction():
        stage.rows(
            f"update holdfast.worker set died_at = holdfast.clock() where died_at is null and {which} returning id"
        )
        stage.rows("select * from holdfast.sweep()")


@pytest.mark.parametrize(
    "stubborn",
    [tasks.ignore_everything, tasks.ignore_everything_in_a_step, tasks.ignore_cancels],
    ids=lambda task: task.name,
)
def test_a_suspect_is_not_blamed_where_something_of_a_former_name_runs_on(
    stage: Stage, shop: Holdfast, stubborn: Any
) -> None:
    worker = stage.worker(poll=0.5)
    suspect = tasks.hold.enqueue("s")
    stage.until_started(suspect.id)
    stage.until_started(stubborn.enqueue().id)
    declare_dead(stage)
    worker.until_event("worker:declared_dead")
    stage.until_started(suspect.id, attempt=2)

    worker.kill()
    declare_dead(stage)

    row = stage.job(suspect.id)
    assert (row["status"], row["suspect"], row["crash_count"]) == ("RETRY", True, 0)
    stage.audit()


def a_suspect_that_waits(stage: Stage) -> Any:
    """Leave a job whose worker died with it, though nobody knows it yet."""
    first = stage.worker(poll=0.5, lease=600.0)
    suspect = tasks.hold.enqueue("s")
    stage.until_started(suspect.id)
    first.kill()
    return suspect


def crashes_charged(stage: Stage, suspect: Any, worker: WorkerProcess) -> int:
    """Kill the worker that runs the suspect; answer how many crashes it is charged with."""
    worker.kill()
    declare_dead(stage)
    stage.audit()
    return int(stage.job(suspect.id)["crash_count"])


def test_a_suspect_is_not_blamed_for_a_thread_whose_outcome_waits_to_be_written(
    stage: Stage, shop: Holdfast
) -> None:
    suspect = a_suspect_that_waits(stage)
    worker = stage.worker(poll=0.5)
    thread = tasks.outlast.enqueue()
    stage.until_started(thread.id)
    with psycopg.connect(stage.database.owner_url) as other:
        other.execute("select from holdfast.job where id = %s for update", (thread.id,))
        until("its outcome waits to be written", lambda: stage.value(WAITING_TO_BE_WRITTEN))
        declare_dead(stage, "lease > interval '1 minute'")
        stage.until_started(suspect.id, attempt=2)
    stage.until_status(thread.id, "FAILED")

    assert crashes_charged(stage, suspect, worker) == 0


def test_a_suspect_has_a_child_of_its_own_however_many_queues_have_jobs_for_children(
    stage: Stage, shop: Holdfast
) -> None:
    suspect = a_suspect_that_waits(stage)
    stage.worker(poll=0.5, processes=1, queues={"default": 5, "other": 5})
    for queue in ("default", "other"):
        tasks.hold_process.using(queue=queue).enqueue("it")
    until("one has its child", lambda: len(stage.ledger("start")) == 2)
    declare_dead(stage, "lease > interval '1 minute'")

    stage.until_started(suspect.id, attempt=2)


def test_a_suspect_is_not_blamed_for_an_attempt_that_recorded_its_own_end_and_goes_on(
    stage: Stage, shop: Holdfast
) -> None:
    suspect = a_suspect_that_waits(stage)
    worker = stage.worker(poll=0.5)
    stage.until_status(tasks.end_and_go_on.enqueue().id, "COMPLETED")
    declare_dead(stage, "lease > interval '1 minute'")
    stage.until_started(suspect.id, attempt=2)

    assert crashes_charged(stage, suspect, worker) == 0


def test_a_blocked_event_loop_is_not_a_dead_worker(stage: Stage, zombie: WorkerProcess) -> None:
    stage.worker()
    job = tasks.block.enqueue(3.0)

    row = stage.until_status(job.id, "COMPLETED", "FAILED", "RETRY")

    assert (row["status"], row["attempt"]) == ("COMPLETED", 1)
    assert stage.value("select count(*) from holdfast.worker where died_at is not null") == 0
    stage.audit()


def test_a_worker_whose_interpreter_was_held_is_fenced_cleanly_at_worst(
    stage: Stage, zombie: WorkerProcess
) -> None:
    job = tasks.hold_the_interpreter.enqueue(2)
    stage.until_started(job.id)
    stage.worker()

    row = stage.until_status(job.id, "COMPLETED")

    assert row["retry_count"] == 0
    assert zombie.lives
    after = tasks.note.enqueue(1)
    stage.until_status(after.id, "COMPLETED")
    stage.audit()


def test_a_frozen_worker_that_thaws_within_its_lease_keeps_its_jobs(stage: Stage, shop: Holdfast) -> None:
    worker = stage.worker(lease=60.0)
    stage.worker()
    job = tasks.hold.enqueue("it")
    stage.until_started(job.id)
    worker.freeze()
    frozen_at = time.monotonic()
    until("others have swept", lambda: time.monotonic() - frozen_at > 1.0)

    worker.thaw()
    stage.let_go("it")

    assert stage.until_status(job.id, "COMPLETED")["attempt"] == 1
