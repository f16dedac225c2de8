"""Transactions in which a task writes beside us: its errors stay the driver's own, those of the commit become ours."""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import psycopg

from holdfast.store.call import Call, perform, perform_sync
from holdfast.store.connection import AsyncSession, Session
from holdfast.store.errors import translated

T = TypeVar("T")


class AsyncTransaction:
    """An open transaction of an async task."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self.connection = connection

    async def perform(self, call: Call[T]) -> T:
        """Perform one of our calls in it."""
        return await perform(self.connection, call)


class Transaction:
    """An open transaction of a sync task."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def perform(self, call: Call[T]) -> T:
        """Perform one of our calls in it."""
        return perform_sync(self.connection, call)


@asynccontextmanager
async def open_async(session: AsyncSession) -> AsyncIterator[AsyncTransaction]:
    """Open a transaction that the end of the block commits, and an error rolls back."""
    connection = await session.connection()
    transaction = connection.transaction()
    with translated():
        await transaction.__aenter__()
    try:
        yield AsyncTransaction(connection)
    except BaseException:
        await transaction.__aexit__(*sys.exc_info())
        raise
    with translated():
        await transaction.__aexit__(None, None, None)


@contextmanager
def open_sync(session: Session) -> Iterator[Transaction]:
    """Open a transaction that the end of the block commits, and an error rolls back."""
    connection = session.connection()
    transaction = connection.transaction()
    with translated():
        transaction.__enter__()
    try:
        yield Transaction(connection)
    except BaseException:
        transaction.__exit__(*sys.exc_info())
        raise
    with translated():
        transaction.__exit__(None, None, None)
