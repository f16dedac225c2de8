"""Fixtures for the whole suite; the databases come from Holdfast's own pytest plugin."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast import Holdfast
from holdfast.testing import ScratchDatabase


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

