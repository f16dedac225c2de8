"""The nemesis: chance picks what strikes next; everything it does can be had again from its seed."""

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

from chaos.strikes.catalogue import ALL
from chaos.strikes.strike import Record, Strike
from chaos.timing import looked_for
from chaos.world import World

TRIES = 5  # for one of the seldom ones that hit by chance only


def say(text: str) -> None:
    sys.stderr.write(f"chaos: {text}\n")
    sys.stderr.flush()


class Nemesis:
    """Strikes one after the other, so that each can be told from the others; counts what it did and what landed."""

    def __init__(self, world: World, chance: random.Random, wanted: Sequence[str] = ()) -> None:
        self._world = world
        self._chance = chance
        self.records: list[Record] = []
        self.findings: list[tuple[str, str]] = []
        self.not_run: dict[str, str] = {}
        self._strikes: list[Strike] = []
        for strike in [ALL[name] for name in wanted or ALL]:
            lack = strike.missing(world)
            if lack is None:
                self._strikes.append(strike)
            else:
                self.not_run[strike.name] = lack
                say(f"NOT RUN: {strike.name}: {lack}")

    def strike(self, strike: Strike) -> None:
        """Strike once, write it down, and see that everything is there again."""
        began = time.time()
        try:
            # Chance of its own: how a strike goes does not decide which one comes next.
            records = strike.records(self._world, random.Random(self._chance.random()))
        except Exception as error:  # noqa: BLE001 - what a strike meets is a finding, and the others go on
            self.findings.append(
                (f"{strike.name} met what it should not", f"{type(error).__name__}: {error}")
            )
            say(f"{strike.name}: FINDING: {error}")
            records = [Record(strike.name, began, time.time(), 0, "met what it should not", away=True)]
        else:
            said = Counter(record.said for record in records)
            told = "; ".join(f"{times} times {what}" if times > 1 else what for what, times in said.items())
            say(f"{strike.name} ({time.time() - began:.1f} s): {told}")
        self.records += records
        for mended in self._world.heal():
            # A pill kills its worker: else nobody ends unasked.
            if strike.name != "poison_pill":
                self.findings.append((f"after {strike.name}", mended))
                say(f"FINDING after {strike.name}: {mended}")

    def each_once(self, chosen: Sequence[Strike]) -> None:
        """Strike with each, and again with one that hit nothing, for that proves nothing.

        The database goes away only when all workers that died were missed: else nobody could tell how soon.
        """
        for strike in sorted(chosen, key=lambda one: one.away):
            if strike.away:
                died = max((record.at for record in self.records if record.jobs), default=0.0)
                time.sleep(max(died + looked_for(self._world.plan.lease) - time.time(), 0))
            for _ in range(TRIES):
                before = len(self.records)
                self.strike(strike)
                time.sleep(self._chance.uniform(0.1, 0.5))
                if any(record.hits for record in self.records[before:]):
                    break

    def some(self, core: Sequence[str], more: int) -> list[Strike]:
        """Pick these and so many of the others, none twice, in an order of chance."""
        first = [strike for strike in self._strikes if strike.name in core]
        others = [strike for strike in self._strikes if strike.quick and strike not in first]
        chosen = first + self._chance.sample(others, min(more, len(others)))
        return self._chance.sample(chosen, len(chosen))

    def until(self, over: Callable[[], bool], rest: tuple[float, float]) -> None:
        """Strike at random, with a rest between, until it is over."""
        weights = [strike.weight for strike in self._strikes]
        while not over():
            self.strike(self._chance.choices(self._strikes, weights)[0])
            time.sleep(self._chance.uniform(*rest))
