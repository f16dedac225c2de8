"""Sessions that outlive a test: what a new one looks up and plans costs more than most tests ask of it.

PostgreSQL keeps its plans in the session that made them. Whoever closes a connection to a database that is kept leaves the session behind,
as `discard all` would leave it but for its plans, and whoever connects in the same way next goes on with it. It ties these tests to the way in which psycopg makes
a connection; nothing else here depends on that.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import psycopg
from psycopg import conninfo, generators
from psycopg._connection_base import BaseConnection
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus, abc
from psycopg.pq import PGconn as NoSession

# Everything that `discard all` does, without forgetting plans. What it has counted is counted now, not in the next test, and who looks for
# sessions by their names finds none that nobody uses.
AS_NEW = (
    b"close all; set session authorization default; reset all; unlisten *; select pg_advisory_unlock_all();"
    b" deallocate all; discard temp; discard sequences; select pg_stat_force_next_flush(); set application_name = 'kept'"
)
# More than any test needs at once would only wait.
MOST_IDLE = 25
NAMED = b"select set_config('application_name', $1, false)"
OPEN_TRANSACTION = (TransactionStatus.INTRANS, TransactionStatus.INERROR)
SUCCESS = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)

Place = tuple[str, str, str]


class _Kept:
    """Which databases are kept, and the sessions that wait there for the next who asks in the same words."""

    def __init__(self) -> None:
        self.places: set[Place] = set()
        self.idle: defaultdict[Place, defaultdict[str, list[abc.PGconn]]] = defaultdict(
            lambda: defaultdict(list)
        )


_kept = _Kept()
_close, _aclose = psycopg.Connection.close, psycopg.AsyncConnection.close


def place_of(url: str) -> Place:
    """Say which database of which server an address leads to."""
    parts = conninfo.conninfo_to_dict(url)
    return str(parts.get("host", "")), str(parts.get("port", "")), str(parts.get("dbname", ""))


def keep(place: Place) -> None:
    """Keep the sessions of a database from now on."""
    _kept.places.add(place)


def idle(place: Place) -> list[int]:
    """Give the backends that wait there."""
    return [session.backend_pid for sessions in [*_kept.idle[place].values()] for session in [*sessions]]


def end(place: Place) -> None:
    """End the sessions of a database and keep no others."""
    _kept.places.discard(place)
    for sessions in _kept.idle.pop(place, {}).values():
        for session in sessions:
            session.finish()


def install() -> None:
    """Have psycopg, in this process, make and close connections so."""
    os.register_at_fork(after_in_child=_leave_to_parent)
    BaseConnection._connect_gen = classmethod(_connect)  # type: ignore[assignment]
    psycopg.Connection.close = _leave  # type: ignore[method-assign]
    psycopg.AsyncConnection.close = _aleave  # type: ignore[method-assign]


def _leave_to_parent() -> None:
    """Have a forked process make sessions of its own; psycopg closes none that another process has made."""
    _kept.places.clear()


def _connect(cls: Any, url: str = "") -> Generator[Any, Any, Any]:
    place = place_of(url)
    if place not in _kept.places:
        connection = cls((yield from generators.connect(url)))
    else:
        words, application = _without_name(url)
        session = _next_idle(_kept.idle[place][words], application)
        connection = cls(session or (yield from generators.connect(url)))
        connection._left_to = (place, words)
    return connection


def _without_name(url: str) -> tuple[str, str]:
    parts = conninfo.conninfo_to_dict(url)
    application = str(parts.pop("application_name", ""))
    return conninfo.make_conninfo("", **parts), application


def _next_idle(sessions: list[abc.PGconn], application: str) -> abc.PGconn | None:
    while sessions:
        session = sessions.pop()
        if session.exec_params(NAMED, [application.encode()]).status in SUCCESS:
            return session
        session.finish()  # somebody ended it while it waited
    return None


def _leave(self: psycopg.Connection[Any]) -> None:
    if not _is_left(self):
        _close(self)


async def _aleave(self: psycopg.AsyncConnection[Any]) -> None:
    if not _is_left(self):
        await _aclose(self)


def _is_left(connection: Any) -> bool:
    """Leave the session to the next, if it is in a state to be left; the connection itself is closed then."""
    place, words = getattr(connection, "_left_to", (None, ""))
    if place not in _kept.places or connection.closed or len(idle(place)) >= MOST_IDLE:
        return False
    if not _is_as_new(connection.pgconn):
        return False
    session, connection.pgconn, connection._closed = connection.pgconn, NoSession(), True
    session.notice_handler = session.notify_handler = None
    _kept.idle[place][words].append(session)
    return True


def _is_as_new(session: abc.PGconn) -> bool:
    if session.status != ConnStatus.OK or session.pipeline_status:
        return False
    if session.transaction_status in OPEN_TRANSACTION:
        session.exec_(b"rollback")
    if session.transaction_status != TransactionStatus.IDLE or session.exec_(AS_NEW).status not in SUCCESS:
        return False
    while session.notifies():  # what it heard last is not for the next
        pass
    return True
