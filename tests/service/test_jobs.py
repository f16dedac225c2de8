"""/jobs: enqueued, shown, waited for and steered, each by its own tenant only."""

import asyncio
import json
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from holdfast import Context, Fail, Holdfast
from service.asking import problem, walk
from service.conftest import Calling
from world.draining import adrain

JOBS = "/api/v1/jobs"


@pytest.fixture(autouse=True)
def more_tasks(shop: Holdfast) -> None:
    @shop.task(retries=0)
    async def refuse(why: str) -> None:
        raise Fail(why)

    @shop.task()
    async def walk_up(ctx: Context, steps: int, size: int = 1) -> int:
        for n in range(steps):
            await ctx.step(f"step {n}", lambda: "x" * size)
        return steps

    shop.link.perform(_registered(shop))


def _registered(shop: Holdfast) -> Any:
    from holdfast.store.enqueue import register_tasks

    return register_tasks(shop.definitions(shop.tasks))


async def enqueue(client: httpx.AsyncClient, task: str = "greet", **said: Any) -> str:
    payload = said.pop("payload", {"name": "Ann"})
    answer = await client.post(JOBS, json={"task": task, "payload": payload, **said})
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["id"]
    return made


async def test_everything_that_can_be_said_about_a_job_is_kept(calling: Calling, shop: Holdfast) -> None:
    said: dict[str, Any] = {
        "queue": "slow", "tenant": "acme", "subject": "order:7", "key": "k-7", "key_scope": "success", "priority": 5,
        "label": "order 7", "tags": ["vip"], "metadata": {"from": "web"}, "retries": 9, "timeout": 2.5,
    }  # fmt: skip
    async with calling("enqueue", "read") as client:
        job_id = await enqueue(client, run_in=3600.0, **said)
        again = await client.post(JOBS, json={"task": "greet", "payload": {"name": "Ben"}, **said})
        shown = (await client.get(f"{JOBS}/{job_id}")).json()

    kept = {name: shown[name] for name in said if name not in {"key_scope", "retries", "timeout"}}
    assert kept.items() <= said.items()
    assert (shown["max_retries"], shown["requested_by"], shown["status"]) == (9, "key:test", "PENDING")
    assert shown["why"].startswith("PENDING: starts in 1 h 00 min")
    assert (again.status_code, again.json()) == (201, {"id": job_id, "created": False})


async def test_many_jobs_are_enqueued_all_or_none(calling: Calling, owner: psycopg.Connection) -> None:
    def batch(*names: Any) -> dict[str, Any]:
        return {"jobs": [{"task": "greet", "payload": {"name": name}} for name in names]}

    async with calling("enqueue") as client:
        made = await client.post(f"{JOBS}/batch", json=batch(*(f"n{n}" for n in range(1000))))
        unfit: list[dict[str, Any]] = [
            batch(*range(1001)),
            {"jobs": []},
            {"jobs": [*batch("a")["jobs"], {"task": "nobody"}]},
            {"jobs": [*batch("a")["jobs"], {"task": "greet", "run_at": "2030-01-01T00:00:00"}]},
        ]
        refusals = [await client.post(f"{JOBS}/batch", json=body) for body in unfit]

    assert made.status_code == 201
    assert [problem(refused) for refused in refusals] == [(422, "invalid")] * 4
    assert "job 2: task 'nobody' is not registered" in refusals[2].json()["detail"]
    assert "job 2: run_at=2030-01-01T00:00:00 has no time zone" in refusals[3].json()["detail"]
    ids = [one["id"] for one in made.json()["jobs"]]
    names = owner.execute(
        "select payload ->> 'name' from unnest(%s::uuid[]) with ordinality as u (id, nth)"
        " join holdfast.job j on j.id = u.id order by nth",
        [ids],
    ).fetchall()
    assert [name for (name,) in names] == [f"n{n}" for n in range(1000)]
    assert owner.execute("select count(*) from holdfast.job").fetchone() == (1001,)


async def test_holdfasts_own_tasks_are_not_for_callers(calling: Calling) -> None:
    async with calling("admin") as client:
        answer = await client.post(JOBS, json={"task": "holdfast.bulk"})

    assert problem(answer) == (422, "invalid")
    assert "Holdfast's own" in answer.json()["detail"]


async def test_the_story_of_a_job_is_told_in_parts(calling: Calling, shop: Holdfast) -> None:
    async with calling("enqueue", "read") as client:
        job_id = await enqueue(client, "walk_up", payload={"steps": 5})
        large = await enqueue(client, "walk_up", payload={"steps": 1, "size": 70_000})
        refused = await enqueue(client, "refuse", payload={"why": "no money"})
        await adrain(shop)
        job = f"{JOBS}/{job_id}"
        shown = (await client.get(job)).json()
        history = await walk(client, f"{job}/history", limit=2)
        steps = await walk(client, f"{job}/steps", limit=2)
        (kept,) = await walk(client, f"{JOBS}/{large}/steps")
        (attempt,) = await walk(client, f"{JOBS}/{refused}/attempts")
        first = await client.get(f"{job}/steps?limit=2")

    assert (shown["status"], shown["result"], shown["attempt"]) == ("COMPLETED", 5, 1)
    assert shown["ready_at"] <= shown["started_at"] <= shown["finished_at"]
    assert [move["to_status"] for move in history] == ["PENDING", "RUNNING", "COMPLETED"]
    assert [step["name"] for step in steps] == [f"step {n}" for n in range(5)]
    assert (kept["value"], kept["size"]) == (None, 70_002)
    assert (attempt["outcome"], attempt["error"]["message"]) == ("failed", "no money")
    assert first.headers["link"] == f'<?limit=2&after={first.json()["next"]}>; rel="next"'


# -- wait ------------------------------------------------------------------------------------------------------------------


async def test_who_waits_is_told_as_soon_as_the_job_ends(calling: Calling, shop: Holdfast) -> None:
    async with calling("enqueue", "read") as client:
        job_id = await enqueue(client)
        waiting = asyncio.create_task(client.get(f"{JOBS}/{job_id}/wait?timeout=60"))
        await asyncio.sleep(0)
        await adrain(shop)
        told = (await waiting).json()

    assert (told["status"], told["result"]) == ("COMPLETED", "Hello Ann")


async def test_who_waits_in_vain_sees_the_job_as_it_is_and_holds_no_transaction(
    calling: Calling, shop: Holdfast, owner: psycopg.Connection
) -> None:
    async with calling("enqueue", "read") as client:
        job_id = await enqueue(client)
        waiting = asyncio.create_task(client.get(f"{JOBS}/{job_id}/wait?timeout=0.6"))
        open_for_long: list[Any] = []
        while not waiting.done():
            await asyncio.sleep(0.05)
            open_for_long += owner.execute(
                "select query from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
                " and state like 'idle in%%' and clock_timestamp() - xact_start > interval '0.5 s'"
            ).fetchall()
        told = (await waiting).json()
        refused = await client.get(f"{JOBS}/{job_id}/wait?timeout=61")

    assert told["status"] == "PENDING"
    assert open_for_long == []
    assert problem(refused) == (422, "invalid")


# -- steer -----------------------------------------------------------------------------------------------------------------


async def test_a_failed_job_is_retried_once_as_a_new_one(
    calling: Calling, shop: Holdfast, owner: psycopg.Connection
) -> None:
    async with calling("enqueue", "read", "operate") as client:
        job_id = await enqueue(client, "refuse", payload={"why": "no"})
        early = await client.post(f"{JOBS}/{job_id}/retry", json={})
        await adrain(shop)
        retried = await client.post(f"{JOBS}/{job_id}/retry", json={"reason": "the card is back"})
        twice = await client.post(f"{JOBS}/{job_id}/retry", json={})
        old = (await client.get(f"{JOBS}/{job_id}")).json()

    assert (retried.status_code, retried.json()["retry_of"]) == (201, job_id)
    assert old["retried_as"] == retried.json()["id"]
    assert [problem(early), problem(twice)] == [(409, "conflict")] * 2
    audit = owner.execute("select actor, action, target, reason, data from holdfast.audit").fetchall()
    assert audit == [
        ("key:test", "job.retry", job_id, "the card is back", {"retried_as": retried.json()["id"]})
    ]


async def test_who_cancelled_a_job_stands_in_its_sentence(calling: Calling) -> None:
    async with calling("enqueue", "read", "operate") as client:
        job_id = await enqueue(client)
        cancelled = await client.post(f"{JOBS}/{job_id}/cancel", json={"reason": "not needed"})

    assert cancelled.json()["why"].startswith("CANCELLED by key:test")


# -- tenants ---------------------------------------------------------------------------------------------------------------


async def test_another_tenants_job_is_not_there(calling: Calling, owner: psycopg.Connection) -> None:
    async with calling("admin", tenant="acme") as client:
        own = await enqueue(client)
    async with calling("admin", tenant="globex") as client:
        path = f"{JOBS}/{own}"
        asked = [
            await client.get(path),
            *[await client.get(f"{path}/{part}") for part in ("history", "attempts", "steps", "wait")],
            *[await client.post(f"{path}/{verb}", json={}) for verb in ("cancel", "retry")],
        ]
        unknown = await client.get(f"{JOBS}/{uuid4()}")
        after = await client.post(JOBS, json={"task": "greet", "after": [own]})
        missing = await client.post(JOBS, json={"task": "greet", "after": [str(uuid4())]})
        named = await client.post(JOBS, json={"task": "greet", "tenant": "acme"})

    assert [problem(one) for one in asked] == [(404, "not-found")] * 7
    assert {one.json()["detail"].replace(own, "ID") for one in asked} == {"no job has the id ID"}
    assert unknown.json()["detail"].startswith("no job has the id")
    assert problem(after) == problem(missing) == (422, "invalid")
    assert (
        after.json()["detail"].split("job", 2)[2].split()[1:]
        == missing.json()["detail"].split("job", 2)[2].split()[1:]
    )
    assert problem(named) == (404, "not-found")
    assert owner.execute("select status::text from holdfast.job where id = %s", [own]).fetchone() == (
        "PENDING",
    )


async def test_a_bound_callers_jobs_are_its_tenants(calling: Calling, owner: psycopg.Connection) -> None:
    async with calling("enqueue", tenant="acme") as client:
        first = await enqueue(client)
        await enqueue(client, after=[first])

    tenants = owner.execute("select distinct tenant from holdfast.job where tenant is not null").fetchall()
    assert tenants == [("acme",)]


async def test_a_payload_is_kept_as_it_was_written(calling: Calling) -> None:
    payload = {"big": 2**70, "text": "ä\u2028\U0001f600", "list": [1.5, None, True, {}], "": "empty"}
    async with calling("enqueue", "read") as client:
        job_id = await enqueue(client, payload=payload)
        text = (await client.get(f"{JOBS}/{job_id}")).text

    assert json.loads(text)["payload"] == payload
