"""The databases of all tests, those of the products too: fixtures of the plugin's names, with databases that outlive a test."""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from holdfast.store.databases import url_of
from holdfast.testing import ScratchDatabase, TestServer, test_server
from world import kept, sessions
from world.without import WITHOUT

sessions.install()


@pytest.fixture(scope="session")
def holdfast_server() -> Iterator[TestServer]:
    """Give one server for the whole run; scripts/mutants names a file that takes one guard out of its schema."""
    with test_server() as server:
        if mutant := os.environ.get("HOLDFAST_TEST_MUTANT"):
            with psycopg.connect(url_of(server.admin_url, dbname=server._template)) as connection:
                connection.execute(WITHOUT)
                connection.execute(Path(mutant).read_text("utf-8"))
        with kept.keeping(server):
            yield server


@pytest.fixture
def holdfast_db(request: pytest.FixtureRequest, holdfast_server: TestServer) -> Iterator[ScratchDatabase]:
    """Give a migrated database that only this test sees."""
    is_new = request.node.get_closest_marker("new_database") is not None
    with TestServer.database(holdfast_server) if is_new else holdfast_server.database() as database:
        yield database
