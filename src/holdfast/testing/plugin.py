"""pytest fixtures: `holdfast_db` is a database of the test's own."""

from collections.abc import Iterator

import pytest

from holdfast.testing.scratch import ScratchDatabase
from holdfast.testing.servers import TestServer, test_server


@pytest.fixture(scope="session")
def holdfast_server() -> Iterator[TestServer]:
    """Give one server for the whole run: a throw-away one, or the one DATABASE_URL names."""
    with test_server() as server:
        yield server


@pytest.fixture
def holdfast_db(holdfast_server: TestServer) -> Iterator[ScratchDatabase]:
    """Give a migrated database that only this test sees."""
    with holdfast_server.database() as database:
        yield database
