"""Transactions of the libraries people have: each door is one that is open, with its way to commit and to roll back."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg
import psycopg
import sqlalchemy as sa
from psycopg import conninfo
from sqlalchemy import orm
from sqlalchemy.ext import asyncio as sa_async

from world.hosts import set_up_django


@dataclass
class Door:
    """A transaction of synchronous code."""

    conn: Any
    commit: Callable[[], Any]
    rollback: Callable[[], Any]
    ask: Callable[[str], Any]


@dataclass
class AsyncDoor:
    """A transaction of asynchronous code."""

    conn: Any
    commit: Callable[[], Awaitable[Any]]
    rollback: Callable[[], Awaitable[Any]]
    ask: Callable[[str], Awaitable[Any]]


def parts(url: str) -> dict[str, Any]:
    return {key: value for key, value in conninfo.conninfo_to_dict(url).items() if value is not None}


def sqlalchemy_url(url: str, driver: str) -> sa.URL:
    given = parts(url)
    return sa.URL.create(
        f"postgresql+{driver}",
        username=given["user"],
        password=given["password"],
        host=given["host"],
        port=int(given["port"]),
        database=given["dbname"],
    )


def asyncpg_arguments(url: str) -> dict[str, Any]:
    given = parts(url)
    return {
        "user": given["user"],
        "password": given["password"],
        "host": given["host"],
        "port": int(given["port"]),
        "database": given["dbname"],
    }


@contextmanager
def engine_on(url: str, **options: Any) -> Iterator[sa.Engine]:
    engine = sa.create_engine(sqlalchemy_url(url, "psycopg"), **options)
    try:
        yield engine
    finally:
        engine.dispose()


@asynccontextmanager
async def async_engine_on(url: str, driver: str) -> AsyncIterator[sa_async.AsyncEngine]:
    engine = sa_async.create_async_engine(sqlalchemy_url(url, driver))
    try:
        yield engine
    finally:
        await engine.dispose()


@contextmanager
def psycopg_connection(url: str) -> Iterator[Door]:
    with psycopg.connect(url) as conn:
        yield Door(conn, conn.commit, conn.rollback, conn.execute)


@contextmanager
def sqlalchemy_session(url: str) -> Iterator[Door]:
    with engine_on(url) as engine, orm.Session(engine) as session:
        yield Door(session, session.commit, session.rollback, lambda text: session.execute(sa.text(text)))


@contextmanager
def sqlalchemy_scoped_session(url: str) -> Iterator[Door]:
    with engine_on(url) as engine:
        session = orm.scoped_session(orm.sessionmaker(engine))
        try:
            yield Door(session, session.commit, session.rollback, lambda text: session.execute(sa.text(text)))
        finally:
            session.remove()


@contextmanager
def sqlalchemy_connection(url: str) -> Iterator[Door]:
    with engine_on(url) as engine, engine.connect() as conn:
        yield Door(conn, conn.commit, conn.rollback, lambda text: conn.execute(sa.text(text)))


@contextmanager
def django_on(url: str) -> Iterator[Any]:
    """Point Django's own connection at this database."""
    set_up_django()
    from django.db import connection

    with pointed("default", url):
        yield connection


def django_parts(url: str) -> dict[str, str]:
    """Write an address as DATABASES does."""
    given = parts(url)
    wanted = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    return {name: str(given.get(part, "")) for name, part in wanted.items()}


@contextmanager
def pointed(alias: str, url: str) -> Iterator[None]:
    """Point one of Django's aliases at a database, for all threads."""
    from django.db import connections

    connections[alias].settings_dict.update(django_parts(url))
    try:
        yield
    finally:
        connections.close_all()


@contextmanager
def django_connection(url: str) -> Iterator[Door]:
    from django.db import transaction

    with django_on(url) as connection:
        block = transaction.atomic()
        block.__enter__()

        def end(*, undo: bool) -> None:
            transaction.set_rollback(undo)
            block.__exit__(None, None, None)

        def ask(text: str) -> Any:
            with connection.cursor() as cursor:
                cursor.execute(text)

        yield Door(connection, lambda: end(undo=False), lambda: end(undo=True), ask)


@asynccontextmanager
async def psycopg_async_connection(url: str) -> AsyncIterator[AsyncDoor]:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        yield AsyncDoor(conn, conn.commit, conn.rollback, conn.execute)


@asynccontextmanager
async def _async_session(url: str, driver: str) -> AsyncIterator[AsyncDoor]:
    async with async_engine_on(url, driver) as engine, sa_async.AsyncSession(engine) as session:
        yield AsyncDoor(
            session, session.commit, session.rollback, lambda text: session.execute(sa.text(text))
        )


@asynccontextmanager
async def _async_connection(url: str, driver: str) -> AsyncIterator[AsyncDoor]:
    async with async_engine_on(url, driver) as engine, engine.connect() as conn:
        yield AsyncDoor(conn, conn.commit, conn.rollback, lambda text: conn.execute(sa.text(text)))


def sqlalchemy_async_session_on_psycopg(url: str) -> AbstractAsyncContextManager[AsyncDoor]:
    return _async_session(url, "psycopg")


def sqlalchemy_async_session_on_asyncpg(url: str) -> AbstractAsyncContextManager[AsyncDoor]:
    return _async_session(url, "asyncpg")


def sqlalchemy_async_connection_on_psycopg(url: str) -> AbstractAsyncContextManager[AsyncDoor]:
    return _async_connection(url, "psycopg")


def sqlalchemy_async_connection_on_asyncpg(url: str) -> AbstractAsyncContextManager[AsyncDoor]:
    return _async_connection(url, "asyncpg")


@asynccontextmanager
async def asyncpg_connection(url: str) -> AsyncIterator[AsyncDoor]:
    conn = await asyncpg.connect(**asyncpg_arguments(url))
    try:
        async with _asyncpg_transaction(conn) as door:
            yield door
    finally:
        await conn.close()


@asynccontextmanager
async def asyncpg_pool(url: str) -> AsyncIterator[AsyncDoor]:
    async with (
        asyncpg.create_pool(**asyncpg_arguments(url), min_size=1) as pool,
        pool.acquire() as conn,
        _asyncpg_transaction(conn) as door,
    ):
        yield door


@asynccontextmanager
async def _asyncpg_transaction(conn: Any) -> AsyncIterator[AsyncDoor]:
    transaction = conn.transaction()
    await transaction.start()
    yield AsyncDoor(conn, transaction.commit, transaction.rollback, conn.execute)


SyncOpening = Callable[[str], AbstractContextManager[Door]]
AsyncOpening = Callable[[str], AbstractAsyncContextManager[AsyncDoor]]

DOORS: list[SyncOpening] = [
    psycopg_connection,
    sqlalchemy_session,
    sqlalchemy_scoped_session,
    sqlalchemy_connection,
    django_connection,
]
ASYNC_DOORS: list[AsyncOpening] = [
    psycopg_async_connection,
    sqlalchemy_async_session_on_psycopg,
    sqlalchemy_async_session_on_asyncpg,
    sqlalchemy_async_connection_on_psycopg,
    sqlalchemy_async_connection_on_asyncpg,
    asyncpg_connection,
    asyncpg_pool,
]


def job_ids(url: str) -> list[UUID]:
    """Look, from outside, which jobs are committed."""
    with psycopg.connect(url) as conn:
        return [job_id for (job_id,) in conn.execute("select id from holdfast.job order by id")]
