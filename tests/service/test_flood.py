"""P9: one tenant asks ten times as often as it may, and another one waits no longer for it."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from holdfast import Holdfast
from holdfast.domain.access import Scope
from holdfast.runtime.access import create_key
from holdfast.testing import ScratchDatabase
from service.processes import serving
from world.often import LONG, times

# Requests a second that a key may make: so few in a short run that ten callers ask for more on any machine.
RATE = 20 if LONG else 2
SECONDS = 10 if LONG else 1
ROUNDS = times(1, 5)
# Floods of a round, five minutes in the long run. What it is like without one is measured between them: whatever else the machine does
# meanwhile delays both alike.
FLOODS = 30 if LONG else 1


class Caller:
    """Asks over one connection, as plainly as can be: the flood is to cost the server, and not this process."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: bytes) -> None:
        self._reader, self._writer, self._asked = reader, writer, asked

    async def ask(self) -> int:
        self._writer.write(self._asked)
        head = await self._reader.readuntil(b"\r\n\r\n")
        (length,) = [
            int(line[16:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: ")
        ]
        await self._reader.readexactly(length)
        return int(head.split()[1])


@asynccontextmanager
async def calling(url: str, key: str) -> AsyncIterator[Caller]:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    asked = (
        f"GET /api/v1/jobs?limit=1 HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {key}\r\n\r\n"
    )
    try:
        yield Caller(reader, writer, asked.encode())
    finally:
        writer.close()


async def pace(
    url: str, key: str, a_second: float, until: float, *, at_least: int = 1, after: float = 0.0
) -> tuple[Counter[int], list[float]]:
    """Ask so often, until a moment and a number have come; gives the answers' statuses and how long each took."""
    statuses: Counter[int] = Counter()
    waits: list[float] = []
    async with calling(url, key) as caller:
        await asyncio.sleep(after)
        while (began := time.monotonic()) < until or len(waits) < at_least:
            statuses[await caller.ask()] += 1
            waits.append(time.monotonic() - began)
            await asyncio.sleep(max(0.0, 1 / a_second - waits[-1]))
    return statuses, waits


def p99(waits: list[float]) -> float:
    return sorted(waits)[int(len(waits) * 0.99)]


async def test_a_tenant_that_floods_is_refused_and_another_one_notices_nothing(
    holdfast_db: ScratchDatabase,
) -> None:
    app = holdfast_db.use(Holdfast())
    busy, quiet = (create_key(app, name, scopes=[Scope.READ], tenant=name) for name in ("busy", "quiet"))
    app.close()
    with serving(holdfast_db, "server", HOLDFAST_RATE_LIMIT=str(RATE)) as server:
        for _ in range(ROUNDS):
            calm: list[float] = []
            flooded: list[float] = []
            for _ in range(FLOODS):
                calm += await waits_beside_whoever_asks_as_often_as_it_may(server.url, quiet, busy)
                flooded += await waits_beside_a_flood(server.url, quiet, busy)
            assert not LONG or p99(flooded) < 2 * p99(calm)


async def waits_beside_whoever_asks_as_often_as_it_may(url: str, quiet: str, busy: str) -> list[float]:
    until = time.monotonic() + SECONDS / 2
    (statuses, waits), _ = await asyncio.gather(
        pace(url, quiet, RATE / 2, until), pace(url, busy, RATE, until, after=0.5 / RATE)
    )
    assert set(statuses) == {200}
    return waits


async def waits_beside_a_flood(url: str, quiet: str, busy: str) -> list[float]:
    began = time.monotonic()
    until = began + SECONDS
    (statuses, waits), *floods = await asyncio.gather(
        pace(url, quiet, RATE / 2, until),
        *(pace(url, busy, max(RATE, 20), until, at_least=20, after=nth / 10 / RATE) for nth in range(10)),
    )
    told = sum((statuses for statuses, _ in floods), Counter[int]())
    assert set(told) == {200, 429}
    # Two seconds are saved up.
    assert told[200] <= RATE * (time.monotonic() - began + 2) + 1
    assert set(statuses) == {200}
    return waits
