"""What jobs work with is shown to operators and programs; who only looks says why first, and the audit has it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import psycopg
import pytest

from holdfast import Context, Holdfast
from holdfast.domain.access import Principal, Role, Scope
from holdfast.interfaces.http.asgi import asgi
from holdfast.testing import ScratchDatabase
from service.asking import audited, problem
from service.conftest import Calling
from service.house import OWN_PAGE
from sql.support import Machine
from world.draining import adrain

ANN = "ann's card"
LOOKING_ON = [Role.VIEWER, Role.APPROVER]


@pytest.fixture
def shop(holdfast_db: ScratchDatabase) -> Iterator[Holdfast]:
    """Give an app whose task has a customer's word in everything that it works with."""
    app = holdfast_db.use(Holdfast())

    @app.task()
    async def charge(ctx: Context, card: str) -> str:
        return await ctx.step("book", lambda: f"booked {card}")

    yield app
    app.close()


@pytest.fixture
async def job(shop: Holdfast) -> str:
    made = shop.tasks["charge"].using(tenant="acme", metadata={"from": ANN}, label="order 7").enqueue(ANN)
    await adrain(shop)
    return str(made.id)


@asynccontextmanager
async def looked_at(shop: Holdfast, who: Principal) -> AsyncIterator[httpx.AsyncClient]:
    async def authenticate(_request: object) -> Principal:
        return who

    transport = httpx.ASGITransport(asgi(shop, authenticate=authenticate))
    async with httpx.AsyncClient(
        transport=transport, base_url="https://jobs.test/api/v1", headers=OWN_PAGE
    ) as client:
        yield client
    await shop.link.aclose()


def somebody(role: Role = Role.VIEWER, tenant: str | None = None, name: str = "bo") -> Principal:
    return Principal.of_role(name, role, tenant)


async def shown(client: httpx.AsyncClient, job: str) -> list[dict[str, Any]]:
    """Read a job in all ways in which it is told with what it works with."""
    paths = (f"/jobs/{job}", f"/jobs/{job}/wait?timeout=0", f"/jobs/{job}/steps")
    return [(await client.get(path)).json() for path in paths]


@pytest.mark.parametrize("role", LOOKING_ON)
async def test_who_only_looks_sees_where_a_job_is_and_not_what_it_works_with(
    shop: Holdfast, job: str, role: Role
) -> None:
    async with looked_at(shop, somebody(role)) as client:
        found, waited, steps = await shown(client, job)

    for told in (found, waited):
        assert (told["status"], told["label"]) == ("COMPLETED", "order 7")
        assert (told["payload"], told["result"], told["metadata"]) == (None, None, None)
        assert "POST /jobs/{id}/reveal" in told["hidden"]
    assert [(step["name"], step["value"], step["is_hidden"]) for step in steps["items"]] == [
        ("book", None, True)
    ]
    assert ANN not in str((found, waited, steps))


@pytest.mark.parametrize("who", [
    somebody(Role.OPERATOR),
    somebody(Role.ADMIN),
    Principal("the shop", frozenset({Scope.READ}), is_program=True),
], ids=lambda who: who.name + " ".join(sorted(who.scopes)))  # fmt: skip
async def test_operators_and_programs_see_it(shop: Holdfast, job: str, who: Principal) -> None:
    async with looked_at(shop, who) as client:
        found, waited, steps = await shown(client, job)

    for told in (found, waited):
        assert (told["payload"], told["result"], told["hidden"]) == ({"card": ANN}, f"booked {ANN}", None)
    assert steps["items"][0]["value"] == f"booked {ANN}"


async def test_a_key_that_may_read_reads_what_its_program_needs(calling: Calling, job: str) -> None:
    async with calling("read", tenant="acme") as client:
        told = (await client.get(f"/api/v1/jobs/{job}/wait")).json()

    assert told["result"] == f"booked {ANN}"


async def test_who_says_why_sees_it_for_ten_minutes_and_nobody_else_does(
    shop: Holdfast, job: str, owner: psycopg.Connection[Any]
) -> None:
    async with looked_at(shop, somebody(tenant="acme")) as client:
        revealed = (await client.post(f"/jobs/{job}/reveal", json={"reason": "Ann called"})).json()
        after = await shown(client, job)
        Machine(owner).advance(601)
        later = (await client.get(f"/jobs/{job}")).json()
    async with looked_at(shop, somebody(name="cy")) as client:
        others = (await client.get(f"/jobs/{job}")).json()

    assert revealed["payload"] == after[0]["payload"] == {"card": ANN}
    assert after[2]["items"][0]["value"] == f"booked {ANN}"
    assert (later["payload"], others["payload"]) == (None, None)
    assert audited(owner) == [("bo", "job.reveal", job, "Ann called")]


async def test_nobody_sees_it_without_a_reason_or_of_another_tenant(
    shop: Holdfast, job: str, owner: psycopg.Connection[Any]
) -> None:
    async with looked_at(shop, somebody(tenant="acme")) as client:
        silent = [await client.post(f"/jobs/{job}/reveal", json=body) for body in ({}, {"reason": ""})]
    async with looked_at(shop, somebody(tenant="globex")) as client:
        foreign = await client.post(f"/jobs/{job}/reveal", json={"reason": "curious"})

    assert {problem(answer) for answer in silent} == {(422, "invalid")}
    assert problem(foreign) == (404, "not-found")
    assert audited(owner) == []


async def test_every_look_is_written_down_and_no_answer_is_kept_for_repeats(
    shop: Holdfast, job: str, owner: psycopg.Connection[Any]
) -> None:
    again = {"Idempotency-Key": "once"}
    for name in ("bo", "cy"):
        async with looked_at(shop, somebody(name=name)) as client:
            told = await client.post(f"/jobs/{job}/reveal", json={"reason": "Ann called"}, headers=again)
            assert told.json()["payload"] == {"card": ANN}

    assert [actor for actor, *_ in audited(owner)] == ["bo", "cy"]
    assert owner.execute("select count(*) from holdfast.request").fetchall() == [(0,)]


async def test_what_a_schedule_will_give_its_jobs_is_hidden_too(shop: Holdfast) -> None:
    shop.schedules.create("nightly", shop.tasks["charge"], cron="0 2 * * *", payload={"card": ANN})
    async with looked_at(shop, somebody()) as client:
        told = [(await client.get(path)).text for path in ("/schedules", "/schedules/nightly")]
    async with looked_at(shop, somebody(Role.OPERATOR)) as client:
        whole = (await client.get("/schedules/nightly")).json()

    assert not any(ANN in text for text in told)
    assert all("hidden from your role" in text for text in told)
    assert (whole["payload"], whole["hidden"]) == ({"card": ANN}, None)
