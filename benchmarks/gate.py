"""The child's side of the harness: a process that does what the driver says on stdin and answers on stdout.

Every system is held back the same way.
Its worker process starts, connects, works off one warm-up job and lets its worker function return;
then the jobs are loaded while it waits for the next line on stdin;
`go` calls the worker function again, on the connections already open, and the clock starts when the driver writes that line.
"""

import abc
import asyncio
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

NAME = "someone@example.com"
NOTE = "a payload of about one hundred bytes in size, ok"
WARM_UP = -1
BATCH = 1000


def payload(number: int) -> dict[str, int | str]:
    """Return the ~100 bytes that every job of every system carries."""
    return {"number": number, "name": NAME, "note": NOTE}


class Bench(abc.ABC):
    """One system under measurement, inside one child process.

    A subclass registers two tasks: `noop`, which does nothing, and `stamp`, which calls `self.stamp(number)`.
    """

    def __init__(self, url: str, setting: str) -> None:
        self.url = url
        self.setting = setting
        self.starts: list[tuple[int, int]] = []
        self.warmed = asyncio.Event()
        self._working: asyncio.Task[None] | None = None

    @abc.abstractmethod
    async def open(self) -> None:
        """Connect; called once, before any other command."""

    @abc.abstractmethod
    async def install(self) -> None:
        """Put the system's schema into the empty database."""

    @abc.abstractmethod
    async def enqueue(self, task: str, number: int) -> None:
        """Enqueue one job and return when it is committed."""

    @abc.abstractmethod
    async def enqueue_batch(self, jobs: int) -> None:
        """Enqueue that many `noop` jobs in one call and return when they are committed."""

    @abc.abstractmethod
    async def work_once(self) -> None:
        """Run the worker until `self.warmed` is set, then let it return."""

    @abc.abstractmethod
    async def work(self) -> None:
        """Run the worker for good."""

    def stamp(self, number: int) -> None:
        """Note when a job started; the clock is the machine's monotonic one, the same in every process."""
        if number == WARM_UP:
            self.warmed.set()
        else:
            self.starts.append((number, time.monotonic_ns()))

    async def warm(self) -> None:
        """Work off one warm-up job."""
        await self.enqueue("stamp", WARM_UP)
        await self.work_once()

    async def go(self) -> None:
        """Release the worker; it works until this process ends."""
        self._working = asyncio.create_task(self.work())
        self._working.add_done_callback(_die_of_an_error)

    async def fill(self, jobs: int) -> float:
        """Enqueue `noop` jobs in batches and return the seconds it took."""
        started = time.perf_counter()
        for enqueued in range(0, jobs, BATCH):
            await self.enqueue_batch(min(BATCH, jobs - enqueued))
        return time.perf_counter() - started

    async def enqueue_one_by_one(self, jobs: int) -> float:
        """Enqueue `noop` jobs one call each and return the seconds it took."""
        started = time.perf_counter()
        for _ in range(jobs):
            await self.enqueue("noop", 1)
        return time.perf_counter() - started

    async def enqueue_apart(self, jobs: int, milliseconds: int) -> list[tuple[int, int]]:
        """Enqueue `stamp` jobs a pause apart and return the moment before each call."""
        moments = []
        for number in range(jobs):
            moments.append((number, time.monotonic_ns()))
            await self.enqueue("stamp", number)
            await asyncio.sleep(milliseconds / 1000)
        return moments

    async def started(self) -> list[tuple[int, int]]:
        """Return the moment each `stamp` job started."""
        return self.starts

    async def cpu(self) -> float:
        """Return the CPU seconds this process has used so far."""
        return time.process_time()


def _die_of_an_error(working: asyncio.Task[None]) -> None:
    """Take the whole child down when its worker fails, so that the driver learns of it at once."""
    if not working.cancelled() and (error := working.exception()) is not None:
        print(f"the worker stopped: {error!r}", file=sys.stderr, flush=True)
        os._exit(1)


async def serve(bench: Bench) -> None:
    """Answer the driver's commands until it closes the pipe."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library's print must not be taken for an answer
    await bench.open()
    answers.write(json.dumps({"result": "ready"}) + "\n")
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        request: dict[str, Any] = json.loads(line)
        command: Callable[..., Awaitable[Any]] = getattr(bench, request.pop("do"))
        answers.write(json.dumps({"result": await command(**request)}) + "\n")
    # The database is dropped next: a worker in full swing need not wind down.
    os._exit(0)
