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


@contextmanager
def throwaway(
    binaries: Binaries | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[EmbeddedServer]:
    """Run a server that loses its data in a crash and is removed at the end."""
    place = ROOTS_PLACE if os.geteuid() == ROOT else Path(tempfile.gettempdir())
    remove_left_overs(place)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place)).resolve()
    try:
        with start_in(folder, binaries=binaries, settings=settings or {}, durable=False) as server:
            yield server
    finally:
        shutil.rmtree(folder)


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
