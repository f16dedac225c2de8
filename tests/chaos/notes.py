"""Notes outside the database: append-only files, one line a fact, that say what happened whoever dies afterwards.

They are written by single appends, which whoever is killed afterwards has made, and not synced: here processes and servers die, the
machine does not.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Note = dict[str, Any]


class Wanted(NamedTuple):
    """A job as a customer asked for it, in words that nothing of Holdfast has touched."""

    task: str
    payload: dict[str, Any]
    tenant: str | None = None
    key: str | None = None
    subject: str | None = None
    run_in: float | None = None
    after: tuple[str, ...] = ()  # the jobs of its flow that it was to run after


class Notes:
    """One file of notes, written by one process."""

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, **facts: Any) -> None:
        os.write(self._descriptor, json.dumps(facts, default=str).encode() + b"\n")


def read(folder: Path, pattern: str) -> Iterator[Note]:
    """Give the notes of all files of a name, each file in its order; a line that its writer did not end is none."""
    for file in sorted(folder.glob(pattern)):
        with file.open("rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):
                    yield json.loads(line)
