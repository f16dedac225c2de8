"""Reading a channel: page by page for those who ask now and then, or live for those who follow."""

import asyncio
import json
import math
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from holdfast.domain.errors import BadInput, HoldfastError
from holdfast.domain.feed import FeedEvent, event_data
from holdfast.runtime.job_context import hidden_here
from holdfast.runtime.link import Link
from holdfast.runtime.loop import cancelled
from holdfast.runtime.outage import Outage
from holdfast.store.connection import Database
from holdfast.store.feed import open_channel, publish, read_feed
from holdfast.store.foreign import aask_through, ask_through
from holdfast.store.listen import Listener

PAGE = 500
# Notices are hints: what they miss is found by looking.
LOOK_EVERY = 1.0
SAY_EVERY = 1800.0


class Feed:
    """The events of one channel behind an id. Iterate to read what is there; `async for` goes on with what comes.

    Keep the id of the last event and pass it as `after=` to resume, in any process.
    """

    def __init__(self, link: Link, channel: str, after: int = 0) -> None:
        if not channel:
            raise BadInput("a channel has a name, e.g. subject:order-42, tenant:acme or one of your own")
        self.channel = channel
        self.after = after
        self._link = link
        self._said_at = -math.inf

    def __iter__(self) -> Iterator[FeedEvent]:
        """Give the events there are, and end."""
        self._link.perform(open_channel(self.channel))
        while page := self._link.perform(read_feed(self.channel, self.after, PAGE)):
            for event in page:
                self.after = event.id
                yield event

    async def __aiter__(self) -> AsyncGenerator[FeedEvent, None]:
        """Give the events there are, then those that come, until the caller has enough."""
        ear = Ear(self._link.database, self.channel.__eq__)
        listening = asyncio.create_task(ear.listen())
        try:
            while True:
                ear.heard.clear()
                await self._say_now_and_then()
                page = await self._link.aperform(read_feed(self.channel, self.after, PAGE))
                for event in page:
                    self.after = event.id
                    yield event
                if not page:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(ear.heard.wait(), LOOK_EVERY)
        finally:
            await cancelled([listening])

    async def _say_now_and_then(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._said_at > SAY_EVERY:
            await self._link.aperform(open_channel(self.channel))
            self._said_at = now


class Channels:
    """What an app can do with channels."""

    link: Link

    def feed(self, channel: str, *, after: int = 0) -> Feed:
        """Read a channel's events behind an id: iterate over what is there, or `async for` to follow it."""
        return Feed(self.link, channel, after)

    def publish(self, channel: str, kind: str, data: Mapping[str, Any], *, conn: Any = None) -> None:
        """Publish an event of your own; in the caller's transaction when conn is given."""
        written = _written(kind, data)
        if conn is None:
            self.link.perform_once(publish(channel, kind, written))
        else:
            ask_through(conn, "publish", _values(channel, kind, written), "app.apublish(…, conn=…)")

    async def apublish(self, channel: str, kind: str, data: Mapping[str, Any], *, conn: Any = None) -> None:
        """Publish an event of your own; in the caller's transaction when conn is given."""
        written = _written(kind, data)
        if conn is None:
            await self.link.aperform_once(publish(channel, kind, written))
        else:
            await aask_through(conn, "publish", _values(channel, kind, written))


def _written(kind: str, data: Mapping[str, Any]) -> str:
    """Write an event's data, without what the task redacts that publishes it."""
    written = event_data(kind, data)
    hidden = hidden_here()
    return json.dumps(hidden.value(json.loads(written))) if hidden else written


def _values(channel: str, kind: str, written: str) -> dict[str, str | None]:
    return {"channel": channel, "kind": kind, "data": written}


class Ear:
    """Hears that a channel of interest has news; deafness costs a second, never an event."""

    def __init__(self, database: Database, interests: Callable[[str], bool]) -> None:
        self._database = database
        self._interests = interests
        self.heard = asyncio.Event()

    async def listen(self) -> None:
        """Listen until cancelled, however often the connection is lost."""
        outage = Outage("listen")
        while True:
            listener = Listener(self._database, ("listen_feed",))
            try:
                await listener.open()
                outage.ended()
                self.heard.set()
                async for notice in listener.notices():
                    if self._interests(notice.said):
                        self.heard.set()
            except HoldfastError as error:
                await asyncio.sleep(outage.failed(error))
            finally:
                await listener.close()
