"""Databases and logins, for development servers and for tests."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any

import psycopg
from psycopg import conninfo, sql

from holdfast.store.connection import Database
from holdfast.store.errors import translated

TEST_PREFIX = "holdfast_test_"


def url_of(url: str, **changes: str) -> str:
    """Write the same address with some parts changed."""
    return conninfo.make_conninfo(url, **changes)


@contextmanager
def _admin(url: str) -> Iterator[psycopg.Connection[Any]]:
    with translated(), psycopg.connect(**Database(url, "given").arguments("holdfast set-up")) as connection:
        yield connection


def create_database(admin_url: str, name: str) -> str:
    """Create a database; answers its address."""
    with _admin(admin_url) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    return url_of(admin_url, dbname=name)


def copy_database(admin_url: str, name: str, template: str, *, instead_of: Sequence[str] = ()) -> str:
    """Create a database as a copy of another, and drop those before that it comes instead of; answers its address."""
    with _admin(admin_url) as connection:
        for old in instead_of:
            _drop(connection, old)
        row = connection.execute("show fsync").fetchone()
        # Copying files needs checkpoints, which cost next to nothing where nothing is synced to a disk.
        strategy = "file_copy" if row == ("off",) else "wal_log"
        connection.execute(
            sql.SQL("create database {} template {} strategy {}").format(
                sql.Identifier(name), sql.Identifier(template), sql.Literal(strategy)
            )
        )
    return url_of(admin_url, dbname=name)


def ensure_database(admin_url: str, name: str) -> str:
    """Create a database unless it is there, or is just being made by another; answers its address."""
    if not has_database(admin_url, name):
        with suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
            create_database(admin_url, name)
    return url_of(admin_url, dbname=name)


def drop_database(admin_url: str, name: str) -> None:
    """Drop a database with whoever is connected to it."""
    with _admin(admin_url) as connection:
        _drop(connection, name)


def _drop(connection: psycopg.Connection[Any], name: str) -> None:
    connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def has_database(admin_url: str, name: str) -> bool:
    """Whether the server has a database of this name."""
    with _admin(admin_url) as connection:
        found = connection.execute(_text("database_exists"), (name,)).fetchone()
        return found is not None


def create_login(owner_url: str, name: str, password: str) -> str:
    """Make a login with an application's rights; answers the address it connects to."""
    _run(
        owner_url, "login", login=sql.Literal(name), name=sql.Identifier(name), password=sql.Literal(password)
    )
    return url_of(owner_url, user=name, password=password)


def drop_login(admin_url: str, name: str) -> None:
    """Remove a login."""
    with _admin(admin_url) as connection:
        connection.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(name)))


def create_schema(owner_url: str, name: str, url: str) -> None:
    """Make a schema that the login of an address may fill."""
    login = str(conninfo.conninfo_to_dict(url)["user"])
    _run(owner_url, "product_schema", name=sql.Identifier(name), login=sql.Identifier(login))


def move_clock(owner_url: str, seconds: float) -> None:
    """Set a test database's clock this far ahead of the server's."""
    _run(owner_url, "move_clock", seconds=sql.Literal(seconds))


def _run(url: str, script: str, **parts: sql.Composable) -> None:
    with _admin(url) as connection, connection.transaction():
        connection.execute(sql.SQL(_text(script)).format(**parts))


def _text(name: str) -> str:
    return files("holdfast.store").joinpath("sql", "testing", f"{name}.sql").read_text("utf-8")
