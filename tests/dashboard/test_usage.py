"""Usage by month: sums of days that were kept, what tenants may use, and a file of it."""

import csv
import io

import psycopg
import pytest

from dashboard.looks import looking, panel_of, words_of
from holdfast import Holdfast
from holdfast.domain.access import Role
from holdfast.domain.states import Status
from holdfast.interfaces.http.dashboard.rendering import NOTHING
from sql.support import Machine
from sql.test_project import project_all

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def machine(owner: psycopg.Connection) -> Machine:
    machine = Machine(owner)
    machine.register("t", retries=0)
    return machine


def use(machine: Machine, tenant: str | None, day: str, runs: int = 1, task: str = "t") -> None:
    machine.run(
        "insert into holdfast.usage select %s, %s, %s, %s, %s, %s, 1, 0, 0, %s, 90.5, 0",
        day, tenant, task, runs, runs, runs, runs,
    )  # fmt: skip


async def test_a_month_without_usage_shows_how_a_job_gets_a_tenant(app: Holdfast) -> None:
    async with looking(app, Role.VIEWER) as browser:
        page = (await browser.get("/usage?month=2020-02")).text

    assert "Nothing was used in February 2020." in page
    assert "using(tenant=" in page


async def test_a_month_is_added_up_by_tenant(app: Holdfast, machine: Machine) -> None:
    use(machine, "acme", "2026-03-01", 3)
    use(machine, "acme", "2026-03-31", 4)
    use(machine, "globex", "2026-03-15", 1)
    use(machine, None, "2026-03-15", 2)
    use(machine, "acme", "2026-04-01", 99)

    async with looking(app, Role.VIEWER) as browser:
        page = (await browser.get("/usage?month=2026-03")).text

    assert "Jobs enqueued 10 Attempts 10 Failed 4 Time run 6m 02s" in words_of(panel_of(page, "usage-bars"))
    tenants = words_of(panel_of(page, "usage-tenants"))
    assert f"acme 7 7 3m 01s 2 0 {NOTHING} 1 none no tenant 2 2" in tenants
    assert 'href="/usage/acme?month=2026-03"' in page
    assert 'href="/usage?month=2026-02"' in page


async def test_what_runs_now_and_the_quotas_are_beside_what_was_used(app: Holdfast, machine: Machine) -> None:
    machine.job_in(Status.RUNNING, tenant="acme")
    machine.run("select holdfast.set_quota('acme', null, 'month', 'enqueued', 1, 10)")
    machine.run("select holdfast.set_tenant_weight('acme', 5)")
    project_all(machine)

    async with looking(app, Role.VIEWER) as browser:
        page = (await browser.get("/usage")).text
        own = (await browser.get("/usage/acme")).text

    said = "all tasks: 1 of 10 jobs enqueued a month (soft mark at 1) · past the soft mark"
    assert f"1 {NOTHING} 5 {said}" in words_of(panel_of(page, "usage-tenants"))
    assert said in words_of(panel_of(own, "usage-limits"))
    assert "Running now 1 Jobs a turn 5" in words_of(own)


async def test_a_tenant_has_a_page_of_its_tasks(app: Holdfast, machine: Machine) -> None:
    use(machine, "a/b", "2026-03-01", 3, "mail")
    use(machine, "other", "2026-03-01", 3, "secret")

    async with looking(app) as browser:
        page = (await browser.get("/usage/a%2Fb?month=2026-03")).text

    tasks = panel_of(page, "usage-tasks")
    assert "mail 3 3 0 1 1m 30s" in words_of(tasks)
    assert "secret" not in page
    assert "q=tenant%3Aa%2Fb+task%3Amail" in tasks


async def test_a_panel_alone_is_the_same_as_on_its_page(app: Holdfast, machine: Machine) -> None:
    use(machine, "acme", "2026-03-01")

    async with looking(app) as browser:
        page = (await browser.get("/usage/acme?month=2026-03")).text
        alone = (await browser.get("/usage/acme?month=2026-03&panel=usage_tasks")).text

    assert alone.strip() == panel_of(page, "usage-tasks")


async def test_who_is_bound_to_a_tenant_sees_its_usage_alone(app: Holdfast, machine: Machine) -> None:
    use(machine, "acme", "2026-03-01", 3)
    use(machine, "globex", "2026-03-01", 5)

    async with looking(app, Role.VIEWER, "acme") as browser:
        page = (await browser.get("/usage?month=2026-03")).text
        theirs = await browser.get("/usage/globex?month=2026-03")
        file = (await browser.get("/usage.csv?month=2026-03")).text
        their_file = await browser.get("/usage.csv?month=2026-03&tenant=globex")

    assert "Jobs enqueued 3" in words_of(page)
    assert "globex" not in page + file
    assert theirs.status_code == 404
    assert their_file.status_code == 404


async def test_a_month_can_be_kept_as_a_table(app: Holdfast, machine: Machine) -> None:
    use(machine, "=cmd()", "2026-03-01", 3)

    async with looking(app) as browser:
        answer = await browser.get("/usage.csv?month=2026-03")

    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert "usage-2026-03.csv" in answer.headers["content-disposition"]
    assert (row["day"], row["tenant"], row["runs"], row["run_seconds"]) == (
        "2026-03-01",
        "'=cmd()",
        "3",
        "90.500000",
    )


async def test_names_are_shown_as_they_are(app: Holdfast, machine: Machine) -> None:
    use(machine, HOSTILE, "2026-03-01", 3, HOSTILE)

    async with looking(app) as browser:
        pages = [
            (await browser.get(f"{path}?month=2026-03")).text
            for path in ("/usage", "/usage/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
        ]

    assert all("<script>alert" not in page and "&lt;script&gt;alert(1)" in page for page in pages)


@pytest.mark.parametrize("month", ["2026-13", "soon", "9999-12"])
async def test_what_is_no_month_is_refused_in_a_sentence(app: Holdfast, month: str) -> None:
    async with looking(app) as browser:
        answer = await browser.get(f"/usage?month={month}")

    assert answer.status_code == 422
    assert "month" in answer.text
