"""Listening: a connection of its own that hears which queues have work, which jobs were cancelled, and that executors are to be called."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import uuid4

import psycopg

from holdfast.store.call import perform, perform_sync, statement
from holdfast.store.connection import Database, cut
from holdfast.store.errors import translated

PING_EVERY = 10.0
DEADLINE = 5.0


class Notice(NamedTuple):
    """What was said on which channel."""

    channel: str
    said: str


class Listener:
    """Hears notices until the connection is lost; then it raises, and the caller opens another and looks again."""

    def __init__(
        self,
        database: Database,
        questions: Sequence[str] = ("listen_wake", "listen_cancel", "listen_dispatch"),
    ) -> None:
        self._database = database
        self._questions = questions
        self._connection: psycopg.AsyncConnection[Any] | None = None

    async def open(self) -> None:
        """Connect and listen."""
        with translated():
            self._connection = await psycopg.AsyncConnection.connect(
                **self._database.arguments("holdfast listen")
            )
            for question in self._questions:
                await self._ask(self._connection, question)

    async def notices(self) -> AsyncIterator[Notice]:
        """Give what is heard; a silent connection is pinged, because a half-open one stays silent for ever."""
        assert self._connection is not None, "open first"  # noqa: S101 - a programming error
        while True:
            with translated():
                async for notice in self._connection.notifies(timeout=PING_EVERY):
                    yield Notice(notice.channel, notice.payload)
                await self._ask(self._connection, "ping")

    async def _ask(self, connection: psycopg.AsyncConnection[Any], question: str) -> None:
        timer = asyncio.get_running_loop().call_later(DEADLINE, cut, connection)
        try:
            await perform(connection, statement(question, list))
        finally:
            timer.cancel()

    async def close(self) -> None:
        """Hang up."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                await connection.close()


def hears_itself(database: Database, patience: float = 3.0) -> bool:
    """Tell whether a notification sent on one connection is heard on another; a transaction pooler swallows it."""
    said = uuid4().hex
    with translated():
        listening = psycopg.connect(**database.arguments("holdfast doctor"))
        speaking = psycopg.connect(**database.arguments("holdfast doctor"))
        with listening, speaking:
            perform_sync(listening, statement("listen_doctor", list))
            perform_sync(speaking, statement("notify_doctor", list, said=said))
            return any(
                notice.payload == said for notice in listening.notifies(timeout=patience, stop_after=1)
            )
