"""Draining as most tests want it: without events, statistics and usage, which cost a fifth of it and which hardly any test reads.

A test that reads them drains as applications do, by `holdfast.testing`.
"""

from typing import Any

from holdfast import Holdfast, testing


def drain(app: Holdfast, **options: Any) -> None:
    """Run a worker here until nothing is left to do now."""
    testing.drain(app, **{"projector": False, **options})


async def adrain(app: Holdfast, **options: Any) -> None:
    """Run a worker here until nothing is left to do now."""
    await testing.adrain(app, **{"projector": False, **options})
