"""The doors that are no operations of the API: streams, pages, webhooks, callbacks, figures. Each says here who gets through."""

import os
import secrets
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from starlette.routing import BaseRoute, Mount, Route

from dashboard.all_pages import all_forms, all_paths
from holdfast import Holdfast, HttpExecutor
from holdfast.domain.access import Principal, Scope
from holdfast.interfaces.http.asgi import PARTS, all_operations, asgi
from holdfast.store.project import project
from holdfast.testing import TestServer
from service.asking import problem
from service.streams import streaming
from service.tenants import SECRET, Service, Strange, Things
from service.threads import answering
from sql.support import database_for

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVENTS = "/api/v1/events"
# The same for everybody: nothing of any tenant stands in them.
SAME_FOR_ALL = {
    "/api/v1/openapi.json": "GET",
    "/api/v1/docs": "GET",
    "/api/v1/docs.css": "GET",
    "/a/approval.js": "GET",
    "/a/approval.css": "GET",
    "/login": "GET",
    "/login.css": "GET",
    "/logout": "POST",
    "/livez": "GET",
    "/readyz": "GET",
}
STATIC = "/static/{version}/{name:path}"
# Secrets of their own open them; a key of the API does not, and there is no difference between another's and nobody's.
BY_SECRET = {
    "/api/v1/tick": (401, {}),
    "/callbacks/v1/{executor}/{job_id}/{attempt}/{claim_id}": (401, {}),
    "/webhooks/v1/{endpoint}": (401, {}),
    "/a/{approval_id}": (
        404,
        {"code": "hfa_" + "x" * 43, "decision": "approve", "reason": "r", "version": "v"},
    ),
}
BY_KEY = {EVENTS, "/metrics"}
# What people see in a browser: test_dashboard_doors knocks at each.
BY_LOGIN = {*all_paths(), *all_forms(), "/live"}


@pytest.fixture(scope="module")
def open_service(service: Service) -> Iterator[Service]:
    """Give a service with all doors that there are."""
    service.app.executor(HttpExecutor("https://ci.example", name="ci", secret="hfx_" + secrets.token_hex(32)))
    os.environ["HOLDFAST_TICK_SECRET"] = secrets.token_urlsafe(48)
    yield service
    del os.environ["HOLDFAST_TICK_SECRET"]


def paths_of(routes: list[BaseRoute], before: str = "") -> set[str]:
    """Name all paths that are served."""
    found: set[str] = set()
    for route in routes:
        if isinstance(route, Mount):
            found |= paths_of(list(route.routes or []), before + route.path)
        else:
            assert isinstance(route, Route)
            found.add(before + route.path)
    return found


async def test_every_door_says_here_who_gets_through(open_service: Service) -> None:
    operations = {f"/api/v1{operation.path}" for operation in all_operations()}
    served = paths_of(asgi(open_service.app, list(PARTS)).routes)

    assert served - operations == {*SAME_FOR_ALL, *BY_SECRET, *BY_KEY, *BY_LOGIN, STATIC}


async def ask(service: Service, method: str, path: str, key: str | None, **more: Any) -> httpx.Response:
    """Ask with a key of the API, or without."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    transport = httpx.ASGITransport(asgi(service.app))
    async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client:
        return await client.request(method, path, **more)


@pytest.mark.parametrize("path", SAME_FOR_ALL)
async def test_what_is_for_all_is_the_same_whoever_asks(open_service: Service, path: str) -> None:
    open_service.things("globex").job  # noqa: B018 - made here
    keys = (None, open_service.key("acme", Scope.ADMIN), open_service.key(None, Scope.ADMIN))
    nobody, bound, unbound = [await ask(open_service, SAME_FOR_ALL[path], path, key) for key in keys]

    assert (bound.status_code, bound.content) == (unbound.status_code, unbound.content)
    assert (bound.status_code, bound.content) == (nobody.status_code, nobody.content)
    assert nobody.status_code < 400 or nobody.status_code == 403
    assert SECRET not in nobody.text


@pytest.mark.parametrize("path", BY_SECRET)
async def test_no_key_opens_what_a_secret_opens_and_nobodys_is_refused_as_anothers_is(
    open_service: Service, path: str
) -> None:
    status, form = BY_SECRET[path]
    there, missing = open_service.things("globex"), Strange(open_service, "globex")
    keys = (None, open_service.key("acme", Scope.ADMIN), open_service.key(None, Scope.ADMIN))

    answers = [
        await ask(open_service, "POST", named(path, things), key, data=form)
        for things in (there, missing)
        for key in keys
    ]

    assert {answer.status_code for answer in answers} == {status}
    assert len({answer.content for answer in answers}) == 1
    assert SECRET not in answers[0].text


def named(path: str, things: Things) -> str:
    """Fill in whose things it is about."""
    is_there = not isinstance(things, Strange)
    return path.format(
        executor="ci" if is_there else "nobody",
        endpoint="shop" if is_there else "nobodys",
        job_id=things.job,
        attempt=1,
        claim_id=uuid4(),
        approval_id=things.approval,
    )


# -- streams and figures ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def url(open_service: Service) -> Iterator[str]:
    """Serve it: a stream does not end by itself."""
    with answering(asgi(open_service.app)) as url:
        yield url


async def status_of(url: str, query: str, key: str | None) -> int:
    async with streaming(url, f"{EVENTS}?{query}", key=key) as stream:
        return stream.status


async def test_a_stream_is_for_the_own_tenant_and_anothers_is_nobodys(
    open_service: Service, url: str
) -> None:
    own, foreign = open_service.things("acme"), open_service.things("globex")
    key = open_service.key("acme", Scope.READ)

    for query in (f"job={own.job}", "tenant=acme", "", f"subject={own.word}", f"subject={foreign.word}"):
        assert await status_of(url, query, key) == 200, query
    for asked, nobodys in ((foreign.job, uuid4()), ("globex", "nobody")):
        name = "tenant" if nobodys == "nobody" else "job"
        answers = [
            await ask(open_service, "GET", EVENTS, key, params={name: str(value)})
            for value in (asked, nobodys)
        ]
        texts = [
            answer.text.replace(str(v), "…") for answer, v in zip(answers, (asked, nobodys), strict=True)
        ]
        assert {answer.status_code for answer in answers} == {404}
        assert texts[0] == texts[1]


def served_to(app: Holdfast, tenant: str | None) -> Any:
    """Serve somebody that the host knows, bound to a tenant or to none."""

    async def authenticate(_request: Any) -> Principal:
        return Principal("ann", frozenset({Scope.READ}), tenant)

    return asgi(app, authenticate=authenticate)


async def test_where_one_role_does_everything_anothers_stream_is_nobodys_and_nobody_bound_gets_an_own(
    holdfast_server: TestServer,
) -> None:
    with database_for(holdfast_server.admin_url, "nocreaterole") as database_url:
        app = Holdfast(database_url=database_url)
        app.migrate()

        @app.task()
        async def greet() -> None: ...

        own, foreign = (greet.using(tenant=name, subject="s").enqueue().id for name in ("acme", "globex"))
        bound, free = (served_to(app, tenant) for tenant in ("acme", None))
        with answering(bound) as url:
            answers = {
                query: await status_of(url, query, None)
                for query in (
                    f"job={foreign}", f"job={uuid4()}", "tenant=globex", "tenant=nobody", f"job={own}", "tenant=acme", "subject=s",
                )
            }  # fmt: skip
        with answering(free) as url:
            for query in (f"job={foreign}", "tenant=globex", "subject=s"):
                assert await status_of(url, query, None) == 200, query
        app.close()

    # As an operation of the API: who is bound to a tenant is not served, and what is another's is not there.
    assert list(answers.values()) == [404, 404, 404, 404, 403, 403, 403]


async def test_of_a_shared_subject_a_stream_tells_the_own_jobs_alone(open_service: Service, url: str) -> None:
    subject = str(uuid4())
    jobs = {
        tenant: open_service.machine.enqueue("greet", {"name": "x"}, tenant=tenant, subject=subject)
        for tenant in ("globex", "acme")
    }
    while (done := open_service.app.link.perform(project(10_000))).rows or done.more:
        pass

    async with streaming(
        url, f"{EVENTS}?subject={subject}&after=0", key=open_service.key("acme", Scope.READ)
    ) as stream:
        told = await stream.take(2)

    assert [each.data["job_id"] for each in told if each.name != "ready"] == [str(jobs["acme"])]


@pytest.mark.parametrize("scope", Scope)
async def test_streams_and_figures_are_for_who_may_read(
    open_service: Service, url: str, scope: Scope
) -> None:
    reads = scope in {Scope.READ, Scope.ADMIN}
    job = open_service.things("acme").job

    for tenant in ("acme", None):
        key = open_service.key(tenant, scope)
        assert await status_of(url, f"job={job}", key) == (200 if reads else 403)
        figures = await ask(open_service, "GET", "/metrics", key)
        assert figures.status_code == (200 if reads and tenant is None else 403)
        assert SECRET not in figures.text


async def test_nobody_without_a_key_gets_a_stream_or_figures(open_service: Service) -> None:
    for path in BY_KEY:
        assert problem(await ask(open_service, "GET", path, None)) == (401, "unauthorized")
