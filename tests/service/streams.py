"""A client of streams that reads bytes as they come, and can be cut anywhere."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Told:
    """One event of a stream."""

    id: str | None
    name: str
    data: dict[str, Any]


@dataclass
class Stream:
    """An open stream."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    comments: int = 0

    async def begin(self) -> None:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        self.status = int(head[0].split()[1])
        self.headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-1])
        }

    async def line(self) -> bytes | None:
        """Give a line of the body, unchunked; None at its end, however it ends."""
        while b"\n" not in self._buffer:
            try:
                size = int(await self.reader.readline() or b"0", 16)
                if size == 0:
                    return None
                self._buffer += await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            except (asyncio.IncompleteReadError, ConnectionError, ValueError):
                return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    _buffer: bytes = b""

    async def events(self) -> AsyncIterator[Told]:
        """Understand the stream as a browser does: an event counts when its empty line has come."""
        told: dict[str, str] = {}
        while (line := await self.line()) is not None:
            if line.startswith(b":"):
                self.comments += 1
            elif line:
                name, _, value = line.decode().partition(": ")
                assert name not in told, f"{name} twice in one event"
                told[name] = value
            elif told:
                if "data" in told:
                    yield Told(told.get("id"), told.get("event", "message"), json.loads(told["data"]))
                told = {}

    async def take(self, count: int, within: float = 20.0) -> list[Told]:
        """Take so many events, or as many as come before the stream ends."""
        taken: list[Told] = []
        try:
            async with asyncio.timeout(within):
                async for told in self.events():
                    taken.append(told)
                    if len(taken) == count:
                        break
        except TimeoutError:
            raise AssertionError(f"not {count} within {within} s, but {taken}") from None
        return taken

    def cut(self) -> None:
        self.writer.transport.abort()


@asynccontextmanager
async def streaming(
    url: str, path: str, *, key: str | None = None, last: str | None = None, buffer: int | None = None
) -> AsyncIterator[Stream]:
    """Open a stream as somebody; with a small buffer it can be blocked by not reading."""
    place = urlsplit(url)
    limit = buffer or 2**16
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=limit)
    asked = [f"GET {path} HTTP/1.1", f"Host: {place.netloc}"]
    asked += [f"Authorization: Bearer {key}"] if key else []
    asked += [f"Last-Event-ID: {last}"] if last is not None else []
    writer.write("\r\n".join([*asked, "", ""]).encode())
    stream = Stream(reader, writer)
    try:
        await stream.begin()
        yield stream
    finally:
        stream.cut()
