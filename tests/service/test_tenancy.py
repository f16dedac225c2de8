"""Every operation of the API, called by everybody: the own tenant, another, nobody, each scope."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

from holdfast import Holdfast
from holdfast.domain.access import Scope
from holdfast.interfaces.http.asgi import OPERATIONS, asgi
from holdfast.runtime.access import create_key
from holdfast.testing import ScratchDatabase, TestServer

ALL = {operation.name: operation for group in OPERATIONS for operation in group.all}
# Stands in everything that globex has: no answer to anybody else may contain it.
SECRET = "belongs-to-globex"


@dataclass(frozen=True)
class Things:
    """What a tenant has; every operation's request can be made of them."""

    job: UUID


@dataclass(frozen=True)
class Case:
    """How an operation is called, and what it answers to a caller of the tenant whose things it names, and to one of another.

    An operation that names nothing of a tenant's has no `foreign`; one on what is everybody's answers bound callers 403.
    """

    own: int = 200
    foreign: int | None = 404
    path: Callable[[Things], dict[str, Any]] = lambda _things: {}
    query: dict[str, str] = field(default_factory=dict)
    body: Callable[[Things], dict[str, Any]] = lambda _things: {}


def _job(things: Things) -> dict[str, Any]:
    return {"job_id": things.job}


# A new operation without a line here fails.
CASES: dict[str, Case] = {
    "enqueue_job": Case(own=201, foreign=None, body=lambda _: {"task": "greet", "payload": {"name": "x"}}),
    "show_job": Case(path=_job),
    "cancel_job": Case(path=_job),
}


class Service:
    """An app's service, and keys to call it with."""

    def __init__(self, database: ScratchDatabase) -> None:
        self.app = database.use(Holdfast())

        @self.app.task()
        async def greet(name: str) -> str:
            return name

        self._greet = greet
        self._keys: dict[tuple[str | None, tuple[Scope, ...]], str] = {}

    def things(self, tenant: str) -> Things:
        """Give a tenant something of everything."""
        word = SECRET if tenant == "globex" else tenant
        return Things(self._greet.using(tenant=tenant, subject=word, label=word).enqueue(word).id)

    def key(self, tenant: str | None, *scopes: Scope) -> str:
        """Give a key of this tenant with these scopes; one each, they are many."""
        if (tenant, scopes) not in self._keys:
            self._keys[tenant, scopes] = create_key(self.app, "test", scopes=scopes, tenant=tenant)
        return self._keys[tenant, scopes]

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Give a client without a key."""
        transport = httpx.ASGITransport(asgi(self.app))
        async with httpx.AsyncClient(transport=transport, base_url="http://test/api/v1") as client:
            yield client
        await self.app.link.aclose()


async def call(client: httpx.AsyncClient, name: str, things: Things, key: str | None) -> httpx.Response:
    """Call an operation about these things."""
    operation, case = ALL[name], CASES[name]
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    content = case.body(things) if operation.body is not None else None
    return await client.request(
        operation.method,
        operation.path.format(**case.path(things)),
        params=case.query,
        json=content,
        headers=headers,
    )


@pytest.fixture(scope="module")
def database(holdfast_server: TestServer) -> Iterator[ScratchDatabase]:
    """Give one database for all of them."""
    with holdfast_server.database() as database:
        yield database


@pytest.fixture(scope="module")
def service(database: ScratchDatabase) -> Service:
    """Give one service for all of them."""
    return Service(database)


def test_every_operation_says_here_who_gets_what() -> None:
    assert sorted(CASES) == sorted(ALL)


@pytest.mark.parametrize("name", sorted(CASES))
async def test_a_tenants_own_key_reaches_its_own_and_no_answer_shows_anothers(
    service: Service, name: str
) -> None:
    own, _ = service.things("acme"), service.things("globex")

    async with service.client() as client:
        answer = await call(client, name, own, service.key("acme", Scope.ADMIN))

    assert answer.status_code == CASES[name].own, answer.text
    assert SECRET not in answer.text


@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.foreign is not None))
async def test_another_tenants_things_are_not_there_and_stay_as_they_are(
    service: Service, database: ScratchDatabase, name: str
) -> None:
    foreign = service.things("globex")
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        seen = "select j::text from holdfast.job j where j.tenant = 'globex' order by j.id"
        before = owner.execute(seen).fetchall()

        async with service.client() as client:
            answer = await call(client, name, foreign, service.key("acme", Scope.ADMIN))
            unknown = await call(client, name, Things(uuid4()), service.key("acme", Scope.ADMIN))

        assert owner.execute(seen).fetchall() == before
    assert answer.status_code == CASES[name].foreign, answer.text
    assert SECRET not in answer.text
    assert (answer.status_code, answer.json()["type"]) == (unknown.status_code, unknown.json()["type"])


@pytest.mark.parametrize("name", sorted(CASES))
async def test_nobody_without_a_key_gets_an_answer(service: Service, name: str) -> None:
    async with service.client() as client:
        answer = await call(client, name, service.things("acme"), None)

    assert (answer.status_code, answer.json()["type"]) == (401, "urn:holdfast:problem:unauthorized")


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("name", sorted(CASES))
async def test_each_scope_opens_the_operations_that_name_it(
    service: Service, name: str, scope: Scope
) -> None:
    operation = ALL[name]

    async with service.client() as client:
        answer = await call(client, name, service.things("acme"), service.key(None, scope))

    if scope in {operation.scope, Scope.ADMIN}:
        assert answer.status_code == operation.status, answer.text
    else:
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:holdfast:problem:forbidden")


async def test_no_body_speaks_for_another_tenant(service: Service) -> None:
    body = {"task": "greet", "payload": {"name": "x"}, "tenant": "globex"}
    async with service.client() as client:
        headers = {"Authorization": f"Bearer {service.key('acme', Scope.ADMIN)}"}
        answer = await client.post("/jobs", json=body, headers=headers)

    assert answer.status_code == 404


async def test_a_bound_caller_of_a_login_that_no_policy_binds_is_bound_all_the_same(
    database: ScratchDatabase, service: Service
) -> None:
    foreign = service.things("globex")
    key = service.key("acme", Scope.READ)
    as_superuser = Holdfast(database.owner_url)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(asgi(as_superuser)), base_url="http://test/api/v1"
    ) as client:
        answer = await call(client, "show_job", foreign, key)
    await as_superuser.aclose()

    assert answer.status_code == 404
