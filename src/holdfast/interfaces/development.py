"""A database to develop on: the one that is configured, or an embedded PostgreSQL with an owner and an application's login."""

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from holdfast.domain.errors import SchemaMismatch
from holdfast.embedded import EmbeddedServer, start, throwaway
from holdfast.interfaces.ending import undisturbed
from holdfast.store import databases
from holdfast.store.connection import Database
from holdfast.store.migrate import migrate

FOLDER = Path(".holdfast") / "pg"
LOGIN = "holdfast_app"


@dataclass(frozen=True, slots=True)
class Place:
    """Where to work: the owner migrates, the application's login does everything else."""

    owner: Database
    login: Database
    described: str
    psql: str


@contextmanager
def development(
    configured: Database | None, name: str, *, memory: bool, disposable: bool = False
) -> Iterator[Place]:
    """Give a migrated database; an embedded server is stopped afterwards, whatever ends the block.

    Disposable work never goes into a configured database: it gets one of its own on that server.
    """
    if configured is not None and disposable:
        yield _prepared(
            configured.url, f"{configured.described} ({configured.source})", name, disposable=True
        )
        return
    if configured is not None:
        migrate(configured)
        yield Place(
            configured,
            configured,
            f"{configured.described} ({configured.source})",
            f"psql {configured.described}",
        )
        return
    with _server(memory=memory) as server:
        yield _prepared(server.url, server.describe(), name, disposable=disposable)


@contextmanager
def admin_url(configured: Database | None) -> Iterator[str]:
    """Give the address of a login that may create databases, on whichever server there is."""
    if configured is not None:
        yield configured.url
        return
    with _server(memory=False) as server:
        yield server.url


@contextmanager
def _server(*, memory: bool) -> Iterator[EmbeddedServer]:
    if memory:
        with throwaway() as server:
            yield server
        return
    server = start(FOLDER)
    try:
        yield server
    finally:
        with undisturbed():
            server.stop()


def _prepared(admin_url: str, described: str, name: str, *, disposable: bool) -> Place:
    owner = Database(databases.ensure_database(admin_url, name), "development")
    try:
        migrate(owner)
    except SchemaMismatch:
        if not disposable:
            raise
        # Another release's sample data: nobody will miss it.
        databases.drop_database(admin_url, name)
        migrate(Database(databases.create_database(admin_url, name), "development"))
    login = Database(databases.create_login(owner.url, LOGIN, _password(admin_url)), "development")
    return Place(owner, login, described, f"psql '{login.url}'")


def _password(server_url: str) -> str:
    """Derive the login's password from the server's own secret: the same at every start, and nowhere stored."""
    secret = urlsplit(server_url).password or ""
    return hmac.new(secret.encode(), LOGIN.encode(), hashlib.sha256).hexdigest()[:32]
