"""One product at work: its world, its web and its customers in one process, its worker in another, which may be killed."""

import asyncio
import importlib
import os
import random
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NamedTuple

from apps._stage import staged
from apps._traffic import Visits
from apps.live.past import live_through
from holdfast.testing import ScratchDatabase

LEASE = 5  # seconds: so long may a worker be silent that is not dead
WORKER = {"lease": LEASE, "drain_timeout": 1, "concurrency": 4}


class Part(NamedTuple):
    """What a product's process is told."""

    product: str
    owner_url: str
    url: str
    seed: int
    past: int = 0  # minutes to live through first


def play(part: Part, starter: Connection) -> None:
    """Put a product on and let its customers come; says by which environment a worker finds the same world."""
    name, database = part.product, ScratchDatabase(part.owner_url, part.url)
    _begin({"HOLDFAST_DATABASE_URL": part.url})
    story, traffic = (importlib.import_module(f"apps.{name}.{each}") for each in ("story", "traffic"))
    with story.world() as world:
        environment = {**world.environment, **traffic.Traffic.settings}
        with staged(name, database, environment) as stage:
            visits = traffic.Traffic(stage, world, random.Random(part.seed))  # noqa: S311 - to be repeatable is the point
            if part.past:
                asyncio.run(live_through(part.past, database.clock, traffic.app, visits.minute, starter.poll))
            if starter.poll():  # left before it began
                return
            found = {
                "HOLDFAST_DATABASE_URL": part.url,
                "PUBLIC_URL": stage.url,
                "HOLDFAST_BASE_URL": stage.url,
            }
            starter.send({**environment, **found})
            asyncio.run(_go_on(visits, starter))


async def _go_on(visits: Visits[object], starter: Connection) -> None:
    going_on = asyncio.create_task(visits.go_on())
    await asyncio.wait(
        [going_on, asyncio.create_task(asyncio.to_thread(_until_left, starter))],
        return_when=asyncio.FIRST_COMPLETED,
    )
    going_on.cancel()
    with suppress(asyncio.CancelledError):
        await going_on


def work(name: str, environment: dict[str, str], starter: Connection) -> None:
    """Be a product's worker."""
    _begin(environment)
    app = importlib.import_module(f"apps.{name}.tasks").app

    def stop_when_left() -> None:
        _until_left(starter)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop_when_left, daemon=True).start()
    app.work(**WORKER)


def _begin(environment: dict[str, str]) -> None:
    os.setpgid(0, 0)  # Ctrl-C of the terminal is for who started us
    os.environ.update(environment)


def _until_left(starter: Connection) -> None:
    """Wait until whoever started this process lets go of it, or is gone."""
    with suppress(EOFError, OSError):
        starter.recv()
