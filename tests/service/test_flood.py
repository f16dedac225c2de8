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
SECONDS = 300 if LONG else 1
ROUNDS = times(1, 5)


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
    url: str, key: str, a_second: float, until: float, at_least: int = 1
) -> tuple[Counter[int], list[float]]:
    """Ask so often, until a moment and a number have come; gives the answers' statuses and how long each took."""
    statuses: Counter[int] = Counter()
    waits: list[float] = []
    async with calling(url, key) as caller:
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
            # As often as it may: this is what the other one is used to, and a fifth of the time is enough to know it.
            until = time.monotonic() + SECONDS / 5
            calm, _ = await asyncio.gather(
                pace(server.url, quiet, RATE / 2, until), pace(server.url, busy, RATE, until)
            )
            began = time.monotonic()
            until = began + SECONDS
            flooded, *floods = await asyncio.gather(
                pace(server.url, quiet, RATE / 2, until),
                *(pace(server.url, busy, max(RATE, 20), until, at_least=20) for _ in range(10)),
            )

            told = sum((statuses for statuses, _ in floods), Counter[int]())
            assert set(told) == {200, 429}
            # Two seconds are saved up.
            assert told[200] <= RATE * (time.monotonic() - began + 2) + 1
            assert set(flooded[0]) == set(calm[0]) == {200}
            assert not LONG or p99(flooded[1]) < 2 * p99(calm[1])
