"""The service inside other people's applications, under a prefix: FastAPI, Starlette, and Django beside it."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from holdfast import Holdfast
from holdfast.domain.access import Scope as KeyScope
from holdfast.runtime.access import create_key
from holdfast.server import Principal, Scope, asgi
from service.streams import streaming
from service.test_live import World
from service.threads import answering
from world.hosts import set_up_django

PREFIX = "/ops/jobs"


async def their_users(request: Any) -> Principal | None:
    """Know the host's own users, as a host would."""
    if request.headers.get("x-user") != "ann":
        return None
    return Principal("ann", frozenset({Scope.READ, Scope.ENQUEUE}), "acme")


def in_starlette(service: Any, app: Holdfast) -> Any:
    async def hello(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("hello")

    return Starlette(routes=[Route("/hello", hello), Mount(PREFIX, service)], lifespan=closing(app))


def in_fastapi(service: Any, app: Holdfast) -> Any:
    from fastapi import FastAPI

    host = FastAPI(lifespan=closing(app))

    @host.get("/hello")
    async def hello() -> str:
        return "hello"

    host.mount(PREFIX, service)
    return host


def in_django(service: Any, app: Holdfast) -> Any:
    """Put Django behind the prefix of ours, which is how its own deployments mount ASGI applications."""
    from django.core.asgi import get_asgi_application

    set_up_django()
    return Starlette(
        routes=[Mount(PREFIX, service), Mount("/", get_asgi_application())], lifespan=closing(app)
    )


def closing(app: Holdfast) -> Callable[[Any], Any]:
    @asynccontextmanager
    async def lifespan(_host: Any) -> AsyncIterator[None]:
        yield
        await app.aclose()

    return lifespan


HOSTS = [in_starlette, in_fastapi, in_django]


@pytest.fixture(params=HOSTS, ids=lambda host: host.__name__)
def world(request: pytest.FixtureRequest, shop: Holdfast) -> Iterator[World]:
    """Serve ours inside each of them, with the host's own users."""
    with answering(request.param(asgi(shop, authenticate=their_users), shop)) as url:
        yield World(shop, url)


async def test_inside_another_application_everything_is_where_its_prefix_is(world: World) -> None:
    key = create_key(world.app, "ops", scopes=[KeyScope.READ])
    client = httpx.AsyncClient(base_url=world.url, trust_env=False)
    async with client:
        theirs = await client.get("/hello")
        made = await client.post(
            f"{PREFIX}/api/v1/jobs",
            json={"task": "greet", "payload": {"name": "Ann"}},
            headers={"X-User": "ann"},
        )
        shown = await client.get(
            f"{PREFIX}/api/v1/jobs/{made.json()['id']}", headers={"Authorization": f"Bearer {key}"}
        )
        nobody = await client.get(f"{PREFIX}/api/v1/jobs/{made.json()['id']}")
        elsewhere = await client.get(f"{PREFIX}/nothing")
        outside = await client.get("/api/v1/jobs")

    assert "hello" in theirs.text
    assert made.status_code == 201
    assert (shown.json()["tenant"], shown.json()["status"]) == ("acme", "PENDING")
    assert (nobody.status_code, elsewhere.status_code, outside.status_code) == (401, 404, 404)

    async with streaming(
        world.url, f"{PREFIX}/api/v1/events?job={made.json()['id']}&after=0.0", key=key
    ) as stream:
        ready, enqueued = await stream.take(2)
    assert (ready.name, enqueued.name) == ("ready", "job.enqueued")
