"""Reading a request's body with a limit in size and time, before anybody looks at it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

LARGEST_BODY = 64 * 1024
SLOWEST_BODY = 10.0


class Streams(Protocol):
    """What is needed of a request."""

    def stream(self) -> AsyncIterator[bytes]:
        """Give the body piece by piece."""


class TooLarge(Exception):
    """The body is larger than anybody may send."""


class TooSlow(Exception):
    """The body did not arrive in time."""


async def read_body(request: Streams, largest: int = LARGEST_BODY, slowest: float | None = None) -> bytes:
    """Read the whole body, and no more than is allowed, whatever its headers say."""
    read = bytearray()
    try:
        async with asyncio.timeout(SLOWEST_BODY if slowest is None else slowest):
            async for some in request.stream():
                read += some
                if len(read) > largest:
                    raise TooLarge
    except TimeoutError as error:
        raise TooSlow from error
    return bytes(read)
