"""The server that tests run on: a throw-away one, or the one DATABASE_URL names."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

from holdfast.domain.errors import HoldfastError, NotAllowed
from holdfast.embedded import Binaries, throwaway
from holdfast.store import databases, migrate
from holdfast.store.connection import Database, find_database
from holdfast.testing.scratch import ScratchDatabase


class TestServer:
    """A server with a migrated template; databases are copies of it, and one that was lent goes before the next comes."""

    __test__ = False  # for pytest: a helper, not a test

    def __init__(self, admin_url: str) -> None:
        self.admin_url = admin_url
        self._run = f"{databases.TEST_PREFIX}{os.getpid()}_{secrets.token_hex(3)}"
        self._numbers = count(1)
        self._finished: list[str] = []
        self._template = f"{self._run}_template"
        self._password = secrets.token_urlsafe(16)
        try:
            owner_url = databases.create_database(admin_url, self._template)
            migrate.migrate(Database(owner_url, "tests"))
            self._has_login = self._create_login(owner_url)
        except BaseException:
            with suppress(HoldfastError):  # what went wrong before says more
                databases.drop_database(admin_url, self._template)
            raise

    @property
    def login(self) -> str:
        """The unprivileged login of this run's applications."""
        return f"{self._run}_app"

    def _create_login(self, owner_url: str) -> bool:
        """Make the login; where roles may not be made, the applications log in as the owner (single-role set-up)."""
        try:
            databases.create_login(owner_url, self.login, self._password)
        except NotAllowed:
            return False
        return True

    @contextmanager
    def database(self, *, migrated: bool = True) -> Iterator[ScratchDatabase]:
        """Lend a database of its own, empty of jobs."""
        name = f"{self._run}_{next(self._numbers)}"
        finished = self._all_finished() if migrated else []
        try:
            owner_url = (
                databases.copy_database(self.admin_url, name, self._template, instead_of=finished)
                if migrated
                else databases.create_database(self.admin_url, name)
            )
        except BaseException:
            # Who was interrupted may have made it all the same, and dropped not all of the others.
            self._finished += [*finished, name]
            raise
        url = (
            databases.url_of(owner_url, user=self.login, password=self._password)
            if self._has_login
            else owner_url
        )
        lent = ScratchDatabase(owner_url, url)
        try:
            yield lent
        finally:
            lent.close()
            self._finished.append(name)

    def _all_finished(self) -> list[str]:
        """Give what can be dropped now. Not at once: PostgreSQL naps for a tenth of a second when it meets a session that is just ending."""
        finished, self._finished = self._finished, []
        return finished

    def close(self) -> None:
        """Drop the template, the login and what was lent last."""
        for name in (*self._all_finished(), self._template):
            databases.drop_database(self.admin_url, name)
        if self._has_login:
            databases.drop_login(self.admin_url, self.login)


@contextmanager
def test_server(binaries: Binaries | None = None) -> Iterator[TestServer]:  # noqa: PT028 - a helper, not a test
    """Give the server for a run of tests; creates and drops only what is called holdfast_test_…."""
    named = find_database()
    if named is not None and binaries is None:
        server = TestServer(named.url)
        try:
            yield server
        finally:
            server.close()
        return
    with throwaway(binaries, settings={"max_connections": "200"}) as embedded:
        yield TestServer(embedded.url)


test_server.__test__ = False  # type: ignore[attr-defined]  # for pytest: a helper, not a test
