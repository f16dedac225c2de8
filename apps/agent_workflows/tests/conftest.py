"""The control plane as a fixture: for one test, or for all of a module."""

from collections.abc import Iterator

import pytest

from apps.agent_workflows.tests.plane import Plane, opened
from holdfast.testing import ScratchDatabase, TestServer


@pytest.fixture
def plane(holdfast_db: ScratchDatabase) -> Iterator[Plane]:
    """Give a control plane of the test's own."""
    with opened(holdfast_db) as plane:
        yield plane


@pytest.fixture(scope="module")
def shared(holdfast_server: TestServer) -> Iterator[Plane]:
    """Give a control plane for all tests of a module, none of which may ask for one of its own: the product has one app."""
    with holdfast_server.database() as database, opened(database) as plane:
        yield plane
