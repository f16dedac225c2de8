"""A real PostgreSQL for people who have none yet, shared by all processes that ask for the same folder.

It is stopped when its last user stops it or exits. A user that is killed stops nothing: the server stays until
the next user of the folder has finished with it.
"""

import atexit
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

from holdfast.embedded import cluster
from holdfast.embedded.account import Account, choose_account
from holdfast.embedded.binaries import Binaries, all_binaries, find_binaries
from holdfast.embedded.copies import reachable
from holdfast.embedded.creation import SUPERUSER, create
from holdfast.embedded.errors import EmbeddedError
from holdfast.embedded.folder import Home, choose_folder, homes, locked, prepare_folder, prepare_home
from holdfast.embedded.ports import HOST
from holdfast.embedded.users import User, living, register, unregister


class Arrival(StrEnum):
    """How we came to a running server."""

    FIRST_START = "first start"
    RESTART = "restart"
    JOINED = "joined"


@dataclass(eq=False, kw_only=True)
class EmbeddedServer:
    """Our hold on a running server; `stop()`, leaving the `with` block or exiting gives it up."""

    version: str
    folder: Path
    port: int
    arrival: Arrival
    seconds: float
    url: str = field(repr=False)
    _parent: Path = field(repr=False)
    _pid: int = field(repr=False)
    _user: User | None = field(repr=False)

    def url_for(self, database: str) -> str:
        """Return the superuser's URL for another database of this server."""
        return f"{self.url.rpartition('/')[0]}/{database}"

    def describe(self) -> str:
        """Return a line for a banner; it holds no password."""
        return f"PostgreSQL {self.version}  {self.folder}  (embedded, {self.arrival}, {self.seconds:.1f} s)"

    def stop(self) -> None:
        """Give the server up; the last user's stop ends it. Doing it twice is doing it once."""
        user, self._user = self._user, None
        # A forked child inherits this object but is no user of its own.
        if user is None or user.pid != os.getpid():
            return
        atexit.unregister(self.stop)
        home = Home(self.folder)
        try:
            with locked(self._parent):
                if unregister(home.users, user):
                    cluster.stop(home)
        except FileNotFoundError:
            # Somebody removed the folder under a running server.
            cluster.stop_process(self._pid, home)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start(
    folder: Path,
    *,
    binaries: Binaries | None = None,
    settings: Mapping[str, str] | None = None,
    durable: bool = True,
) -> EmbeddedServer:
    """Start the server of a folder (a project's `.holdfast/pg`), or join it if it runs; settings count at a start."""
    return start_in(choose_folder(folder), binaries=binaries, settings=settings or {}, durable=durable)


def start_in(
    folder: Path, *, binaries: Binaries | None, settings: Mapping[str, str], durable: bool
) -> EmbeddedServer:
    """Start or join the server of exactly this folder."""
    began = time.monotonic()
    prepare_folder(folder)
    with locked(folder):
        home, chosen = _choose_home(folder, binaries)
        account = choose_account(home.data)
        prepare_home(folder, home, account)
        # Counted before there is a server, so that one we leave behind when killed is known to be nobody's.
        user = register(home.users)
        try:
            arrival, postmaster = _arrive(folder, home, chosen, account, settings, durable=durable)
            url = f"postgresql://{SUPERUSER}:{_password(home)}@{HOST}:{postmaster.port}/postgres"
        except BaseException:
            if unregister(home.users, user):
                cluster.stop(home)
            raise
    server = EmbeddedServer(
        version=chosen.version,
        folder=home.folder,
        port=postmaster.port,
        arrival=arrival,
        seconds=time.monotonic() - began,
        url=url,
        _parent=folder,
        _pid=postmaster.pid,
        _user=user,
    )
    atexit.register(server.stop)
    return server


def _choose_home(folder: Path, wanted: Binaries | None) -> tuple[Home, Binaries]:
    """Existing data decides the major version; without any, the binaries do."""
    existing = homes(folder)
    if not existing:
        chosen = wanted or find_binaries()
        return Home(folder / str(chosen.major)), chosen
    major = wanted.major if wanted and wanted.major in existing else max(existing)
    for binaries in [wanted] if wanted else all_binaries():
        if binaries.major == major:
            return existing[major], binaries
    raise _other_major(existing[major], major, [wanted] if wanted else list(all_binaries()))


def _other_major(home: Home, major: int, offered: list[Binaries]) -> EmbeddedError:
    here = ", ".join(f"{each.version} ({each.folder})" for each in offered) or "no PostgreSQL at all"
    return EmbeddedError(
        f"The data in {home.folder} was made by PostgreSQL {major}, and a server of another major version "
        f"cannot read it; offered: {here}. Install PostgreSQL {major} to go on with this data "
        f"(or to pg_dump it and load it into the other), or move {home.folder} away to begin with an "
        f"empty database, or set DATABASE_URL to a PostgreSQL that runs elsewhere."
    )


def _arrive(
    folder: Path,
    home: Home,
    binaries: Binaries,
    account: Account,
    settings: Mapping[str, str],
    *,
    durable: bool,
) -> tuple[Arrival, cluster.Postmaster]:
    postmaster = cluster.settled(home, time.monotonic() + cluster.READY_WITHIN)
    if postmaster is not None and durable and not postmaster.is_durable:
        _end_losable(home)
        postmaster = None
    if postmaster is not None:
        return Arrival.JOINED, postmaster
    binaries = reachable(binaries, account, folder)
    arrival = Arrival.FIRST_START if home.major is None else Arrival.RESTART
    if arrival is Arrival.FIRST_START:
        create(home, binaries, account, durable=durable)
    return arrival, cluster.launch(home, binaries, account, settings, durable=durable)


def _end_losable(home: Home) -> None:
    """Make way for a durable server: what a caller commits to it must not be lost because another asked for speed."""
    others = [user.pid for user in living(home.users)][:-1]
    if others:
        raise EmbeddedError(
            f"The server on {home.data} runs with fsync off, for the processes {others}. "
            "Stop them first, or use another folder."
        )
    cluster.stop(home)


def _password(home: Home) -> str:
    try:
        return home.password.read_text("utf-8")
    except FileNotFoundError:
        raise EmbeddedError(
            f"{home.password} is gone, and with it the way into {home.data}. "
            f"Restore it, or move {home.folder} away to begin with an empty database."
        ) from None
