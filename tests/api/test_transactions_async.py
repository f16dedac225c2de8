"""Enqueue in the caller's own asynchronous transaction, with the real libraries."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from api.doors import ASYNC_DOORS, AsyncOpening, async_engine_on, asyncpg_arguments, job_ids
from holdfast import (
    BadInput,
    DatabaseUnavailable,
    DuplicateKey,
    Holdfast,
    JobNotFound,
    Status,
    TransactionAborted,
)
from holdfast.runtime.registry import AnyTask
from holdfast.testing import ScratchDatabase

each_library = pytest.mark.parametrize("opened", ASYNC_DOORS, ids=lambda opened: opened.__name__)


@pytest.fixture
async def charge(app: Holdfast) -> AsyncIterator[AnyTask]:
    @app.task()
    async def charge(order: int) -> None: ...

    yield charge
    await app.aclose()


@each_library
async def test_commit_makes_the_job_and_nobody_sees_it_before(
    charge: AnyTask, holdfast_db: ScratchDatabase, opened: AsyncOpening
) -> None:
    async with opened(holdfast_db.url) as door:
        handle = await charge.using(conn=door.conn).aenqueue(7)
        with pytest.raises(JobNotFound, match="was its transaction committed"):
            await handle.status()
        await door.commit()

    assert await handle.status() is Status.PENDING
    assert handle.created
    assert holdfast_db.assert_enqueued(charge, order=7).id == handle.id


@each_library
async def test_rollback_leaves_nothing(
    charge: AnyTask, holdfast_db: ScratchDatabase, opened: AsyncOpening
) -> None:
    async with opened(holdfast_db.url) as door:
        await charge.using(conn=door.conn).aenqueue(7)
        await door.rollback()

    assert job_ids(holdfast_db.owner_url) == []


@each_library
async def test_many_jobs_come_with_the_commit_in_their_order(
    app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase, opened: AsyncOpening
) -> None:
    async with opened(holdfast_db.url) as door:
        handles = await app.aenqueue_many([charge.job(order) for order in range(1500)], conn=door.conn)
        unseen = job_ids(holdfast_db.owner_url)
        await door.commit()

    assert unseen == []
    assert [job.payload["order"] for job in holdfast_db.jobs()] == list(range(1500))
    assert [handle.id for handle in handles] == job_ids(holdfast_db.owner_url)


@each_library
async def test_a_refusal_is_our_error_and_the_transaction_is_over_as_postgresql_says(
    charge: AnyTask, holdfast_db: ScratchDatabase, opened: AsyncOpening
) -> None:
    holder = await charge.using(key="k").aenqueue(1)

    async with opened(holdfast_db.url) as door:
        await charge.using(conn=door.conn).aenqueue(2)
        with pytest.raises(DuplicateKey) as refused:
            await charge.using(conn=door.conn, key="k", on_conflict="raise").aenqueue(3)
        with pytest.raises(Exception, match="current transaction is aborted"):
            await door.ask("select 1")
        await door.rollback()

    assert refused.value.job_id == holder.id
    assert job_ids(holdfast_db.owner_url) == [holder.id]


@each_library
async def test_sync_enqueue_through_an_async_connection_says_what_to_write(
    charge: AnyTask, holdfast_db: ScratchDatabase, opened: AsyncOpening
) -> None:
    async with opened(holdfast_db.url) as door:
        with pytest.raises(BadInput, match=r"is asynchronous: use `await task\.using\(conn=…\)\.aenqueue"):
            charge.using(conn=door.conn).enqueue(7)
        await door.rollback()


@pytest.fixture
async def raw(holdfast_db: ScratchDatabase) -> AsyncIterator[Any]:
    conn = await asyncpg.connect(**asyncpg_arguments(holdfast_db.url))
    yield conn
    await conn.close()


async def test_an_asyncpg_connection_with_a_json_codec_of_its_own_works(
    charge: AnyTask, holdfast_db: ScratchDatabase, raw: Any
) -> None:
    await raw.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")

    await charge.using(conn=raw).aenqueue(7)

    holdfast_db.assert_enqueued(charge, order=7)


async def test_an_asyncpg_connection_outside_a_transaction_commits_one_and_refuses_very_many(
    app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase, raw: Any
) -> None:
    handle = await charge.using(conn=raw).aenqueue(7)
    with pytest.raises(BadInput, match="commits each statement"):
        await app.aenqueue_many([charge.job(order) for order in range(1500)], conn=raw)

    assert job_ids(holdfast_db.owner_url) == [handle.id]


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
async def test_an_sqlalchemy_engine_in_autocommit_refuses_very_many(
    app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase, driver: str
) -> None:
    async with async_engine_on(holdfast_db.url, driver) as engine:
        autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
        async with AsyncSession(autocommit) as session:
            with pytest.raises(BadInput, match="commits each statement"):
                await app.aenqueue_many([charge.job(order) for order in range(1500)], conn=session)

    assert job_ids(holdfast_db.owner_url) == []


async def test_a_closed_asyncpg_connection_is_named_as_such(
    charge: AnyTask, holdfast_db: ScratchDatabase, raw: Any
) -> None:
    await raw.close()

    with pytest.raises(BadInput, match=r"asyncpg\.connection\.Connection, which is closed"):
        await charge.using(conn=raw).aenqueue(7)


async def test_an_asyncpg_pool_is_no_transaction(charge: AnyTask, holdfast_db: ScratchDatabase) -> None:
    async with asyncpg.create_pool(**asyncpg_arguments(holdfast_db.url), min_size=1) as pool:
        with pytest.raises(BadInput, match=r"conn= got asyncpg\.pool\.Pool; it takes"):
            await charge.using(conn=pool).aenqueue(7)


async def test_a_transaction_of_the_apps_own_commits_at_its_end(
    app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    async with app.atransaction() as conn:
        await charge.using(conn=conn).aenqueue(7)
        unseen = job_ids(holdfast_db.owner_url)

    assert unseen == []
    holdfast_db.assert_enqueued(charge, order=7)


async def test_an_error_rolls_a_transaction_of_the_apps_own_back(
    app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    with pytest.raises(LookupError):  # noqa: PT012 - the whole block is rolled back
        async with app.atransaction() as conn:
            await charge.using(conn=conn).aenqueue(7)
            raise LookupError

    assert job_ids(holdfast_db.owner_url) == []


@pytest.mark.parametrize("cancels", [1, 2, 3])
async def test_a_transaction_that_was_cancelled_again_and_again_leaves_no_broken_connection(
    app: Holdfast, charge: AnyTask, cancels: int
) -> None:
    async def slow() -> None:
        async with app.atransaction() as conn:
            began.set()
            await conn.execute("select pg_sleep(60)")

    for _ in range(3):
        began = asyncio.Event()
        slowly = asyncio.create_task(slow())
        await began.wait()
        # As a web framework does whose client hung up: what psycopg does to tidy up is cancelled too.
        for _ in range(cancels):
            await asyncio.sleep(0)
            slowly.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slowly

        assert await can_work(app, charge)


async def can_work(app: Holdfast, charge: AnyTask) -> bool:
    try:
        async with app.atransaction() as conn:
            handle = await charge.using(conn=conn).aenqueue(1)
    except DatabaseUnavailable:
        return False
    return await handle.status() is Status.PENDING


async def test_a_transaction_whose_error_was_caught_says_that_it_cannot_be_committed(
    app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    async def careless() -> None:
        async with app.atransaction() as conn:
            await charge.using(conn=conn).aenqueue(1)
            with contextlib.suppress(psycopg.errors.DivisionByZero):
                await conn.execute("select 1 / 0")

    with pytest.raises(TransactionAborted, match="let the error through"):
        await careless()
    assert job_ids(holdfast_db.owner_url) == []


async def test_an_error_within_a_part_of_a_transaction_undoes_that_part(
    app: Holdfast, charge: AnyTask
) -> None:
    async with app.atransaction() as conn:
        handle = await charge.using(conn=conn).aenqueue(1)
        with contextlib.suppress(psycopg.errors.DivisionByZero):
            async with conn.transaction():
                await conn.execute("select 1 / 0")

    assert await handle.status() is Status.PENDING
