"""Who has streams open in this process, so that a server which waits for its connections can stop."""

import asyncio
from typing import Protocol
from weakref import WeakSet


class Hub(Protocol):
    """What streams are read from."""

    loop: asyncio.AbstractEventLoop | None

    def end(self) -> None:
        """End all streams; their readers come again to whoever serves next."""

    async def close(self) -> None:
        """End all streams and hang up."""


_all: "WeakSet[Hub]" = WeakSet()


def remember(hub: Hub) -> None:
    """Remember who has streams, for as long as it is there."""
    _all.add(hub)


def end_streams() -> None:
    """End the streams of this event loop."""
    for hub in _here():
        hub.end()


async def close_streams() -> None:
    """End the streams of this event loop, and hang up."""
    for hub in _here():
        await hub.close()


def _here() -> list[Hub]:
    return [hub for hub in _all if hub.loop is asyncio.get_running_loop()]
