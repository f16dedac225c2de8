"""Connections that are shared: how many at once, and which stay open afterwards."""

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from guarantees.waiting import until
from holdfast import DatabaseUnavailable, Holdfast
from holdfast.store import pool

pytestmark = pytest.mark.new_database  # whose sessions are counted

MANY = 6
KEPT = 2


def open_connections(owner: psycopg.Connection) -> int:
    (row,) = owner.execute(
        "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'holdfast'"
    ).fetchall()
    return int(row[0])


def rush(app: Holdfast) -> None:
    """Have many transactions open at the same moment."""
    together = threading.Barrier(MANY)

    def one(_: int) -> None:
        with app.transaction():
            together.wait()

    with ThreadPoolExecutor(MANY) as threads:
        list(threads.map(one, range(MANY)))


async def arush(app: Holdfast) -> None:
    together = asyncio.Barrier(MANY)

    async def one() -> None:
        async with app.atransaction():
            await together.wait()

    await asyncio.gather(*(one() for _ in range(MANY)))


@pytest.fixture
def few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "KEPT", KEPT)


@pytest.mark.usefixtures("few_are_kept")
def test_what_a_rush_needed_stays_open_for_the_next(app: Holdfast, owner: psycopg.Connection) -> None:
    rush(app)

    assert open_connections(owner) == MANY


@pytest.mark.usefixtures("few_are_kept")
def test_what_nobody_has_needed_for_long_is_closed_and_the_usual_ones_are_kept(
    app: Holdfast, owner: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    rush(app)
    monkeypatch.setattr(pool, "RUSH_SECONDS", -1.0)  # as if the minute had passed
    for _ in range(2 * MANY):
        with app.transaction():
            pass

    # A server's process ends a moment after its connection.
    until("the others are closed", lambda: open_connections(owner) == KEPT)


@pytest.mark.usefixtures("few_are_kept")
async def test_async_connections_of_a_rush_end_like_the_others(
    app: Holdfast, owner: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await arush(app)
    stayed = open_connections(owner)
    monkeypatch.setattr(pool, "RUSH_SECONDS", -1.0)
    for _ in range(2 * MANY):
        async with app.atransaction():
            pass
    until("the others are closed", lambda: open_connections(owner) == KEPT)
    await app.aclose()

    assert stayed == MANY


async def test_what_is_asked_beside_open_transactions_finds_a_place_even_when_all_of_theirs_are_taken(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "MOST", 1)
    monkeypatch.setattr(pool, "MOST_LASTING", 2)

    @app.task()
    async def charge(order: int) -> None: ...

    async with asyncio.timeout(20), app.atransaction(), app.atransaction():
        handle = await charge.aenqueue(1)
    await app.aclose()

    assert handle.created


async def test_a_rush_of_short_transactions_waits_for_the_connections_there_are(
    app: Holdfast, owner: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "GROW_SECONDS", 60.0)

    async def one() -> None:
        for _ in range(5):
            async with app.atransaction() as connection:
                await connection.execute("select 1")

    await asyncio.gather(*(one() for _ in range(MANY)))
    opened = open_connections(owner)
    await app.aclose()

    assert opened == 1


async def test_when_none_comes_back_connections_are_opened_one_after_the_other(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "GROW_SECONDS", 0.05)
    together, began = asyncio.Barrier(MANY), time.monotonic()
    opened: list[float] = []

    async def one() -> None:
        async with app.atransaction():
            opened.append(time.monotonic() - began)
            await together.wait()

    await asyncio.gather(*(one() for _ in range(MANY)))
    await app.aclose()

    assert max(opened) >= 0.05 * (MANY - 1)


async def test_who_waits_is_served_in_the_order_of_coming(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "GROW_SECONDS", 0.01)
    sessions, served = app.link._async(), list[int]()

    async def one(number: int) -> None:
        async with sessions.session():
            served.append(number)

    async with sessions.session():
        monkeypatch.setattr(sessions, "_grew_at", time.monotonic() + 60)  # none is opened meanwhile
        waiting = [asyncio.create_task(one(number)) for number in range(MANY)]
        await asyncio.sleep(0.05)  # each has looked several times
    await asyncio.gather(*waiting)
    await app.aclose()

    assert served == list(range(MANY))
    assert not sessions._waiting


async def test_a_connection_that_is_given_to_who_has_just_gone_is_not_lost(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "GROW_SECONDS", 60.0)
    sessions = app.link._async()

    async def wait_for_one() -> None:
        async with sessions.session():
            pytest.fail("it was cancelled")

    async with sessions.session() as session:
        await session.connection()
        waiting = asyncio.create_task(wait_for_one())
        await asyncio.sleep(0)
        (coming,) = sessions._waiting
    assert coming.done()  # and its task has not run since
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert sessions._idle.take() is session
    await session.close()


async def test_who_waits_while_all_are_closed_is_served_nevertheless(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "GROW_SECONDS", 60.0)
    sessions = app.link._async()

    async def ask() -> bool:
        async with sessions.session() as session:
            return not (await session.connection()).closed

    async with sessions.session() as session:
        await session.connection()
        waiting = asyncio.create_task(ask())
        await asyncio.sleep(0)
        await sessions.close()
    async with asyncio.timeout(20):
        assert await waiting
    assert session.is_lost  # closed as it came back


def works(app: Holdfast) -> bool:
    """Whether two transactions at once find connections that can be used."""
    try:
        with app.transaction(), app.transaction() as another:
            another.execute("select 1")
    except DatabaseUnavailable:
        return False
    return True


async def works_in_async_code(app: Holdfast) -> bool:
    try:
        async with app.atransaction(), app.atransaction() as another:
            await another.execute("select 1")
    except DatabaseUnavailable:
        return False
    return True


def end_connections(owner: psycopg.Connection) -> None:
    owner.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'holdfast'"
    )


def test_after_an_outage_one_finds_out_and_the_others_get_new_connections(
    app: Holdfast, owner: psycopg.Connection
) -> None:
    rush(app)
    end_connections(owner)
    with pytest.raises((DatabaseUnavailable, psycopg.OperationalError)), app.transaction() as connection:
        connection.execute("select 1")

    assert works(app)


async def test_after_an_outage_one_finds_out_and_the_others_get_new_connections_in_async_code_too(
    app: Holdfast, owner: psycopg.Connection
) -> None:
    await arush(app)
    end_connections(owner)
    with pytest.raises((DatabaseUnavailable, psycopg.OperationalError)):
        async with app.atransaction() as connection:
            await connection.execute("select 1")
    worked = await works_in_async_code(app)
    await app.aclose()

    assert worked


def test_a_forked_process_closes_nothing_of_its_parents(app: Holdfast) -> None:
    with app.transaction():
        pass
    child = os.fork()
    if child == 0:
        app.close()
        os._exit(0)
    os.waitpid(child, 0)

    assert works(app)


def test_an_event_loop_that_has_ended_is_seen_when_the_next_one_asks(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "MOST_LASTING", 1)  # who waits for a place keeps the loop from being forgotten

    async def two_at_once() -> None:
        async def one() -> None:
            async with app.atransaction():
                await asyncio.sleep(0)

        await asyncio.gather(one(), one())

    for _ in range(3):
        asyncio.run(two_at_once())

    assert len(app.link._async_sessions) == 1
