"""Queues and schedules: what stands there, who may turn what, and where a form leads."""

import re
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from html import unescape
from urllib.parse import quote

import httpx
import pytest
from psycopg.types.json import Jsonb
from starlette.applications import Starlette
from starlette.routing import Mount

from dashboard.conftest import Looking
from holdfast import Holdfast
from holdfast.domain.access import Principal, Role
from holdfast.interfaces.http.asgi import asgi
from service.house import MANY, OWN_PAGE, settings
from sql.support import Machine

# What a browser sends for a form without fields.
EMPTY = {"Content-Type": "application/x-www-form-urlencoded"}
HOSTILE = "<script>alert(1)</script>"


def scheduled(machine: Machine, name: str = "nightly", **more: object) -> None:
    given = {"name": name, "task": "t", "cron": "0 2 * * *", "tz": "Europe/Lisbon", "payload": {}, **more}
    machine.run("select holdfast.create_schedule(%s)", Jsonb(given))


@pytest.fixture(autouse=True)
def _task(machine: Machine) -> None:
    machine.register("t", queue="billing")


async def test_a_declared_queue_without_jobs_is_listed_and_shown(looking: Looking) -> None:
    async with looking() as browser:
        listed = await browser.get("/queues")
        shown = await browser.get("/queues/billing")

    assert "/queues/billing" in listed.text
    assert "Nothing waits" in shown.text
    assert "<title>Queue billing" in shown.text


async def test_a_name_that_looks_escaped_leads_to_itself(machine: Machine, looking: Looking) -> None:
    name = "50%25 <off>?#"
    machine.register("t", queue=name)
    address = f"/queues/{quote(name)}"

    async with looking() as browser:
        page = (await browser.get(address)).text
        panels = [await browser.get(each) for each in re.findall(r'hx-get="([^"]+panel=queue_[^"]+)"', page)]
    async with looking(Role.VIEWER) as browser:
        refused = await browser.post(f"{address}/pause", data={"reason": "x"})

    assert [each.status_code for each in panels] == [200, 200, 200]
    assert all(shlex.quote(name) in unescape(each.text) for each in panels[2:])
    assert refused.headers["location"] == address


@pytest.mark.parametrize("prefix", ["", "/ops"])
@pytest.mark.parametrize("name", ["../queues/mail", "..", "mail/.", "~..", "%2e%2e/mail", "//mail"])
async def test_a_name_that_looks_like_a_way_leads_to_itself(
    machine: Machine, app: Holdfast, prefix: str, name: str
) -> None:
    for queue in (name, "mail"):
        machine.register("t", queue=queue)

    async with mounted(app, prefix) as browser:
        listed = (await browser.get(f"{prefix}/queues")).text
        link = re.findall(f'<a href="([^"]+)">{re.escape(name)}</a>', listed)[-1]
        page = await browser.get(unescape(link))
        form = re.findall(r'action="([^"]+/pause)"', page.text)[0]
        done = await browser.post(unescape(form), data={"reason": "x", "here": "queue"})

    paused = "select array_agg(name::text) from holdfast.queue where paused_at is not null"
    assert f"<title>Queue {name} " in page.text
    assert done.headers["location"] == unescape(link) == unescape(form).removesuffix("/pause")
    assert machine.value(paused) == [name]


@asynccontextmanager
async def mounted(app: Holdfast, prefix: str) -> AsyncIterator[httpx.AsyncClient]:
    """Come as an operator to a service that may be below another one's path."""

    async def authenticate(_request: object) -> Principal:
        return Principal.of_role("ben", Role.OPERATOR)

    served = Starlette(
        routes=[Mount(prefix, asgi(app, authenticate=authenticate, settings=settings(**MANY)))]
    )
    transport = httpx.ASGITransport(served)
    async with httpx.AsyncClient(
        transport=transport, base_url="https://jobs.test", headers=OWN_PAGE
    ) as browser:
        yield browser
    await app.link.aclose()


async def test_a_schedule_that_is_called_like_the_form_of_another_has_its_own_page(
    machine: Machine, looking: Looking
) -> None:
    for name in ("nightly", "nightly/edit"):
        scheduled(machine, name)

    async with looking() as browser:
        listed = (await browser.get("/schedules")).text
        links = [unescape(link) for link in re.findall(r'href="(/schedules/[^"]+)"', listed)]
        pages = {link: (await browser.get(link)).text for link in links}
        form = (await browser.get("/schedules/nightly/edit")).text

    assert all("<title>Schedule nightly" in page for page in pages.values())
    assert any("<h1>nightly/edit" in page for page in pages.values())
    assert "<title>Edit schedule nightly " in form


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ('night "mail"', """'night "mail"'"""),
        ("mail,eu:5", r"'mail\,eu\:5'"),
        ("a/b?c#d%2Fé", "'a/b?c#d%2Fé'"),
    ],
)
async def test_links_and_commands_of_an_odd_name_mean_it(
    machine: Machine, looking: Looking, name: str, written: str
) -> None:
    job = machine.enqueue("t", queue=name)

    async with looking() as browser:
        page = (await browser.get(f"/queues/{quote(name)}")).text
        links = re.findall(r'href="(/jobs\?q=queue[^"]+)"', page)
        lists = [(await browser.get(unescape(link))).text for link in links]

    assert len(lists) == 2  # those in line, and all
    assert all(str(job) in each for each in lists)
    _, *commands = unescape(page).split("worker -q ")
    assert commands
    assert all(command.startswith(written) for command in commands)


async def test_a_queue_without_a_worker_says_how_to_start_one(machine: Machine, looking: Looking) -> None:
    machine.enqueue("t", queue="billing")

    async with looking() as browser:
        shown = await browser.get("/queues/billing")

    assert "no worker serves this queue" in shown.text
    assert "worker -q billing" in shown.text


async def test_a_queue_is_paused_limited_and_resumed_from_its_page(
    machine: Machine, looking: Looking
) -> None:
    async with looking() as browser:
        paused = await browser.post(
            "/queues/billing/pause", data={"reason": "bank is down", "here": "queue", "minutes": "5"}
        )
        shown = await browser.get(paused.headers["location"])
        await browser.post("/queues/billing/limit", data={"reason": "gently", "limit": "3"})
        resumed = await browser.post("/queues/billing/resume", data={"reason": "it is back"})

    assert paused.headers["location"] == "/queues/billing"
    assert resumed.headers["location"] == "/queues"
    assert "bank is down" in shown.text
    queue = machine.one("select paused_at, job_limit from holdfast.queue where name = 'billing'")
    assert queue == {"paused_at": None, "job_limit": 3}


async def test_a_task_is_paused_from_the_page_of_its_queue(machine: Machine, looking: Looking) -> None:
    async with looking() as browser:
        await browser.post("/queues/billing/pause-task", data={"task": "t", "reason": "a bug"})
        shown = await browser.get("/queues/billing")
        paused = machine.value("select paused_at is not null from holdfast.task where name = 't'")
        await browser.post("/queues/billing/resume-task", data={"task": "t", "reason": "fixed"})

    assert paused
    assert "a bug" in shown.text
    assert machine.value("select paused_at from holdfast.task where name = 't'") is None


async def test_workers_that_disagree_are_told_of(machine: Machine, looking: Looking) -> None:
    machine.worker("one")
    other = machine.worker("two")
    machine.run(
        "update holdfast.worker set version = '9.9', clock_skew = interval '40 seconds' where id = %s", other
    )

    async with looking() as browser:
        page = await browser.get("/queues")

    assert "Workers of 2 releases run side by side: 0, 9.9" in page.text
    assert "40 s ahead of the database" in page.text


async def test_workers_that_live_or_lately_died_are_listed_and_the_others_are_folded_away(
    machine: Machine, looking: Looking
) -> None:
    machine.worker("alive")
    for name, died, ended in (
        ("lost", "1 hour", None),
        ("long-gone", "2 days", None),
        ("done", "1 hour", "1 hour"),
    ):
        machine.run(
            "update holdfast.worker set seen_at = holdfast.clock() - %s::interval, died_at = holdfast.clock() - %s::interval,"
            " stopped_at = holdfast.clock() - %s::interval where id = %s",
            died, died, ended, machine.worker(name),
        )  # fmt: skip

    async with looking() as browser:
        panel = (await browser.get("/queues?panel=worker_list")).text
    shown, _, folded = panel.partition('<details class="ended"')

    assert [f">{name}<" in shown for name in ("alive", "lost", "long-gone", "done")] == [
        True,
        True,
        False,
        False,
    ]
    assert [f">{name}<" in folded for name in ("alive", "lost", "long-gone", "done")] == [
        False,
        False,
        True,
        True,
    ]
    assert "2 that ended" in folded


async def test_a_worker_says_what_it_works_on(machine: Machine, looking: Looking) -> None:
    job = machine.enqueue("t", queue="default", label="order 42")
    machine.claim(machine.worker("busy"))

    async with looking() as browser:
        page = (await browser.get("/queues?panel=worker_list")).text

    assert "1 job<" in page
    assert f'<a href="/jobs/{job}">order 42</a>' in page
    assert "q=status%3Arunning+worker%3Abusy" in page


async def test_a_queue_that_nobody_serves_says_how_to_start_a_worker_for_it(
    machine: Machine, looking: Looking
) -> None:
    machine.enqueue(queue="big jobs")

    async with looking() as browser:
        panel = (await browser.get("/queues/big%20jobs?panel=queue_workers")).text

    assert "holdfast -a your_module:app worker -q &#39;big jobs&#39;" in panel


async def test_where_all_workers_have_ended_none_is_connected(machine: Machine, looking: Looking) -> None:
    ended = machine.worker("done")
    machine.run("update holdfast.worker set stopped_at = holdfast.clock() where id = %s", ended)

    async with looking() as browser:
        panel = (await browser.get("/queues?panel=worker_list")).text

    assert "No worker is connected." in panel
    assert "1 that ended" in panel


@pytest.mark.parametrize("path", ["/queues", "/queues/billing", "/schedules", "/schedules/nightly"])
async def test_a_viewer_looks_and_turns_nothing(machine: Machine, looking: Looking, path: str) -> None:
    scheduled(machine)

    async with looking(Role.VIEWER) as browser:
        page = await browser.get(path)
        await browser.post("/queues/billing/pause", data={"reason": "x"})
        refused = await browser.post("/schedules/nightly/pause", data={"reason": "x"})
        after = await browser.get(refused.headers["location"])

    assert '<details class="asking"' not in page.text
    assert "Operators and admins may do this" in page.text
    assert "this needs the scope operate" in after.text
    assert machine.value("select count(*) from holdfast.schedule where paused_at is not null") == 0
    assert machine.value("select count(*) from holdfast.queue where paused_at is not null") == 0


@pytest.mark.parametrize("path", ["/queues", "/schedules"])
async def test_what_concerns_all_tenants_is_not_for_one(looking: Looking, path: str) -> None:
    async with looking(Role.OPERATOR, tenant="acme") as browser:
        page = await browser.get(path)

    assert "this concerns all tenants" in page.text
    assert "billing" not in page.text


@pytest.mark.parametrize(
    ("path", "panels"),
    [
        ("/queues", ["queue_list", "worker_list"]),
        ("/queues/billing", ["queue_card", "queue_tasks", "queue_workers"]),
        ("/schedules", ["schedule_list"]),
        ("/schedules/nightly", ["schedule_card", "schedule_runs"]),
    ],
)
async def test_panels_alone_are_those_of_the_page(
    machine: Machine, looking: Looking, path: str, panels: list[str]
) -> None:
    scheduled(machine)

    async with looking() as browser:
        page = await browser.get(path)
        alone = [await browser.get(f"{path}?panel={panel}") for panel in panels]

    for panel in alone:
        assert panel.text.strip() in page.text


async def test_a_schedule_says_when_it_fires_and_what_became_of_it(
    machine: Machine, looking: Looking
) -> None:
    scheduled(machine, overlap="skip", missed="all")

    async with looking() as browser:
        started = await browser.post("/schedules/nightly/run", data={"reason": "month's end"})
        listed = await browser.get("/schedules")
        shown = await browser.get(started.headers["location"])

    assert "at 02:00 every day Europe/Lisbon" in listed.text
    assert listed.text.count('<time class="exact own-zone"') == 3
    assert "left out while the job of the last one runs" in shown.text
    assert "all made up for" in shown.text
    assert "by hand" in shown.text
    assert str(machine.value("select id from holdfast.job")) in shown.text


async def test_a_schedule_is_paused_resumed_and_deleted(machine: Machine, looking: Looking) -> None:
    scheduled(machine)

    async with looking() as browser:
        await browser.post("/schedules/nightly/pause", data={"reason": "holidays"})
        paused = await browser.get("/schedules")
        await browser.post("/schedules/nightly/resume", data={"reason": "back"})
        resumed = machine.value("select paused_at is null from holdfast.schedule")
        deleted = await browser.post("/schedules/nightly/delete", headers=EMPTY)
        after = await browser.get(deleted.headers["location"])

    assert "holidays" in paused.text
    assert resumed
    assert "Nothing is scheduled yet." in after.text
    assert "@app.schedule(" in after.text


async def test_a_schedule_whose_queue_is_paused_says_so(machine: Machine, looking: Looking) -> None:
    scheduled(machine)
    machine.run("select holdfast.pause_queue('billing', 'ann', 'x', %s)", timedelta(hours=1))

    async with looking() as browser:
        page = await browser.get("/schedules/nightly")

    assert "queue billing is paused" in page.text


async def test_names_stay_text_and_find_their_pages(machine: Machine, looking: Looking) -> None:
    machine.register("odd", queue=f"a/b {HOSTILE}")
    scheduled(machine, name=f"x/y {HOSTILE}")

    async with looking() as browser:
        listed = [await browser.get("/queues"), await browser.get("/schedules")]
        queue = await browser.get(f"/queues/a/b {HOSTILE}")
        schedule = await browser.get(f"/schedules/x/y {HOSTILE}")

    for page in [*listed, queue, schedule]:
        assert page.status_code == 200
        assert HOSTILE not in page.text
        assert "&lt;script&gt;" in page.text
    assert "Nothing waits" in queue.text
    assert "Fires at 02:00" in schedule.text


async def test_what_nobody_made_is_not_found(looking: Looking) -> None:
    async with looking() as browser:
        queue = await browser.get("/queues/nothing")
        schedule = await browser.get("/schedules/nothing")

    assert "There is no such thing" in queue.text
    assert "There is no such thing" in schedule.text
