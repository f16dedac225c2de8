"""A server for many runs of tests: whatever database is made there has the schema already."""

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.embedded import throwaway
from holdfast.store.connection import Database
from holdfast.store.migrate import migrate


@contextmanager
def prepared_server() -> Iterator[str]:
    """Lend a server of one's own; gives its address, for DATABASE_URL."""
    with throwaway(settings={"max_connections": "200"}) as server:
        # Whatever is made there begins as a copy of this one.
        migrate(Database(server.url_for("template1"), "tests"))
        yield server.url
