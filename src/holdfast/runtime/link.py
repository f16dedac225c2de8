"""An app's way to its database: connections on demand, and patience with what may be repeated."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from holdfast.domain.errors import DatabaseUnavailable
from holdfast.store.call import Call
from holdfast.store.connection import AsyncSession, Database, Session, require_database
from holdfast.store.pool import AsyncSessions, Sessions
from holdfast.store.transaction import AsyncTransaction, Transaction, open_async, open_sync

T = TypeVar("T")

# How long a call that may be repeated is repeated before its caller learns that the database is away.
PATIENCE = (0.05, 0.2, 0.5, 1.0, 2.0)
BATCH_DEADLINE = 300.0


class Link:
    """Connections are made when first needed; sync ones are shared by threads, async ones by an event loop."""

    def __init__(self, find: Callable[[], Database | None], application: str = "holdfast") -> None:
        self._find = find
        self._application = application
        self._database: Database | None = None
        self._sessions: Sessions | None = None
        self._async_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncSessions] = (
            WeakKeyDictionary()
        )
        self._beside: list[Link] = []

    def beside(self, application: str) -> "Link":
        """Make another way to the same database, whose connections are closed with these."""
        made = Link(lambda: self.database, application)
        self._beside.append(made)
        return made

    @property
    def database(self) -> Database:
        """Where the database is; found when first asked, so that importing an app needs none."""
        if self._database is None:
            self._database = self._find() or require_database()
        return self._database

    @property
    def found(self) -> Database | None:
        """Where the database is, if anybody has asked yet."""
        return self._database

    def use(self, database: Database) -> None:
        """Use this database from now on."""
        self.close()
        self._database = database
        self._sessions = None
        self._async_sessions = WeakKeyDictionary()

    def find_with(self, find: Callable[[], Database | None]) -> None:
        """Ask this function where the database is, when it is next needed."""
        self.close()
        self._find = find
        self._database = self._sessions = None
        self._async_sessions = WeakKeyDictionary()

    def perform(self, call: Call[T]) -> T:
        """Perform a call that may safely be repeated after a lost answer."""
        return self._patiently(lambda session: session.perform(call))

    def perform_once(self, call: Call[T]) -> T:
        """Perform a call that must not be repeated blindly."""
        with self._sync().session() as session:
            return session.perform(call)

    def perform_together(self, calls: Callable[[], Iterable[Call[T]]]) -> list[T]:
        """Perform repeatable calls in one transaction."""
        return self._patiently(lambda session: session.perform_together(calls(), BATCH_DEADLINE))

    async def aperform(self, call: Call[T]) -> T:
        """Perform a call that may safely be repeated after a lost answer."""
        return await self._apatiently(lambda session: session.perform(call))

    async def aperform_once(self, call: Call[T]) -> T:
        """Perform a call that must not be repeated blindly."""
        async with self._async().session() as session:
            return await session.perform(call)

    async def aperform_together(self, calls: Callable[[], Iterable[Call[T]]]) -> list[T]:
        """Perform repeatable calls in one transaction."""
        return await self._apatiently(lambda session: session.perform_together(calls(), BATCH_DEADLINE))

    @asynccontextmanager
    async def atransaction(self) -> AsyncIterator[AsyncTransaction]:
        """Open a transaction on a connection of our own; an answer to COMMIT that is lost is DatabaseUnavailable."""
        async with self._async().session(lasts=True) as session, open_async(session) as transaction:
            yield transaction

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction on a connection of our own; an answer to COMMIT that is lost is DatabaseUnavailable."""
        with self._sync().session(lasts=True) as session, open_sync(session) as transaction:
            yield transaction

    async def atogether(self, work: Callable[[Any], Awaitable[T]], then: Callable[[T], Call[Any]]) -> T:
        """Do work with a connection and then what it leads to, in one transaction."""
        async with self.atransaction() as transaction:
            value = await work(transaction.connection)
            await transaction.perform(then(value))
        return value

    def together(self, work: Callable[[Any], T], then: Callable[[T], Call[Any]]) -> T:
        """Do work with a connection and then what it leads to, in one transaction."""
        with self.transaction() as transaction:
            value = work(transaction.connection)
            transaction.perform(then(value))
        return value

    def _patiently(self, ask: Callable[[Session], T]) -> T:
        for pause in PATIENCE:
            try:
                with self._sync().session() as session:
                    return ask(session)
            except DatabaseUnavailable:
                time.sleep(pause)
        try:
            with self._sync().session() as session:
                return ask(session)
        except DatabaseUnavailable as error:
            raise self._away(error) from error

    async def _apatiently(self, ask: Callable[[AsyncSession], Awaitable[T]]) -> T:
        for pause in PATIENCE:
            try:
                async with self._async().session() as session:
                    return await ask(session)
            except DatabaseUnavailable:
                await asyncio.sleep(pause)
        try:
            async with self._async().session() as session:
                return await ask(session)
        except DatabaseUnavailable as error:
            raise self._away(error) from error

    def _away(self, error: DatabaseUnavailable) -> DatabaseUnavailable:
        where = f"{self.database.described} ({self.database.source})"
        return DatabaseUnavailable(f"{error}; asked {len(PATIENCE) + 1} times at {where}")

    def _sync(self) -> Sessions:
        if self._sessions is None:
            self._sessions = Sessions(self.database)
        return self._sessions

    def _async(self) -> AsyncSessions:
        loop = asyncio.get_running_loop()
        if loop not in self._async_sessions:
            self._abandon_ended()
            self._async_sessions[loop] = AsyncSessions(self.database, application=self._application)
        return self._async_sessions[loop]

    def close(self) -> None:
        """Close the idle sync connections, and those that event loops left behind when they ended."""
        if self._sessions is not None:
            self._sessions.close()
        self._abandon_ended()
        for other in self._beside:
            other.close()

    def _abandon_ended(self) -> None:
        for loop in [loop for loop in self._async_sessions if loop.is_closed()]:
            self._async_sessions.pop(loop).abandon()

    async def aclose(self) -> None:
        """Close the idle connections of this event loop, and the sync ones."""
        sessions = self._async_sessions.pop(asyncio.get_running_loop(), None)
        if sessions is not None:
            await sessions.close()
        for other in self._beside:
            await other.aclose()
        self.close()
