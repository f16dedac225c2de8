"""A notification is a hint: with it a job starts at once, without it within the poll interval."""

import time

import psycopg

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.proxy import Proxy
from guarantees.waiting import until
from holdfast import Holdfast

POLL = 0.5
# The poll's jitter, and a margin for a machine that pauses.
POLL_BOUND = POLL * 1.25 + 3.0
NEVER = 3600.0


def starts_within(stage: Stage, bound: float) -> None:
    """Enqueue a job and see it start in time."""
    enqueued_at = time.monotonic()
    job = tasks.note.enqueue(1)
    started = stage.until_started(job.id)
    assert started["at"] - enqueued_at < bound
    stage.until_status(job.id, "COMPLETED")


def test_an_idle_worker_is_woken_by_the_commit(stage: Stage, shop: Holdfast) -> None:
    stage.worker(poll=NEVER, lease=60.0)
    stage.until_asleep()

    job = tasks.note.enqueue(1)

    stage.until_status(job.id, "COMPLETED", within=10)


def test_a_job_whose_notification_is_lost_starts_within_the_poll_interval(
    stage: Stage, shop: Holdfast, proxy: Proxy
) -> None:
    proxy.drops_notifications = True
    stage.worker(url=proxy.url, poll=POLL, lease=60.0)
    stage.until_asleep()

    for _ in range(3):
        starts_within(stage, POLL_BOUND)

    assert proxy.dropped > 0


def test_a_worker_whose_listening_connection_is_killed_listens_again(stage: Stage, shop: Holdfast) -> None:
    worker = stage.worker(poll=NEVER, lease=60.0)
    stage.until_asleep()
    (before,) = until("it listens", stage.listening)

    stage.rows("select pg_terminate_backend(%s)", before)
    until("it listens again", lambda: [pid for pid in stage.listening() if pid != before])
    worker.until_event("database:unavailable")
    job = tasks.note.enqueue(1)

    stage.until_status(job.id, "COMPLETED", within=10)


def test_a_job_enqueued_while_nobody_listens_starts_within_the_poll_interval(
    stage: Stage, shop: Holdfast
) -> None:
    stage.worker(poll=POLL, lease=60.0)
    stage.until_asleep()
    for _ in range(3):
        stage.rows(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'holdfast listen'"
        )

        starts_within(stage, POLL_BOUND)


def test_a_job_enqueued_between_two_listens_is_found_by_looking_again(
    stage: Stage, shop: Holdfast, proxy: Proxy
) -> None:
    stage.worker(url=proxy.url, poll=NEVER, lease=60.0)
    stage.until_asleep()
    strike = proxy.strike("cut_before", "^listen", times=2)
    stage.rows(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'holdfast listen'"
    )
    strike.until_landed()

    job = tasks.note.enqueue(1)

    stage.until_status(job.id, "COMPLETED", within=15)


def test_a_listening_connection_that_falls_silent_while_it_is_made_is_given_up(
    stage: Stage, shop: Holdfast, proxy: Proxy
) -> None:
    strike = proxy.strike("swallow", "^listen holdfast_wake")
    worker = stage.worker(url=proxy.url, poll=NEVER, lease=60.0)
    strike.until_landed()

    worker.until_event("database:back")
    stage.until_asleep()
    job = tasks.note.enqueue(1)

    stage.until_status(job.id, "COMPLETED", within=10)


def test_notifications_are_not_sent_when_nobody_sleeps(stage: Stage, shop: Holdfast) -> None:
    with psycopg.connect(stage.database.owner_url, autocommit=True) as listener:
        listener.execute("listen holdfast_wake")
        tasks.note.enqueue(1)
        listener.execute("select pg_notify('holdfast_wake', 'the end')")

        heard = [notice.payload for notice in listener.notifies(timeout=10, stop_after=1)]

    assert heard == ["the end"]
