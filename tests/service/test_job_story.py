"""What the API tells of a job beside the job itself."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from holdfast import Context, Fail, Holdfast, chain
from holdfast.interfaces.http.api import job_story
from holdfast.testing import ScratchDatabase
from service.asking import problem, walk
from service.conftest import Calling
from world.draining import adrain


@pytest.fixture
def shop(holdfast_db: ScratchDatabase) -> Iterator[Holdfast]:
    """Give an app whose tasks ask, wait and fail."""
    app = holdfast_db.use(Holdfast())

    async def nothing() -> None: ...

    @app.task(retries=0)
    async def trip(ctx: Context) -> None:
        await ctx.step("flight", nothing, compensate=nothing)
        raise Fail("no car left")

    @app.task()
    async def refund(ctx: Context, amount: int) -> None:
        await ctx.approval("large", question="Refund?", facts={"amount": amount}, approvers=["ann"])

    @app.task()
    async def pack(ctx: Context) -> None:
        await ctx.progress(3, 10, "boxes")
        for name in ("tape", "label"):
            await ctx.event(name, timeout=60)

    yield app
    app.close()


async def test_activity_is_told_part_by_part_with_the_progress(shop: Holdfast, calling: Calling) -> None:
    job = shop.tasks["pack"].enqueue()
    await adrain(shop)
    for name in ("tape", "label"):
        await shop.aemit(name, {})
        await adrain(shop)

    async with calling("read") as client:
        told = await walk(client, f"/api/v1/jobs/{job.id}/activity", limit=1)
        first = (await client.get(f"/api/v1/jobs/{job.id}/activity")).json()

    assert [(each["kind"], each["data"]["event"]) for each in told] == [("event", "tape"), ("event", "label")]
    assert (first["progress"]["done"], first["progress"]["total"]) == (3.0, 10.0)


async def test_a_jobs_questions_are_listed_with_it(shop: Holdfast, calling: Calling) -> None:
    job = shop.tasks["refund"].enqueue(900)
    await adrain(shop)

    async with calling("read") as client:
        (asked,) = (await client.get(f"/api/v1/jobs/{job.id}/approvals")).json()["items"]

    assert (asked["job_id"], asked["question"]) == (str(job.id), "Refund?")


async def test_a_flow_is_the_same_from_each_of_its_jobs(shop: Holdfast, calling: Calling) -> None:
    trip, refund = shop.tasks["trip"], shop.tasks["refund"]
    made = shop.enqueue_many(chain(trip.job(), [refund.job(1), refund.job(2)]))
    shop.tasks["refund"].enqueue(3)

    async with calling("read") as client:
        flows = [(await client.get(f"/api/v1/jobs/{each.id}/flow")).json() for each in made]

    assert all(flow == flows[0] for flow in flows)
    assert flows[0]["whole"]
    needs = {each["id"]: each["needs"] for each in flows[0]["jobs"]}
    first = str(made[0].id)
    assert needs == {first: [], str(made[1].id): [first], str(made[2].id): [first]}


async def test_a_flow_has_what_undoes_a_job_and_what_runs_it_again(shop: Holdfast, calling: Calling) -> None:
    job = str(shop.tasks["trip"].enqueue().id)
    await adrain(shop)

    async with calling("operate", "read") as client:
        again = (await client.post(f"/api/v1/jobs/{job}/retry", json={})).json()["id"]
        flow = (await client.get(f"/api/v1/jobs/{again}/flow")).json()["jobs"]

    ties = {(each["retry_of"], each["compensates"]) for each in flow}
    assert ties == {(None, None), (None, job), (job, None)}


async def test_a_flow_that_is_too_large_says_so(
    shop: Holdfast, calling: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_story, "MOST_FLOW_JOBS", 3)
    refund = shop.tasks["refund"]
    first, *_ = shop.enqueue_many(chain(refund.job(0), [refund.job(n) for n in range(9)]))

    async with calling("read") as client:
        flow = (await client.get(f"/api/v1/jobs/{first.id}/flow")).json()

    assert not flow["whole"]
    assert len(flow["jobs"]) == 3


async def test_a_flow_shows_a_tenant_nothing_of_another(shop: Holdfast, calling: Calling) -> None:
    refund = shop.tasks["refund"]
    own, _ = shop.enqueue_many(
        chain(refund.using(tenant="acme").job(1), refund.using(tenant="globex").job(2))
    )

    async with calling("read", tenant="acme") as client:
        flow = (await client.get(f"/api/v1/jobs/{own.id}/flow")).json()["jobs"]

    assert [each["id"] for each in flow] == [str(own.id)]


async def test_who_reveals_a_payload_stands_in_the_audit_and_no_other_job_does(
    shop: Holdfast, calling: Calling, owner: psycopg.Connection[Any]
) -> None:
    job = shop.tasks["refund"].enqueue(900)

    async with calling("read") as client:
        shown = await client.post(f"/api/v1/jobs/{job.id}/reveal", json={"reason": "Ana asked"})
        missing = await client.post(f"/api/v1/jobs/{uuid4()}/reveal", json={"reason": "Ana asked"})

    assert shown.json()["payload"] == {"amount": 900}
    assert problem(missing) == (404, "not-found")
    rows = owner.execute("select action, target, reason from holdfast.audit").fetchall()
    assert rows == [("job.reveal", str(job.id), "Ana asked")]
