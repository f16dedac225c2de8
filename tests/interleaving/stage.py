"""A database whose functions have pauses, and who leads two sessions through them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from holdfast.testing import TestServer
from interleaving.pauses import put_pauses
from interleaving.scenes import prepare
from interleaving.sessions import Conductor
from sql.support import Machine, machine_on


class Stage(NamedTuple):
    """Where operations meet."""

    conductor: Conductor
    machine: Machine


@contextmanager
def stage(server: TestServer, changes: Iterable[str] = ()) -> Iterator[Stage]:
    """Lend a database of one's own, perhaps with a guard less."""
    with server.database() as database, machine_on(database.owner_url) as machine:
        # The server's start counts as a sign of life of every worker: let it be long ago.
        database.clock.advance(7200)
        for change in changes:
            machine.run(change)
        prepare(machine)
        put_pauses(machine.connection)
        conductor = Conductor(database.owner_url)
        try:
            yield Stage(conductor, machine)
        finally:
            conductor.close()
