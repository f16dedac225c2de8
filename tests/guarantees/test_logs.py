"""What a task logs can be read while it runs, outlives its worker, and is there once."""

import os
import signal
from uuid import UUID

import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.proxy import Action, Proxy
from guarantees.waiting import until
from holdfast import Holdfast
from holdfast.runtime.logs import MOST_LINES
from holdfast.runtime.registry import AnyTask

FIRST, LAST = "line 0 of attempt 1", "the last of attempt 1"
BOTH = pytest.mark.parametrize("task", [tasks.talk_here, tasks.talk_apart], ids=["thread", "process"])


def logged(shop: Holdfast, job_id: UUID, attempt: int = 1) -> list[str]:
    """Read what an attempt has logged, as far as anybody knows."""
    return [
        line["message"]
        for record in shop.attempts(job_id)
        if record.attempt == attempt
        for line in record.logs or ()
    ]


def until_logged(stage: Stage, shop: Holdfast, job_id: UUID, *lines: str) -> None:
    until(lambda: f"{lines} are read\n{stage.told}", lambda: logged(shop, job_id) == [*lines])


@BOTH
def test_lines_are_read_while_the_attempt_runs_and_are_there_once_in_the_end(
    stage: Stage, shop: Holdfast, task: AnyTask
) -> None:
    stage.worker()
    job = task.enqueue("it")

    until_logged(stage, shop, job.id, FIRST)
    assert stage.status(job.id) == "RUNNING"
    stage.let_go("it")
    stage.until_status(job.id, "COMPLETED")

    assert logged(shop, job.id) == [FIRST, LAST]
    stage.audit()


@BOTH
def test_the_lines_of_a_killed_worker_stay(stage: Stage, shop: Holdfast, task: AnyTask) -> None:
    worker = stage.worker()
    job = task.enqueue("it")
    until_logged(stage, shop, job.id, FIRST)

    worker.kill()
    stage.worker()
    stage.let_go("it", attempt=2)
    stage.until_status(job.id, "COMPLETED")

    assert logged(shop, job.id) == [FIRST]
    assert logged(shop, job.id, attempt=2) == ["line 0 of attempt 2", "the last of attempt 2"]
    stage.audit()


def test_the_lines_of_a_killed_child_stay(stage: Stage, shop: Holdfast) -> None:
    stage.worker(lease=60.0)
    job = tasks.talk_apart.enqueue("it")
    started = stage.until_started(job.id)

    os.kill(started["pid"], signal.SIGKILL)
    stage.let_go("it", attempt=2)
    stage.until_status(job.id, "COMPLETED")

    assert logged(shop, job.id) == [FIRST]


@pytest.mark.parametrize("cut", ["cut_before", "cut_after"])
def test_a_save_whose_answer_is_lost_saves_once(
    stage: Stage, shop: Holdfast, proxy: Proxy, cut: Action
) -> None:
    strike = proxy.strike(cut, r"holdfast\.save_logs")
    stage.worker(url=proxy.url)
    job = tasks.talk_here.enqueue("it", 3)

    until("the answer is lost", lambda: strike.landed)
    lines = [f"line {number} of attempt 1" for number in range(3)]
    until_logged(stage, shop, job.id, *lines)
    stage.let_go("it")
    stage.until_status(job.id, "COMPLETED")

    assert logged(shop, job.id) == [*lines, LAST]


@BOTH
def test_a_task_that_logs_without_end_is_kept_as_far_as_anybody_reads(
    stage: Stage, shop: Holdfast, task: AnyTask
) -> None:
    stage.worker()
    job = task.enqueue("it", 2000)

    stage.until_started(job.id)
    until("its lines are read", lambda: len(logged(shop, job.id)) == MOST_LINES + 1)
    stage.let_go("it")
    stage.until_status(job.id, "COMPLETED")

    assert len(logged(shop, job.id)) == MOST_LINES + 1
    assert logged(shop, job.id)[-1] == f"… more than {MOST_LINES} lines; the rest was not kept"


def test_short_jobs_save_nothing_before_their_end(stage: Stage, shop: Holdfast) -> None:
    stage.owner.execute(
        "create table holdfast.saved (n int); create function holdfast.note_save() returns trigger language plpgsql security definer"
        " as $$ begin insert into holdfast.saved values (1); return new; end $$;"
        "create trigger saved before insert on holdfast.log_part for each row execute function holdfast.note_save()"
    )
    stage.worker()
    stage.let_go("it")

    jobs = [tasks.talk_here.enqueue("it") for _ in range(200)]
    stage.until_counts(COMPLETED=200)

    assert stage.value("select count(*) from holdfast.saved") == 0
    assert all(logged(shop, job.id) == [FIRST, LAST] for job in jobs)
