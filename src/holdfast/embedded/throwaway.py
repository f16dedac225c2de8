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
# Tests make and drop databases by the hundred, each of a thousand files: a disk's file system takes ten times as long for it.
MEMORY = Path("/dev/shm")  # noqa: S108 - mkdtemp makes the folder, closed to others
# What a container gets unless it is told otherwise is far too small.
ENOUGH_MEMORY = 4 * 1024**3


@contextmanager
def throwaway(
    binaries: Binaries | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[EmbeddedServer]:
    """Run a server that loses its data in a crash and is removed at the end."""
    for place in (MEMORY, place_on_disk()):
        remove_left_overs(place)
    place = MEMORY if _has_room(MEMORY) else place_on_disk()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place)).resolve()
    try:
        with start_in(folder, binaries=binaries, settings=settings or {}, durable=False) as server:
            yield server
    finally:
        shutil.rmtree(folder)


def place_on_disk() -> Path:
    """Name the folder for servers of tests that need a disk, or find no room in memory."""
    return ROOTS_PLACE if os.geteuid() == ROOT else Path(tempfile.gettempdir())


def _has_room(place: Path) -> bool:
    return os.access(place, os.W_OK | os.X_OK) and shutil.disk_usage(place).free >= ENOUGH_MEMORY


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
