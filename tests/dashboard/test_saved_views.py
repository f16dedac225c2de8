"""Saved views: kept from the list's address, one's own or shared, and nobody else's business."""

from html import unescape

import httpx
import pytest

from dashboard.conftest import Looking
from dashboard.looks import panel_of, words_of
from holdfast.domain.access import Role
from sql.support import Machine

FAILED = {"q": "status:failed task:charge", "range": "24h", "columns": "state,task,payload.order"}
ADDRESS = "/jobs?q=status%3Afailed+task%3Acharge&range=24h&columns=state%2Ctask%2Cpayload.order"


async def save(browser: httpx.AsyncClient, name: str, **more: str) -> str:
    """Keep a view, and give where that leads."""
    answer = await browser.post("/jobs/save-view", data={"name": name, **FAILED, **more})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def views(browser: httpx.AsyncClient, path: str = "/jobs") -> str:
    """Give the panel of views as the list has it."""
    answer = await browser.get(path)
    assert answer.status_code == 200
    return panel_of(answer.text, "saved-views")


async def test_what_is_shown_is_kept_under_a_name_and_leads_back_there(looking: Looking) -> None:
    async with looking(Role.VIEWER) as browser:
        there = await save(browser, "Failed payments")
        page = (await browser.get(there)).text
        panel = panel_of(page, "saved-views")
        alone = (await browser.get(there, params={**FAILED, "panel": "saved_views"})).text

    assert there == ADDRESS
    assert "View Failed payments is yours now" in page
    assert f'href="{ADDRESS}"' in unescape(panel)
    assert 'aria-current="true"' in panel
    assert words_of(alone) == words_of(panel)


async def test_ones_own_views_are_nobody_elses(looking: Looking) -> None:
    async with looking(name="ann") as ann:
        await save(ann, "Mine")
    async with looking(name="ben") as ben:
        panel = await views(ben)
        answer = await ben.post("/jobs/delete-view", data={"name": "Mine"})
        said = (await ben.get(answer.headers["location"])).text
    async with looking(name="ann") as ann:
        still = await views(ann)

    assert "Mine" not in panel
    assert "no view" in said
    assert "Mine" in still


async def test_operators_share_views_and_viewers_only_look_at_them(looking: Looking) -> None:
    async with looking(Role.VIEWER) as viewer:
        refused = await viewer.post("/jobs/save-view", data={"name": "Ours", "shared": "on", **FAILED})
        said = (await viewer.get(refused.headers["location"])).text
    async with looking(Role.OPERATOR) as operator:
        await save(operator, "Ours", shared="on")
    async with looking(Role.VIEWER) as viewer:
        panel = await views(viewer, ADDRESS)
        await viewer.post("/jobs/delete-view", data={"name": "Ours", "shared": "on"})
        still = await views(viewer)
    async with looking(Role.ADMIN) as admin:
        await admin.post("/jobs/delete-view", data={"name": "Ours", "shared": "on"})
        gone = await views(admin)

    assert "needs the scope operate" in said
    assert 'disabled title="Operators and admins may do this"' in panel
    assert "Ours" in still
    assert "Ours" not in gone


@pytest.mark.parametrize(("saver", "other"), [("acme", "globex"), ("acme", None), (None, "acme")])
async def test_shared_views_stay_with_those_who_see_the_same_tenant(
    looking: Looking, saver: str | None, other: str | None
) -> None:
    async with looking(tenant=saver) as browser:
        await save(browser, "Ours", shared="on")
        own = await views(browser)
    async with looking(tenant=other) as browser:
        foreign = await views(browser)
        answer = await browser.post("/jobs/delete-view", data={"name": "Ours", "shared": "on"})
        said = (await browser.get(answer.headers["location"])).text

    assert "Ours" in own
    assert "Ours" not in foreign
    assert "no view" in said


async def test_a_view_of_the_same_name_is_replaced_and_deleted_once(looking: Looking) -> None:
    async with looking() as browser:
        await save(browser, "Mine")
        there = await save(browser, "Mine", q="status:retry")
        panel = await views(browser, there)
        await browser.post("/jobs/delete-view", data={"name": "Mine"})
        gone = await views(browser)

    assert panel.count(">Mine</a>") == 1
    assert "status%3Aretry" in panel
    assert "No views yet" in gone


async def test_a_search_that_means_nothing_is_not_kept(looking: Looking) -> None:
    async with looking() as browser:
        answer = await browser.post("/jobs/save-view", data={"name": "Mine", "q": "status:nowhere"})
        page = (await browser.get(answer.headers["location"])).text

    assert answer.headers["location"] == "/jobs"
    assert "The request makes no sense" in page
    assert "No views yet" in page


async def test_names_are_shown_as_they_are(looking: Looking) -> None:
    async with looking() as browser:
        panel = await views(browser, await save(browser, "<img src=x onerror=alert(1)>"))

    assert "<img" not in panel
    assert "&lt;img src=x" in panel


async def test_a_hundred_are_enough(looking: Looking, machine: Machine) -> None:
    machine.run(
        "select holdfast.save_view(null, 'operator', 'v' || n, '', '', '7d', 'operator') from generate_series(1, 100) as n"
    )
    async with looking() as browser:
        answer = await browser.post("/jobs/save-view", data={"name": "one more", **FAILED})
        said = (await browser.get(answer.headers["location"])).text
        replaced = await save(browser, "v7")

    assert "there are 100 views already" in said
    assert replaced == ADDRESS


async def test_what_is_shared_and_deleted_is_in_the_audit(looking: Looking, machine: Machine) -> None:
    async with looking(name="ann") as browser:
        await save(browser, "Ours", shared="on")
        await browser.post("/jobs/delete-view", data={"name": "Ours", "shared": "on"})

    done = machine.rows("select actor, action, target from holdfast.audit order by id")
    assert [tuple(each.values()) for each in done] == [
        ("ann", "view.share", "Ours"),
        ("ann", "view.delete", "Ours"),
    ]
