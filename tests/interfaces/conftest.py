"""The command line against a database of the test's own."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.testing import ScratchDatabase
from interfaces.calling import HOLDFAST, TESTS, Cli


@pytest.fixture
def cli(holdfast_db: ScratchDatabase) -> Cli:
    return Cli(holdfast_db)


@pytest.fixture
def process(holdfast_db: ScratchDatabase) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start `holdfast …` as a process of its own; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, folder: Path = TESTS, **environment: str) -> "subprocess.Popen[str]":
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "PG"))}
        started.append(
            subprocess.Popen(
                [*HOLDFAST, *arguments],
                cwd=folder,
                env={**kept, "HOLDFAST_DATABASE_URL": holdfast_db.url, "NO_COLOR": "1", **environment},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield start
    for each in started:
        if each.poll() is None:
            each.kill()
        each.communicate()
