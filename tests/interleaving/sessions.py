"""Two sessions that are led statement by statement: each stops at every pause and before its commit until it is told to go on."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from enum import Enum
from threading import Event
from time import monotonic
from typing import Any, NamedTuple

import psycopg

from interleaving.pauses import CLASS, STOPS, known_functions
from interleaving.touches import ANYTHING, NOTHING, Step, Touched, commit_of, steps_between

PATIENCE = 20.0
# How long a session that is on its way says nothing before it is asked whether it waits for a lock, and how long from one time to the next.
LOOK_AFTER = 0.002
# Who of two sessions waits for a lock of the machine's; at a gate of a pause it has said that it stops.
_WAITING = f"""
select l.pid
  from pg_locks l
 where not l.granted and l.pid = any (%(pids)s) and (l.locktype <> 'advisory' or l.objsubid <> 2 or l.classid <> {CLASS})
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

    def __init__(self, url: str, number: int, threads: ThreadPoolExecutor, moved: Event) -> None:
        self.number = number
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute("select set_config('interleaving.session', %s, false)", (str(number),))
        self.connection.execute("set deadlock_timeout = '50ms'")
        self.connection.add_notice_handler(self._stop)
        self.pid = self.connection.info.backend_pid
        self._functions = known_functions(self.connection)
        self.gate: int | None = None  # at which it stands, or stood last
        self._threads, self._moved = threads, moved
        self._may_commit = Event()
        self._place: Place | None = Place.BEFORE
        self._accounts: list[Touched] = []
        self._performance: Future[Told] | None = None

    def forget(self) -> None:
        """Stand at the beginning again."""
        self._place = Place.BEFORE
        self._accounts.clear()

    def start(self, operation: Operation) -> None:
        """Begin, and run as far as the first pause."""
        self._place = None
        self._may_commit.clear()
        self._performance = self._threads.submit(self._perform, operation)
        self._performance.add_done_callback(lambda _: self._is_at(Place.OVER))

    def go_on(self) -> None:
        """Leave the gate that is opened for it."""
        self._place = None

    def commit(self) -> None:
        """Let it commit."""
        self._place = None
        self._may_commit.set()

    def told(self) -> Told:
        """Give the answer to the operation."""
        assert self._performance is not None
        return self._performance.result(PATIENCE)

    @property
    def seems(self) -> Place | None:
        """Where it is, as far as this process knows; None while it is on its way."""
        return self._place

    @property
    def stops(self) -> int:
        """How often it has stopped in its transaction."""
        return max(len(self._accounts) - 1, 0)

    def steps(self) -> list[Step]:
        """Say what it did after each stop, once it is over."""
        if self.told().refusal:
            return [*steps_between(self._accounts, ANYTHING), ANYTHING]
        steps = steps_between(self._accounts, NOTHING)
        return [*steps, commit_of(steps)]

    def _perform(self, operation: Operation) -> Told:
        try:
            with self.connection.transaction():
                self._account(first=True)
                answer = operation(self.connection)
                self._account(first=False)
                self._is_at(Place.READY)
                if not self._may_commit.wait(PATIENCE):
                    raise TimeoutError("nobody let it commit")
        except psycopg.Error as error:
            return Told(str(error), error.sqlstate or type(error).__name__)
        return Told(answer)

    def _account(self, *, first: bool) -> None:
        ((told,),) = self.connection.execute("select interleaving.touched(%s)", (first,)).fetchall()
        self._accounts.append(Touched(told))

    def _stop(self, said: psycopg.errors.Diagnostic) -> None:
        message = said.message_primary or ""
        if message.startswith(STOPS):
            gate, touched = message.removeprefix(STOPS).strip().split(" ", 1)
            self.gate = int(gate)
            self._accounts.append(Touched(touched, said.context or "", self._functions))
            self._is_at(Place.PAUSED)

    def _is_at(self, place: Place) -> None:
        self._place = place
        self._moved.set()


class Conductor:
    """Leads two sessions by a connection of its own."""

    def __init__(self, url: str) -> None:
        self._threads = ThreadPoolExecutor(2)
        self._moved = Event()  # one of them came to a stop
        self._blocked: set[int] = set()  # who was seen to wait for a lock last
        self.baton = psycopg.connect(url, autocommit=True)
        self.sessions = (
            Session(url, 0, self._threads, self._moved),
            Session(url, 1, self._threads, self._moved),
        )
        self.has_waited = False  # one of them for a lock of the other's
        self._open: set[int] = set(range(4))
        for gate in range(4):
            self._close(gate)

    def close(self) -> None:
        self.baton.close()  # first: whoever stands at a pause goes on
        self._threads.shutdown()
        for session in self.sessions:
            with suppress(psycopg.Error):
                session.connection.close()

    def begin(self) -> None:
        """Stand at the beginning again."""
        self.has_waited = False
        self._blocked = set()
        for session in self.sessions:
            session.forget()

    def told(self) -> list[Told]:
        """Give both answers."""
        return [session.told() for session in self.sessions]

    def step(self, number: int, place: Place, operation: Operation) -> None:
        """Let a session that can go on do its next statement."""
        session = self.sessions[number]
        if place is Place.BEFORE:
            session.start(operation)
        elif place is Place.PAUSED:
            assert session.gate is not None
            # The one behind it is closed before it goes on to it.
            self._close(session.gate ^ 1)
            session.go_on()
            self._open.add(session.gate)
            self.baton.execute("select pg_advisory_unlock(%s, %s)", (CLASS, session.gate))
        else:
            session.commit()

    def _close(self, gate: int) -> None:
        if gate in self._open:
            self.baton.execute("select pg_advisory_lock(%s, %s)", (CLASS, gate))
            self._open.remove(gate)

    def places(self) -> tuple[Place, Place]:
        """Wait until neither is on its way, and say where they are."""
        until = monotonic() + PATIENCE
        while True:
            self._moved.clear()
            seen = [session.seems for session in self.sessions]
            on_its_way = {number for number, place in enumerate(seen) if place is None}
            # Of one that waited a moment ago it is asked at once.
            if on_its_way and (on_its_way <= self._blocked or not self._moved.wait(LOOK_AFTER)):
                self._blocked = {number for number in self._waiting() if self.sessions[number].seems is None}
                for number in self._blocked & on_its_way:
                    seen[number] = Place.BLOCKED
            # Whoever is blocked by one that is over is about to go on, and two that are blocked by each other are soon told.
            first, second = seen
            if first is not None and second is not None and Place.BLOCKED not in seen:
                return first, second
            if Place.BLOCKED in seen and any(place in _HOLDS_LOCKS for place in seen):
                self.has_waited = True
                return first, second  # type: ignore[return-value]
            assert monotonic() < until, f"nothing moves: {seen}"

    def _waiting(self) -> set[int]:
        """Ask which of them wait for a lock of the machine's."""
        numbers = {session.pid: session.number for session in self.sessions}
        return {numbers[pid] for (pid,) in self.baton.execute(_WAITING, {"pids": list(numbers)})}


_HOLDS_LOCKS = (Place.PAUSED, Place.READY)
