"""scripts/interleavings: every order of the statements of every two operations, in every scene, up to so many switches between them."""

import argparse
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from guarantees.audit import broken_rules
from holdfast.testing import test_server
from interleaving.meeting import PAIRS, meetings
from interleaving.stage import stage


class Found(NamedTuple):
    """What became of one pair."""

    pair: str
    scenes: int
    schedules: int
    faults: list[str]


def search(nth: int, switches: int) -> Found:
    """Try all orders of one pair on a server of its own."""
    pair = PAIRS[nth]
    scenes = schedules = 0
    faults: list[str] = []
    with test_server() as server, stage(server) as led:
        for meeting in meetings(led.conductor, led.machine, *pair):
            try:
                faults += map(str, meeting.faults(switches))
            except AssertionError as wrong:
                faults.append(str(wrong))
                break  # one of the sessions may stand anywhere
            finally:
                scenes, schedules = scenes + 1, schedules + meeting.tried
        faults += map(str, broken_rules(led.machine.connection))
    return Found(name_of(nth), scenes, schedules, faults)


def name_of(nth: int) -> str:
    return "+".join(operation.name for operation in PAIRS[nth])


def tell(found: Iterable[Found]) -> int:
    """Print a line a pair; says how many faults there were."""
    pairs = scenes = schedules = faults = 0
    for one in found:
        line = f"{one.pair:24} {one.scenes:3} scenes {one.schedules:7,} schedules {len(one.faults):3} faults"
        print(line, flush=True)  # noqa: T201 - a command
        print(*one.faults[:3], sep="\n", end="\n" if one.faults else "")  # noqa: T201 - a command
        pairs, scenes = pairs + 1, scenes + one.scenes
        schedules, faults = schedules + one.schedules, faults + len(one.faults)
    print(f"{pairs} pairs in {scenes} scenes: {schedules:,} schedules, {faults} faults")  # noqa: T201 - a command
    return faults


def main() -> int:
    arguments = argparse.ArgumentParser(prog="scripts/interleavings", description=__doc__)
    arguments.add_argument("pairs", nargs="*", help="only these, as in finish+cancel")
    arguments.add_argument(
        "--switches", type=int, default=1, help="how often a session that could go on is left; 1 unless told"
    )
    asked = arguments.parse_args()
    names = [name_of(nth) for nth in range(len(PAIRS))]
    if unknown := sorted({*asked.pairs} - {*names}):
        arguments.error(f"no pair is called {unknown[0]}; there are {', '.join(names)}")
    chosen = [nth for nth, name in enumerate(names) if name in (asked.pairs or names)]
    began = time.monotonic()
    with ProcessPoolExecutor(2) as processes:
        faults = tell(processes.map(search, chosen, [asked.switches] * len(chosen)))
    print(f"at most {asked.switches} switches, {time.monotonic() - began:.0f} s")  # noqa: T201 - a command
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
