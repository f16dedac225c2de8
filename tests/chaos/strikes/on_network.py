"""Strikes on connections, by a proxy that speaks PostgreSQL's protocol: cut before and after a commit and anywhere, slow, half-open, deaf."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, cast

from chaos.strikes.strike import Landed, Strike, taken_for_dead, until_heard, wait
from chaos.timing import bound
from chaos.world import World
from guarantees.proxy import Action, Proxy, Row

# What is cut, by whose calls it is made: workers or customers.
WORKERS = {
    "claim": r"holdfast\.claim\(",
    "recover_claim": r"holdfast\.recover_claim\(",
    "finish": r"holdfast\.complete\(",
    "settle": r"holdfast\.settle\(",
    "transaction": r"^commit",
    "save_step": r"holdfast\.save_step\(",
    "save_checkpoint": r"holdfast\.save_checkpoint\(",
    "enqueue_children": r"holdfast\.enqueue_children\(",
    "suspend": r"holdfast\.(sleep_until|ask|hand_over|wait_for_event)\(",
    "wait_for_jobs": r"holdfast\.wait_for_jobs\(",
    "emit": r"holdfast\.emit\(",
    "heartbeat": r"holdfast\.beat\(",
    "sweep": r"holdfast\.sweep\(",
    "admit_due": r"holdfast\.admit_due\(",
    "project": r"holdfast\.project\(",
    "fire_schedule": r"holdfast\.fire_schedule\(",
}
CUSTOMERS = {
    "enqueue": r"holdfast\.enqueue_many\(",
    "cancel": r"holdfast\.cancel\(",
    "decide": r"holdfast\.decide\(",
    "callback": r"holdfast\.callback\(",
    "webhook": r"^commit",
}
OPERATIONS = {**WORKERS, **CUSTOMERS}
CALLED_WITHIN = 4.0
SWEEP = "sweep"
# Asked for only when the answer to another has been lost.
FOLLOWS = {"recover_claim": "claim"}


def nothing(cell: bytes | None) -> bool:
    """Say whether a cell is null, zero or false, written as text or in binary."""
    return cell is None or not cell.strip(b"0.f\0")


def did_something(row: Row) -> bool:
    return not all(map(nothing, row))


def did_first(row: Row) -> bool:
    return not nothing(row[0])


# Asked again and again, and mostly for nothing: an answer that is lost counts where it told of something done.
COUNTS: dict[str, Callable[[Row], bool]] = {
    "claim": lambda _row: True,
    "recover_claim": lambda _row: True,
    SWEEP: did_something,
    "admit_due": did_first,  # then it says when the next one is due
    "project": did_first,
    "fire_schedule": did_something,
}


class Cut(Strike):
    """Cuts connections at named statements; landed as often as it was cut."""

    away = True  # who was cut off sweeps nobody for a lease's time: the silence may have been its own
    weight: ClassVar[int] = 5
    action: ClassVar[Action]

    def __init__(self) -> None:
        self._cut: Counter[str] = Counter()

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        times = chance.choice((1, 1, 2, 5))
        armed = [
            (operation, proxy, proxy.strike(self.action, pattern, times, counts=COUNTS.get(operation)))
            for operation, pattern in self._chosen(world.plan.operations, world.plan.at_once, chance)
            for proxy in _callers(world, operation)
        ]
        before = [
            (
                proxy,
                proxy.strike(
                    "cut_after", WORKERS[FOLLOWS[operation]], times, counts=COUNTS[FOLLOWS[operation]]
                ),
            )
            for operation, proxy, _ in armed
            if operation in FOLLOWS
        ]
        patience = CALLED_WITHIN
        if self.action == "cut_after" and any(operation == SWEEP for operation, _, _ in armed):
            _kill_somebody(world, chance)
            # Who was cut off, as by what else is cut, sweeps nobody for a lease's time.
            patience += bound(world.plan.lease) + world.plan.lease
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and not all(one.landed >= times for _, _, one in armed):
            wait(0.02)
        for proxy, one in before:
            proxy.withdraw(one)
        cut: Counter[str] = Counter()
        for operation, proxy, one in armed:
            proxy.withdraw(one)
            cut[operation] += one.landed
        self._cut.update(cut)
        for operation, hits in cut.items():
            yield from (Landed(1, operation, operation=operation) for _ in range(hits))
            if not hits:
                yield Landed(0, f"no {operation} came to be cut", operation=operation)

    def _chosen(self, only: Sequence[str], many: int, chance: random.Random) -> list[tuple[str, str]]:
        """Pick operations by chance, those first that were cut the least."""
        operations = [(name, OPERATIONS[name]) for name in only or OPERATIONS]
        return sorted(chance.sample(operations, len(operations)), key=lambda one: self._cut[one[0]])[:many]


def _kill_somebody(world: World, chance: random.Random) -> None:
    """See that there is something to sweep."""
    if world.unlucky:
        seat = chance.choice(world.unlucky)
        seat.worker.kill()
        world.replace(seat)


def _callers(world: World, operation: str) -> list[Proxy]:
    """Give the connections of those who make such a call."""
    if operation in WORKERS:
        return [seat.proxy for seat in world.seats]
    return [cast("Proxy", world.customers_proxy)]


class CutBefore(Cut):
    """The connection ends before the statement reaches the server."""

    name = "cut_before_commit"
    action = "cut_before"


class CutAfter(Cut):
    """The server has committed, and its answer is lost."""

    name = "cut_after_commit"
    action = "cut_after"


class HalfOpen(Strike):
    """Nothing passes any more in any direction, and nobody is told; landed when there were connections."""

    name = "half_open"
    away = True

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        proxies = [seat.proxy for seat in world.seats]
        proxy = chance.choice([*proxies, cast("Proxy", world.customers_proxy)])
        # A breath, or longer than every deadline: a worker that cannot be heard is declared dead meanwhile.
        lease = world.plan.lease
        seconds = chance.uniform(*chance.choice(((lease / 3, lease), (lease, lease * 5))))
        hits = proxy.go_silent()
        wait(seconds)
        proxy.speak_again()
        wait(chance.uniform(0.0, 1.0))
        proxy.forget_silent()
        yield Landed(hits, f"{hits} connections of one process for {seconds:.1f} s")


class LoseNotifications(Strike):
    """Workers hear no notification for a while, and find work by looking; landed as often as one was dropped."""

    name = "lose_notifications"

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        proxies = [seat.proxy for seat in world.seats]
        before = sum(proxy.dropped for proxy in proxies)
        for proxy in proxies:
            proxy.drops_notifications = True
        wait(chance.uniform(1.5, 3.0))
        for proxy in proxies:
            proxy.drops_notifications = False
        dropped = sum(proxy.dropped for proxy in proxies) - before
        yield Landed(dropped, f"{dropped} notifications")


class SlowNetwork(Strike):
    """Everything arrives later, in both directions; no worker may be taken for dead. Landed as often as something was under way."""

    name = "slow_network"
    away = True
    LEAST: ClassVar[float] = 0.05

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        lease = world.plan.lease
        # There and back it is at most half the time between two heartbeats, of which six are in a lease: who lives is heard.
        most = chance.uniform(self.LEAST, lease / 24)
        workers = until_heard(world)
        before = sum(proxy.delayed for proxy in world.proxies)
        jitter = random.Random(chance.random())
        try:
            for proxy in world.proxies:
                proxy.delay = lambda: jitter.uniform(min(self.LEAST, most), most)
            wait(lease * chance.uniform(1.0, 2.0))
        finally:
            for proxy in world.proxies:
                proxy.delay = None
        died = taken_for_dead(world, workers)
        assert not died, f"{died} workers were taken for dead because all came up to {most:.2f} s later"
        hits = sum(proxy.delayed for proxy in world.proxies) - before
        yield Landed(hits, f"{hits} pieces came up to {most * 1000:.0f} ms later")


class CutAnywhere(Strike):
    """Connections are cut after any number of bytes, in the middle of a message; landed as often as one had begun its work."""

    name = "cut_anywhere"
    away = True
    weight: ClassVar[int] = 4
    MOST: ClassVar[int] = 1 << 16

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        before = sum(proxy.cut_anywhere for proxy in world.proxies)
        bytes_ = random.Random(chance.random())
        most = self.MOST ** chance.uniform(0.7, 1.0)
        try:
            for proxy in world.proxies:
                # Evenly over the orders of magnitude: a start-up has some hundred bytes, a claim's answer some thousand.
                proxy.cut_after_bytes(lambda: int(most ** bytes_.random()))
            wait(chance.uniform(1.0, 4.0))
        finally:
            for proxy in world.proxies:
                proxy.cut_no_more()
        hits = sum(proxy.cut_anywhere for proxy in world.proxies) - before
        yield Landed(hits, f"{hits} connections that had begun their work")
