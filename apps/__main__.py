"""Plays the products' stories end to end, each product on a database of its own: `python -m apps [product …]`."""

import asyncio
import importlib
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import click

from apps._stage import Stage, staged
from holdfast.testing import ScratchDatabase, test_server

PRODUCTS = sorted(path.parent.name for path in Path(__file__).parent.glob("*/story.py"))
STORIES = ("happy", "failing")
WIDTH = max(len(f"{product} {story}") for product in PRODUCTS for story in STORIES)


@click.command()
@click.argument("products", nargs=-1, type=click.Choice(PRODUCTS))
def main(products: Sequence[str]) -> None:
    """Play the stories of these products, or of all; say in a line each what was verified. Exits 1 when one does not hold."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # unwinds, so that what was started is stopped
    began, held = time.monotonic(), []
    with test_server() as server:
        for product in products or PRODUCTS:
            with server.database() as database:
                held += play(product, database)
    click.echo(f"{sum(held)} of {len(held)} stories hold ({time.monotonic() - began:.1f} s)")
    sys.exit(0 if all(held) else 1)


def play(product: str, database: ScratchDatabase) -> list[bool]:
    """Play both stories of a product; says whether each holds."""
    story = importlib.import_module(f"apps.{product}.story")
    with story.world() as world, staged(product, database, world.environment) as stage, stage.worker():
        return asyncio.run(_play(story, stage, world))


async def _play(story: ModuleType, stage: Stage, world: object) -> list[bool]:
    return [await play_one(story, name, stage, world) for name in STORIES]


async def play_one(story: ModuleType, name: str, stage: Stage, world: object) -> bool:
    """Play one story, and tell what came of it."""
    began = time.monotonic()
    try:
        verified, holds = await getattr(story, name)(stage, world), True
    except Exception as error:  # noqa: BLE001 - a story that breaks is a story that does not hold
        verified, holds = f"{type(error).__name__}: {error}", False
    sign = click.style("✓ ok", fg="green") if holds else click.style("✗ fail", fg="red")
    title = f"{stage.name} {name}"
    click.echo(f"{sign}  {title:<{WIDTH}}  {verified} ({time.monotonic() - began:.1f} s)")
    return holds


if __name__ == "__main__":
    main()
