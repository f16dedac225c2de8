"""A worker killed at any point of a stepped job: finished steps stay done, and what commits together happens once.

Each point has a job and a worker of its own, and a queue that keeps them apart; one worker finishes what all of them left behind.
"""

import psycopg
import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from holdfast import Holdfast
from world.often import points

# Every point as often as one job passes it that goes through without a crash.
POINTS = [
    *points([f"claimed:{n}" for n in (1, 2, 3)], step=2),
    *(f"step_ran:{n}" for n in (1, 2)),
    *points([f"step_saved:{n}" for n in (1, 2, 3, 4, 5, 6)], step=3),
    *points([f"put_aside:{n}" for n in (1, 2)], step=2),
    "ran:1",
    "finished:1",
]
UNDO_POINTS = ["claimed:2", "step_ran:3", "step_saved:3", "step_ran:4", "step_saved:4", "ran:2", "finished:2"]


@pytest.fixture
def ledger(stage: Stage) -> psycopg.Connection:
    stage.owner.execute("create table public.ledger (entry text); grant all on public.ledger to public")
    return stage.owner


def test_a_stepped_job_resumes_at_its_step_wherever_its_worker_is_killed(
    stage: Stage, shop: Holdfast, ledger: psycopg.Connection
) -> None:
    jobs = {}
    for point in POINTS:
        shop.emit(f"go {point}", "went")
        jobs[point] = tasks.stepped.using(queue=point).enqueue(point)
        stage.kill_at(point, queues={point: 2})

    stage.worker_after_kills(queues=dict.fromkeys(POINTS, 2))
    stage.until_counts(COMPLETED=2 * len(POINTS), within=60)

    rows = [stage.job(job.id) for job in jobs.values()]
    assert {(row["result"], row["retry_count"]) for row in rows} == {("went 7", 0)}
    assert ledger.execute("select entry, count(*) from public.ledger group by 1 order by 1").fetchall() == [
        (f"{what} {point}", 1) for what in ("done", "row") for point in sorted(POINTS)
    ]
    # An outside effect whose step was not yet saved is repeated, and only that one.
    repeated = {"step_ran:1": ["first", "first", "last"], "step_ran:2": ["first", "last", "last"]}
    assert {
        point: [one["what"] for one in stage.ledger("effect", job.id)] for point, job in jobs.items()
    } == {point: repeated.get(point, ["first", "last"]) for point in POINTS}
    stage.audit()


def test_a_compensation_resumes_where_its_worker_is_killed(stage: Stage, shop: Holdfast) -> None:
    jobs = {}
    for point in UNDO_POINTS:
        jobs[point] = tasks.saga.using(queue=point).enqueue()
        stage.kill_at(point, queues={point: 2})

    stage.worker_after_kills(queues=dict.fromkeys(UNDO_POINTS, 2))
    stage.until_counts(COMPLETED=len(jobs), FAILED=len(jobs))

    undone = {point: [one["what"] for one in stage.ledger("undo", job.id)] for point, job in jobs.items()}
    repeated = {"step_ran:3": ["two", "two", "one"], "step_ran:4": ["two", "one", "one"]}
    assert undone == {point: repeated.get(point, ["two", "one"]) for point in UNDO_POINTS}
    stage.audit()
