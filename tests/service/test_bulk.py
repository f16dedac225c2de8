"""/operations: many jobs retried or cancelled by one durable job, each exactly once, whoever dies in between."""

from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from holdfast import Fail, Holdfast
from holdfast.testing import adrain
from service.asking import leave_failed, problem, times_retried, walk
from service.conftest import Calling

OPERATIONS = "/api/v1/operations"


@pytest.fixture
def failed(shop: Holdfast, owner: psycopg.Connection) -> int:
    """Leave 1,203 jobs FAILED, without having run them: two chunks and a bit."""

    @shop.task(retries=0)
    async def refuse(n: int) -> None:
        raise Fail(str(n))

    shop.enqueue_many([refuse.job(n) for n in range(1203)])
    leave_failed(owner, "refuse")
    return 1203


async def begin(client: httpx.AsyncClient, action: str = "retry", **said: Any) -> dict[str, Any]:
    answer = await client.post(OPERATIONS, json={"action": action, "q": "task:refuse", **said})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_a_preview_counts_and_shows_five_and_does_nothing(
    calling: Calling, failed: int, owner: psycopg.Connection
) -> None:
    async with calling("read") as client:
        seen = (
            await client.get(f"{OPERATIONS}/preview", params={"action": "retry", "q": "task:refuse"})
        ).json()
        none = (
            await client.get(f"{OPERATIONS}/preview", params={"action": "cancel", "q": "task:refuse"})
        ).json()
        week = (
            await client.get(f"{OPERATIONS}/preview", params={"action": "retry", "q": "error:Boom"})
        ).json()

    assert (seen["count"], seen["is_all"], len(seen["samples"]), seen["since"]) == (failed, True, 5, None)
    assert (none["count"], none["samples"]) == (0, [])
    assert week["count"] == failed
    assert week["since"] is not None
    assert owner.execute("select count(*) from holdfast.operation").fetchone() == (0,)


async def test_an_operation_retries_every_job_once_and_says_who_and_why(
    calling: Calling, shop: Holdfast, failed: int, owner: psycopg.Connection
) -> None:
    async with calling("operate", "read") as client:
        made = await begin(client, reason="the bank is back")
        await adrain(shop, queues={"holdfast": 1})
        shown = (await client.get(f"{OPERATIONS}/{made['id']}")).json()
        listed = await walk(client, OPERATIONS, limit=1)

    assert (made["status"], made["total"], made["done"]) == ("PENDING", failed, 0)
    assert (shown["status"], shown["done"], shown["skipped"]) == ("COMPLETED", failed, 0)
    assert listed == [shown]
    assert times_retried(owner, "refuse") == [(1, failed)]
    said = owner.execute(
        "select distinct h.actor, h.reason from holdfast.job j join holdfast.job_history h on h.job_id = j.id where j.retry_of is not null"
    ).fetchall()
    assert said == [("key:test", f"the bank is back (operation {made['id']})")]
    audit = owner.execute("select action, target, reason, data from holdfast.audit").fetchall()
    assert audit == [
        ("operation.retry", made["id"], "the bank is back", {"q": "task:refuse", "jobs": failed})
    ]
    steps = owner.execute(
        "select name from holdfast.step where job_id = %s order by name", [made["id"]]
    ).fetchall()
    assert [name for (name,) in steps] == ["chunk 1", "chunk 2", "chunk 3"]


async def test_what_cannot_be_done_is_skipped_with_its_reason(
    calling: Calling, shop: Holdfast, failed: int, owner: psycopg.Connection
) -> None:
    (early, removed) = owner.execute(
        "select id from holdfast.job where task = 'refuse' order by id limit 2"
    ).fetchall()
    async with calling("operate", "read") as client:
        made = await begin(client)
        await client.post(f"/api/v1/jobs/{early[0]}/retry", json={})
        with owner.transaction():
            owner.execute("select set_config('holdfast.retention', pg_current_xact_id()::text, true)")
            owner.execute("delete from holdfast.job where id = %s", removed)
        await adrain(shop, queues={"holdfast": 1})
        shown = (await client.get(f"{OPERATIONS}/{made['id']}")).json()
        skipped = await walk(client, f"{OPERATIONS}/{made['id']}/skipped", limit=1)

    assert (shown["status"], shown["done"], shown["skipped"]) == ("COMPLETED", failed - 2, 2)
    assert [UUID(one["job_id"]) for one in skipped] == [early[0], removed[0]]
    assert "was already retried as" in skipped[0]["why"]
    assert skipped[1]["why"] == "it is not there any more"


async def test_a_job_that_was_retried_before_is_not_taken_again(
    calling: Calling, shop: Holdfast, failed: int, owner: psycopg.Connection
) -> None:
    async with calling("operate") as client:
        await begin(client)
        await adrain(shop, queues={"holdfast": 1})
        again = await begin(client)

    assert again["total"] == 0


async def test_an_operation_that_is_cancelled_stops_and_says_how_far_it_came(
    calling: Calling, shop: Holdfast, failed: int, owner: psycopg.Connection
) -> None:
    async with calling("operate", "read") as client:
        made = await begin(client)
        stopped = await client.post(f"{OPERATIONS}/{made['id']}/cancel", json={"reason": "a mistake"})
        await adrain(shop, queues={"holdfast": 1})
        twice = await client.post(f"{OPERATIONS}/{made['id']}/cancel", json={})

    assert (stopped.json()["status"], stopped.json()["done"]) == ("CANCELLED", 0)
    assert twice.status_code == 200
    assert times_retried(owner, "refuse") == [(0, failed)]


async def test_many_jobs_are_cancelled_but_none_of_holdfasts_own(
    calling: Calling, shop: Holdfast, owner: psycopg.Connection
) -> None:
    shop.enqueue_many([shop.tasks["greet"].using(tags=["old"]).job(f"n{n}") for n in range(600)])
    async with calling("operate", "read") as client:
        first = await begin(client, "cancel", q="tag:old")
        own = await begin(client, "cancel", q="queue:holdfast")
        await adrain(shop, queues={"holdfast": 1})
        shown = (await client.get(f"{OPERATIONS}/{first['id']}")).json()

    assert (first["total"], own["total"]) == (600, 0)
    assert (shown["status"], shown["done"]) == ("COMPLETED", 600)
    left = owner.execute(
        "select status::text, count(*) from holdfast.job where task = 'greet' group by 1"
    ).fetchall()
    assert sorted(left) == [("CANCELLED", 600), ("PENDING", 1)]


REFUSED: list[tuple[dict[str, Any], tuple[int, str], str]] = [
    ({"at_most": 1202}, (409, "conflict"), "1,203 jobs fit, more than the 1,202 that were expected"),
    ({"q": "task:refuse status:completed"}, (422, "invalid"), "jobs that are COMPLETED cannot be retried"),
    ({"q": " "}, (422, "invalid"), "say which jobs"),
    ({"q": "statu:failed"}, (422, "invalid"), "did you mean status:?"),
    ({"action": "explode"}, (422, "invalid"), ""),
]


async def test_an_operation_that_makes_no_sense_is_refused_in_words(
    calling: Calling, failed: int, owner: psycopg.Connection
) -> None:
    async with calling("operate") as client:
        answers = [
            await client.post(OPERATIONS, json={"action": "retry", "q": "task:refuse", **said})
            for said, _, _ in REFUSED
        ]

    assert [problem(answer) for answer in answers] == [expected for _, expected, _ in REFUSED]
    for answer, (_, _, detail) in zip(answers, REFUSED, strict=True):
        assert detail in answer.json().get("detail", "")
    assert owner.execute("select count(*) from holdfast.operation").fetchone() == (0,)


async def test_a_bound_callers_operation_touches_its_tenants_jobs_only(
    calling: Calling, shop: Holdfast, owner: psycopg.Connection
) -> None:
    for tenant in ("acme", "globex"):
        shop.enqueue_many([shop.tasks["greet"].using(tenant=tenant).job("n") for _ in range(3)])
    async with calling("operate", "read", tenant="acme") as client:
        made = await begin(client, "cancel", q="task:greet")
        foreign = await begin(client, "cancel", q="task:greet tenant:globex")
        await adrain(shop, queues={"holdfast": 1})
    async with calling("operate", "read", tenant="globex") as client:
        path = f"{OPERATIONS}/{made['id']}"
        hidden = [
            await client.get(path),
            await client.get(f"{path}/skipped"),
            await client.post(f"{path}/cancel", json={}),
        ]
        listed = await walk(client, OPERATIONS)

    assert (made["total"], foreign["total"]) == (3, 0)
    assert [problem(one) for one in hidden] == [(404, "not-found")] * 3
    assert listed == []
    left = owner.execute(
        "select tenant, status::text, count(*) from holdfast.job where task = 'greet' and tenant is not null group by 1, 2"
    ).fetchall()
    assert sorted(left) == [("acme", "CANCELLED", 3), ("globex", "PENDING", 3)]


def test_a_chunk_of_another_tenants_jobs_is_skipped_whole(shop: Holdfast, owner: psycopg.Connection) -> None:
    job = shop.tasks["greet"].using(tenant="globex").enqueue("n")
    owner.execute(
        "select holdfast.create_operation(holdfast.new_id(), 'acme', 'cancel', 'x', 'mallory', null, array[%s]::uuid[],"
        ' \'[{"name": "holdfast.bulk"}]\')',
        [job.id],
    )

    outcome = owner.execute("select (holdfast.run_chunk(o.id, 1)).* from holdfast.operation o").fetchone()

    assert outcome == (0, 1)
    assert str(job.status()) == "PENDING"


def test_a_chunk_that_is_run_again_says_what_came_of_it_the_first_time(
    shop: Holdfast, owner: psycopg.Connection
) -> None:
    job = shop.tasks["greet"].enqueue("n")
    owner.execute(
        "select holdfast.create_operation(holdfast.new_id(), null, 'cancel', 'x', 'ana', null, array[%s]::uuid[],"
        ' \'[{"name": "holdfast.bulk"}]\')',
        [job.id],
    )

    outcomes = [
        owner.execute("select (holdfast.run_chunk(o.id, 1)).* from holdfast.operation o").fetchone()
        for _ in range(2)
    ]

    assert outcomes == [(1, 0), (1, 0)]


async def test_jobs_are_named_one_by_one_instead_of_searched_for(
    calling: Calling, shop: Holdfast, failed: int, owner: psycopg.Connection
) -> None:
    rows = owner.execute("select id from holdfast.job where task = 'refuse' order by id limit 2").fetchall()
    named = [str(row[0]) for row in rows]
    async with calling("operate", "read") as client:
        answer = await client.post(OPERATIONS, json={"action": "retry", "jobs": [*named, named[0]]})
        both = await client.post(OPERATIONS, json={"action": "retry", "q": "task:refuse", "jobs": named})
        neither = await client.post(OPERATIONS, json={"action": "retry"})
        await adrain(shop, queues={"holdfast": 1})
        shown = (await client.get(f"{OPERATIONS}/{answer.json()['id']}")).json()

    assert (shown["q"], shown["total"], shown["done"]) == ("2 chosen jobs", 2, 2)
    assert problem(both) == problem(neither) == (422, "invalid")
    assert times_retried(owner, "refuse") == [(0, failed - 2), (1, 2)]


async def test_named_jobs_of_another_tenant_are_skipped(
    calling: Calling, shop: Holdfast, failed: int, owner: psycopg.Connection
) -> None:
    (foreign,) = owner.execute("select id from holdfast.job where task = 'refuse' limit 1").fetchall()[0]
    async with calling("operate", "read", tenant="acme") as client:
        made = (await client.post(OPERATIONS, json={"action": "retry", "jobs": [str(foreign)]})).json()
        await adrain(shop, queues={"holdfast": 1})
        skipped = await walk(client, f"{OPERATIONS}/{made['id']}/skipped")

    assert [one["why"] for one in skipped] == ["it is not there any more"]
    assert times_retried(owner, "refuse") == [(0, failed)]
