"""Names with whatever they may hold: each is found where its name, as one segment, leads, and nothing else is found there."""

from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from holdfast import Holdfast
from holdfast.domain.alert import AnyFailure
from holdfast.domain.segments import segment_of
from holdfast.interfaces.http.asgi import asgi
from holdfast.runtime.access import create_key
from holdfast.server import Scope
from holdfast.testing import ScratchDatabase
from service.conftest import Calling
from service.processes import serving

NAMES = [
    "a/b", "/a", "a/", "a//b", "a/pause", "a/next", "a/runs", "a/../b", "a b", " a", "50%", "a%2Fb", "a?b=c", "a#b", "a:b",
    "a,b", "a;b", "a+b", "a\\b", 'a"b', "'a'", "Straße", "名前", ".a", ".", "..", "...", "~", "~..", "~edit", "edit", "a\tb",
]  # fmt: skip
names = pytest.mark.parametrize("name", NAMES)
API = "/api/v1"


@names
async def test_a_queue_is_found_by_its_name(shop: Holdfast, calling: Calling, name: str) -> None:
    _task(shop, "other", "a")
    _task(shop, "named", name)

    async with calling("read", "operate") as client:
        shown = await client.get(f"{API}/queues/{segment_of(name)}")
        paused = await client.post(f"{API}/queues/{segment_of(name)}/pause", json={})
        limited = await client.put(f"{API}/queues/{segment_of(name)}/limit", json={"limit": 3})
        listed = (await client.get(f"{API}/queues")).json()["items"]

    assert (shown.json()["name"], paused.json()["name"], limited.json()["name"]) == (name, name, name)
    assert {each["name"] for each in listed if each["paused_at"] is not None} == {name}


@names
async def test_a_task_is_found_by_its_name(shop: Holdfast, calling: Calling, name: str) -> None:
    _task(shop, name, "default")

    async with calling("operate") as client:
        paused = await client.post(f"{API}/tasks/{segment_of(name)}/pause", json={})
        resumed = await client.post(f"{API}/tasks/{segment_of(name)}/resume", json={})

    assert (paused.json()["name"], paused.json()["paused_at"] is None) == (name, False)
    assert (resumed.json()["name"], resumed.json()["paused_at"]) == (name, None)


@pytest.mark.parametrize("name", [name for name in NAMES if name.isprintable()])
async def test_a_schedule_is_found_by_its_name(shop: Holdfast, calling: Calling, name: str) -> None:
    made: dict[str, Any] = {"task": "greet", "payload": {"name": "you"}, "every": 3600}
    path = f"{API}/schedules/{segment_of(name)}"

    async with calling("read", "operate") as client:
        for each in {"a", name}:
            assert (await client.post(f"{API}/schedules", json={"name": each, **made})).is_success
        shown = (await client.get(path)).json()
        started = await client.post(f"{path}/run", json={})
        runs, times = (await client.get(f"{path}/runs")).json(), (await client.get(f"{path}/next")).json()
        others = (await client.get(f"{API}/schedules/a/runs")).json()
        edited = await client.put(path, json={"every": 60})
        deleted = await client.delete(path)
        left = (await client.get(f"{API}/schedules")).json()["items"]

    assert (shown["name"], edited.json()["name"], deleted.json()["name"]) == (name, name, name)
    assert [run["job_id"] for run in runs["items"]] == [started.json()["job_id"]]
    assert times["items"]
    assert others["items"] == []
    assert [each["name"] for each in left] == ["a"]


@names
async def test_views_and_tenants_are_found_by_their_names(calling: Calling, name: str) -> None:
    async with calling("read", "operate", "admin") as client:
        kept = await client.put(f"{API}/views/{segment_of(name)}", json={"q": "status:failed"})
        listed = (await client.get(f"{API}/views")).json()["items"]
        gone = await client.delete(f"{API}/views/{segment_of(name)}")
        weighed = await client.put(f"{API}/tenants/{segment_of(name)}/weight", json={"weight": 2})

    assert (kept.json()["name"], [each["name"] for each in listed], gone.status_code) == (name, [name], 200)
    assert weighed.json()["tenant"] == name


@pytest.mark.parametrize("name", [name for name in NAMES if name.isprintable()])
async def test_a_rule_is_found_by_its_name(shop: Holdfast, calling: Calling, name: str) -> None:
    shop.alerts.rule(name, AnyFailure())
    shop.link.perform(shop.alerts.registration())

    async with calling("operate") as client:
        muted = await client.post(f"{API}/alerts/rules/{segment_of(name)}/mute", json={})

    assert muted.json()["name"] == name


@names
async def test_a_name_is_found_where_the_service_is_mounted(
    shop: Holdfast, calling: Calling, name: str
) -> None:
    _task(shop, "named", name)
    key = create_key(shop, "mounted", scopes=[Scope.READ])
    transport = httpx.ASGITransport(Starlette(routes=[Mount("/our jobs/é", asgi(shop))]))

    async with (
        calling(),
        httpx.AsyncClient(
            transport=transport, base_url="http://test", headers={"Authorization": f"Bearer {key}"}
        ) as client,
    ):
        shown = await client.get(f"/our jobs/é{API}/queues/{segment_of(name)}")

    assert shown.json()["name"] == name


async def test_what_is_not_escaped_stands_between_segments(shop: Holdfast, calling: Calling) -> None:
    _task(shop, "named", "a/b")

    async with calling("read", "operate") as client:
        answers = [
            await client.get(f"{API}/queues/a/b"),
            await client.post(f"{API}/queues/a/b/pause", json={}),
            await client.get(f"{API}/queues%2Fa%2Fb"),
            await client.post(f"{API}/queues//pause", json={}),
        ]

    assert [answer.status_code for answer in answers] == [404] * 4


async def test_without_the_path_as_it_came_a_name_has_no_slash(shop: Holdfast, calling: Calling) -> None:
    _task(shop, "named", "a b")
    _task(shop, "other", "a/b")
    key = create_key(shop, "rewritten", scopes=[Scope.READ])
    served = asgi(shop)

    async def without(scope: Any, receive: Any, send: Any) -> None:
        await served({name: value for name, value in scope.items() if name != "raw_path"}, receive, send)

    async with (
        calling(),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(without),
            base_url="http://test",
            headers={"Authorization": f"Bearer {key}"},
        ) as client,
    ):
        found = await client.get(f"{API}/queues/a%20b")
        lost = await client.get(f"{API}/queues/a%2Fb")

    assert (found.json()["name"], lost.status_code) == ("a b", 404)


def test_a_name_passes_through_the_server_that_is_shipped(
    shop: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    for number, name in enumerate(NAMES):
        _task(shop, f"named{number}", name)

    with serving(holdfast_db, "server", "--no-auth", "--parts", "api") as server, server.client() as client:
        shown = [client.get(f"{API}/queues/{segment_of(name)}").json().get("name") for name in NAMES]
        server.stop()

    assert shown == NAMES


def _task(app: Holdfast, name: str, queue: str) -> None:
    @app.task(name=name, queue=queue)
    def task() -> None:
        pass

    task.enqueue()
