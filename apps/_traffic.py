"""What a product's customers do all day, at a gentle pace: `apps/<product>/traffic.py` says what one of them does who comes by."""

import asyncio
import logging
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Generic, TypeVar

import httpx

from apps._stage import Stage, StoryFailed

W = TypeVar("W")
NAMES = ("ana", "ben", "chen", "dora", "emil", "fatima", "goran", "hana", "igor", "jane", "kofi", "lena")
MOST_AT_ONCE = 8

log = logging.getLogger("apps.traffic")


class Visits(ABC, Generic[W]):
    """The customers of one product in its world. With the same dice they come in the same order and want the same."""

    pause: ClassVar[tuple[float, float]] = (4.0, 8.0)  # seconds between two of them
    settings: ClassVar[
        Mapping[str, str]
    ] = {}  # of the product, where its world is calmer than in its stories

    def __init__(self, stage: Stage, world: W, dice: random.Random) -> None:
        self.stage = stage
        self.world = world
        self.dice = dice
        self._numbers: dict[str, int] = {}

    @abstractmethod
    async def visit(self) -> None:
        """Come by and want something."""

    def somebody(self) -> str:
        """Name a customer who has not been here."""
        name = self.dice.choice(NAMES)
        self._numbers[name] = self._numbers.get(name, 0) + 1
        return name if self._numbers[name] == 1 else f"{name}{self._numbers[name]}"

    def happens(self, once_in: int) -> bool:
        """Throw the dice."""
        return self.dice.randrange(once_in) == 0

    async def go_on(self) -> None:
        """Let customers come until cancelled; whatever goes wrong with one is no reason for the next to stay away."""
        here: set[asyncio.Task[None]] = set()
        try:
            while True:
                if len(here) < MOST_AT_ONCE:
                    visit = asyncio.create_task(self._visit())
                    here.add(visit)
                    visit.add_done_callback(here.discard)
                await asyncio.sleep(self.dice.uniform(*self.pause))
        finally:
            for visit in here:
                visit.cancel()
            await asyncio.gather(*here, return_exceptions=True)

    async def _visit(self) -> None:
        try:
            await self.visit()
        except (StoryFailed, httpx.HTTPError, OSError) as error:
            log.warning("a visit to %s ended early: %s", self.stage.name, error)
