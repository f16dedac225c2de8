"""Databases for the SQL tests: one per test, or one per server whose tests roll back; PostgreSQL 18 and 15."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from holdfast.embedded import EmbeddedError, find_binaries, throwaway
from holdfast.testing import ScratchDatabase, TestServer, test_server
from sql.support import Connection, Machine
from world.kept import keeping

OTHER_DATABASES = (
    "select datname from pg_database where datname not in ('postgres', 'template0', 'template1')"
)
OTHER_ROLES = "select rolname from pg_roles where rolname not like 'pg\\_%' and rolname <> current_user"
SWOLLEN = """
select oid::regclass::text
  from pg_class
 where relnamespace = 'holdfast'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 500000
"""


@pytest.fixture(scope="session")
def server_15() -> Iterator[TestServer]:
    """Give a server of the oldest version that is supported."""
    try:
        binaries = find_binaries(15)
    except EmbeddedError as error:
        pytest.skip(f"NOT RUN: PostgreSQL 15 is not installed on this machine ({error})")
    with test_server(binaries) as server, keeping(server):
        yield server


@pytest.fixture(scope="session", params=["holdfast_server", "server_15"], ids=["newest", "oldest"])
def each_server(request: pytest.FixtureRequest) -> TestServer:
    """Give the server of the run, then one of the oldest version."""
    server: TestServer = request.getfixturevalue(request.param)
    return server


@pytest.fixture(scope="session", params=[None, 15], ids=["newest", "oldest"])
def bare_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give the address of a server on which nobody was before."""
    if request.param:
        request.getfixturevalue("server_15")  # says so where it is missing
    with throwaway(find_binaries(request.param)) as server:
        yield server.url


@pytest.fixture
def fresh_server(bare_server: str) -> Iterator[str]:
    """Give the address of a server that has none of our roles yet; all that a test leaves there goes."""
    yield bare_server
    with psycopg.connect(bare_server, autocommit=True) as admin:
        for (name,) in admin.execute(OTHER_DATABASES).fetchall():
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
        roles = [sql.Identifier(name) for (name,) in admin.execute(OTHER_ROLES).fetchall()]
        if roles:
            admin.execute(sql.SQL("drop owned by {0}; drop role {0}").format(sql.SQL(", ").join(roles)))


@pytest.fixture
def each_db(each_server: TestServer) -> Iterator[ScratchDatabase]:
    """Give a database of the test's own on each server."""
    with each_server.database() as database:
        yield database


@pytest.fixture(scope="session")
def each_connection(each_server: TestServer) -> Iterator[Connection]:
    """Give a superuser's connection that tests use one after the other: its caches stay warm."""
    yield from _shared_connection(each_server)


@pytest.fixture
def each_machine(each_connection: Connection) -> Iterator[Machine]:
    """Give a superuser's connection inside a transaction that is rolled back, on each server."""
    yield from _rolled_back(each_connection)


@pytest.fixture(scope="session")
def connection(holdfast_server: TestServer) -> Iterator[Connection]:
    """Give a superuser's connection that tests use one after the other: its caches stay warm."""
    yield from _shared_connection(holdfast_server)


@pytest.fixture
def machine(connection: Connection) -> Iterator[Machine]:
    """Give a superuser's connection inside a transaction that is rolled back; the task `t` is registered."""
    yield from _rolled_back(connection)


def _shared_connection(server: TestServer) -> Iterator[Connection]:
    # A new one: what the planner knows of the dead rows of other tests would be a part of these.
    with (
        TestServer.database(server) as database,
        psycopg.connect(database.owner_url) as connection,
    ):
        Machine(connection).register("t")
        connection.commit()
        yield connection


def _rolled_back(connection: Connection) -> Iterator[Machine]:
    connection.rollback()  # what a test has left here that had the connection itself
    connection.execute("select 1")  # so that a block of the test's own is a savepoint, never a commit
    yield Machine(connection)
    connection.rollback()
    _vacuum_what_is_swollen(connection)


def _vacuum_what_is_swollen(connection: Connection) -> None:
    """Remove the dead rows of a test that made thousands: whoever comes next would have to walk over them."""
    connection.autocommit = True
    for (table,) in connection.execute(SWOLLEN).fetchall():
        connection.execute(f"vacuum {table}")
    connection.autocommit = False


@pytest.fixture
def lasting(owner: Connection) -> Machine:
    """Give the owner's connection in autocommit on a database of the test's own; the task `t` is registered."""
    machine = Machine(owner)
    machine.register("t")
    return machine


@pytest.fixture
def app_login(login: Connection, lasting: Machine) -> Machine:
    """Give an application's login in autocommit on a database of the test's own; the task `t` is registered."""
    return Machine(login)
