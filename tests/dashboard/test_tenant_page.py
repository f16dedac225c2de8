"""The page of one tenant: what it may use, how much is kept of it, and the keys of its programs."""

import asyncio
import re
import shlex
from html import unescape

import pytest

from dashboard.conftest import Looking
from dashboard.looks import panel_of, words_of
from holdfast import Holdfast
from holdfast.domain.access import Role, Scope
from holdfast.domain.segments import segment_of
from holdfast.runtime.access import create_key
from holdfast.testing import ScratchDatabase
from interfaces.calling import Cli
from sql.support import Machine
from sql.test_project import project_all


@pytest.fixture(autouse=True)
def _tenants(app: Holdfast, machine: Machine) -> None:
    machine.register("t")
    for tenant, times in (("acme", 3), ("globex", 1)):
        create_key(app, f"shop of {tenant}", scopes=[Scope.ENQUEUE], tenant=tenant)
        for _ in range(times):
            machine.enqueue(tenant=tenant)


async def test_an_admin_sees_a_tenants_own_keys(looking: Looking) -> None:
    async with looking(Role.ADMIN) as browser:
        page = (await browser.get("/usage/acme")).text
        listed = (await browser.get("/api/v1/keys", params={"tenant": "acme"})).json()["items"]

    panel = words_of(panel_of(page, "tenant-keys"))
    assert "shop of acme" in panel
    assert "globex" not in panel
    assert [key["name"] for key in listed] == ["shop of acme"]


async def test_others_see_no_keys(looking: Looking) -> None:
    async with looking(Role.OPERATOR) as browser:
        page = (await browser.get("/usage/acme")).text
    async with looking(Role.ADMIN, tenant="acme") as browser:
        foreign = await browser.get("/api/v1/keys", params={"tenant": "globex"})
        own = (await browser.get("/usage/acme")).text

    assert "shop of" not in page
    assert foreign.status_code == 404
    assert "shop of acme" in own


async def test_it_says_how_many_jobs_are_kept(looking: Looking) -> None:
    async with looking(Role.VIEWER) as browser:
        page = (await browser.get("/usage/acme")).text

    assert "Jobs kept 3" in words_of(panel_of(page, "usage-limits"))


async def test_it_says_what_its_jobs_take_and_when_that_was_measured(
    looking: Looking, machine: Machine
) -> None:
    async with looking(Role.VIEWER) as browser:
        before = words_of(panel_of((await browser.get("/usage/acme")).text, "usage-limits"))
        machine.run("select holdfast.measure_storage()")
        page = words_of(panel_of((await browser.get("/usage/acme")).text, "usage-limits"))
        machine.run(
            "update holdfast.storage set share = 0.01, payload_bytes = 5 * 1024 * 1024, job_bytes = 0"
        )
        estimated = words_of(panel_of((await browser.get("/usage/acme")).text, "usage-limits"))
    async with looking(Role.VIEWER, tenant="acme") as browser:
        own = (await browser.get("/api/v1/storage")).json()["items"]

    assert "Storage Not measured yet" in before
    assert "measured" in page
    assert "estimated" not in page
    assert "≈ 5.0 MiB" in estimated
    assert "payloads 5.0 MiB" in estimated
    assert "estimated from a sample of all jobs" in estimated
    assert [(each["tenant"], each["jobs"], each["is_estimate"]) for each in own] == [("acme", 3, True)]


async def test_the_list_of_tenants_says_what_the_jobs_of_each_take(
    looking: Looking, machine: Machine
) -> None:
    project_all(machine)
    machine.run("select holdfast.measure_storage()")
    machine.run("update holdfast.storage set job_bytes = 3 * 1024 * 1024 where tenant = 'acme'")

    async with looking(Role.ADMIN) as browser:
        panel = words_of(panel_of((await browser.get("/usage")).text, "usage-tenants"))

    assert "3.0 MiB" in panel
    assert "without indexes" in panel


async def test_an_admin_sets_and_removes_a_quota(looking: Looking, machine: Machine) -> None:
    marks = {"measure": "enqueued", "period": "month", "soft": "2", "hard": "10000"}
    async with looking(Role.ADMIN) as browser:
        await browser.post("/usage/acme/quota", data=marks)
        page = (await browser.get("/usage/acme")).text
        await browser.post("/usage/acme/quota", data={"measure": "enqueued", "period": "month"})
        gone = (await browser.get("/usage/acme")).text

    assert "acme has jobs enqueued a month: soft at 2 and hard at 10,000." in page
    assert "soft mark at 2" in words_of(panel_of(page, "usage-limits"))
    assert "acme has no quota of jobs enqueued a month." in gone
    assert machine.value("select count(*) from holdfast.quota") == 0


async def test_an_admin_sets_how_many_jobs_it_gets_in_its_turn(looking: Looking, machine: Machine) -> None:
    async with looking(Role.ADMIN, name="ann") as browser:
        await browser.post("/usage/acme/weight", data={"weight": "3", "reason": "paid for it"})
        page = (await browser.get("/usage/acme")).text

    assert "acme gets 3 jobs in its turn." in page
    assert "Jobs a turn 3" in words_of(panel_of(page, "usage-limits"))
    done = machine.one(
        "select actor, action, target, reason from holdfast.audit where action = 'tenant.weight'"
    )
    assert tuple(done.values()) == ("ann", "tenant.weight", "acme", "paid for it")


@pytest.mark.parametrize(("role", "tenant"), [(Role.OPERATOR, None), (Role.ADMIN, "acme")])
async def test_nobody_else_sets_quotas(
    looking: Looking, machine: Machine, role: Role, tenant: str | None
) -> None:
    async with looking(role, tenant=tenant) as browser:
        page = (await browser.get("/usage/acme")).text
        await browser.post("/usage/acme/quota", data={"measure": "runs", "period": "day", "hard": "1"})
        await browser.post("/usage/acme/weight", data={"weight": "3", "reason": "mine"})

    assert "Set a quota" not in page
    assert machine.value("select count(*) from holdfast.tenant") == 0
    assert machine.value("select count(*) from holdfast.quota") == 0


async def test_it_leads_to_what_its_people_see(looking: Looking) -> None:
    async with looking(Role.VIEWER) as browser:
        page = (await browser.get("/usage/acme")).text

    assert "See only what its people see" in page


async def test_a_copied_command_means_the_tenant_whatever_it_is_called(
    app: Holdfast, looking: Looking, machine: Machine, holdfast_db: ScratchDatabase
) -> None:
    name = "--hard 'x'"
    machine.enqueue(tenant=name)
    project_all(machine)
    cli = Cli(holdfast_db)

    async with looking(Role.ADMIN) as browser:
        page = (await browser.get(f"/usage/{segment_of(name)}")).text
    copied = [shlex.split(unescape(each))[1:] for each in re.findall(r'data-copy="(holdfast [^"]+)"', page)]
    for command in copied:
        await asyncio.to_thread(cli, *command)

    assert [command[:2] for command in copied] == [["quota", "set"], ["key", "create"]]
    assert machine.value("select tenant::text from holdfast.quota") == name
    assert machine.value("select tenant::text from holdfast.api_key where name = 'my-program'") == name
