"""Works through PgBouncer in transaction mode: no state of a session is needed on the main path."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.waiting import until
from holdfast import Holdfast
from holdfast.domain.search import parse
from holdfast.store.connection import Database
from holdfast.store.search import find_jobs
from world import pooler


@pytest.fixture
def pooled(stage: Stage, tmp_path: Path) -> Iterator[str]:
    """The test's database behind a pooler."""
    with pooler.pooled(stage.database.url, tmp_path) as url:
        yield url


def test_hundreds_of_jobs_go_through_a_transaction_pooler(stage: Stage, shop: Holdfast, pooled: str) -> None:
    shop.connect_to(Database(pooled, "test", prepare=False))
    workers = [
        stage.worker(
            url=pooled, env={"HOLDFAST_PREPARED_STATEMENTS": "off"}, lease=5.0, poll=0.2, concurrency=20
        )
        for _ in range(2)
    ]

    handles = shop.enqueue_many([tasks.note.job(n) for n in range(1500)])
    singles = [tasks.fail_once.enqueue() for _ in range(20)]
    stage.until_counts(COMPLETED=len(handles) + len(singles), within=60)

    assert all(worker.lives for worker in workers)
    assert [worker.events("heartbeat:refused") for worker in workers] == [[], []]
    assert stage.value("select max(attempt) from holdfast.job where task = 'note'") == 1
    shop.close()
    stage.audit()


@pytest.mark.parametrize("prepares", [True, False])
def test_statements_are_prepared_unless_a_pooler_stands_between(stage: Stage, *, prepares: bool) -> None:
    database = Database(stage.database.url, "test", prepare=prepares)
    with psycopg.connect(**database.arguments("test")) as connection:
        for _ in range(20):
            connection.execute("select 1")
        remembered = connection.execute("select count(*) > 0 from pg_prepared_statements").fetchone()

    assert remembered == (prepares,)


def test_nobody_behind_a_pooler_sees_whom_another_entered_for(shop: Holdfast, pooled: str) -> None:
    shop.connect_to(Database(pooled, "test", prepare=False))
    jobs = [tasks.note.using(tenant=tenant).enqueue(1) for tenant in ("acme", "globex")]

    for _ in range(6):  # more often than the pooler has connections
        assert len(shop.link.perform(find_jobs(parse(""))).jobs) == len(jobs)
        with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as connection:
            assert connection.execute("select count(*) from holdfast.job").fetchone() == (0,)
            with connection.transaction():
                connection.execute("select holdfast.enter('acme')")
                assert connection.execute("select tenant from holdfast.job").fetchall() == [("acme",)]
            assert connection.execute("select count(*) from holdfast.job").fetchone() == (0,)
    shop.close()


def test_a_pooled_worker_cancels_by_its_heartbeat_though_it_hears_no_notification(
    stage: Stage, shop: Holdfast, pooled: str
) -> None:
    stage.worker(url=pooled, env={"HOLDFAST_PREPARED_STATEMENTS": "off"}, lease=2.0, poll=0.2)
    job = tasks.hold.enqueue("it")
    stage.until_started(job.id)

    shop.cancel(job.id)

    until("the task is cancelled", lambda: stage.ledger("cancelled", job.id))
    stage.audit()
