"""Guards taken away for a run: mutants of the guarantee tests, or files of sabotage/ that take more than those do."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psycopg

from guarantees.mutation import FOLDER as MUTANTS
from guarantees.mutation import ROOT, apply_patch, patched_files
from world.without import WITHOUT

FOLDERS = (Path(__file__).parent / "sabotage", MUTANTS)
FUNCTIONS = "src/holdfast/store/sql/functions/"


class NoSuchGuardError(Exception):
    """Nothing takes away a guard of this name."""


@dataclass(frozen=True)
class Without:
    """What a run does without: SQL for the database, and patches of the source that workers and customers run."""

    files: tuple[Path, ...] = ()

    @classmethod
    def named(cls, names: Iterable[str]) -> "Without":
        return cls(tuple(map(_find, names)))

    def apply_to(self, owner_url: str, source: Path | None) -> None:
        """Take the guards out of a database: what is SQL, and what a patch has changed of the functions."""
        if not self.files:
            return
        changed = [path for patch in self._patches for path in patched_files(patch) if FUNCTIONS in path]
        with psycopg.connect(owner_url) as connection:
            connection.execute(WITHOUT)
            for path in changed:
                assert source is not None
                connection.execute((source.parent / path).read_bytes())
            for file in self.files:
                if file.suffix == ".sql":
                    connection.execute(file.read_bytes())

    def patched_source(self, place: Path) -> Path | None:
        """Copy the source and take the guards out of it; None where there is nothing to take."""
        if not self._patches:
            return None
        shutil.copytree(ROOT / "src", place / "src")
        for patch in self._patches:
            apply_patch(patch, place)
        return place / "src"

    @property
    def _patches(self) -> list[str]:
        return [file.read_text("utf-8") for file in self.files if file.suffix == ".patch"]


def _find(name: str) -> Path:
    for folder in FOLDERS:
        for suffix in (".sql", ".patch"):
            if (file := folder / f"{name}{suffix}").exists():
                return file
    raise NoSuchGuardError(f"there is no {name}.sql or {name}.patch among the mutants")
