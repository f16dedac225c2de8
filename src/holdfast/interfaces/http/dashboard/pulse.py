"""The live stream of the dashboard: names of what has changed, and nothing else; pages then read their panels anew."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from holdfast.domain.errors import HoldfastError
from holdfast.runtime.link import Link
from holdfast.runtime.live import MOST_STREAMS, Full
from holdfast.runtime.loop import cancelled
from holdfast.runtime.streams import remember
from holdfast.store.pulse import read_pulse

# Changes within this time are told at once; a page shows what was committed within a second.
LOOK_EVERY = 0.5
LOADING = (
    5.0  # what was told while a page was on its way is told to it again; one that took longer is told so
)


class PulseReader:
    """One browser: what has changed since it was last told."""

    def __init__(self, pulse: "Pulse", changed: set[str]) -> None:
        self.changed = changed
        self.woken = asyncio.Event()
        self._pulse = pulse
        self._has_left = False

    @property
    def is_over(self) -> bool:
        """Whether there is nobody to read for any more."""
        return self._has_left or self._pulse.is_ending

    def leave(self) -> None:
        """Stop reading."""
        self._has_left = True
        self.woken.set()

    def beginning(self) -> bytes:
        """Say that what follows is live, and what the page may have missed on its way: of the last so many milliseconds."""
        return _event("ready", f"{LOADING * 1000:.0f}") + self._told()

    async def next(self, patience: float) -> bytes:
        """Name what has changed; a sign of life when nothing did in so many seconds: silence is not trusted for long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self.woken.wait()
        self.woken.clear()
        return self._told() or _event("beat")

    def _told(self) -> bytes:
        names, self.changed = sorted(self.changed), set()
        return b"".join(_event(name) for name in names)


class Pulse:
    """One look for all streams of a process, while there are any."""

    def __init__(self, link: Link) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.is_ending = False
        self._link = link
        self._readers: set[PulseReader] = set()
        self._looking: asyncio.Task[None] | None = None
        self._last: Mapping[str, Any] = {}
        self._told_at: dict[str, float] = {}
        remember(self)

    @contextmanager
    def reader(self) -> Iterator[PulseReader]:
        """Read for one browser, until it leaves."""
        if self.loop is not asyncio.get_running_loop():  # served anew, after another loop ended
            self.loop, self.is_ending, self._looking = asyncio.get_running_loop(), False, None
        if len(self._readers) >= MOST_STREAMS:
            raise Full(f"this server has {MOST_STREAMS} streams already")
        reader = PulseReader(self, self._lately())
        self._readers.add(reader)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            yield reader
        finally:
            self._readers.discard(reader)

    def end(self) -> None:
        """End all streams; their browsers come again to whoever serves next."""
        self.is_ending = True
        for reader in self._readers:
            reader.woken.set()

    async def close(self) -> None:
        """End all streams and hang up."""
        self.end()
        if self._looking is not None:
            await cancelled([self._looking])

    async def _look(self) -> None:
        while self._readers:
            with suppress(HoldfastError):  # pages say themselves that the database is away
                self._tell(await self._link.aperform_once(read_pulse()))
            await asyncio.sleep(LOOK_EVERY)

    def _tell(self, now: Mapping[str, Any]) -> None:
        # The first look of all tells everything: nobody knows what a page was made from.
        changed = {name for name, value in now.items() if name not in self._last or self._last[name] != value}
        self._last = now
        self._told_at |= dict.fromkeys(changed, time.monotonic())
        for reader in self._readers if changed else ():
            reader.changed |= changed
            reader.woken.set()

    def _lately(self) -> set[str]:
        since = time.monotonic() - LOADING
        return {name for name, at in self._told_at.items() if at > since}


def _event(name: str, data: str = "") -> bytes:
    return f"event: {name}\ndata:{data}\n\n".encode()
