"""scripts/interleavings: the orders of the statements of every two operations, in every scene, up to so many switches between them or all of them."""

import argparse
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import SimpleQueue
from typing import NamedTuple

from holdfast.testing import test_server
from interleaving.explore import kinds, schedules
from interleaving.meeting import PAIRS, meetings
from interleaving.stage import stage
from world.servers import prepared_server

DEADLOCK = "40P01"


class Found(NamedTuple):
    """What became of one pair."""

    pair: str
    scenes: int
    schedules: int
    waited: int  # schedules in which one waited for a lock of the other
    strayed: int  # schedules that went another way than asked: a wait that was seen too early or too late
    faults: list[str]


def _use(servers: "SimpleQueue[str]") -> None:
    # Each its own: who shares one may seem to have written what the other wrote.
    os.environ["DATABASE_URL"] = servers.get()


def search(nth: int, switches: int | None) -> Found:
    """Try all orders of one pair in a database of its own."""
    pair = PAIRS[nth]
    orders = kinds if switches is None else partial(schedules, most_switches=switches)
    scenes = tried = waited = strayed = 0
    faults: list[str] = []
    with test_server() as server, stage(server) as led:
        for meeting in meetings(led.conductor, led.machine, *pair):
            try:
                faults += map(str, meeting.faults(orders))
            except AssertionError as wrong:
                faults.append(str(wrong))
                break  # one of the sessions may stand anywhere
            finally:
                scenes, tried = scenes + 1, tried + meeting.tried
                waited, strayed = waited + meeting.waited, strayed + meeting.strayed
    return Found(name_of(nth), scenes, tried, waited, strayed, faults)


def name_of(nth: int) -> str:
    return "+".join(operation.name for operation in PAIRS[nth])


def tell(found: Iterable[Found]) -> int:
    """Print a line a pair; says how many faults there were, and orders that could not be had as asked."""
    everything: list[Found] = []
    for one in found:
        print(  # noqa: T201 - a command
            f"{one.pair:24} {one.scenes:3} scenes {one.schedules:7,} schedules {one.waited:7,} with lock waits {one.strayed:3} strayed"
            f" {len(one.faults):3} faults",
            flush=True,
        )
        print(*one.faults[:3], sep="\n", end="\n" if one.faults else "")  # noqa: T201 - a command
        everything.append(one)
    faults = [fault for one in everything for fault in one.faults]
    print(  # noqa: T201 - a command
        f"{len(everything)} pairs in {sum(one.scenes for one in everything)} scenes:"
        f" {sum(one.schedules for one in everything):,} schedules, {sum(one.waited for one in everything):,} with lock waits,"
        f" {sum(one.strayed for one in everything):,} strayed,"
        f" {sum(DEADLOCK in fault for fault in faults)} deadlocks, {len(faults)} faults"
    )
    return len(faults) + sum(one.strayed for one in everything)


def main() -> int:
    arguments = argparse.ArgumentParser(prog="scripts/interleavings", description=__doc__)
    arguments.add_argument("pairs", nargs="*", help="only these, as in finish+cancel")
    arguments.add_argument(
        "--switches",
        type=lambda said: None if said == "all" else int(said),
        default=1,
        help="how often a session that could go on is left at the most, 1 unless told; or all: as often as can be, where of orders"
        " that only differ in neighbouring steps that do not touch each other one is tried",
    )
    asked = arguments.parse_args()
    names = [name_of(nth) for nth in range(len(PAIRS))]
    if unknown := sorted({*asked.pairs} - {*names}):
        arguments.error(f"no pair is called {unknown[0]}; there are {', '.join(names)}")
    chosen = [nth for nth, name in enumerate(names) if name in (asked.pairs or names)]
    began = time.monotonic()
    servers: SimpleQueue[str] = SimpleQueue()
    with (
        prepared_server() as one,
        prepared_server() as other,
        ProcessPoolExecutor(2, initializer=_use, initargs=(servers,)) as processes,
    ):
        servers.put(one)
        servers.put(other)
        # As they are done: some take a hundred times as long as others.
        under_way = [processes.submit(search, nth, asked.switches) for nth in chosen]
        wrong = tell(pair.result() for pair in as_completed(under_way))
    most = "all" if asked.switches is None else f"at most {asked.switches}"
    print(f"{most} switches, {time.monotonic() - began:.0f} s")  # noqa: T201 - a command
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
