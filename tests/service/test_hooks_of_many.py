"""The rule of the application that serves ours, where one request is about many jobs: it is asked about each of them."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import httpx
import psycopg
import pytest

from holdfast import Holdfast
from holdfast.domain.access import Principal, Role
from holdfast.interfaces.http.api import operations
from holdfast.interfaces.http.asgi import asgi
from holdfast.interfaces.http.hooks import Hooks, JobFacts
from holdfast.testing import ScratchDatabase
from service.asking import problem
from service.house import MANY, OWN_PAGE, settings
from sql.asking import asked
from sql.support import Machine

Browsing: TypeAlias = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


async def not_acme(_principal: Principal, action: str, job: JobFacts | None) -> bool:
    """Let nobody touch a job of acme, whatever is asked about no job."""
    return action in {"show_job", "show_approval"} or job is None or job.tenant != "acme"


async def nothing_of_acme(_principal: Principal, _action: str, job: JobFacts | None) -> bool:
    return job is None or job.tenant != "acme"


@pytest.fixture
def machine(holdfast_db: ScratchDatabase) -> Iterator[Machine]:
    with psycopg.connect(holdfast_db.owner_url, autocommit=True) as owner:
        machine = Machine(owner)
        machine.register()
        yield machine


@pytest.fixture
def browsing(shop: Holdfast) -> Browsing:
    """Come as an admin to a service with a rule."""

    @asynccontextmanager
    async def browsing(rule: Any, tenant: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
        async def authenticate(_request: object) -> Principal:
            return Principal.of_role("ann", Role.ADMIN, tenant)

        served = asgi(shop, authenticate=authenticate, settings=settings(**MANY), hooks=Hooks(authorize=rule))
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(served), base_url="https://jobs.test", headers=OWN_PAGE
        ) as browser:
            yield browser
        await shop.link.aclose()

    return browsing


@pytest.fixture
def jobs(shop: Holdfast) -> dict[str, str]:
    """Give a job of acme and one of globex."""
    greet = shop.tasks["greet"]
    return {
        tenant: str(greet.using(tenant=tenant, label=f"of {tenant}", tags=["both"]).enqueue("x").id)
        for tenant in ("acme", "globex")
    }


def touched(machine: Machine) -> list[str | None]:
    """Name the tenants of the jobs that an operation has been told to touch."""
    rows = machine.rows(
        "select j.tenant from holdfast.operation_chunk c join holdfast.job j on j.id = any (c.jobs)"
    )
    return [row["tenant"] for row in rows]


# -- operations ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["jobs", "q"])
async def test_an_operation_leaves_out_what_the_application_refuses(
    browsing: Browsing, machine: Machine, jobs: dict[str, str], by: str
) -> None:
    which: dict[str, Any] = {"jobs": list(jobs.values())} if by == "jobs" else {"q": "task:greet tag:both"}

    async with browsing(not_acme) as browser:
        made = await browser.post("/api/v1/operations", json={"action": "cancel", **which})

    assert (made.status_code, made.json()["total"]) == (201, 1), made.text
    assert touched(machine) == ["globex"]


async def test_an_operation_asks_for_what_is_done_to_each(browsing: Browsing, jobs: dict[str, str]) -> None:
    seen: set[tuple[str, str | None]] = set()

    async def rule(_principal: Principal, action: str, job: JobFacts | None) -> bool:
        seen.add((action, None if job is None else str(job.id)))
        return True

    async with browsing(rule) as browser:
        await browser.post(
            "/api/v1/operations",
            json={"action": "reprioritise", "priority": 3, "jobs": list(jobs.values())},
        )

    assert seen == {("create_operation", None), *(("reprioritise_job", each) for each in jobs.values())}


async def test_an_operation_of_nothing_but_what_is_refused_is_not_begun(
    browsing: Browsing, machine: Machine, jobs: dict[str, str]
) -> None:
    async with browsing(not_acme) as browser:
        answer = await browser.post("/api/v1/operations", json={"action": "cancel", "jobs": [jobs["acme"]]})

    assert problem(answer) == (403, "forbidden")
    assert machine.value("select count(*) from holdfast.operation") == 0


async def test_an_operation_that_is_too_large_to_ask_about_is_not_begun(
    browsing: Browsing, machine: Machine, jobs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "COUNTED", 1)

    async with browsing(not_acme) as browser:
        answer = await browser.post(
            "/api/v1/operations", json={"action": "cancel", "jobs": list(jobs.values())}
        )

    assert answer.status_code == 422
    assert "narrow the search down to 1" in answer.json()["detail"]
    assert machine.value("select count(*) from holdfast.operation") == 0


async def test_a_preview_shows_no_job_that_is_refused(browsing: Browsing, jobs: dict[str, str]) -> None:
    async with browsing(nothing_of_acme) as browser:
        seen = await browser.get("/api/v1/operations/preview", params={"action": "cancel", "q": "task:greet"})
        searched = await browser.get("/operations/new", params={"action": "cancel", "q": "task:greet"})
        picked = await browser.get(
            "/operations/new", params={"action": "cancel", "pick": ",".join(jobs.values())}
        )

    assert "of acme" not in seen.text + searched.text + picked.text
    assert all("of globex" in each.text for each in (seen, searched, picked))
    assert "Those that this application does not let you touch are left out." in picked.text


async def test_the_rule_is_told_nothing_of_another_tenants_jobs(
    browsing: Browsing, jobs: dict[str, str]
) -> None:
    seen: list[str | None] = []

    async def rule(_principal: Principal, _action: str, job: JobFacts | None) -> bool:
        seen.extend([job.tenant] if job else [])
        return True

    async with browsing(rule, tenant="globex") as browser:
        await browser.post("/api/v1/operations", json={"action": "cancel", "jobs": list(jobs.values())})

    assert seen == ["globex"]


# -- approvals -------------------------------------------------------------------------------------------------------------


def two_questions(machine: Machine) -> dict[str, dict[str, str]]:
    """Let a job of acme and one of globex ask the same; gives what is seen of each."""
    seen = {}
    for tenant in ("acme", "globex"):
        one = asked(machine, enqueued={"tenant": tenant}, question=f"For {tenant}?", bulk=True)
        version = machine.value("select bound_hash from holdfast.approval where id = %s", one.approval_id)
        seen[tenant] = {"id": str(one.approval_id), "version": version}
    return seen


def decided(machine: Machine) -> list[str]:
    rows = machine.rows("select question from holdfast.approval where decided_at is not null")
    return [row["question"] for row in rows]


async def test_approvals_given_together_leave_out_what_the_application_refuses(
    browsing: Browsing, machine: Machine
) -> None:
    seen = two_questions(machine)

    async with browsing(not_acme) as browser:
        answer = await browser.post("/api/v1/approvals/approve", json={"approvals": list(seen.values())})

    assert [(each["id"], each["counts"], each["says"]) for each in answer.json()["items"]] == [
        (seen["acme"]["id"], False, "this application does not let you"),
        (seen["globex"]["id"], True, "approved; its job goes on"),
    ]
    assert decided(machine) == ["For globex?"]


async def test_the_page_of_approvals_together_says_which_are_left_out_and_gives_the_others(
    browsing: Browsing, machine: Machine
) -> None:
    seen = two_questions(machine)
    picks = ",".join(f"{each['id']}.{each['version']}" for each in seen.values())

    async with browsing(not_acme) as browser:
        page = await browser.get("/approvals/together", params={"pick": picks})
        told = await browser.post("/approvals/together", data={"seen": picks})
        alone = await browser.get(f"/approvals/{seen['acme']['id']}")

    assert "This application does not let you decide it." in page.text
    assert "Approve this one?" in page.text
    assert "1 approved, 1 not" in told.text
    assert "This application does not let you decide it." in alone.text
    assert f"/approvals/{seen['acme']['id']}/approve" not in alone.text
    assert decided(machine) == ["For globex?"]


async def test_what_may_not_be_shown_does_not_undo_what_was_approved_with_it(
    browsing: Browsing, machine: Machine
) -> None:
    seen = two_questions(machine)
    picks = ",".join(f"{each['id']}.{each['version']}" for each in seen.values())

    async with browsing(nothing_of_acme) as browser:
        told = await browser.post("/approvals/together", data={"seen": picks})

    assert "1 approved, 1 not" in told.text
    assert "For acme?" not in told.text
    assert decided(machine) == ["For globex?"]


async def test_lists_of_approvals_leave_out_those_of_jobs_that_may_not_be_shown(
    browsing: Browsing, machine: Machine
) -> None:
    two_questions(machine)

    async with browsing(nothing_of_acme) as browser:
        listed = (await browser.get("/api/v1/approvals")).json()["items"]
        page = (await browser.get("/approvals")).text

    assert [each["question"] for each in listed] == ["For globex?"]
    assert "For acme?" not in page
