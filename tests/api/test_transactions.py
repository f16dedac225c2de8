"""Enqueue in the caller's own synchronous transaction, with the real libraries."""

import contextlib

import psycopg
import pytest

from api.doors import DOORS, SyncOpening, job_ids
from holdfast import BadInput, DuplicateKey, Holdfast, JobNotFound, Status, TransactionAborted
from holdfast.runtime.registry import AnyTask
from holdfast.testing import ScratchDatabase

each_library = pytest.mark.parametrize("opened", DOORS, ids=lambda opened: opened.__name__)


@pytest.fixture
def charge(app: Holdfast) -> AnyTask:
    @app.task()
    def charge(order: int) -> None: ...

    return charge


@each_library
def test_commit_makes_the_job_and_nobody_sees_it_before(
    charge: AnyTask, holdfast_db: ScratchDatabase, opened: SyncOpening
) -> None:
    with opened(holdfast_db.url) as door:
        handle = charge.using(conn=door.conn).enqueue(7)
        with pytest.raises(JobNotFound, match="was its transaction committed"):
            handle.status()
        door.commit()

    assert handle.status() is Status.PENDING
    assert handle.created
    assert holdfast_db.assert_enqueued(charge, order=7).id == handle.id


@each_library
def test_rollback_leaves_nothing(charge: AnyTask, holdfast_db: ScratchDatabase, opened: SyncOpening) -> None:
    with opened(holdfast_db.url) as door:
        charge.using(conn=door.conn).enqueue(7)
        door.rollback()

    assert job_ids(holdfast_db.owner_url) == []


@each_library
def test_many_jobs_come_with_the_commit_in_their_order(
    app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase, opened: SyncOpening
) -> None:
    with opened(holdfast_db.url) as door:
        handles = app.enqueue_many([charge.job(order) for order in range(1500)], conn=door.conn)
        unseen = job_ids(holdfast_db.owner_url)
        door.commit()

    assert unseen == []
    assert [job.payload["order"] for job in holdfast_db.jobs()] == list(range(1500))
    assert [handle.id for handle in handles] == job_ids(holdfast_db.owner_url)


@each_library
def test_a_refusal_is_our_error_and_the_transaction_is_over_as_postgresql_says(
    charge: AnyTask, holdfast_db: ScratchDatabase, opened: SyncOpening
) -> None:
    holder = charge.using(key="k").enqueue(1)

    with opened(holdfast_db.url) as door:
        charge.using(conn=door.conn).enqueue(2)
        with pytest.raises(DuplicateKey) as refused:
            charge.using(conn=door.conn, key="k", on_conflict="raise").enqueue(3)
        with pytest.raises(Exception, match="current transaction is aborted"):
            door.ask("select 1")
        door.rollback()

    assert refused.value.job_id == holder.id
    assert job_ids(holdfast_db.owner_url) == [holder.id]


@each_library
def test_an_argument_refused_before_it_is_sent_leaves_the_transaction_alone(
    charge: AnyTask, holdfast_db: ScratchDatabase, opened: SyncOpening
) -> None:
    with opened(holdfast_db.url) as door:
        with pytest.raises(BadInput):
            charge.using(conn=door.conn).enqueue("seven")
        kept = charge.using(conn=door.conn).enqueue(7)
        door.commit()

    assert job_ids(holdfast_db.owner_url) == [kept.id]


@each_library
async def test_async_code_may_use_a_sync_connection(
    app: Holdfast,
    charge: AnyTask,
    holdfast_db: ScratchDatabase,
    opened: SyncOpening,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    with opened(holdfast_db.url) as door:
        handle = await charge.using(conn=door.conn).aenqueue(7)
        door.commit()

    assert await handle.status() is Status.PENDING
    await app.aclose()


def test_plain_sql_enqueues_with_the_tasks_defaults(
    app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase, login: psycopg.Connection
) -> None:
    app.claim()  # a host's start registers the tasks, as a worker's does

    with login.transaction():
        row = login.execute("select holdfast.enqueue('charge', '{\"order\": 7}', p_priority => 5)").fetchone()
        unseen = job_ids(holdfast_db.owner_url)
    with login.transaction(force_rollback=True):
        login.execute("select holdfast.enqueue('charge', '{\"order\": 8}')")

    assert unseen == []
    assert row is not None
    (job,) = holdfast_db.jobs()
    assert (job.id, job.payload, job.priority, job.max_retries) == (row[0], {"order": 7}, 5, 3)


def test_a_transaction_of_the_apps_own_commits_at_its_end(
    app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    with app.transaction() as conn:
        charge.using(conn=conn).enqueue(7)
        unseen = job_ids(holdfast_db.owner_url)

    assert unseen == []
    holdfast_db.assert_enqueued(charge, order=7)


def test_an_error_rolls_a_transaction_of_the_apps_own_back(
    app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    with pytest.raises(LookupError), app.transaction() as conn:  # noqa: PT012 - the whole block is rolled back
        charge.using(conn=conn).enqueue(7)
        raise LookupError

    assert job_ids(holdfast_db.owner_url) == []


def test_a_transaction_whose_error_was_caught_says_that_it_cannot_be_committed(
    app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    def careless() -> None:
        with app.transaction() as conn:
            charge.using(conn=conn).enqueue(7)
            with contextlib.suppress(psycopg.errors.DivisionByZero):
                conn.execute("select 1 / 0")

    with pytest.raises(TransactionAborted, match="let the error through"):
        careless()
    assert job_ids(holdfast_db.owner_url) == []
