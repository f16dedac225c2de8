"""Folders that leave nothing behind, and other processes to share a server with."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast.embedded import Binaries, EmbeddedError, cluster, find_binaries, start
from holdfast.embedded.account import ROOT
from holdfast.embedded.folder import Home, all_homes, choose_folder

# Starts (or joins) the folder's server, says where it is, and holds it until its input ends. Ctrl-C ends it, as it ends what a
# terminal has started: whatever runs in the background of a script has been told to ignore it, and so have its children.
HOLDER = """
import signal
import sys
from pathlib import Path
from holdfast.embedded import start
signal.signal(signal.SIGINT, signal.default_int_handler)
server = start(Path(sys.argv[1]), durable=False)
print(server.url, flush=True)
sys.stdin.read()
"""

# What a shell, a command line or a regular expression might stumble over.
ODD_NAME = "a b$(id)'\"é"

Holder = Callable[..., subprocess.Popen[str]]


def clear(used: Path) -> None:
    """Stop what a test left running and remove its files."""
    if used.is_symlink() or used.is_file():
        used.unlink()
    elif used.is_dir():
        stop_all(used)
        shutil.rmtree(used)


def stop_all(used: Path) -> None:
    for home in all_homes(used):
        cluster.stop(home)


@pytest.fixture
def new_folder(tmp_path: Path) -> Iterator[Path]:
    """A project's `.holdfast/pg` that is not there yet; as root its server lives elsewhere, and goes too."""
    wanted = tmp_path / ODD_NAME / ".holdfast" / "pg"
    # Asked before a test may put something there that is refused.
    used = choose_folder(wanted)
    yield wanted
    clear(used)


@pytest.fixture(scope="session")
def finished_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder whose server ran before: making one is the slow part, so it is made once."""
    wanted = tmp_path_factory.mktemp("finished") / ODD_NAME / ".holdfast" / "pg"
    start(wanted, durable=False).stop()
    yield wanted
    clear(choose_folder(wanted))


@pytest.fixture
def folder(finished_folder: Path) -> Iterator[Path]:
    """A project's `.holdfast/pg`, for tests that leave it as good as it was."""
    yield finished_folder
    stop_all(choose_folder(finished_folder))


@pytest.fixture
def spoilable_folder(new_folder: Path, finished_folder: Path) -> Path:
    """A copy of it, for tests that do not."""
    used = choose_folder(new_folder)
    used.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", choose_folder(finished_folder), used], check=True)
    return new_folder


@pytest.fixture
def holder() -> Iterator[Holder]:
    """Start other processes that hold a server; each tells its URL in its first line."""
    with ExitStack() as stack:

        def start_holder(folder: Path, *, script: str = HOLDER) -> subprocess.Popen[str]:
            # Leaving its context closes its input and waits for it, so that each stops what it started.
            return stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", script, str(folder)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    start_new_session=True,
                )
            )

        yield start_holder


@pytest.fixture(scope="session")
def postgresql_15() -> Binaries:
    try:
        return find_binaries(15)
    except EmbeddedError as error:
        pytest.skip(f"NOT RUN: PostgreSQL 15 is not installed on this machine ({error})")


@pytest.fixture
def as_root() -> None:
    if os.geteuid() != ROOT:
        pytest.skip("NOT RUN: only root drops privileges; run the tests as root too")


@pytest.fixture
def postmaster() -> Callable[[Path], cluster.Postmaster | None]:
    """Tell which server runs in a folder, if any."""
    return lambda folder: cluster.running(Home(folder))
