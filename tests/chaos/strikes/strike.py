"""What a strike is: one kind of bad luck, which knows whether it landed and heals before it returns."""

import random
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from chaos.world import PATIENCE, World

__all__ = ["PATIENCE", "Landed", "Record", "Strike", "wait"]


@dataclass
class Landed:
    """What a strike came to: how many things it hit in the vulnerable moment, and which jobs were hit by it."""

    hits: int
    said: str = ""
    jobs: list[str] = field(default_factory=list)  # that ran in a worker which died at `at`
    at: float = 0.0


@dataclass
class Record:
    """One strike as it happened, by the machine's clock, which is the database's too."""

    name: str
    began: float
    ended: float
    hits: int
    said: str
    away: bool  # whether the database could not be reached meanwhile, by some or by all
    jobs: list[str] = field(default_factory=list)
    at: float = 0.0


class Strike(ABC):
    """One kind of strike. `away` says that work stands still meanwhile, so that no time is promised."""

    name: ClassVar[str]
    away: ClassVar[bool] = False
    quick: ClassVar[bool] = True  # short enough for a run of a minute
    weight: ClassVar[int] = 2

    def missing(self, world: World) -> str | None:
        """Say what this machine lacks for it, if anything."""
        del world
        return None

    @abstractmethod
    def strike(self, world: World, chance: random.Random) -> Landed:
        """Strike, and let go again."""

    def record(self, world: World, chance: random.Random) -> Record:
        began = time.time()
        landed = self.strike(world, chance)
        return Record(
            self.name, began, time.time(), landed.hits, landed.said, self.away, landed.jobs, landed.at
        )


def wait(seconds: float) -> None:
    """Let time go by while load goes on: what lasts is what strikes."""
    time.sleep(seconds)
