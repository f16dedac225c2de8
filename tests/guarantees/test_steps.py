"""A worker killed at any point of a stepped job: finished steps stay done, and what commits together happens once."""

import signal

import psycopg
import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from holdfast import Holdfast

# How often each point is passed by one job that goes through without a crash.
POINTS = [
    *((f"step_ran:{n}") for n in (1, 2)),
    *((f"step_saved:{n}") for n in (1, 2, 3)),
    *((f"put_aside:{n}") for n in (1, 2)),
    "claimed:1",
    "claimed:2",
    "ran:1",
]


@pytest.fixture
def ledger(stage: Stage) -> psycopg.Connection:
    stage.owner.execute("create table public.ledger (entry text); grant all on public.ledger to public")
    return stage.owner


@pytest.mark.parametrize("point", POINTS)
def test_a_stepped_job_resumes_at_its_step_wherever_its_worker_is_killed(
    stage: Stage, shop: Holdfast, ledger: psycopg.Connection, point: str
) -> None:
    shop.emit("go it", "went")
    job = tasks.stepped.enqueue("it")
    doomed = stage.start_worker(
        env={"HOLDFAST_TESTING": "1", "HOLDFAST_CRASH_AT": point}, lease=1.0, concurrency=2
    )
    assert doomed.until_gone() == -signal.SIGKILL

    stage.worker(lease=1.0)
    row = stage.until_status(job.id, "COMPLETED")

    assert row["result"] == "went 7"
    assert row["retry_count"] == 0
    assert ledger.execute("select entry from public.ledger order by 1").fetchall() == [
        ("done it",),
        ("row it",),
    ]
    effects = [one["what"] for one in stage.ledger("effect", job.id)]
    # An outside effect whose step was not yet saved is repeated, and only that one.
    repeated = {"step_ran:1": ["first", "first", "last"], "step_ran:2": ["first", "last", "last"]}
    assert effects == repeated.get(point, ["first", "last"])
    assert stage.value("select count(*) from holdfast.job where task = 'note'") == 1
    stage.audit()


@pytest.mark.parametrize("point", ["step_ran:3", "step_saved:3", "step_ran:4", "step_saved:4"])
def test_a_compensation_resumes_where_its_worker_is_killed(stage: Stage, shop: Holdfast, point: str) -> None:
    tasks.saga.enqueue()
    doomed = stage.start_worker(env={"HOLDFAST_TESTING": "1", "HOLDFAST_CRASH_AT": point}, lease=1.0)
    assert doomed.until_gone() == -signal.SIGKILL

    stage.worker(lease=1.0)
    stage.until_counts(COMPLETED=1, FAILED=1)

    undone = [one["what"] for one in stage.ledger("undo")]
    repeated = {"step_ran:3": ["two", "two", "one"], "step_ran:4": ["two", "one", "one"]}
    assert undone == repeated.get(point, ["two", "one"])
    stage.audit()
