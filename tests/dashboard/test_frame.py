"""The frame of all pages: the environment's name, and one tenant for somebody who reaches all of them."""

import re
from collections.abc import Iterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx
import pytest

from dashboard.conftest import Looking
from dashboard.looks import words_of
from holdfast import Holdfast
from holdfast.domain.access import Principal, Role
from holdfast.interfaces.http.asgi import asgi
from holdfast.interfaces.http.dashboard.narrowing import label_of
from holdfast.interfaces.http.dashboard.rendering import environment
from service.house import MANY, OWN_PAGE, settings
from sql.support import Machine


@pytest.fixture
def jobs(machine: Machine) -> dict[str, UUID]:
    """Give a job of each of two tenants, and one of none."""
    machine.register("t")
    return {name: machine.enqueue(label=f"of {name}", tenant=name) for name in ("acme", "globex")} | {
        "nobody": machine.enqueue(label="of nobody")
    }


def owners(page: str) -> set[str]:
    return set(re.findall(r">of (\w+)<", page))


async def choose(browser: httpx.AsyncClient, tenant: str = "") -> str:
    """Choose whose things to look at, and give the page that follows."""
    answer = await browser.post("/settings/tenant", data={"tenant": tenant})
    assert answer.status_code == 303, answer.text
    return (await browser.get(answer.headers["location"])).text


async def test_who_reaches_all_tenants_can_look_at_one_and_at_another_and_at_all_again(
    looking: Looking, jobs: dict[str, UUID]
) -> None:
    async with looking(Role.ADMIN) as browser:
        everything = (await browser.get("/jobs")).text
        said = await choose(browser, "acme")
        acme = (await browser.get("/jobs")).text
        other = await browser.get(f"/jobs/{jobs['globex']}")
        queues = words_of((await browser.get("/queues")).text)
        await choose(browser, "globex")
        globex = (await browser.get("/jobs")).text
        await choose(browser)
        again = (await browser.get("/jobs")).text

    assert owners(everything) == {"acme", "globex", "nobody"}
    assert "what the people of acme see" in said
    assert (owners(acme), other.status_code) == ({"acme"}, 404)
    assert "You look at acme alone. See all tenants" in queues
    assert owners(globex) == {"globex"}
    assert owners(again) == {"acme", "globex", "nobody"}


async def test_what_somebody_does_while_they_look_at_one_tenant_reaches_no_other(
    looking: Looking, machine: Machine, jobs: dict[str, UUID]
) -> None:
    async with looking(Role.ADMIN) as browser:
        await choose(browser, "acme")
        await browser.post(f"/jobs/{jobs['globex']}/cancel", data={"reason": "x"})
        await browser.post(f"/jobs/{jobs['acme']}/cancel", data={"reason": "x"})

    assert machine.status(jobs["globex"]) == "PENDING"
    assert machine.status(jobs["acme"]) == "CANCELLED"


async def test_who_is_bound_to_a_tenant_stays_there(looking: Looking, jobs: dict[str, UUID]) -> None:
    async with looking(Role.ADMIN, tenant="acme") as browser:
        said = await choose(browser, "globex")
        browser.cookies.set("holdfast-tenant", "globex")
        forged = (await browser.get("/jobs")).text

    assert "you belong to acme" in said
    assert "Whose things" not in forged
    assert owners(forged) == {"acme"}


@pytest.mark.parametrize("cookie", ["", "*", "%2A"])
async def test_a_cookie_that_names_no_tenant_changes_nothing(
    looking: Looking, jobs: dict[str, UUID], cookie: str
) -> None:
    async with looking(Role.VIEWER) as browser:
        browser.cookies.set("holdfast-tenant", cookie)
        page = (await browser.get("/jobs")).text

    assert owners(page) == set(jobs)


@pytest.mark.parametrize("path", ["/", "/jobs", "/approvals", "/settings"])
async def test_no_page_can_be_put_into_a_frame(looking: Looking, path: str) -> None:
    async with looking(Role.ADMIN) as browser:
        headers = (await browser.get(path)).headers

    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers.get("x-frame-options") == "DENY"


# -- the environment -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("production", "production"),
        ("Prod EU", "production"),
        ("staging", "staging"),
        ("dev", "development"),
        ("blue", "other"),
    ],
)
def test_an_environment_has_the_colour_of_its_kind(name: str, kind: str) -> None:
    assert label_of(name) == (name, kind)


async def test_pages_wear_the_environments_name_and_none_where_it_has_none(app: Holdfast) -> None:
    pages = {}
    for name in ("<b>production</b>", ""):
        async with looking_in(app, name) as browser:
            pages[name] = (await browser.get("/settings")).text

    assert 'class="environment"' in pages["<b>production</b>"]
    assert "&lt;b&gt;production" in pages["<b>production</b>"]
    assert 'class="environment' not in pages[""]


@asynccontextmanager
async def looking_in(app: Holdfast, environment: str) -> Any:
    async def authenticate(_request: object) -> Principal:
        return Principal.of_role("ann", Role.VIEWER)

    served = asgi(app, authenticate=authenticate, settings=settings(**MANY, environment=environment))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(served), base_url="https://jobs.test", headers=OWN_PAGE
    ) as browser:
        yield browser
    await app.link.aclose()


async def test_the_settings_offer_how_pages_look(looking: Looking) -> None:
    async with looking(Role.VIEWER) as browser:
        page = words_of((await browser.get("/settings")).text)

    for words in ("As the system", "Compact", "Of this browser", "UTC", "Single keys"):
        assert words in page


def test_templates_write_names_into_paths_in_the_one_way() -> None:
    escaped = re.compile(r"[^}\s]\s*\| *urlencode")  # what stands in braces is a question's

    found = [name for name, text in _templates() if escaped.search(text)]

    assert found == []


def _templates() -> Iterator[tuple[str, str]]:
    loader = environment().loader
    assert loader is not None
    for name in environment().list_templates():
        yield name, loader.get_source(environment(), name)[0]
