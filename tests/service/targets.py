"""A service to attack: a database for a whole module, a task that takes anything, a key, and the owner's eyes on the jobs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from holdfast import Holdfast
from holdfast.domain.access import Scope
from holdfast.runtime.access import create_key
from holdfast.testing import TestServer


@dataclass
class Target:
    """What is attacked, and what an attacker does not see."""

    app: Holdfast
    key: str
    owner: psycopg.Connection[Any]

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def jobs(self) -> int:
        return int(self.owner.execute("select count(*) from holdfast.job").fetchall()[0][0])


@contextmanager
def target(server: TestServer, *scopes: Scope) -> Iterator[Target]:
    """Put it up for as long as the block lasts."""
    with server.database() as database, psycopg.connect(database.owner_url, autocommit=True) as owner:
        app = database.use(Holdfast())

        @app.task()
        async def take(**_given: Any) -> None: ...

        take.enqueue()
        yield Target(app, create_key(app, "attacker", scopes=scopes), owner)
        app.close()
