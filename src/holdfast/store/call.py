"""A database operation as a value: which SQL, with what, and how to read its rows. Performed sync or async."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Generic, TypeVar

import psycopg

from holdfast.store.errors import translated

T = TypeVar("T")
Row = tuple[Any, ...]
_Cursor = TypeVar("_Cursor", psycopg.Cursor[Any], psycopg.AsyncCursor[Any])


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """What to ask the database, and how to understand the answer."""

    sql: str
    parameters: Sequence[Any] | dict[str, Any] = field(repr=False)  # payloads, keys, passwords
    read: Callable[[list[Row]], T]
    binary: bool = False
    prepare: bool | None = None  # None: once it has been asked often
    looks: bool = True  # at tables itself: their rows are hidden from whoever has not said whose to see


def nothing(_rows: list[Row]) -> None:
    """Read an answer that says nothing."""


def single(rows: list[Row]) -> Any:
    """Read the one value of the one row."""
    return rows[0][0]


@cache
def _function_sql(function: str, argument_types: tuple[str, ...]) -> str:
    # %b sends ids and numbers in binary; text and JSON travel as text.
    places = ", ".join(f"%{'t' if kind else 'b'}{'::' + kind if kind else ''}" for kind in argument_types)
    return f"select * from holdfast.{function}({places})"  # noqa: S608 - names are our own constants # nosec B608


def function(
    name: str,
    *arguments: Any,
    read: Callable[[list[Row]], T],
    types: Sequence[str] | None = None,
    binary: bool = False,
) -> Call[T]:
    """Call one of the machine's functions; a type beside an argument casts it, an empty one sends it as it is."""
    kinds = tuple(types) if types is not None else ("",) * len(arguments)
    return Call(_function_sql(name, kinds), arguments, read, binary, looks=False)


@cache
def _query_sql(name: str) -> str:
    return files("holdfast.store").joinpath("sql", "queries", f"{name}.sql").read_text("utf-8")


def query(name: str, read: Callable[[list[Row]], T], **parameters: Any) -> Call[T]:
    """Run one of the reads in sql/queries."""
    return Call(_query_sql(name), parameters, read)


def statement(name: str, read: Callable[[list[Row]], T], **parameters: Any) -> Call[T]:
    """Run one of the statements in sql/queries that look at no table with rows of tenants."""
    return Call(_query_sql(name), parameters, read, looks=False)


def perform_alone_sync(connection: psycopg.Connection[Any], call: Call[T]) -> T:
    """Perform a call in a transaction of its own, for nobody but ourselves: it sees the rows of all tenants."""
    if not call.looks:
        return perform_sync(connection, call)
    with translated():
        cursor = psycopg.ClientCursor(connection)
        cursor.execute(_seeing_all(call), call.parameters)
        return call.read(_last(cursor).fetchall())


async def perform_alone(connection: psycopg.AsyncConnection[Any], call: Call[T]) -> T:
    """Perform a call in a transaction of its own, for nobody but ourselves: it sees the rows of all tenants."""
    if not call.looks:
        return await perform(connection, call)
    with translated():
        cursor = psycopg.AsyncClientCursor(connection)
        await cursor.execute(_seeing_all(call), call.parameters)
        return call.read(await _last(cursor).fetchall())


def _seeing_all(call: Call[Any]) -> str:
    # Two statements in one message are one transaction, also behind a pooler; so neither a second round trip is needed nor a
    # lock around a connection that tasks share.
    return _query_sql("enter_all") + call.sql


def _last(cursor: _Cursor) -> _Cursor:
    while cursor.nextset():
        pass
    return cursor


def perform_sync(connection: psycopg.Connection[Any], call: Call[T]) -> T:
    """Perform a call and read its answer."""
    with translated():
        cursor = connection.cursor(binary=call.binary)
        cursor.execute(call.sql, call.parameters, prepare=call.prepare)
        return call.read(cursor.fetchall() if cursor.description else [])


async def perform(connection: psycopg.AsyncConnection[Any], call: Call[T]) -> T:
    """Perform a call and read its answer."""
    with translated():
        cursor = connection.cursor(binary=call.binary)
        await cursor.execute(call.sql, call.parameters, prepare=call.prepare)
        return call.read(await cursor.fetchall() if cursor.description else [])


def perform_together_sync(connection: psycopg.Connection[Any], calls: Iterable[Call[T]]) -> list[T]:
    """Perform calls in one transaction; pipelined, so that making a call overlaps with the server's work on the last."""
    with translated(), connection.transaction(), connection.pipeline():
        asked = [
            (connection.cursor(binary=call.binary).execute(call.sql, call.parameters), call.read)
            for call in calls
        ]
        return [read(cursor.fetchall()) for cursor, read in asked]


async def perform_together(connection: psycopg.AsyncConnection[Any], calls: Iterable[Call[T]]) -> list[T]:
    """Perform calls in one transaction; pipelined, so that making a call overlaps with the server's work on the last."""
    with translated():
        async with connection.transaction(), connection.pipeline():
            asked = [
                (await connection.cursor(binary=call.binary).execute(call.sql, call.parameters), call.read)
                for call in calls
            ]
            return [read(await cursor.fetchall()) for cursor, read in asked]
