"""Transactions in which a task writes beside us: its errors stay the driver's own, those of the commit become ours."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from holdfast.domain.errors import TransactionAborted
from holdfast.store.call import Call, perform, perform_sync
from holdfast.store.connection import AsyncSession, Session, cut
from holdfast.store.errors import translated

T = TypeVar("T")


class AsyncTransaction:
    """An open transaction of an async task."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self.connection = connection

    async def perform(self, call: Call[T]) -> T:
        """Perform one of our calls in it."""
        return await perform(self.connection, call)

    async def in_thread(
        self, run: Callable[[Callable[[], T]], Awaitable[T]], work: Callable[["Transaction"], T]
    ) -> T:
        """Let sync code work in this very transaction, in a thread that `run` has; nobody else uses the connection meanwhile."""
        working = asyncio.ensure_future(run(lambda: _lend(self.connection, work)))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            # Nothing of it will be committed any more. The transaction ends when this is left, and two threads must not
            # speak on one connection.
            cut(self.connection)
            await asyncio.wait([working])
            raise


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
        _refuse_aborted(connection)
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
        _refuse_aborted(connection)
    except BaseException:
        transaction.__exit__(*sys.exc_info())
        raise
    with translated():
        transaction.__exit__(None, None, None)


def _refuse_aborted(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """Let nobody believe in a commit that PostgreSQL would answer with a rollback, and no error."""
    if connection.info.transaction_status is TransactionStatus.INERROR:
        raise TransactionAborted(
            "a statement of this transaction failed and its error was caught, so nothing of it can be committed: "
            "let the error through, or try the statement inside `with conn.transaction():`"
        )


def _lend(connection: psycopg.AsyncConnection[Any], work: Callable[[Transaction], T]) -> T:
    """Give the connection a sync face for as long as the work lasts."""
    handlers = connection.pgconn.notice_handler, connection.pgconn.notify_handler
    lent: psycopg.Connection[Any] = psycopg.Connection(connection.pgconn)
    lent.prepare_threshold = None  # prepared statements have names, and those belong to the owner
    try:
        with lent.transaction():  # inside the owner's, which alone commits
            return work(Transaction(lent))
    finally:
        connection.pgconn.notice_handler, connection.pgconn.notify_handler = handlers
        # Whoever kept it has nothing in their hands any more, and its end closes nothing.
        del lent.pgconn
