"""The doors of the dashboard: who nobody knows is led to the login, and a tenant's people meet nothing of another's."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import httpx
import pytest

from dashboard.all_pages import JOB, OPERATION, PAGES, addresses, all_forms
from holdfast.domain.access import Scope
from holdfast.domain.segments import segment_of
from holdfast.interfaces.http.asgi import asgi
from holdfast.interfaces.http.dashboard import statics
from service.asking import problem
from service.house import MANY, OWN_PAGE, settings
from service.tenants import SECRET, Service, Strange, Things, everything_of_globex

pytestmark = pytest.mark.asyncio(loop_scope="module")

_WRITTEN = {
    "action": "cancel",
    "number": "1",
    "counted": "true",
    "typed": "1",
    "version": "0",
    "role": "admin",
}


def there(things: Things) -> dict[str, list[Any]]:
    """Give what a tenant has, by the paths that show one of it."""
    return {
        JOB: [things.job, things.failed],
        OPERATION: [things.operation],
        "/approvals/{approval_id}": [things.approval],
        "/activity/webhooks/{delivery_id}": [things.delivery],
        "/queues/{name:path}": ["default"],
        "/schedules/{name:path}": ["schedule"],
        "/usage/{tenant:path}": [things.tenant],
    }


@asynccontextmanager
async def coming(service: Service, key: str | None) -> AsyncIterator[httpx.AsyncClient]:
    """Come as a page of this server does, with somebody's key or without; all that is asked finds connections that are warm."""
    headers = {**OWN_PAGE, **({"Authorization": f"Bearer {key}"} if key else {})}
    transport = httpx.ASGITransport(asgi(service.app, settings=settings(**MANY)))
    async with httpx.AsyncClient(
        transport=transport, base_url="https://jobs.test", headers=headers
    ) as client:
        yield client


async def ask(service: Service, method: str, path: str, key: str | None, **more: Any) -> httpx.Response:
    """Come for one question."""
    # Also of a form without fields.
    form = {"Content-Type": "application/x-www-form-urlencoded"} if method == "POST" else {}
    async with coming(service, key) as client:
        return await client.request(method, path, headers=form, **more)


def filled(path: str, things: Things, name: str = "default") -> str:
    """Write the path of a form that is about one of somebody's things."""
    names: dict[str, Any] = {
        "job_id": things.job,
        "operation_id": things.operation,
        "approval_id": things.approval,
    }
    names |= {"delivery_id": things.delivery, "key_id": things.key}
    return re.sub(r"{(\w+)(:\w+)?}", lambda found: str(names.get(found[1], segment_of(name))), path)


async def test_who_nobody_knows_is_led_to_the_login_and_back(service: Service) -> None:
    async with coming(service, None) as nobody:
        for address in [*addresses(there(service.things("globex"))), "/queues/50%2525%20off%3F?q=%FF"]:
            answer = await nobody.get(address)

            assert answer.status_code == 303, address
            assert answer.headers["location"] == f"/login?next={quote(address, safe='')}"


async def test_who_nobody_knows_any_more_is_led_back_to_the_page_of_the_panel(service: Service) -> None:
    async with coming(service, None) as nobody:
        answer = await nobody.get("/jobs?q=a%26b&panel=job_list&page=2", headers={"HX-Request": "true"})

    assert answer.status_code == 401
    assert answer.headers["hx-redirect"] == f"/login?next={quote('/jobs?q=a%26b&page=2', safe='')}"


@pytest.mark.parametrize("path", all_forms())
async def test_a_form_of_who_nobody_knows_does_nothing(service: Service, path: str) -> None:
    things = service.things("globex")
    address = filled(path, things)
    before = everything_of_globex(service.machine)

    answer = await ask(service, "POST", address, None, data=dict.fromkeys(all_forms()[path], "x"))

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login?")
    assert everything_of_globex(service.machine) == before


@pytest.mark.parametrize("path", all_forms())
async def test_who_has_to_log_in_for_a_form_comes_back_to_a_page(service: Service, path: str) -> None:
    things = service.things("globex")
    names = {"/schedules": "schedule", "/usage": "../a"}
    address = filled(path, things, next((names[kind] for kind in names if path.startswith(kind)), "default"))
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    async with coming(service, None) as nobody:
        answer = await nobody.post(f"{address}?x=1", headers=form)
    led = parse_qs(urlsplit(answer.headers["location"]).query)["next"][0]
    async with coming(service, service.key(None, Scope.ADMIN)) as somebody:
        page = await somebody.get(led)

    assert page.status_code == 200
    assert led == unquote(address).rpartition("/")[0]


@pytest.mark.parametrize("path", PAGES)
async def test_a_tenants_people_see_nothing_of_another(service: Service, path: str) -> None:
    key = service.key("acme", Scope.ADMIN)
    foreign, missing = (
        [address for address in addresses(there(things)) if fits(path, address)]
        for things in (service.things("globex"), Strange(service, "nobody"))
    )
    assert foreign

    async with coming(service, key) as acme:
        for theirs, nobodys in zip(foreign, missing, strict=True):
            shown, not_there = [await acme.get(address) for address in (theirs, nobodys)]
            assert SECRET not in shown.text
            assert shown.status_code == not_there.status_code


def fits(path: str, address: str) -> bool:
    return re.fullmatch(re.sub(r"{.*?}", "[^/]+", path), address.partition("?")[0]) is not None


@pytest.mark.parametrize("path", all_forms())
async def test_a_tenants_people_change_nothing_of_another(service: Service, path: str) -> None:
    things = service.things("globex")
    address, jobs = filled(path, things), f"{things.job},{things.failed}"
    written = {name: _WRITTEN.get(name, "x") for name in all_forms()[path]} | {"reason": "mine", "jobs": jobs}
    sent = {name: value for name, value in written.items() if name in all_forms()[path] and name != "q"}
    before = everything_of_globex(service.machine)

    answer = await ask(service, "POST", address, service.key("acme", Scope.ADMIN), data=sent)

    assert answer.status_code in {303, 404, 422}
    assert SECRET not in answer.text
    assert everything_of_globex(service.machine) == before


async def test_nobody_hears_what_happens_without_a_login(service: Service) -> None:
    assert problem(await ask(service, "GET", "/live", None)) == (401, "unauthorized")


async def test_scripts_and_styles_are_for_everybody_under_their_own_name_alone(service: Service) -> None:
    found = await ask(service, "GET", f"/static/{statics.version()}/holdfast.js", None)
    old = await ask(service, "GET", "/static/00000000/holdfast.js", None)
    outside = await ask(service, "GET", f"/static/{statics.version()}/..%2f__init__.py", None)

    assert (found.status_code, old.status_code, outside.status_code) == (200, 404, 404)
    assert "immutable" in found.headers["cache-control"]
