"""The nemesis: chance picks what strikes next; everything it does can be had again from its seed."""

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from chaos.strikes.catalogue import ALL
from chaos.strikes.strike import Record, Strike
from chaos.timing import looked_for
from chaos.world import World

TRIES = 5  # of a strike that has to land


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

    def strike(self, strike: Strike, luck: float) -> list[Record]:
        """Strike once, write it down, and see that everything is there again."""
        began = time.time()
        try:
            # Chance of its own: how a strike goes does not decide which one comes next.
            records = strike.records(self._world, random.Random(luck))
        except Exception as error:  # noqa: BLE001 - what a strike meets is a finding, and the others go on
            self._find(f"{strike.name} met what it should not", f"{type(error).__name__}: {error}")
            records = [Record(strike.name, began, time.time(), 0, "met what it should not", away=True)]
        else:
            said = Counter(record.said for record in records)
            told = "; ".join(f"{times} times {what}" if times > 1 else what for what, times in said.items())
            say(f"{strike.name} ({time.time() - began:.1f} s): {told}")
        self.records += records
        self._heal(strike)
        return records

    def _heal(self, strike: Strike) -> None:
        try:
            mended = self._world.heal()
        except Exception as error:  # noqa: BLE001 - what cannot be mended is a finding, and what was struck is yet to be judged
            mended = [f"it could not be mended: {type(error).__name__}: {error}"]
        for one in mended:
            self._find(f"after {strike.name}", one)

    def _find(self, rule: str, case: str) -> None:
        self.findings.append((rule, case))
        say(f"FINDING: {rule}: {case}")

    def strike_each(
        self,
        chosen: Sequence[Strike],
        must_land: Collection[str],
        over: Callable[[], bool],
        late: Callable[[], bool],
    ) -> None:
        """Strike with each, and again with those that have to land where they hit nothing; until it is over, and when it is late without the others.

        The database goes away only when all workers that died were missed: else nobody could tell how soon.
        """
        # Drawn before: what one strike needs to land decides nothing about those after it.
        luck = {strike.name: random.Random(self._chance.random()) for strike in chosen}
        for strike in sorted(chosen, key=lambda one: (one.away, one.name not in must_land)):
            if strike.name not in must_land and late():
                say(f"it is too late for {strike.name}")
                continue
            if strike.away:
                self._wait_for_the_missed()
            for _ in range(TRIES if strike.name in must_land else 1):
                if over():
                    return
                before = len(self.findings)
                records = self.strike(strike, luck[strike.name].random())
                time.sleep(luck[strike.name].uniform(0.1, 0.5))
                if any(record.hits for record in records) or len(self.findings) > before:
                    break

    def _wait_for_the_missed(self) -> None:
        died = max((record.at for record in self.records if record.jobs), default=0.0)
        time.sleep(max(died + looked_for(self._world.plan.lease) - time.time(), 0))

    def some(self, core: Sequence[str], more: int) -> list[Strike]:
        """Pick these and so many of the others, none twice, in an order of chance."""
        first = [strike for strike in self._strikes if strike.name in core]
        others = [strike for strike in self._strikes if strike.quick and strike not in first]
        chosen = first + self._chance.sample(others, min(more, len(others)))
        return self._chance.sample(chosen, len(chosen))

    def until(self, over: Callable[[], bool], rest: tuple[float, float]) -> None:
        """Strike at random, with a rest between, until it is over."""
        weights = [strike.weight for strike in self._strikes]
        while self._strikes and not over():
            self.strike(self._chance.choices(self._strikes, weights)[0], self._chance.random())
            time.sleep(self._chance.uniform(*rest))
