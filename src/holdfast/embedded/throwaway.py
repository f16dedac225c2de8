"""Servers for tests: quick, in a folder of their own, gone afterwards."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.embedded import cluster
from holdfast.embedded.account import ROOT
from holdfast.embedded.binaries import Binaries
from holdfast.embedded.folder import NAME_BEGINS, ROOTS_PLACE, all_homes, locked
from holdfast.embedded.server import EmbeddedServer, start_in
from holdfast.embedded.users import living, recorded

PREFIX = f"{NAME_BEGINS}throwaway-"

# ext4 looks through the inodes deleted in the last seconds for every file it makes, and a copied database has a
# thousand: in memory a copy takes a tenth of the time. 64 MB, as containers have it, would be full at once.
RAM_DISK = Path("/dev/shm")  # noqa: S108 - the folder in it is made by mkdtemp # nosec B108
ROOM = 4 * 1024**3


@contextmanager
def throwaway(
    binaries: Binaries | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[EmbeddedServer]:
    """Run a server that loses its data in a crash and is removed at the end."""
    for place in (RAM_DISK, place_on_disk()):
        remove_left_overs(place)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=choose_place())).resolve()
    try:
        with start_in(folder, binaries=binaries, settings=settings or {}, durable=False) as server:
            yield server
    finally:
        shutil.rmtree(folder)


def choose_place(ram_disk: Path = RAM_DISK, room: int = ROOM) -> Path:
    """Return where throw-away servers live: in memory where there is room, unless TMPDIR names a place."""
    if "TMPDIR" not in os.environ and _has_room(ram_disk, room):
        return ram_disk
    return place_on_disk()


def place_on_disk() -> Path:
    """Return where throw-away servers live when not in memory."""
    return ROOTS_PLACE if os.geteuid() == ROOT else Path(tempfile.gettempdir())


def _has_room(ram_disk: Path, room: int) -> bool:
    try:
        found, memory = os.statvfs(ram_disk), _memory_available()
    except FileNotFoundError:  # not on Linux
        return False
    # A copy of the binaries may have to run from there.
    runs_programs = not found.f_flag & os.ST_NOEXEC
    return runs_programs and min(found.f_bavail * found.f_frsize, memory) >= room


def _memory_available() -> int:
    """Return the bytes that can be used without swapping; the room a RAM disk promises need not be there."""
    for line in Path("/proc/meminfo").read_text("ascii").splitlines():
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.removesuffix("kB")) * 1024
    return 0


def remove_left_overs(place: Path) -> None:
    """End and remove the throw-away servers of processes that were killed."""
    for folder in place.glob(f"{PREFIX}*"):
        # Another process may be removing the same one.
        with suppress(FileNotFoundError):
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
                _remove_if_abandoned(folder.resolve())


def _remove_if_abandoned(folder: Path) -> None:
    for home in all_homes(folder):
        # One without any user on file is only just being made.
        if not recorded(home.users) or living(home.users):
            continue
        with locked(folder):
            cluster.stop(home)
            shutil.rmtree(folder)
