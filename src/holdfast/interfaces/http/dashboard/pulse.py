"""The live stream of the dashboard: names of what has changed, and nothing else; pages then read their panels anew."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from starlette.requests import Request

from holdfast.domain.errors import HoldfastError
from holdfast.runtime.link import Link
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

    async def stream(self, request: Request, send: Any) -> None:
        """Tell one browser what changes, until it leaves."""
        told: asyncio.Queue[bytes] = asyncio.Queue(maxsize=20)
        self._streams.add(told)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        leaving = asyncio.create_task(_until_gone(request))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            first = b"retry: 1000\nevent: ready\ndata:\n\n" + b"".join(map(_event, self._lately()))
            await send({"type": "http.response.body", "body": first, "more_body": True})
            while not leaving.done():
                hearing = asyncio.create_task(told.get())
                try:
                    await asyncio.wait({hearing, leaving}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not hearing.done():
                        hearing.cancel()
                if leaving.done():
                    break
                await send({"type": "http.response.body", "body": hearing.result(), "more_body": True})
        finally:
            leaving.cancel()
            self._streams.discard(told)

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


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
