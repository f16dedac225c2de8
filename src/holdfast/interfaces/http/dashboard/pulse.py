"""The live stream of the dashboard: names of what has changed, and nothing else; pages then read their panels anew."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from starlette.requests import Request

from holdfast.domain.errors import HoldfastError
from holdfast.interfaces.http.live import RECHECK, SLOWEST, hang_up
from holdfast.runtime.link import Link
from holdfast.runtime.live import MOST_STREAMS, Full, remember
from holdfast.runtime.loop import cancelled
from holdfast.store.pulse import read_pulse

# Changes within this time are told at once; a page shows what was committed within a second.
LOOK_EVERY = 0.5
KEEP_ALIVE_EVERY = 30  # looks
LOADING = 5.0  # what was told while a page was on its way is told to it again
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class Pulse:
    """One look for all streams of a process, while there are any."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._streams: set[asyncio.Queue[bytes]] = set()
        self._looking: asyncio.Task[None] | None = None
        self._last: Mapping[str, Any] = {}
        self._told_at: dict[str, float] = {}
        self._is_ending = False
        self.loop: asyncio.AbstractEventLoop | None = None
        remember(self)

    async def stream(self, request: Request, send: Any, may_go_on: Callable[[], Awaitable[bool]]) -> None:
        """Tell one browser what changes, until it leaves, may no longer know, does not listen, or the server stops."""
        told = self._joined()
        leaving = asyncio.create_task(_until_gone(request))
        check_at = time.monotonic() + RECHECK
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            news = b"retry: 1000\nevent: ready\ndata:\n\n" + b"".join(map(_event, self._lately()))
            while news and not self._is_ending:
                async with asyncio.timeout(SLOWEST):
                    await send({"type": "http.response.body", "body": news, "more_body": True})
                news = await _next(told, leaving)
                if time.monotonic() > check_at:
                    check_at = time.monotonic() + RECHECK
                    news = news if await may_go_on() else b""
            if not leaving.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            hang_up(request)
        finally:
            leaving.cancel()
            self._streams.discard(told)

    def _joined(self) -> asyncio.Queue[bytes]:
        if len(self._streams) >= MOST_STREAMS:
            raise Full(f"this server has {MOST_STREAMS} streams already")
        if self.loop is not asyncio.get_running_loop():  # served anew, after another loop ended
            self.loop, self._is_ending, self._looking = asyncio.get_running_loop(), False, None
            self._streams.clear()
        told: asyncio.Queue[bytes] = asyncio.Queue(maxsize=20)
        self._streams.add(told)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return told

    def end(self) -> None:
        """Let every browser go; it comes again."""
        self._is_ending = True
        self._say(b"")

    async def close(self) -> None:
        """Let every browser go, and look no more."""
        self.end()
        if self._looking is not None:
            await cancelled([self._looking])

    async def _look(self) -> None:
        looks = 0
        while self._streams:
            with suppress(HoldfastError):  # pages say themselves that the database is away
                self._tell(await self._link.aperform_once(read_pulse()))
            looks += 1
            if looks % KEEP_ALIVE_EVERY == 0:
                self._say(_event("beat"))  # a browser that hears nothing for long stops trusting the stream
            await asyncio.sleep(LOOK_EVERY)

    def _tell(self, now: Mapping[str, Any]) -> None:
        # The first look of all tells everything: nobody knows what a page was made from.
        changed = [name for name, value in now.items() if name not in self._last or self._last[name] != value]
        self._last = now
        self._told_at |= dict.fromkeys(changed, time.monotonic())
        for name in changed:
            self._say(_event(name))

    def _lately(self) -> list[str]:
        since = time.monotonic() - LOADING
        return [name for name, at in self._told_at.items() if at > since]

    def _say(self, text: bytes) -> None:
        for told in self._streams:
            with suppress(
                asyncio.QueueFull
            ):  # it has not read the last twenty: what it reads next shows this too
                told.put_nowait(text)


def _event(name: str) -> bytes:
    return f"event: {name}\ndata:\n\n".encode()


async def _next(told: asyncio.Queue[bytes], leaving: asyncio.Task[None]) -> bytes:
    """Wait for what is to be told; nothing to who has left."""
    hearing = asyncio.create_task(told.get())
    try:
        await asyncio.wait({hearing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return b"" if leaving.done() else hearing.result()
    finally:
        if not hearing.done():
            hearing.cancel()


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
