"""Fixtures for the whole suite."""

import gc
import logging
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import settings

from holdfast import Holdfast
from holdfast.runtime.garbage import ALLOCATIONS
from holdfast.testing import ScratchDatabase
from world import strikes
from world.often import LONG
from world.order import long_first

# Every run of the tests tries the same examples: what chance would add is found in the long mode, by somebody who waits for it.
settings.register_profile("holdfast", derandomize=not LONG, deadline=None)
settings.load_profile("holdfast")


@pytest.fixture(autouse=True)
def _log_as_it_was() -> Iterator[None]:
    """Undo what a command that runs within a test says of the process' log: the next test reads it too."""
    root, ours = logging.getLogger(), logging.getLogger("holdfast")
    levels, handlers = (root.level, ours.level), list(root.handlers)
    yield
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
    for added in set(root.handlers) - set(handlers):
        root.removeHandler(added)


@pytest.fixture
def app(holdfast_db: ScratchDatabase) -> Iterator[Holdfast]:
    """Give an app without tasks on a database of the test's own."""
    app = holdfast_db.use(Holdfast())
    yield app
    app.close()


@pytest.fixture
def owner(holdfast_db: ScratchDatabase) -> Iterator[psycopg.Connection]:
    """Give a connection of the schema's owner, in autocommit."""
    with psycopg.connect(holdfast_db.owner_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def login(holdfast_db: ScratchDatabase) -> Iterator[psycopg.Connection]:
    """Give a connection of an application's login, in autocommit."""
    with psycopg.connect(holdfast_db.url, autocommit=True) as connection:
        yield connection


# -- how often a test struck goes into its report: scripts/mutants reads it ---------------------------------------------------


def pytest_runtest_setup() -> None:
    """Count each test's strikes for itself."""
    strikes.begin()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Write down how many it took."""
    if call.when == "call":
        item.user_properties.append(("strikes", strikes.made()))


# -- no run waits for its last test ------------------------------------------------------------------------------------------


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes long, in each process that runs tests; chance orders the rest, as it has."""
    processes = getattr(config, "workerinput", {"workercount": 1})["workercount"]
    items[:] = long_first(items, processes)


def pytest_collection_finish() -> None:
    """Leave ten thousand tests and all modules out of every search for garbage: none of them will ever be any."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS, *gc.get_threshold()[1:])
