"""The stage that a product is put on: a database, its web on loopback, and workers in processes of their own that can be killed."""

import asyncio
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from apps._chaos import LONG
from apps._world.serving import served
from holdfast.testing import ScratchDatabase, adrain

PATIENCE = 600.0 if LONG else 60.0  # with machines that are slow and busy, most of all at night
LOOK_EVERY = 0.05
MOST_ROUNDS, ROUND = 30, 600.0


class StoryFailed(Exception):
    """What a story promises is not so."""


def verify(holds: bool, otherwise: str) -> None:
    """Insist on a fact."""
    if not holds:
        raise StoryFailed(otherwise)


async def until(what: str, holds: Callable[[], Any | Awaitable[Any]], within: float = PATIENCE) -> Any:
    """Wait until something is so; gives what was found."""
    deadline = time.monotonic() + within
    while True:
        found = holds()
        found = await found if isinstance(found, Awaitable) else found
        if found:
            return found
        verify(time.monotonic() < deadline, f"waited {within:g} s in vain until {what}")
        await asyncio.sleep(LOOK_EVERY)


class Stage:
    """One product, ready to be used as its customers, its operators and its outside world use it."""

    def __init__(self, name: str, database: ScratchDatabase, url: str) -> None:
        self.name = name
        self.database = database
        self.url = url  # where its web answers

    @contextmanager
    def worker(self, *options: str) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a worker in a process of its own; it is told to stop afterwards, unless the story has killed it."""
        holdfast = str(Path(sys.executable).with_name("holdfast"))
        command = [holdfast, "-q", "-a", f"apps.{self.name}.tasks:app", "worker", "--log-level", "error"]
        environment = {
            **os.environ,
            "HOLDFAST_DATABASE_URL": self.database.url,
            "HOLDFAST_BASE_URL": self.url,
        }
        process = subprocess.Popen([*command, *options], env=environment)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(PATIENCE)

    async def settle(self) -> None:
        """Let a worker do what can be done, here and now, and time pass, until every job has ended."""
        app = importlib.import_module(f"apps.{self.name}.tasks").app
        for _ in range(MOST_ROUNDS):
            await adrain(app)
            if all(job.finished_at for job in self.database.jobs()):
                return
            self.database.clock.advance(ROUND)
        raise StoryFailed(f"jobs have not ended after {MOST_ROUNDS * ROUND:g} s of their time")


@contextmanager
def staged(name: str, database: ScratchDatabase, environment: dict[str, str]) -> Iterator[Stage]:
    """Put a product on: its own tables, its settings, and its web."""
    with ExitStack() as stack:
        stack.enter_context(_environment(environment))
        product, web = (importlib.import_module(f"apps.{name}.{part}") for part in ("app", "web"))
        database.create_schema(name)
        database.use(product.app)
        product.prepare()
        url = stack.enter_context(served(web.web))
        stack.enter_context(_environment({"PUBLIC_URL": url}))  # known only now
        yield Stage(name, database, url)


@contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
