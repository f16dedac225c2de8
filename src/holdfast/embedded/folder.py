"""Where a server's files live, who may touch them, and the lock around them.

    <folder>/lock                  one start or stop at a time, over processes
    <folder>/<major>/data          what PostgreSQL keeps
    <folder>/<major>/password      the superuser's, readable by us alone
    <folder>/<major>/port          so that a restart keeps its URL
    <folder>/<major>/users         who uses the server now
    <folder>/<major>/server.log

As root only `data` belongs to the server's account: it can neither read the password nor plant a file where
root will write.
"""

import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.embedded.account import ROOT, Account
from holdfast.embedded.errors import EmbeddedError

# As root: project folders are often closed to other users, and opening them is not ours to do.
ROOTS_PLACE = Path("/var/tmp")  # noqa: S108 - what is found there is checked by check_is_roots_own # nosec B108
NAME_BEGINS = "holdfast-"


@dataclass(frozen=True, slots=True)
class Home:
    """The files of one server."""

    folder: Path

    @property
    def data(self) -> Path:
        """PostgreSQL's own data folder."""
        return self.folder / "data"

    @property
    def password(self) -> Path:
        """The superuser's password."""
        return self.folder / "password"

    @property
    def port(self) -> Path:
        """The port of the last start."""
        return self.folder / "port"

    @property
    def users(self) -> Path:
        """Who uses the server."""
        return self.folder / "users"

    @property
    def log(self) -> Path:
        """What PostgreSQL says."""
        return self.folder / "server.log"

    @property
    def major(self) -> int | None:
        """The major version that made the data, or None when there is none yet."""
        try:
            return int((self.data / "PG_VERSION").read_text("utf-8").partition(".")[0])
        except FileNotFoundError:
            return None


def choose_folder(wanted: Path) -> Path:
    """Return the folder to use: the wanted one, or as root one of our own under /var/tmp."""
    # Two spellings of one folder must meet at one server.
    wanted = wanted.resolve()
    if (wanted / "PG_VERSION").exists():
        raise EmbeddedError(
            f"{wanted} is itself a PostgreSQL data folder, which Holdfast did not make. "
            "Name an empty or new folder, or start that server yourself and set DATABASE_URL to it."
        )
    if os.geteuid() != ROOT:
        return wanted
    fingerprint = hashlib.sha256(os.fsencode(wanted)).hexdigest()[:16]
    return ROOTS_PLACE / f"{NAME_BEGINS}{fingerprint}"


def prepare_folder(folder: Path) -> None:
    """Make the folder if needed, and refuse one that somebody else could have prepared for us."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise EmbeddedError(f"The folder {folder} cannot be made: {error}. Name another.") from error
    owner = folder.stat().st_uid
    if os.geteuid() == ROOT:
        check_is_roots_own(folder)
    elif owner != os.geteuid():
        raise EmbeddedError(
            f"{folder} belongs to uid {owner}, not to you (uid {os.geteuid()}). "
            "Name a folder of your own, or run this as its owner."
        )


def check_is_roots_own(folder: Path) -> None:
    """Refuse a folder in a place all may write to unless root made it and only root may write in it."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        fault = "is not a folder"
    elif found.st_uid != ROOT:
        fault = f"belongs to uid {found.st_uid}, not to root"
    elif stat.S_IMODE(found.st_mode) & 0o027:
        fault = f"is open to others (mode {stat.S_IMODE(found.st_mode):04o})"
    else:
        return
    raise EmbeddedError(
        f"{folder} {fault}, so somebody else may have prepared it. "
        "Look at it, then remove it; or run this as an ordinary user; or set DATABASE_URL."
    )


def prepare_home(folder: Path, home: Home, account: Account) -> None:
    """Make a server's own folder."""
    home.folder.mkdir(mode=0o700, exist_ok=True)
    for ours in (folder, home.folder):
        let_through(ours, account)


def let_through(folder: Path, account: Account) -> None:
    """Let the server's account pass through a folder of ours, but not write to it."""
    if account.switch:
        os.chown(folder, ROOT, account.gid)
        folder.chmod(0o750)


def homes(folder: Path) -> dict[int, Home]:
    """Return the servers that have data in a folder, by the major version that made it."""
    return {home.major: home for home in all_homes(folder) if home.major is not None}


def all_homes(folder: Path) -> list[Home]:
    """Return the servers' folders, also of those that were never finished."""
    return [Home(each) for each in folder.iterdir() if each.name.isdigit()]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the kernel lets go of it when we die."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # A child forked meanwhile shares this descriptor; unlocking releases it for both, closing would not.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def write_private(file: Path, text: str) -> None:
    """Write a file that only we may read, whole or not at all."""
    new = file.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    new.replace(file)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
