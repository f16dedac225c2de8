"""The processes of all products: started together, a worker again when it has died, and none outlives who started them."""

import multiprocessing
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from apps.live.product import Part, play, work

STARTS_AGAIN = 2.0  # seconds after a worker's death
PATIENCE = 8.0
_LOOK_EVERY = 0.2


@dataclass(slots=True)
class Child:
    """A process, and the line on which it hears that it is let go."""

    process: Any
    line: Connection

    def end(self, until: float) -> None:
        """Wait for it; who does not go is thrown out."""
        self.process.join(max(until - time.monotonic(), 0))
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()


@dataclass(slots=True)
class Member:
    """A product: what plays it, and its worker once it knows the product's world."""

    name: str
    player: Child
    environment: dict[str, str] | None = None
    worker: Child | None = None
    died_at: float | None = None
    is_gone: bool = False  # it has said on its own why

    @property
    def watched(self) -> list[Any]:
        """What says that something has happened to it."""
        if self.environment is None and not self.is_gone:
            return [self.player.line]
        return [] if self.worker is None else [self.worker.process.sentinel]


@dataclass(slots=True)
class Company:
    """All products."""

    members: dict[str, Member] = field(default_factory=dict)
    _ending: threading.Event = field(default_factory=threading.Event)

    def kill_worker(self, name: str) -> bool:
        """Kill a product's worker with a signal that it cannot hear; says whether there was one."""
        worker = self.members[name].worker
        if worker is None or worker.process.exitcode is not None:
            return False
        worker.process.kill()
        return True

    def keep_going(self) -> None:
        """Start workers, and start them again, until the end."""
        while not self._ending.is_set():
            wait([watched for each in self.members.values() for watched in each.watched], _LOOK_EVERY)
            for member in self.members.values():
                self._look_after(member)

    def _look_after(self, member: Member) -> None:
        if member.environment is None:
            if member.is_gone or not member.player.line.poll():
                return
            try:
                member.environment = member.player.line.recv()
            except EOFError:
                member.is_gone = True
                return
        if member.worker is not None and member.worker.process.exitcode is not None:
            member.worker, member.died_at = None, time.monotonic()
        is_due = member.died_at is None or time.monotonic() > member.died_at + STARTS_AGAIN
        if member.worker is None and is_due and not self._ending.is_set():
            member.worker = _started(work, member.name, member.environment)

    def stop(self) -> None:
        """Start nothing any more."""
        self._ending.set()

    def end(self) -> None:
        """Let all go home, the workers first."""
        until = time.monotonic() + PATIENCE
        workers = [each.worker for each in self.members.values() if each.worker is not None]
        for group in (workers, [each.player for each in self.members.values()]):
            for child in group:
                child.line.close()
            for child in group:
                child.end(until)


_fork = multiprocessing.get_context("forkserver")


def _started(does: Any, *given: Any) -> Child:
    ours, theirs = _fork.Pipe()
    process = _fork.Process(target=does, args=(*given, theirs))
    process.start()
    theirs.close()
    return Child(process, ours)


@contextmanager
def company(parts: Sequence[Part]) -> Iterator[Company]:
    """Start the products, the first before all others: it may have a past. They end with the block."""
    _fork.set_forkserver_preload(["apps.live.common"])
    made = Company()
    keeping = threading.Thread(target=made.keep_going, daemon=True)
    try:
        for part in parts:
            made.members[part.product] = Member(part.product, _started(play, part))
            if part.past:
                wait([made.members[part.product].player.line])
        keeping.start()
        yield made
    finally:
        # An end that has begun is finished, however often Ctrl-C is pressed; and so is what comes after it.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        made.stop()
        if keeping.ident is not None:
            keeping.join(PATIENCE)
        made.end()
