"""A service with pages, and people of every role who look at them."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

import httpx
import psycopg
import pytest
import pytest_asyncio

from holdfast import Holdfast
from holdfast.domain.access import Principal, Role
from holdfast.interfaces.http.asgi import asgi
from holdfast.testing import ScratchDatabase
from service.house import MANY, OWN_PAGE, settings
from sql.support import Machine

Looking: TypeAlias = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def app(holdfast_db: ScratchDatabase) -> Iterator[Holdfast]:
    """Give an app on an empty database."""
    made = holdfast_db.use(Holdfast())

    @made.task()
    async def rest() -> None:
        """Have something to be a worker for."""

    yield made
    made.close()


@pytest.fixture
def machine(owner: psycopg.Connection) -> Machine:
    """Give the database's own functions, to bring jobs wherever a page shows them."""
    return Machine(owner)


@pytest_asyncio.fixture
async def looking(app: Holdfast) -> AsyncIterator[Looking]:
    """Look at pages as somebody: `async with looking(Role.VIEWER, tenant="acme") as browser: …`; all have the same sessions."""

    @asynccontextmanager
    async def looking(
        role: Role = Role.OPERATOR, tenant: str | None = None, name: str | None = None
    ) -> AsyncIterator[httpx.AsyncClient]:
        async def authenticate(_request: object) -> Principal:
            return Principal.of_role(name or str(role), role, tenant)

        served = asgi(app, authenticate=authenticate, settings=settings(**MANY))
        transport = httpx.ASGITransport(served)
        async with httpx.AsyncClient(
            transport=transport, base_url="https://jobs.test", headers=OWN_PAGE
        ) as browser:
            yield browser

    yield looking
    await app.link.aclose()
