"""Links that let a person in once: what uses them up, what does not, and where their secret never stands."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
import psycopg
import pytest

from holdfast.domain.access import Role
from holdfast.interfaces.http.asgi import asgi
from holdfast.interfaces.http.login_links import LoginLinks
from holdfast.store import people
from service.house import MANY, OWN_PAGE, SESSION, House, new_address, settings

GONE = "This link has been used, or it is too old."


@asynccontextmanager
async def browsing(
    house: House, links: LoginLinks | None, prefix: str = ""
) -> AsyncIterator[httpx.AsyncClient]:
    served = asgi(house.app, settings=settings(**MANY), links=links)
    transport = httpx.ASGITransport(served, client=(new_address(), 4711), root_path=prefix)
    async with httpx.AsyncClient(
        transport=transport, base_url="https://jobs.test", headers=OWN_PAGE
    ) as client:
        yield client
    await house.app.link.aclose()


async def is_inside(client: httpx.AsyncClient) -> bool:
    return (await client.get("/api/v1/keys")).status_code == 200


def code_of(link: str) -> str:
    return link.partition("#")[2]


async def test_a_link_lets_in_once(house: House) -> None:
    links = LoginLinks()
    link = links.make(house.person())
    async with browsing(house, links) as client:
        entered = await client.post("/enter", data={"code": code_of(link)})
        inside = await is_inside(client)
    async with browsing(house, links) as other:
        again = await other.post("/enter", data={"code": code_of(link)})

        assert (entered.status_code, entered.headers["location"], inside) == (303, "/", True)
        assert (again.status_code, GONE in again.text, SESSION in other.cookies) == (404, True, False)


async def test_looking_at_the_page_uses_nothing_up(house: House) -> None:
    links = LoginLinks()
    link = links.make(house.person())
    async with browsing(house, links) as client:
        page = await client.get("/enter")
        await client.head("/enter")

        assert (page.status_code, GONE in page.text, await is_inside(client)) == (200, False, False)
        assert (await client.post("/enter", data={"code": code_of(link)})).status_code == 303


async def test_a_link_counts_for_minutes(house: House) -> None:
    clock = [0.0]
    links = LoginLinks(now=lambda: clock[0])
    early, late = (links.make(house.person(), timedelta(minutes=10)) for _ in range(2))
    async with browsing(house, links) as client:
        clock[0] = 599.0
        assert (await client.post("/enter", data={"code": code_of(early)})).status_code == 303
    async with browsing(house, links) as client:
        clock[0] = 600.0
        answer = await client.post("/enter", data={"code": code_of(late)})

        assert (answer.status_code, GONE in answer.text) == (404, True)
        assert not await is_inside(client)


async def test_what_is_wrong_is_not_told(house: House) -> None:
    links = LoginLinks()
    used = links.make(house.person())
    links.take(code_of(used))
    wrong = ["", "x", "hfl_" + "x" * 43, code_of(used), "hfs_" + "x" * 43, "\x00"]
    async with browsing(house, links) as client:
        answers = [await client.post("/enter", data={"code": code}) for code in wrong]

    assert {(answer.status_code, answer.text) for answer in answers} == {(404, answers[0].text)}


async def test_the_whole_link_may_be_pasted(house: House) -> None:
    links = LoginLinks()
    link = links.make(house.person())
    async with browsing(house, links) as client:
        answer = await client.post("/enter", data={"code": f" https://jobs.test{link}\n"})

    assert answer.status_code == 303


async def test_another_site_cannot_use_a_link_in_somebodys_browser(house: House) -> None:
    links = LoginLinks()
    link = links.make(house.person())
    async with browsing(house, links) as client:
        foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.test"}
        planted = await client.post("/enter", data={"code": code_of(link)}, headers=foreign)

        assert (planted.status_code, SESSION in client.cookies) == (403, False)
        assert (await client.post("/enter", data={"code": code_of(link)})).status_code == 303


async def test_a_disabled_person_is_not_let_in(house: House) -> None:
    links, name = LoginLinks(), house.person()
    link = links.make(name)
    house.app.link.perform_once(people.disable_person(name))
    async with browsing(house, links) as client:
        assert (await client.post("/enter", data={"code": code_of(link)})).status_code == 404
        assert not await is_inside(client)


async def test_the_session_has_the_persons_role_and_replaces_the_one_before(house: House) -> None:
    links = LoginLinks()
    viewer, admin = links.make(house.person(Role.VIEWER)), links.make(house.person(Role.ADMIN))
    async with browsing(house, links) as client:
        await client.post("/enter", data={"code": code_of(admin)})
        before = client.cookies[SESSION]
        await client.post("/enter", data={"code": code_of(viewer)})
        assert (await client.get("/api/v1/keys")).status_code == 403
    async with browsing(house, links) as thief:
        stolen = await thief.get("/api/v1/keys", headers={"Cookie": f"{SESSION}={before}"})
        assert stolen.status_code == 401


async def test_the_audit_says_who_came_by_a_link_and_nothing_says_its_secret(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    links, name = LoginLinks(), house.person()
    link = links.make(name)
    with caplog.at_level(logging.DEBUG):
        async with browsing(house, links) as client:
            entered = await client.post("/enter", data={"code": code_of(link)})

    with psycopg.connect(house.database.owner_url) as owner:
        told = owner.execute(
            "select action, actor, data from holdfast.audit where target = %s order by at desc limit 1",
            [name],
        ).fetchone()
    assert told == ("person.login", name, {"by": "link"})
    said = caplog.text + str(entered.headers) + entered.text
    assert code_of(link) not in said
    assert code_of(link)[4:] not in said


async def test_the_page_keeps_its_address_to_itself(house: House) -> None:
    async with browsing(house, LoginLinks()) as client:
        page = await client.get("/enter")

    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert '<form method="post"' in page.text  # without JavaScript the code is pasted


async def test_without_links_there_is_no_door_for_them(house: House) -> None:
    async with browsing(house, None) as client:
        answers = [await client.get("/enter"), await client.get("/enter.js"), await client.post("/enter")]

    assert [answer.status_code for answer in answers] == [404, 404, 404]


async def test_a_link_works_under_a_prefix(house: House) -> None:
    links = LoginLinks()
    link = links.make(house.person())
    async with browsing(house, links, "/ops") as client:
        page = await client.get("/ops/enter")
        entered = await client.post("/ops/enter", data={"code": code_of(link)})
        style = await client.get("/ops/login.css")

    assert (page.status_code, style.status_code) == (200, 200)
    assert entered.headers["location"] == "/ops/"
