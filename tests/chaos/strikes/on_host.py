"""Strikes on the host that everything runs on."""

import random
from collections.abc import Callable, Iterator

import psutil

from chaos.strikes.on_database import running
from chaos.strikes.strike import Landed, Strike, wait
from chaos.world import World


class PauseAll(Strike):
    """Workers, customers and the server stop for a while, with all their processes, and go on; landed when jobs ran.

    As a virtual machine that is moved: who wakes first finds everybody else silent for longer than the lease.
    """

    name = "pause_all"
    away = True

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        jobs = running(world)
        seconds = world.plan.lease * chance.uniform(0.5, 3.0)
        stops, goes = zip(*_everybody(world), strict=True)
        try:
            for stop in chance.sample(stops, len(stops)):
                stop()
            wait(seconds)
        finally:
            for go_on in chance.sample(goes, len(goes)):
                go_on()
                wait(chance.choice((0.0, 0.0, 0.1)))
        yield Landed(jobs, f"{jobs} jobs ran; {seconds:.1f} s")


def _everybody(world: World) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """How each is stopped, and how each goes on."""
    assert world.customers is not None
    customers = psutil.Process(world.customers.pid)
    yield customers.suspend, customers.resume
    yield world.cluster.freeze, world.cluster.thaw
    for seat in world.seats:
        yield lambda worker=seat.worker: worker.freeze(whole=True), seat.worker.thaw  # type: ignore[misc]
