"""Connections shared by whoever asks: taken, used, put back; those that only a rush needed are closed one by one afterwards."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Generic, TypeVar

from holdfast.store.connection import AsyncSession, Database, Session

# Questions that are asked at once; who comes later waits for a place.
MOST = 10
# Transactions that are open at once. Most of their time is a commit's wait for the disk, and those that wait together are
# written together: with 10 places a disk that takes 30 ms let through 210 events a second of webhooks, with 20 all 300.
MOST_LASTING = 20
# As many stay open, however little they are used; of the others one is closed whenever one is put back, a minute later.
KEPT = 10
RUSH_SECONDS = 60.0
# A new connection costs the database 30 ms of work until its first transaction has gone through, and one in use is back in
# five: a rush that opened as many as it would like to have would wait for them longer than for those that there are.
GROW_SECONDS = 0.02

S = TypeVar("S", Session, AsyncSession)


class _Idle(Generic[S]):
    """What nobody uses now. Who was used last is lent first: so those of a rush stay behind, and are seen to be needless."""

    def __init__(self) -> None:
        self._sessions: list[tuple[float, S]] = []

    def take(self) -> S | None:
        """Give one, if there is one; threads may ask at the same time."""
        try:
            return self._sessions.pop()[1]
        except IndexError:
            return None

    def put(self, session: S) -> S | None:
        """Keep one that was used; gives one that nobody has needed for long, to be closed."""
        now = time.monotonic()
        self._sessions.append((now, session))
        with suppress(IndexError):  # other threads may take all of them meanwhile
            if len(self._sessions) > KEPT and self._sessions[0][0] < now - RUSH_SECONDS:
                return self._sessions.pop(0)[1]
        return None


class Sessions:
    """Sync sessions shared by threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._places = threading.BoundedSemaphore(MOST)
        self._lasting = threading.BoundedSemaphore(MOST_LASTING)
        self._idle = _Idle[Session]()

    @contextmanager
    def session(self, *, lasts: bool = False) -> Iterator[Session]:
        """Borrow a session. One that lasts as long as a task likes has a place apart: what is asked inside it must find another."""
        with self._lasting if lasts else self._places:
            session = self._idle.take() or Session(self._database, "holdfast")
            try:
                yield session
            finally:
                self._take_back(session)

    def _take_back(self, session: Session) -> None:
        if session.is_lost:  # what ended one has perhaps ended all
            self.close()
        session.rest()
        if needless := self._idle.put(session):
            needless.close()

    def close(self) -> None:
        """Close what is idle."""
        while session := self._idle.take():
            session.close()


class AsyncSessions:
    """Async sessions shared by the tasks of one event loop."""

    def __init__(self, database: Database, application: str = "holdfast") -> None:
        self._database = database
        self._application = application
        self._places = asyncio.Semaphore(MOST)
        self._lasting = asyncio.Semaphore(MOST_LASTING)
        self._idle = _Idle[AsyncSession]()
        self._lent = 0  # with those that are on their way from one borrower to the next
        self._waiting: deque[asyncio.Future[AsyncSession]] = deque()
        self._grew_at = -GROW_SECONDS
        self._closed = False

    @asynccontextmanager
    async def session(self, *, lasts: bool = False) -> AsyncIterator[AsyncSession]:
        """Borrow a session. One that lasts as long as a task likes has a place apart: what is asked inside it must find another."""
        async with self._lasting if lasts else self._places:
            session = await self._borrowed()
            try:
                yield session
            finally:
                await self._take_back(session)

    async def _borrowed(self) -> AsyncSession:
        session = self._idle.take()
        if session is None and self._lent and (given := await self._given_back()):
            return given
        self._lent += 1
        return session or self._another()

    def _another(self) -> AsyncSession:
        self._grew_at = time.monotonic()
        return AsyncSession(self._database, self._application)

    async def _given_back(self) -> AsyncSession | None:
        """Wait for one that is in use, in the order of coming; None when it is time to open another."""
        coming: asyncio.Future[AsyncSession] = asyncio.get_running_loop().create_future()
        self._waiting.append(coming)
        try:
            while not coming.done():
                await asyncio.wait([coming], timeout=GROW_SECONDS)
                if not coming.done() and time.monotonic() - self._grew_at >= GROW_SECONDS:
                    return None
        except asyncio.CancelledError:
            if coming.done():  # it was given at the same moment
                await self._take_back(coming.result())
            raise
        finally:
            with suppress(ValueError):
                self._waiting.remove(coming)
        return coming.result()

    async def _take_back(self, session: AsyncSession) -> None:
        if session.is_lost:  # what ended one has perhaps ended all
            await self._close_idle()
        await session.rest()
        if self._waiting:
            self._waiting.popleft().set_result(session)
            return
        self._lent -= 1
        # Somebody else of the same loop may have closed all while this one was in use.
        if needless := session if self._closed else self._idle.put(session):
            await needless.close()

    async def _close_idle(self) -> None:
        while session := self._idle.take():
            await session.close()

    async def close(self) -> None:
        """Close what is idle, and the others as they come back."""
        self._closed = True
        await self._close_idle()

    def abandon(self) -> None:
        """Close what the event loop left idle when it ended."""
        while session := self._idle.take():
            session.abandon()
