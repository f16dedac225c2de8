"""Two sessions that are led statement by statement: each stops at every pause and before its commit until it is told to go on."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from enum import Enum
from threading import Event
from time import monotonic, sleep
from typing import Any, NamedTuple

import psycopg

from interleaving.pauses import CLASS

PATIENCE = 20.0
# Between two looks where the sessions are: whoever looks without a pause takes from them the core that they need.
LOOK_EVERY = 0.001
# Who of two sessions stands at which gate of a pause of ours, and who waits for a lock of the machine's.
_WAITING = f"""
select l.pid, case when l.locktype = 'advisory' and l.classid = {CLASS} and l.objsubid = 2 then l.objid::int end as gate
  from pg_locks l
 where not l.granted and l.pid = any (%(pids)s)
   -- A lock that anybody else has is given back before long: only the two of them wait for each other.
   and (l.locktype = 'advisory' or pg_blocking_pids(l.pid) && %(pids)s::int[])
"""

Operation = Callable[[psycopg.Connection[Any]], str]


class Place(Enum):
    """Where a session is."""

    BEFORE = "it has not begun"
    PAUSED = "it stands before a statement"
    BLOCKED = "it waits for a lock of the other's"
    READY = "all is done but the commit"
    OVER = "it is over"


class Told(NamedTuple):
    """What an operation answered, or with which SQLSTATE it was refused."""

    answer: str
    refusal: str | None = None


class Session:
    """One connection with a thread of its own."""

    def __init__(self, url: str, number: int, threads: ThreadPoolExecutor) -> None:
        self.number = number
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute("select set_config('interleaving.session', %s, false)", (str(number),))
        self.connection.execute("set deadlock_timeout = '50ms'")
        self.pid = self.connection.info.backend_pid
        self._threads = threads
        self._performed, self._may_commit = Event(), Event()
        self._performance: Future[Told] | None = None

    def forget(self) -> None:
        """Stand at the beginning again."""
        self._performance = None

    def start(self, operation: Operation) -> None:
        """Begin, and run as far as the first pause."""
        self._performed.clear()
        self._may_commit.clear()
        self._performance = self._threads.submit(self._perform, operation)

    def _perform(self, operation: Operation) -> Told:
        try:
            with self.connection.transaction():
                answer = operation(self.connection)
                self._performed.set()
                if not self._may_commit.wait(PATIENCE):
                    raise TimeoutError("nobody let it commit")
        except psycopg.Error as error:
            return Told(str(error), error.sqlstate or type(error).__name__)
        return Told(answer)

    def commit(self) -> None:
        """Let it commit."""
        self._may_commit.set()
        self.told()

    def told(self) -> Told:
        """Give the answer to the operation."""
        assert self._performance is not None
        return self._performance.result(PATIENCE)

    @property
    def seems(self) -> Place | None:
        """Where it is, as far as this process knows; None while it is on its way."""
        if self._performance is None:
            return Place.BEFORE
        if self._performance.done():
            return Place.OVER
        if self._performed.is_set() and not self._may_commit.is_set():
            return Place.READY
        return None


class Conductor:
    """Leads two sessions by a connection of its own."""

    def __init__(self, url: str) -> None:
        self._threads = ThreadPoolExecutor(2)
        self.baton = psycopg.connect(url, autocommit=True)
        self.sessions = (Session(url, 0, self._threads), Session(url, 1, self._threads))
        self.has_waited = False  # one of them for a lock of the other's
        self._gates = {0: 0, 1: 0}  # at which each stands, or stood last
        for gate in range(4):
            self.baton.execute("select pg_advisory_lock(%s, %s)", (CLASS, gate))

    def close(self) -> None:
        self.baton.close()  # first: whoever stands at a pause goes on
        self._threads.shutdown()
        for session in self.sessions:
            with suppress(psycopg.Error):
                session.connection.close()

    def begin(self) -> None:
        """Stand at the beginning again."""
        self.has_waited = False
        for session in self.sessions:
            session.forget()

    def step(self, number: int, place: Place, operation: Operation) -> None:
        """Let a session that can go on do its next statement."""
        session = self.sessions[number]
        if place is Place.BEFORE:
            session.start(operation)
        elif place is Place.PAUSED:
            # Opened for the one who waits there, and closed behind him: his next one is the other gate.
            gate = self._gates[number]
            self.baton.execute(
                "select pg_advisory_unlock(%s, %s), pg_advisory_lock(%s, %s)", (CLASS, gate, CLASS, gate)
            )
        else:
            session.commit()

    def places(self) -> tuple[Place, Place]:
        """Wait until neither is on its way, and say where they are."""
        until = monotonic() + PATIENCE
        while True:
            seen = [session.seems for session in self.sessions]
            if None in seen:
                pids = [session.pid for session in self.sessions]
                waiting: dict[int, int | None] = dict(self.baton.execute(_WAITING, {"pids": pids}).fetchall())
                for number, session in enumerate(self.sessions):
                    if seen[number] is None and session.pid in waiting and session.seems is None:
                        gate = waiting[session.pid]
                        seen[number] = Place.BLOCKED if gate is None else Place.PAUSED
                        self._gates[number] = self._gates[number] if gate is None else gate
            # Whoever is blocked by one that is over is about to go on, and two that are blocked by each other are soon told.
            first, second = seen
            if first is not None and second is not None and Place.BLOCKED not in seen:
                return first, second
            if Place.BLOCKED in seen and any(place in _HOLDS_LOCKS for place in seen):
                self.has_waited = True
                return first, second  # type: ignore[return-value]
            assert monotonic() < until, f"nothing moves: {seen}"
            sleep(LOOK_EVERY)


_HOLDS_LOCKS = (Place.PAUSED, Place.READY)
