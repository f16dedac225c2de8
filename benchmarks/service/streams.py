"""Readers of many streams at once: how late events arrive, and what the streams cost the server."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.service.load import percentiles, written
from benchmarks.service.served import EVENTS, TICK

from holdfast import Holdfast
from holdfast.store.project import project

CHANNEL = "bench"


def processor_seconds(pid: int) -> float:
    """Give the seconds of a core that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int) -> float:
    """Give the memory that a process has."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class Readers:
    """Many streams, read as they come; keeps how late each event was."""

    def __init__(self, port: int, number: int, headers: dict[str, str]) -> None:
        self._port = port
        self._number = number
        self._request = written("GET", f"{EVENTS}?subject={CHANNEL}", headers)
        self._ready = 0
        self._all_ready = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.lags: list[float] = []

    async def open(self) -> None:
        """Open all streams and wait until the last is ready."""
        self._tasks = [asyncio.create_task(self._read()) for _ in range(self._number)]
        await asyncio.wait(
            [asyncio.create_task(self._all_ready.wait()), *self._tasks], return_when=asyncio.FIRST_COMPLETED
        )
        if not self._all_ready.is_set():
            raise RuntimeError("a stream ended before all were open")

    async def _read(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(self._request)
        try:
            async for line in reader:
                if line.startswith(b"event: ready"):
                    self._ready += 1
                    if self._ready == self._number:
                        self._all_ready.set()
                elif line.startswith(b"data: ") and b'"sent"' in line:
                    self.lags.append((time.time() - json.loads(line[6:])["data"]["sent"]) * 1000)
        finally:
            writer.close()


def publish(app: Holdfast, seconds: float) -> None:
    """Publish an event a tick, and let it out as a worker's projector would."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        app.publish(f"subject:{CHANNEL}", "tick", {"sent": time.time()})
        while app.link.perform(project(10_000)).more:
            pass
        time.sleep(TICK)


async def fan_out(
    port: int, pid: int, streams: int, seconds: float, app: Holdfast | None, headers: dict[str, str]
) -> dict[str, Any]:
    """Read as many streams while events are published, by us or by a server that makes its own."""
    readers = Readers(port, streams, headers)
    await readers.open()
    used, readers.lags = processor_seconds(pid), []
    if app is None:
        await asyncio.sleep(seconds)
    else:
        await asyncio.to_thread(publish, app, seconds)
        await asyncio.sleep(1)
    used = processor_seconds(pid) - used
    return {
        **percentiles(readers.lags),
        "longest": max(readers.lags),
        "delivered": len(readers.lags),
        "cpu_us": used / len(readers.lags) * 1e6,
        "megabytes": megabytes(pid),
    }
