"""Senders over kept connections: at a fixed rate, whatever became of the requests before, or as fast as answers come."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from benchmarks.report import percentile

MakeRequest = Callable[[int], bytes]
AT_ONCE = 20
KEPT_SECONDS = 3.0  # the server hangs up after five, perhaps at the moment of the next request


class Refused(Exception):
    """A request was not answered as it should have been."""


def written(method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> bytes:
    """Write a request."""
    told = {"Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": str(len(body))}
    lines = [f"{name}: {value}" for name, value in {**told, **(headers or {})}.items()]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode() + body


class Connections:
    """Connections that are kept, and made when none is free."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[float, asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def send(self, request: bytes) -> bytes:
        """Send a request and read the body of its answer."""
        reader, writer = await self._open()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        body = await reader.readexactly(int(length.partition(b":")[2]))
        self._idle.append((time.monotonic(), reader, writer))
        if not head.split(None, 2)[1].startswith(b"2"):
            raise Refused(f"{head.splitlines()[0].decode()}: {body.decode(errors='replace')[:300]}")
        return body

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while self._idle:
            since, reader, writer = self._idle.pop()
            if time.monotonic() - since < KEPT_SECONDS and not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_connection("127.0.0.1", self._port)

    def close(self) -> None:
        """Hang up."""
        for _, _, writer in self._idle:
            writer.close()


async def at_rate(port: int, make: MakeRequest, rate: float, seconds: float, warm_up: int) -> list[float]:
    """Send at a rate; gives milliseconds, each counted from the moment at which its request was to be sent."""
    connections, waits = Connections(port), list[float]()
    for number in range(
        0, warm_up, AT_ONCE
    ):  # as many connections as will be needed, also those to the database
        await asyncio.gather(*(connections.send(make(-number - each - 1)) for each in range(AT_ONCE)))

    async def send(number: int, at: float) -> None:
        await connections.send(requests[number])
        waits.append((time.perf_counter() - at) * 1000)

    # Written beforehand: the sender shares its cores with what it measures.
    requests = [make(number) for number in range(int(rate * seconds))]
    began = time.perf_counter()
    async with asyncio.TaskGroup() as senders:
        for number in range(len(requests)):
            at = began + number / rate
            await asyncio.sleep(max(at - time.perf_counter(), 0))
            senders.create_task(send(number, at))
    connections.close()
    return waits


async def as_fast_as_answered(port: int, make: MakeRequest, senders: int, seconds: float) -> float:
    """Send over so many connections without a pause; gives answers a second."""
    connections = Connections(port)
    await connections.send(make(-1))
    until = time.perf_counter() + seconds

    async def send(sender: int) -> int:
        done = 0
        while time.perf_counter() < until:
            await connections.send(make(done * senders + sender))
            done += 1
        return done

    began = time.perf_counter()
    answered = sum(await asyncio.gather(*(send(sender) for sender in range(senders))))
    rate = answered / (time.perf_counter() - began)
    connections.close()
    return rate


def percentiles(milliseconds: Sequence[float]) -> dict[str, float]:
    """Give the middle and the tail."""
    return {name: percentile(milliseconds, share) for name, share in (("p50", 0.5), ("p99", 0.99))}
