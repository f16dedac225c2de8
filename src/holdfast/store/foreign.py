"""Enqueue inside a transaction that belongs to the caller, through whatever library opened it.

The libraries are recognised by their classes' modules, so that none of them has to be installed.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import psycopg

from holdfast.domain.errors import BadInput
from holdfast.domain.job import Enqueued, NewJob
from holdfast.store.call import perform, perform_sync
from holdfast.store.enqueue import document, enqueue_many, read_enqueued


def enqueue_through(connection: Any, jobs: Sequence[NewJob], declared: str) -> list[Enqueued]:
    """Enqueue in the caller's own transaction; commit makes the jobs, rollback leaves nothing."""
    if isinstance(connection, psycopg.Connection):
        return perform_sync(connection, enqueue_many(jobs, declared))
    if _comes_from(connection, "sqlalchemy.ext.asyncio", "asyncpg") or isinstance(connection, psycopg.AsyncConnection):
        raise BadInput(f"{type(connection).__name__} is asynchronous: use `await task.using(conn=…).aenqueue(…)`")
    if _comes_from(connection, "sqlalchemy"):
        return read_enqueued(list(connection.execute(*_sqlalchemy_call(jobs, declared))))
    if callable(getattr(connection, "cursor", None)):
        return _through_cursor(connection, jobs, declared)
    raise _unknown(connection)


async def aenqueue_through(connection: Any, jobs: Sequence[NewJob], declared: str) -> list[Enqueued]:
    """Enqueue in the caller's own transaction; commit makes the jobs, rollback leaves nothing."""
    if isinstance(connection, psycopg.AsyncConnection):
        return await perform(connection, enqueue_many(jobs, declared))
    if _comes_from(connection, "sqlalchemy.ext.asyncio"):
        return read_enqueued(list(await connection.execute(*_sqlalchemy_call(jobs, declared))))
    if _comes_from(connection, "asyncpg"):
        fetch: Callable[..., Awaitable[list[Any]]] = connection.fetch
        return read_enqueued([tuple(row) for row in await fetch(_text("enqueue_numbered"), document(jobs), declared)])
    if isinstance(connection, psycopg.Connection) or callable(getattr(connection, "cursor", None)) or _comes_from(connection, "sqlalchemy"):
        return enqueue_through(connection, jobs, declared)
    raise _unknown(connection)


def _comes_from(connection: Any, *packages: str) -> bool:
    return any(
        kind.__module__ == package or kind.__module__.startswith(package + ".")
        for kind in type(connection).__mro__
        for package in packages
    )


def _sqlalchemy_call(jobs: Sequence[NewJob], declared: str) -> tuple[Any, dict[str, str]]:
    from sqlalchemy import text  # noqa: PLC0415 - only its users have it

    return text(_text("enqueue_named")), {"jobs": document(jobs), "declared": declared}


def _through_cursor(connection: Any, jobs: Sequence[NewJob], declared: str) -> list[Enqueued]:
    """Django's connection, psycopg2's, and whatever else speaks DB-API with %s."""
    with connection.cursor() as cursor:
        cursor.execute(_text("enqueue_positional"), (document(jobs), declared))
        return read_enqueued(list(cursor.fetchall()))


@cache
def _text(name: str) -> str:
    return files("holdfast.store").joinpath("sql", "queries", f"{name}.sql").read_text("utf-8")


def _unknown(connection: Any) -> BadInput:
    return BadInput(
        f"conn= got a {type(connection).__module__}.{type(connection).__qualname__}; it takes a psycopg or asyncpg connection, "
        "an SQLAlchemy Session or Connection (sync or async), Django's connection, or any DB-API connection"
    )
