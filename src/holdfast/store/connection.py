"""Connections: where the database is, how to reach it, and a deadline for everything that is asked of it."""

import asyncio
import os
import re
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo
from psycopg.pq import Conninfo, TransactionStatus

from holdfast.domain.errors import Configuration, DatabaseUnavailable
from holdfast.store.call import (
    Call,
    perform_alone,
    perform_alone_sync,
    perform_together,
    perform_together_sync,
)
from holdfast.store.errors import translated

T = TypeVar("T")

CONNECT_TIMEOUT = 10
_VARIABLES = ("HOLDFAST_DATABASE_URL", "DATABASE_URL")
_NAMING = ("PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE")
_SCHEME = re.compile(r"postgres(ql)?(\+\w+)?")


@dataclass(frozen=True, slots=True)
class Database:
    """Where the database is and who said so."""

    url: str = field(repr=False)
    source: str
    prepare: bool = True

    def arguments(self, application: str, **extra: Any) -> dict[str, Any]:
        """Everything psycopg needs to connect; keepalives notice a peer that vanished."""
        return {
            "conninfo": self.url,
            "autocommit": True,
            "prepare_threshold": 5 if self.prepare else None,
            "application_name": application,
            "connect_timeout": CONNECT_TIMEOUT,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 20_000,
            **extra,
        }

    @property
    def described(self) -> str:
        """The address without its password; what it leaves open is what libpq takes from PG* variables."""
        defaults = {
            option.keyword.decode(): (option.val or b"").decode() for option in Conninfo.get_defaults()
        }
        parts = {**defaults, **conninfo.conninfo_to_dict(self.url)}
        host = parts["host"] or parts["hostaddr"] or "local socket"
        return f"{parts['user']}@{host}:{parts['port']}/{parts['dbname'] or parts['user']}"


def normalised(url: str, source: str = "given") -> str:
    """Accept the spellings people have in their environments already."""
    scheme, separator, rest = url.partition("://")
    if separator and not _SCHEME.fullmatch(scheme):
        raise Configuration(
            f"the database URL ({source}) begins with {scheme}://; it must begin with postgresql://"
        )
    if separator:
        url = f"postgresql://{rest}"
    if not _is_understood(url):
        # libpq's words quote the part it could not read, which may be the password.
        raise Configuration(
            f"the database URL ({source}) cannot be understood: write postgresql://user:password@host:port/database, "
            "with special characters percent-encoded"
        )
    return url


def _is_understood(url: str) -> bool:
    try:
        ports = str(conninfo.conninfo_to_dict(url).get("port", ""))
    except psycopg.ProgrammingError:
        return False
    return ports.replace(",", "").isdigit() or not ports  # libpq would say so only when it connects


def find_database(
    given: str | None = None, environment: Mapping[str, str] = os.environ, *, source: str = "given"
) -> Database | None:
    """Look where the database is: given → HOLDFAST_DATABASE_URL → DATABASE_URL → PG*; None when nobody says."""
    prepare = environment.get("HOLDFAST_PREPARED_STATEMENTS", "on").lower() not in {"off", "false", "0", "no"}
    if given:
        return Database(normalised(given), source, prepare)
    for variable in _VARIABLES:
        if environment.get(variable):
            return Database(normalised(environment[variable], variable), variable, prepare)
        if path := environment.get(variable + "_FILE"):
            return Database(
                normalised(_read_secret(variable, path), variable + "_FILE"), variable + "_FILE", prepare
            )
    if any(environment.get(variable) for variable in _NAMING):
        return Database("", "PG* variables", prepare)  # libpq reads them itself
    return None


def database_of(parts: Mapping[str, Any], source: str) -> Database:
    """Give the database that another library's connection options lead to; those that are not libpq's are left out."""
    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    told = {name: str(value) for name, value in parts.items() if name in known and value not in {None, ""}}
    return require_database(conninfo.make_conninfo("", **told), source=source)


def _read_secret(variable: str, path: str) -> str:
    try:
        secret = Path(path).read_text("utf-8").strip()
    except OSError as error:
        raise Configuration(
            f"{variable}_FILE names {path}, which cannot be read: {error.strerror}"
        ) from error
    if not secret:  # to libpq it would mean the server that happens to run here
        raise Configuration(f"{variable}_FILE names {path}, which is empty")
    return secret


def require_database(
    given: str | None = None, environment: Mapping[str, str] = os.environ, *, source: str = "given"
) -> Database:
    """As find_database, with an error that names the fixes."""
    found = find_database(given, environment, source=source)
    if found is None:
        raise Configuration(
            "no database is configured: pass database_url=…, set HOLDFAST_DATABASE_URL, DATABASE_URL or PGHOST, "
            "or try Holdfast with a PostgreSQL of its own: holdfast dev"
        )
    return found


def cut(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """Shut the socket down under a waiting call: the only thing that ends a wait on a peer that went silent."""
    with suppress(OSError, psycopg.Error):
        duplicate = socket.socket(fileno=os.dup(connection.fileno()))
        with duplicate:
            duplicate.shutdown(socket.SHUT_RDWR)


def _is_in_the_middle(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any] | None) -> bool:
    """Whether a question or a transaction is still open."""
    return connection is not None and connection.info.transaction_status is not TransactionStatus.IDLE


class AsyncSession:
    """One async connection that is opened when first needed, and opened again after it was lost; tasks may share it."""

    def __init__(self, database: Database, application: str, deadline: float = 15.0) -> None:
        self._database = database
        self._application = application
        self._deadline = deadline
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._opening = asyncio.Lock()

    async def connection(self) -> psycopg.AsyncConnection[Any]:
        """Give the open connection, or make a new one."""
        if self._connection is not None and not self._connection.closed:
            return self._connection
        async with self._opening:
            if self._connection is None or self._connection.closed:
                with translated():
                    self._connection = await psycopg.AsyncConnection.connect(
                        **self._database.arguments(self._application)
                    )
            return self._connection

    async def perform(self, call: Call[T], deadline: float | None = None) -> T:
        """Perform a call within its deadline; a connection that misses it is cut and thrown away."""
        connection = await self.connection()
        timer = asyncio.get_running_loop().call_later(deadline or self._deadline, cut, connection)
        try:
            return await perform_alone(connection, call)
        except DatabaseUnavailable:
            await self._discard(connection)
            raise
        finally:
            timer.cancel()

    async def perform_together(self, calls: Iterable[Call[T]], deadline: float) -> list[T]:
        """Perform calls in one transaction, sending the next while the server works on the last."""
        connection = await self.connection()
        timer = asyncio.get_running_loop().call_later(deadline, cut, connection)
        try:
            return await perform_together(connection, calls)
        except DatabaseUnavailable:
            await self._discard(connection)
            raise
        finally:
            timer.cancel()

    @property
    def is_lost(self) -> bool:
        """Whether the connection is gone, or never came."""
        return self._connection is None or self._connection.closed

    async def close(self) -> None:
        """Close the connection, if there is one; the next call opens another."""
        if self._connection is not None:
            await self._discard(self._connection)

    async def rest(self) -> None:
        """Be ready for the next borrower: whoever was cancelled again while psycopg cleaned up left a question unanswered."""
        if _is_in_the_middle(self._connection):
            await self.close()

    def abandon(self) -> None:
        """Close the connection of an event loop that has ended and can close nothing any more."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.pgconn.finish()

    async def _discard(self, connection: psycopg.AsyncConnection[Any]) -> None:
        # Only the one that failed: another task may be waiting on its successor, and closing a socket under a wait ends no wait.
        if self._connection is connection:
            self._connection = None
        with suppress(psycopg.Error):
            await connection.close()


# Connections of a parent process: kept, because even throwing one away would close it for the parent.
_inherited: list[psycopg.Connection[Any] | None] = []


class Session:
    """One sync connection, opened when first needed and again after it was lost; for one thread at a time."""

    def __init__(self, database: Database, application: str, deadline: float = 15.0) -> None:
        self._database = database
        self._application = application
        self._deadline = deadline
        self._connection: psycopg.Connection[Any] | None = None
        self._process = os.getpid()

    def connection(self) -> psycopg.Connection[Any]:
        """Give the open connection, or make a new one; a forked process leaves its parent's alone."""
        if self._process != os.getpid():
            _inherited.append(self._connection)
            self._connection, self._process = None, os.getpid()
        if self._connection is None or self._connection.closed:
            with translated():
                self._connection = psycopg.Connection.connect(**self._database.arguments(self._application))
        return self._connection

    def perform(self, call: Call[T]) -> T:
        """Perform a call within its deadline; a connection that misses it is cut and thrown away."""
        connection = self.connection()
        try:
            with _watchdog.watch(connection, self._deadline):
                return perform_alone_sync(connection, call)
        except DatabaseUnavailable:
            self.close()
            raise

    def perform_together(self, calls: Iterable[Call[T]], deadline: float) -> list[T]:
        """Perform calls in one transaction, sending the next while the server works on the last."""
        connection = self.connection()
        try:
            with _watchdog.watch(connection, deadline):
                return perform_together_sync(connection, calls)
        except DatabaseUnavailable:
            self.close()
            raise

    @property
    def is_lost(self) -> bool:
        """Whether the connection is gone, or never came."""
        return self._connection is None or self._connection.closed

    def rest(self) -> None:
        """Be ready for the next borrower: whoever was interrupted may have left a question unanswered."""
        if _is_in_the_middle(self._connection):
            self.close()

    def close(self) -> None:
        """Close the connection, if there is one; the next call opens another. A forked process leaves its parent's alone."""
        connection, self._connection = self._connection, None
        if self._process != os.getpid():
            _inherited.append(connection)
        elif connection is not None:
            with suppress(psycopg.Error):
                connection.close()


class _Watchdog:
    """One thread that cuts the sync connections whose call is overdue; a timer thread a call would cost more than the call."""

    LOOKS_EVERY = 0.5

    def __init__(self) -> None:
        self._watched: dict[int, tuple[float, psycopg.Connection[Any]]] = {}
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @contextmanager
    def watch(self, connection: psycopg.Connection[Any], seconds: float) -> Iterator[None]:
        """Cut the connection when the block takes longer than this."""
        if self._thread is None or not self._thread.is_alive():
            self._start()
        token = id(connection)
        self._watched[token] = (time.monotonic() + seconds, connection)
        try:
            yield
        finally:
            self._watched.pop(token, None)

    def _start(self) -> None:
        with self._lock:  # a fork leaves the thread behind: the child starts its own
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._look, name="holdfast-deadlines", daemon=True)
                self._thread.start()

    def _look(self) -> None:
        while True:
            time.sleep(self.LOOKS_EVERY)
            now = time.monotonic()
            for overdue, connection in list(self._watched.values()):
                if overdue < now:
                    cut(connection)


_watchdog = _Watchdog()
