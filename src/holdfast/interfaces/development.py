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
    """Give a migrated database; an embedded server is stopped afterwards, whatever ends the block."""
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
        yield _prepared(server, name, disposable=disposable)


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


def _prepared(server: EmbeddedServer, name: str, *, disposable: bool) -> Place:
    owner = Database(databases.ensure_database(server.url, name), "embedded")
    try:
        migrate(owner)
    except SchemaMismatch:
        if not disposable:
            raise
        # Another release's sample data: nobody will miss it.
        databases.drop_database(server.url, name)
        migrate(Database(databases.create_database(server.url, name), "embedded"))
    password = _password(server.url)
    login = Database(databases.create_login(owner.url, LOGIN, password), "embedded")
    return Place(
        owner,
        login,
        server.describe(),
        f"psql postgresql://{LOGIN}:{password}@127.0.0.1:{server.port}/{name}",
    )


def _password(server_url: str) -> str:
    """Derive the login's password from the server's own secret: the same at every start, and nowhere stored."""
    secret = urlsplit(server_url).password or ""
    return hmac.new(secret.encode(), LOGIN.encode(), hashlib.sha256).hexdigest()[:32]
