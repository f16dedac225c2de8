"""Streams of one server process: how late events arrive at many readers at once, and what they cost it in memory.

    python benchmarks/streams.py --streams 1000 --seconds 20 [--subjects 1]

It starts a PostgreSQL, `holdfast server` and the readers on this machine, so that they share its cores: what it prints is an upper bound.
"""

import argparse
import asyncio
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast import Holdfast
from holdfast.store.project import project
from holdfast.testing import ScratchDatabase
from holdfast.testing.servers import test_server

CHANNELS_A_SECOND = 10


@contextmanager
def serving(database: ScratchDatabase) -> Iterator[tuple[str, int, int]]:
    """Give host, port and process id of a server."""
    command = [sys.executable, "-m", "holdfast.interfaces.cli", "--database-url", database.url]
    process = subprocess.Popen(
        [*command, "server", "--no-auth", "--parts", "live", "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        while not (found := re.search(r"http://([\d.]+):(\d+)", process.stderr.readline())):
            if process.poll() is not None:
                raise SystemExit("the server did not start")
        yield found[1], int(found[2]), process.pid
    finally:
        began = time.monotonic()
        process.terminate()
        code = process.wait(30)
        print(f"SIGTERM with all streams open: code {code} after {time.monotonic() - began:.2f} s")


def processor_seconds(pid: int) -> float:
    """Give the seconds of a core that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Give the megabytes that a process has in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class Readers:
    """Many streams, read as they come; keeps how late each event was."""

    def __init__(self, host: str, port: int, wanted: int) -> None:
        self.place = (host, port)
        self.lags: list[float] = []
        self.ready = 0
        self.all_ready = asyncio.Event()
        self._wanted = wanted

    async def read(self, subject: str) -> None:
        """Read one stream until cancelled."""
        reader, writer = await asyncio.open_connection(*self.place)
        host = f"{self.place[0]}:{self.place[1]}"
        writer.write(f"GET /api/v1/events?subject={subject} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        try:
            async for line in reader:
                if line.startswith(b"event: ready"):
                    self.ready += 1
                    if self.ready == self._wanted:
                        self.all_ready.set()
                elif line.startswith(b"data: ") and b'"sent"' in line:
                    self.lags.append(time.time() - json.loads(line[6:])["data"]["sent"])
        finally:
            writer.close()


def publish(app: Holdfast, subjects: int, until: float) -> int:
    """Publish as a worker's projector would let it out, ten times a second."""
    made = 0
    while time.time() < until:
        for number in range(min(subjects, CHANNELS_A_SECOND // 5 or 1)):
            app.publish(f"subject:s{(made + number) % subjects}", "tick", {"sent": time.time()})
        made += min(subjects, CHANNELS_A_SECOND // 5 or 1)
        while app.link.perform(project(10_000)).more:
            pass
        time.sleep(0.1)
    return made


async def measure(
    app: Holdfast, place: tuple[str, int, int], streams: int, subjects: int, seconds: int
) -> None:
    host, port, pid = place
    readers, before = Readers(host, port, streams), memory(pid)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(readers.read(f"s{n % subjects}")) for n in range(streams)]
        await readers.all_ready.wait()
        opened, used = memory(pid), processor_seconds(pid)
        made = await asyncio.to_thread(publish, app, subjects, time.time() + seconds)
        await asyncio.sleep(2)
        after, used = memory(pid), processor_seconds(pid) - used
        for task in tasks:
            task.cancel()
    lags = sorted(readers.lags)
    print(f"{streams} streams on {subjects} subjects, {made} events, {len(lags)} deliveries in {seconds} s")
    print(f"processor: {used:.1f} s of the server, {used / len(lags) * 1e6:.0f} microseconds a delivery")
    print(f"memory: {before:.0f} MB alone, {opened:.0f} MB with all streams open, {after:.0f} MB at the end")
    print(
        f"lag: median {statistics.median(lags) * 1000:.0f} ms, p99 {lags[int(len(lags) * 0.99)] * 1000:.0f} ms, "
        f"most {lags[-1] * 1000:.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--subjects", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=20)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with test_server() as server, server.database() as database:
        app = database.use(Holdfast())
        with serving(database) as place:
            asyncio.run(measure(app, place, given.streams, given.subjects, given.seconds))


if __name__ == "__main__":
    main()
