"""Chooses who PostgreSQL runs as: ourselves, or as root an unprivileged account that already exists.

PostgreSQL refuses to run as root, and initdb wants its user to have a passwd entry.
"""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from holdfast.embedded.errors import EmbeddedError

ROOT = 0
UNPRIVILEGED = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """Who the server's processes run as; `switch` says whether that differs from who we are."""

    uid: int
    gid: int
    switch: bool


def choose_account(data: Path | None = None) -> Account:
    """Return the account for a server; one whose data exists already keeps its owner."""
    if os.geteuid() != ROOT:
        return Account(os.geteuid(), os.getegid(), switch=False)
    entry = _owner_of(data) or _first_unprivileged()
    if entry is None:
        raise EmbeddedError(
            "PostgreSQL does not run as root, and neither 'postgres' nor 'nobody' has a passwd entry to run it as. "
            "Run this as an ordinary user, or set DATABASE_URL to a PostgreSQL that runs elsewhere."
        )
    return Account(entry.pw_uid, entry.pw_gid, switch=True)


def spawn(
    command: list[str], account: Account, *, folder: Path, output: int | IO[Any]
) -> subprocess.Popen[bytes]:
    """Start a program as that account, in a session of its own, with a clean environment."""
    try:
        return Detachable(
            command,
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            umask=0o077,
            # Ctrl-C goes to the terminal's foreground group; the server is stopped by us, after its users.
            start_new_session=True,
            user=account.uid if account.switch else None,
            group=account.gid if account.switch else None,
            extra_groups=[] if account.switch else None,
        )
    except OSError as error:
        raise EmbeddedError(f"{command[0]} cannot be run as uid {account.uid}: {error}") from error


class Detachable(subprocess.Popen[bytes]):
    """A child that may outlive us: leaving a server to its other users is no mistake to warn about."""

    def __del__(self) -> None:
        if getattr(self, "returncode", 0) is None:
            self.poll()


def _environment() -> dict[str, str]:
    # Our own variables may hold secrets, and the account could read them in /proc; PG* would change the server.
    # C and UTC make a server the same on every machine.
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


def _owner_of(data: Path | None) -> pwd.struct_passwd | None:
    if data is None or not data.exists():
        return None
    try:
        entry = pwd.getpwuid(data.stat().st_uid)
    except KeyError:
        raise EmbeddedError(
            f"{data} belongs to uid {data.stat().st_uid}, who has no passwd entry on this machine. "
            "Give the folder to 'postgres' or 'nobody', or move it away to begin with an empty database."
        ) from None
    return entry if entry.pw_uid != ROOT else None


def _first_unprivileged() -> pwd.struct_passwd | None:
    for name in UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != ROOT:
            return entry
    return None
