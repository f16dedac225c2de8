"""A stream of server-sent events to one reader, which ends when it should."""

import asyncio
import time
from contextlib import suppress
from typing import Any, Protocol

from starlette.requests import Request

from holdfast.domain.access import Principal, Scope
from holdfast.domain.errors import HoldfastError
from holdfast.interfaces.http.access import Access

KEEP_ALIVE = 15.0
# Whoever loses their key or session is cut within a minute, a slow one's last bytes included.
RECHECK = 40.0
# What was sent and not taken for this long is not waited for: nothing is kept for a reader that does not read.
SLOWEST = 15.0
_COMMENT = b": still here\n\n"
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_FIRST = b"retry: 2000\n"


class Reading(Protocol):
    """What a stream is written from."""

    @property
    def is_over(self) -> bool:
        """Whether there is nobody to read for any more."""

    def leave(self) -> None:
        """Stop reading."""

    def beginning(self) -> bytes:
        """Give what a stream begins with."""

    async def next(self, patience: float) -> bytes:
        """Give what has come; nothing when nothing came in so many seconds, or it is over."""


class Stream:
    """One answer that goes on until its reader leaves, may no longer read, does not read, or the server stops."""

    def __init__(
        self, access: Access, request: Request, principal: Principal, reader: Reading, send: Any
    ) -> None:
        self._access = access
        self._request = request
        self._principal = principal
        self._reader = reader
        self._send = send
        self._check_at = time.monotonic() + RECHECK

    async def run(self) -> None:
        """Write what the reader reads."""
        watching = asyncio.create_task(self._until_gone())
        try:
            await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await self._write(_FIRST + self._reader.beginning())
            while not self._reader.is_over and await self._may_go_on():
                patience = max(min(KEEP_ALIVE, self._check_at - time.monotonic()), 0.0)
                written = await self._reader.next(patience)
                if not self._reader.is_over:
                    await self._write(written or _COMMENT)
            await self._write(b"", more=False)
        except TimeoutError:
            self._hang_up()
        except (HoldfastError, OSError):
            # The database is away, or the reader: either way it comes again, and says where it was.
            with suppress(TimeoutError, OSError):
                await self._write(b"", more=False)
        finally:
            watching.cancel()

    async def _until_gone(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self._reader.leave()

    async def _may_go_on(self) -> bool:
        if time.monotonic() < self._check_at:
            return True
        self._check_at = time.monotonic() + RECHECK
        now = await self._access.again(self._request)
        return now is not None and now.may(Scope.READ) and now.tenant == self._principal.tenant

    async def _write(self, body: bytes, *, more: bool = True) -> None:
        async with asyncio.timeout(SLOWEST):
            await self._send({"type": "http.response.body", "body": body, "more_body": more})

    def _hang_up(self) -> None:
        """Cut the connection with all that waits in it, where the server can; elsewhere an unfinished answer ends it."""
        hang_up = self._request.scope.get("extensions", {}).get("holdfast.hang_up")
        if hang_up is not None:
            hang_up()
