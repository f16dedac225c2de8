"""Feed, statistics and usage tell the history without a gap and without a repeat, wherever the projecting workers are killed."""

import psycopg

from guarantees import shop as tasks
from guarantees.audit import broken_projections
from guarantees.conftest import LONG_LEASE, Stage
from guarantees.waiting import until
from holdfast import Holdfast

# Slices of a few rows: a worker is killed between them, and with others still to come.
SLICE = {"GUARANTEES_SLICE": "5"}
POINTS = ["projected:1", "projected:2", "projected:3", "ran:1", "finished:1"]


def enqueue_some(shop: Holdfast) -> int:
    """Enqueue jobs that complete, fail and are tried again, each in a transaction of its own; answers how many."""
    for n in range(3):
        subject, tenant = f"user {n}", f"tenant {n % 2}"
        tasks.note.using(subject=subject, tenant=tenant).enqueue(n)
        tasks.fail.using(subject=subject, tenant=tenant).enqueue()
        tasks.fail_once.using(subject=subject, tenant=tenant).enqueue()
        shop.publish("news", "told", {"n": n})
    return 9


def kill_in_the_middle_of_a_pass(stage: Stage) -> None:
    """Kill a worker and end its session while a pass has written, and waits for a lock before it commits."""
    waiting = "select pid from pg_stat_activity where application_name = 'holdfast project' and wait_event_type = 'Lock'"
    with psycopg.connect(stage.database.owner_url) as somebody:
        somebody.execute("lock table holdfast.usage in exclusive mode")
        worker = stage.worker(env=SLICE, lease=LONG_LEASE, projector=True)
        ((session,),) = until("a pass waits for the lock", lambda: stage.rows(waiting))
        worker.kill()
        stage.rows("select pg_terminate_backend(%s, 10000)", session)


def test_what_is_projected_is_the_history_wherever_projectors_are_killed(
    stage: Stage, shop: Holdfast
) -> None:
    jobs = 0
    for point in POINTS:
        jobs += enqueue_some(shop)
        stage.kill_at(point, env=SLICE, projector=True)
    jobs += enqueue_some(shop)
    kill_in_the_middle_of_a_pass(stage)

    stage.worker_after_kills(env=SLICE, projector=True)
    stage.until_counts(COMPLETED=jobs * 2 // 3, FAILED=jobs // 3)
    until("all is projected", lambda: not stage.value("select holdfast.has_unprojected()"))

    assert stage.value("select count(*) from holdfast.feed where channel = 'news'") == jobs // 3
    assert broken_projections(stage.owner) == []
    stage.audit()
