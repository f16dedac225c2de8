"""Live events for many readers at once: one connection listens for all, and each topic is read once for everybody who follows it.

A reader has no queue that could overflow. It has a place, and asks for what lies behind it: from the topic's last events, which all
share, or from the database when it has fallen further behind.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from holdfast.domain import live
from holdfast.domain.errors import HoldfastError
from holdfast.domain.live import ChannelTopic, JobTopic, LiveEvent, News, Place, Topic
from holdfast.runtime.feed import SAY_EVERY, Ear
from holdfast.runtime.link import Link
from holdfast.runtime.logs import events
from holdfast.runtime.loop import cancelled
from holdfast.runtime.outage import Outage
from holdfast.runtime.streams import remember
from holdfast.store.live import follow_channel, follow_job, read_channels, read_jobs

MOST_STREAMS = 2000
MOST_OF_TENANT = 500
# Further behind than this a reader is told to begin anew.
MOST_REPLAYED = 10_000
PAGE = 200
# What a topic keeps for readers that are a moment late.
RECENT_BYTES = 32 * 1024
# Notices are hints: what they miss is found by looking, for all topics at once. Of jobs there are none.
LOOK_EVERY = 1.0
LOOK_AT_JOBS_EVERY = 0.5
LINGER = 5.0
_TOPICS_A_QUESTION = 100


class Full(Exception):
    """There are as many streams as there may be."""


class _Source:
    """A topic that somebody follows: how far it has been read, and its last events."""

    def __init__(self, topic: Topic, head: Place, now: float) -> None:
        self.topic = topic
        self.head = head
        self.start = head  # what lies between start and head is in recent
        self.recent: deque[LiveEvent] = deque()
        self.readers: set[Reader] = set()
        self.said_at = now
        self._bytes = 0
        self._written: dict[Place, tuple[bytes, Place]] = {}

    def add(self, news: News) -> bool:
        """Take what came, and tell the readers; answers whether anything did."""
        if not live.lags(self.head, news.place):
            return False
        self.head = live.later(self.head, news.place)
        for event in news.events:
            self.recent.append(event)
            self._bytes += len(event.body)
        while self._bytes > RECENT_BYTES:
            gone = self.recent.popleft()
            self._bytes -= len(gone.body)
            self.start = live.later(self.start, gone.place)
        self._written.clear()
        for reader in self.readers:
            reader.woken.set()
        return True

    def written_behind(self, place: Place) -> tuple[bytes, Place]:
        """Write what lies behind a place that is not before the start, once for all readers that stand there."""
        if place not in self._written:
            behind = [event for event in self.recent if live.lags(place, event.place)]
            self._written[place] = live.written_news(News(behind, self.head), place)
        return self._written[place]


class Reader:
    """One stream's reader: a place in a topic."""

    def __init__(self, hub: "Live", source: _Source, place: Place, first: LiveEvent | None) -> None:
        self.place = place
        self.woken = asyncio.Event()
        self._hub = hub
        self._source = source
        self._first = first
        self._has_left = False

    @property
    def is_over(self) -> bool:
        """Whether there is nobody to read for any more."""
        return self._has_left or self._hub.is_ending

    def leave(self) -> None:
        """Stop reading."""
        self._has_left = True
        self.woken.set()

    def beginning(self) -> bytes:
        """Give what a stream begins with. A reset comes before the id that lies behind it: who is cut between them has seen it."""
        return (live.identified(self._first, self.place) if self._first else b"") + live.ready(self.place)

    async def next(self, patience: float) -> bytes:
        """Give what has come, as it is written to a stream; nothing when nothing came in so many seconds, or it is over."""
        until = asyncio.get_running_loop().time() + patience
        with suppress(TimeoutError):
            while not self.is_over:
                self.woken.clear()
                if written := await self._written():
                    return written
                async with asyncio.timeout_at(until):
                    await self.woken.wait()
        return b""

    async def _written(self) -> bytes:
        written, self.place = await self._behind()
        return written

    async def _behind(self) -> tuple[bytes, Place]:
        place = self.place
        while live.lags(place, self._source.start):
            (news,) = await self._hub.read([self._source.topic], [place])
            if not live.lags(place, news.place):
                start = self._source.start
                return live.written_news(News([live.reset(start, live.GONE)], start), place)
            if news.events:
                return live.written_news(news, place)
            place = news.place
        return self._source.written_behind(place)


class Live:
    """All streams of an app in one process."""

    def __init__(self, link: Link, most: int = MOST_STREAMS, most_of_tenant: int = MOST_OF_TENANT) -> None:
        self.is_ending = False
        self._link = link
        self._most = most
        self._most_of_tenant = most_of_tenant
        self._streams: Counter[str | None] = Counter()
        self._sources: dict[Topic, _Source] = {}
        self._channels: Counter[str] = Counter()
        self._heard: set[str] = set()
        self._following: asyncio.Task[None] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        remember(self)

    # -- readers -----------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def reader(self, topic: Topic, after: str | None, tenant: str | None) -> AsyncIterator[Reader]:
        """Read a topic behind what a reader has had, or from now on. The tenant is the one whose streams are counted."""
        if self.loop is not asyncio.get_running_loop():  # served anew, after another loop ended
            self.loop, self.is_ending, self._following = asyncio.get_running_loop(), False, None
        self._refuse_too_many(tenant)
        self._streams[tenant] += 1
        try:
            reader, source = await self._joined(topic, after)
            try:
                yield reader
            finally:
                self._leave(reader, source)
        finally:
            self._streams[tenant] -= 1

    def _refuse_too_many(self, tenant: str | None) -> None:
        if self._streams.total() >= self._most:
            raise Full(f"this server has {self._most} streams already")
        if tenant is not None and self._streams[tenant] >= self._most_of_tenant:
            raise Full(f"this tenant has {self._most_of_tenant} streams here already")

    async def _joined(self, topic: Topic, after: str | None) -> tuple[Reader, _Source]:
        head = await self._head(topic)
        source = self._source(topic, head)
        place, first = _beginning(after, head)
        reader = Reader(self, source, place, first)
        source.readers.add(reader)
        if self._following is None:
            self._following = asyncio.create_task(self._follow())
            self._following.add_done_callback(self._ended)
        return reader, source

    def _source(self, topic: Topic, head: Place) -> _Source:
        if topic not in self._sources:
            self._sources[topic] = _Source(topic, head, asyncio.get_running_loop().time())
            if isinstance(topic, ChannelTopic):
                self._channels[topic.channel] += 1
        return self._sources[topic]

    def _leave(self, reader: Reader, source: _Source) -> None:
        source.readers.discard(reader)
        if source.readers:
            return
        del self._sources[source.topic]
        if isinstance(source.topic, ChannelTopic):
            self._channels[source.topic.channel] -= 1
            self._channels += Counter()  # forgets what nobody follows

    async def _head(self, topic: Topic) -> Place:
        if isinstance(topic, ChannelTopic):
            return (await self._link.aperform(follow_channel(topic.channel)),)
        head = await self._link.aperform(follow_job(topic.job_id))
        return head.place if head is not None else (0, 0)

    def end(self) -> None:
        """End all streams; their readers come again to whoever serves next, and say where they were."""
        self.is_ending = True
        for source in self._sources.values():
            for reader in source.readers:
                reader.woken.set()

    async def close(self) -> None:
        """End all streams and hang up."""
        self.end()
        if self._following is not None:
            await cancelled([self._following])

    # -- topics ------------------------------------------------------------------------------------------------------------

    async def read(self, topics: list[Topic], after: list[Place]) -> list[News]:
        """Read what lies behind a place in each of these topics."""
        found: dict[int, News] = {}
        channels = {n: topic for n, topic in enumerate(topics) if isinstance(topic, ChannelTopic)}
        if channels:
            asked = read_channels([*channels.values()], [after[n] for n in channels], PAGE)
            of_channels = await self._link.aperform(asked)
            found |= {
                n: live.channel_news(rows, after[n]) for n, rows in zip(channels, of_channels, strict=True)
            }
        jobs = {n: topic for n, topic in enumerate(topics) if isinstance(topic, JobTopic)}
        if jobs:
            of_jobs = await self._link.aperform(read_jobs([*jobs.values()], [after[n] for n in jobs], PAGE))
            found |= {n: live.job_news(rows, after[n]) for n, rows in zip(jobs, of_jobs, strict=True)}
        return [found[n] for n in range(len(topics))]

    async def _follow(self) -> None:
        """Read topics when they may have news, until nobody has followed any for a while."""
        ear, outage = Ear(self._link.database, self._hears), Outage("live")
        listening = asyncio.create_task(ear.listen())
        now = asyncio.get_running_loop().time
        used_at = look_at = now()
        try:
            while self._sources or now() - used_at < LINGER:
                used_at = now() if self._sources else used_at
                ear.heard.clear()
                sources, self._heard = self._of_heard_channels(), set()
                if now() >= look_at or not sources:
                    sources, look_at = list(self._sources.values()), now() + self._pause
                try:
                    await self._read_to_the_end(sources)
                except HoldfastError as error:
                    await asyncio.sleep(outage.failed(error))
                    look_at = now()
                    continue
                outage.ended()
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(look_at):
                        await ear.heard.wait()
            self._following = None  # before anything is waited for: who comes now starts another
        finally:
            await cancelled([listening])

    @property
    def _pause(self) -> float:
        has_jobs = any(isinstance(topic, JobTopic) for topic in self._sources)
        return LOOK_AT_JOBS_EVERY if has_jobs else LOOK_EVERY

    def _hears(self, channel: str) -> bool:
        """Note that a channel has news, if anybody follows it."""
        if self._channels[channel]:
            self._heard.add(channel)
        return self._channels[channel] > 0

    def _of_heard_channels(self) -> list[_Source]:
        if not self._heard:
            return []
        return [
            source
            for topic, source in self._sources.items()
            if isinstance(topic, ChannelTopic) and topic.channel in self._heard
        ]

    async def _read_to_the_end(self, sources: list[_Source]) -> None:
        while sources:
            with_news: list[_Source] = []
            for first in range(0, len(sources), _TOPICS_A_QUESTION):
                some = sources[first : first + _TOPICS_A_QUESTION]
                await self._say_now_and_then(some)
                news = await self.read([source.topic for source in some], [source.head for source in some])
                with_news += [source for source, found in zip(some, news, strict=True) if source.add(found)]
            sources = with_news

    async def _say_now_and_then(self, sources: Iterable[_Source]) -> None:
        now = asyncio.get_running_loop().time()
        for source in sources:
            if isinstance(source.topic, ChannelTopic) and now - source.said_at > SAY_EVERY:
                await self._link.aperform(follow_channel(source.topic.channel))
                source.said_at = now

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self._following is task:
            self._following = None
        if not task.cancelled() and (error := task.exception()) is not None:
            events.error("live:failed", exc_info=error)
            self._cut_all()

    def _cut_all(self) -> None:
        """Let every reader come again: nobody reads for them any more."""
        for source in self._sources.values():
            for reader in source.readers:
                reader.leave()


def _beginning(after: str | None, head: Place) -> tuple[Place, LiveEvent | None]:
    """Say where a reader begins, and what it is told first when that is not where it wanted to."""
    if after is None:
        return head, None
    place = live.read_place(after, head)
    if place is None or live.lags(head, place):
        return head, live.reset(head, live.UNKNOWN)
    if head[0] - place[0] > MOST_REPLAYED:
        return head, live.reset(head, live.TOO_MANY)
    return place, None
