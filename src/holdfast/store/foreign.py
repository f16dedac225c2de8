"""Calls inside a transaction that belongs to the caller, through whatever library opened it.

The libraries are recognised by their classes' modules, so that none of them has to be installed.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from holdfast.domain.errors import BadInput
from holdfast.domain.job import Enqueued, NewJob
from holdfast.store.call import Row
from holdfast.store.enqueue import document
from holdfast.store.errors import refusals_translated

Parts = Sequence[Sequence[NewJob]]
Values = Mapping[str, str | None]


class _Library(Protocol):
    """A synchronous library's connection."""

    def is_closed(self) -> bool: ...

    def commits_each_statement(self) -> bool: ...

    def ask(self, question: "_Question", values: Values) -> Sequence[Row]: ...


class _AsyncLibrary(Protocol):
    """An asynchronous library's connection."""

    def is_closed(self) -> bool: ...

    async def commits_each_statement(self) -> bool: ...

    async def ask(self, question: "_Question", values: Values) -> Sequence[Row]: ...


def enqueue_through(connection: Any, parts: Parts, declared: str) -> list[list[Enqueued]]:
    """Enqueue in the caller's own transaction; commit makes the jobs, rollback leaves nothing."""
    if _async_library(connection) is not None:
        raise BadInput(
            f"conn= got {_kind(connection)}, which is asynchronous: use `await task.using(conn=…).aenqueue(…)`"
        )
    library = _library(connection)
    _refuse_closed(library, connection)
    with refusals_translated():
        if len(parts) > 1 and library.commits_each_statement():
            raise _not_together(connection)
        return [_read(library.ask(_question("enqueue"), _jobs(part, declared))) for part in parts]


async def aenqueue_through(connection: Any, parts: Parts, declared: str) -> list[list[Enqueued]]:
    """Enqueue in the caller's own transaction; commit makes the jobs, rollback leaves nothing."""
    library = _async_library(connection)
    if library is None:
        return enqueue_through(connection, parts, declared)
    _refuse_closed(library, connection)
    with refusals_translated():
        if len(parts) > 1 and await library.commits_each_statement():
            raise _not_together(connection)
        return [_read(await library.ask(_question("enqueue"), _jobs(part, declared))) for part in parts]


def ask_through(connection: Any, name: str, values: Values, instead: str) -> Sequence[Row]:
    """Ask a statement of sql/foreign in the caller's own transaction."""
    if _async_library(connection) is not None:
        raise BadInput(f"conn= got {_kind(connection)}, which is asynchronous: use `await {instead}`")
    library = _library(connection)
    _refuse_closed(library, connection)
    with refusals_translated():
        return library.ask(_question(name), values)


async def aask_through(connection: Any, name: str, values: Values) -> Sequence[Row]:
    """Ask a statement of sql/foreign in the caller's own transaction."""
    library = _async_library(connection)
    if library is None:
        return ask_through(connection, name, values, "")
    _refuse_closed(library, connection)
    with refusals_translated():
        return await library.ask(_question(name), values)


class _Psycopg:
    # Cursors of our own: the caller's may be raw, client-side or with rows of another shape.
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def is_closed(self) -> bool:
        return self._connection.closed

    def commits_each_statement(self) -> bool:
        return (
            self._connection.autocommit and self._connection.info.transaction_status is TransactionStatus.IDLE
        )

    def ask(self, question: "_Question", values: Values) -> Sequence[Row]:
        cursor = psycopg.Cursor(self._connection, row_factory=tuple_row)
        return cursor.execute(question.positional, question.ordered(values)).fetchall()


class _AsyncPsycopg:
    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    def is_closed(self) -> bool:
        return self._connection.closed

    async def commits_each_statement(self) -> bool:
        return (
            self._connection.autocommit and self._connection.info.transaction_status is TransactionStatus.IDLE
        )

    async def ask(self, question: "_Question", values: Values) -> Sequence[Row]:
        cursor = psycopg.AsyncCursor(self._connection, row_factory=tuple_row)
        return await (await cursor.execute(question.positional, question.ordered(values))).fetchall()


class _Sqlalchemy:
    """A Session, a scoped session or a Connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def is_closed(self) -> bool:
        return _is_connection(self._connection) and bool(self._connection.closed)

    def commits_each_statement(self) -> bool:
        connection = self._connection if _is_connection(self._connection) else self._connection.connection()
        return _autocommits(connection)

    def ask(self, question: "_Question", values: Values) -> Sequence[Row]:
        return [tuple(row) for row in self._connection.execute(_sqlalchemy_text(question.named), values)]


class _AsyncSqlalchemy:
    """An AsyncSession, a scoped one or an AsyncConnection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def is_closed(self) -> bool:
        return _is_connection(self._connection) and bool(self._connection.closed)

    async def commits_each_statement(self) -> bool:
        connection = (
            self._connection if _is_connection(self._connection) else await self._connection.connection()
        )
        return _autocommits(connection.sync_connection)

    async def ask(self, question: "_Question", values: Values) -> Sequence[Row]:
        rows = await self._connection.execute(_sqlalchemy_text(question.named), values)
        return [tuple(row) for row in rows]


class _Asyncpg:
    """A connection, or what a pool lends."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def is_closed(self) -> bool:
        return bool(self._connection.is_closed())

    async def commits_each_statement(self) -> bool:
        return not self._connection.is_in_transaction()

    async def ask(self, question: "_Question", values: Values) -> Sequence[Row]:
        rows = await self._connection.fetch(question.numbered, *question.ordered(values))
        return [tuple(row) for row in rows]


class _DbApi:
    """Django's connection, psycopg2's, and whatever else speaks DB-API with %s."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def is_closed(self) -> bool:
        return False  # Django opens its connection again, and the others say so themselves

    def commits_each_statement(self) -> bool:
        asked = getattr(self._connection, "get_autocommit", None)
        return bool(asked() if callable(asked) else getattr(self._connection, "autocommit", False))

    def ask(self, question: "_Question", values: Values) -> Sequence[Row]:
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(question.positional, question.ordered(values))
            return list(cursor.fetchall())


def _library(connection: Any) -> _Library:
    if isinstance(connection, psycopg.Connection):
        return _Psycopg(connection)
    if _comes_from(connection, "sqlalchemy") and callable(getattr(connection, "execute", None)):
        return _Sqlalchemy(connection)
    if getattr(connection, "vendor", "postgresql") != "postgresql":
        raise BadInput(f"conn= got Django's connection to {connection.vendor}; jobs live in PostgreSQL")
    if callable(getattr(connection, "cursor", None)):
        return _DbApi(connection)
    raise BadInput(
        f"conn= got {_kind(connection)}; it takes a psycopg or asyncpg connection, an SQLAlchemy Session or Connection "
        "(sync or async), Django's connection, or any DB-API connection"
    )


def _async_library(connection: Any) -> _AsyncLibrary | None:
    if isinstance(connection, psycopg.AsyncConnection):
        return _AsyncPsycopg(connection)
    if _comes_from(connection, "sqlalchemy.ext.asyncio") and callable(getattr(connection, "execute", None)):
        return _AsyncSqlalchemy(connection)
    if _comes_from(connection, "asyncpg") and callable(getattr(connection, "is_in_transaction", None)):
        return _Asyncpg(connection)
    return None


def _comes_from(connection: Any, package: str) -> bool:
    modules = (kind.__module__ for kind in type(connection).__mro__)
    return any(module == package or module.startswith(package + ".") for module in modules)


def _is_connection(connection: Any) -> bool:
    """Tell SQLAlchemy's connections from its sessions, which open again when they are closed."""
    return hasattr(connection, "get_isolation_level")


def _autocommits(connection: Any) -> bool:
    """Ask the driver: SQLAlchemy's own answer is the isolation level that the server has."""
    return bool(connection.connection.dbapi_connection.autocommit)


def _refuse_closed(library: _Library | _AsyncLibrary, connection: Any) -> None:
    if library.is_closed():
        raise BadInput(
            f"conn= got {_kind(connection)}, which is closed: enqueue while its transaction is open"
        )


def _not_together(connection: Any) -> BadInput:
    return BadInput(
        f"conn= got {_kind(connection)}, which commits each statement, and so many jobs need several: "
        "begin a transaction, or leave conn= out"
    )


def _kind(connection: Any) -> str:
    kind = type(connection)
    return f"{kind.__module__}.{kind.__qualname__}"


def _read(rows: Sequence[Row]) -> list[Enqueued]:
    """Read the answer; some drivers bring ids as text."""
    return [Enqueued(UUID(str(job_id)), bool(created)) for _, job_id, created in rows]


class _Question(NamedTuple):
    """A statement in the three ways that libraries write parameters."""

    named: str
    numbered: str
    positional: str
    names: tuple[str, ...]

    def ordered(self, values: Values) -> list[str | None]:
        return [values[name] for name in self.names]


@cache
def _question(name: str) -> _Question:
    """Read a statement of sql/foreign; each of its parameters stands in it once, as :name."""
    named = files("holdfast.store").joinpath("sql", "foreign", f"{name}.sql").read_text("utf-8")
    names = tuple(_PARAMETER.findall(named))
    numbers = {given: f"${place}" for place, given in enumerate(names, start=1)}
    numbered = _PARAMETER.sub(lambda found: numbers[found[1]], named)
    return _Question(named, numbered, _PARAMETER.sub("%s", named), names)


_PARAMETER = re.compile(r"(?<!:):([a-z]+)")


def _jobs(part: Sequence[NewJob], declared: str) -> Values:
    return {"jobs": document(part), "declared": declared}


@cache
def _sqlalchemy_text(statement: str) -> Any:
    from sqlalchemy import text  # noqa: PLC0415 - only its users have it

    return text(statement)
