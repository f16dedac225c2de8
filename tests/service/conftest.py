"""An app's service, called through httpx without a network in between, by callers with keys of their own."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from typing import TypeAlias

import httpx
import psycopg
import pytest
import pytest_asyncio

from holdfast import Holdfast
from holdfast.domain.access import Scope
from holdfast.interfaces.http.asgi import asgi
from holdfast.runtime.access import new_key
from holdfast.store.access import create_key
from holdfast.testing import ScratchDatabase, TestServer
from service.house import House
from service.tenants import Service
from sql.support import Machine

Calling: TypeAlias = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def shop(holdfast_db: ScratchDatabase) -> Iterator[Holdfast]:
    """Give an app with one task, which the database knows."""
    app = holdfast_db.use(Holdfast())

    @app.task()
    async def greet(name: str) -> str:
        return f"Hello {name}"

    greet.enqueue("first")
    yield app
    app.close()


@pytest_asyncio.fixture
async def calling(shop: Holdfast) -> AsyncIterator[Calling]:
    """Call the service as somebody: `async with calling("read", tenant="acme") as client: …`; all have the same sessions."""

    numbers = count()

    @asynccontextmanager
    async def calling(
        *scopes: str, tenant: str | None = None, key: str | None = None
    ) -> AsyncIterator[httpx.AsyncClient]:
        if scopes:
            key = _keep_key(shop, f"test{next(numbers) or ''}", scopes, tenant)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        transport = httpx.ASGITransport(asgi(shop))
        async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client:
            yield client

    yield calling
    await shop.link.aclose()


def _keep_key(shop: Holdfast, name: str, scopes: tuple[str, ...], tenant: str | None) -> str:
    # Without the audit, in which tests look for what they do themselves.
    key = new_key()
    granted = frozenset(Scope(scope) for scope in scopes)
    shop.link.perform_once(create_key(key, name, tenant, granted, None, "tests"))
    return key.written


@pytest.fixture(scope="module")
def house_of_module(holdfast_server: TestServer) -> Iterator[House]:
    """Give a service on one database for a whole module: its tests leave nothing in each other's way."""
    with holdfast_server.database() as database:
        app = database.use(Holdfast())
        yield House(database, app)
        app.close()


@pytest_asyncio.fixture
async def house(house_of_module: House) -> AsyncIterator[House]:
    """Give the module's service; all browsers of a test have the same sessions."""
    yield house_of_module
    await house_of_module.app.link.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(holdfast_server: TestServer) -> AsyncIterator[Service]:
    """Give a service of two tenants for a whole module, whose tests share its loop and so its sessions."""
    with (
        holdfast_server.database() as database,
        psycopg.connect(database.owner_url, autocommit=True) as owner,
    ):
        service = Service(database, Machine(owner))
        yield service
        await service.app.aclose()
