"""What a strike is: one kind of bad luck, which knows whether it landed and heals before it returns."""

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from chaos.cluster import PATIENCE
from chaos.world import World, until_world

__all__ = [
    "BUSY_WITHIN",
    "PATIENCE",
    "Landed",
    "Record",
    "Strike",
    "bring_work",
    "taken_for_dead",
    "until_busy",
    "until_heard",
    "wait",
]

BUSY_WITHIN = 2.0
ALONE = "it needs a worker that may be struck, and another beside it"


@dataclass
class Landed:
    """What a strike came to: how many things it hit in the vulnerable moment, and which jobs were hit by it."""

    hits: int
    said: str = ""
    jobs: list[str] = field(default_factory=list)  # that ran in a worker which died at `at`
    at: float = 0.0
    operation: str = ""  # in the middle of which it struck, where that was chosen
    kept: list[str] = field(
        default_factory=list
    )  # jobs of a worker that was told to end at `at`, and is no dead one


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
    operation: str = ""
    kept: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """What it is counted as."""
        return f"{self.name}: {self.operation}" if self.operation else self.name


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
    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        """Strike, let go again, and tell what it came to: once for each that was struck."""

    def records(self, world: World, chance: random.Random) -> list[Record]:
        began = time.time()
        landed = list(self.strike(world, chance)) or [Landed(0, "there was nothing to strike")]
        ended = time.time()
        return [
            Record(
                self.name,
                began,
                ended,
                one.hits,
                one.said,
                self.away,
                one.jobs,
                one.at,
                one.operation,
                one.kept,
            )
            for one in landed
        ]


def wait(seconds: float) -> None:
    """Let time go by while load goes on: what lasts is what strikes."""
    time.sleep(seconds)


def until_busy(world: World, look: Callable[[], Any]) -> Any:
    """Look until somebody is found at work; where customers keep nobody busy, the nemesis brings work of its own."""
    if found := look():
        return found
    bring_work(world)
    deadline = time.monotonic() + BUSY_WITHIN
    while not (found := look()) and time.monotonic() < deadline:
        wait(0.05)
    return found


def bring_work(world: World) -> None:
    """Enqueue a job for every worker, long enough to be met in the middle of it."""
    for number in range(len(world.seats)):
        world.enqueue(("plain", "writes")[number % 2], {"seconds": world.plan.lease})


def until_heard(world: World) -> list[Any]:
    """Wait until each worker has a name in the books, and was heard just now, and give the names: what came before was not our doing."""
    lately = (
        "select count(*) from holdfast.worker where pid = any(%s) and died_at is null"
        " and seen_at > clock_timestamp() - lease / 3"
    )
    pids = [seat.worker.pid for seat in world.seats]
    until_world("all workers are heard", lambda: world.value(lately, pids) == len(pids))
    return [world.identity(seat.worker) for seat in world.seats]


def taken_for_dead(world: World, workers: list[Any]) -> int:
    """Count those of them that a sweep has found silent."""
    died = "select count(*) from holdfast.worker where id = any(%s) and died_at is not null"
    return int(world.value(died, workers))
