"""/operations: many jobs retried or cancelled by one durable job, each exactly once, whoever dies in between."""

from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from holdfast import Fail, Holdfast
from service.asking import leave_failed, problem, times_retried, walk
from service.conftest import Calling
from sql.support import Machine
from sql.test_project import project_all
from world.draining import adrain

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


async def test_more_named_jobs_than_were_expected_are_left_alone(
    calling: Calling, shop: Holdfast, owner: psycopg.Connection
) -> None:
    jobs = [str(shop.tasks["greet"].enqueue(f"n{n}").id) for n in range(2)]
    async with calling("operate") as client:
        answer = await client.post(OPERATIONS, json={"action": "cancel", "jobs": jobs, "at_most": 1})

    assert answer.status_code == 409
    assert owner.execute("select count(*) from holdfast.operation").fetchone() == (0,)


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


# -- priority, queue, deletion ---------------------------------------------------------------------------------------------


async def test_many_jobs_get_a_priority_and_a_queue_and_each_says_who_and_why(
    calling: Calling, shop: Holdfast, owner: psycopg.Connection
) -> None:
    @shop.task(queue="slow")
    async def other() -> None: ...

    shop.enqueue_many([shop.tasks["greet"].job(f"n{n}") for n in range(600)])
    other.enqueue()
    async with calling("operate", "read") as client:
        first = await begin(client, "reprioritise", q="task:greet", priority=30, reason="first")
        await adrain(shop, queues={"holdfast": 1})
        second = await begin(client, "move", q="task:greet", queue="slow", reason="make room")
        await adrain(shop, queues={"holdfast": 1})
        shown = [(await client.get(f"{OPERATIONS}/{made['id']}")).json() for made in (first, second)]

    assert [(one["status"], one["done"], one["skipped"]) for one in shown] == [("COMPLETED", 601, 0)] * 2
    assert [(one["priority"], one["queue"]) for one in shown] == [(30, None), (None, "slow")]
    left = owner.execute("select distinct priority, queue from holdfast.job where task = 'greet'").fetchall()
    assert left == [(30, "slow")]
    said = owner.execute(
        "select kind, actor, data ->> 'reason', count(*) from holdfast.activity where kind like 'job.%' group by 1, 2, 3 order by 1"
    ).fetchall()
    assert said == [
        ("job.moved", "key:test", f"make room (operation {second['id']})", 601),
        ("job.reprioritised", "key:test", f"first (operation {first['id']})", 601),
    ]
    audit = owner.execute("select action, data from holdfast.audit order by id").fetchall()
    assert audit == [
        ("operation.reprioritise", {"q": "task:greet", "jobs": 601, "priority": 30}),
        ("operation.move", {"q": "task:greet", "jobs": 601, "queue": "slow"}),
    ]


async def test_a_move_skips_what_runs_and_takes_the_rest(
    calling: Calling, shop: Holdfast, owner: psycopg.Connection
) -> None:
    @shop.task(queue="slow")
    async def other() -> None: ...

    other.enqueue()
    waits, runs = (shop.tasks["greet"].using(tags=["two"]).enqueue(f"n{n}") for n in range(2))
    async with calling("operate", "read") as client:
        made = await begin(client, "move", q="tag:two", queue="slow")
        owner.execute(
            "update holdfast.job set status = 'RUNNING', claim_id = gen_random_uuid(), holder = gen_random_uuid(),"
            " claim_order = null where id = %s",
            [runs.id],
        )
        await adrain(shop, queues={"holdfast": 1})
        shown = (await client.get(f"{OPERATIONS}/{made['id']}")).json()
        skipped = await walk(client, f"{OPERATIONS}/{made['id']}/skipped")

    assert (shown["done"], shown["skipped"]) == (1, 1)
    assert [(one["job_id"], one["why"][:13]) for one in skipped] == [(str(runs.id), "it is RUNNING")]
    assert owner.execute("select queue from holdfast.job where id = %s", [waits.id]).fetchone() == ("slow",)


async def test_only_admins_delete_and_each_deletion_stays_in_the_audit(
    calling: Calling, shop: Holdfast, failed: int, owner: psycopg.Connection
) -> None:
    project_all(Machine(owner))
    body = {"action": "delete", "q": "task:refuse", "reason": "r" * 500}
    async with calling("operate", "read") as client:
        refused = await client.post(OPERATIONS, json=body)
    async with calling("admin") as client:
        made = (await client.post(OPERATIONS, json=body)).json()
        await adrain(shop, queues={"holdfast": 1})
        shown = (await client.get(f"{OPERATIONS}/{made['id']}")).json()

    assert problem(refused) == (403, "forbidden")
    assert (shown["done"], shown["skipped"]) == (failed, 0)
    assert owner.execute("select count(*) from holdfast.job where task = 'refuse'").fetchone() == (0,)
    kept = owner.execute(
        "select actor, reason, data ->> 'operation', count(distinct target) from holdfast.audit where action = 'job.delete' group by 1, 2, 3"
    ).fetchall()
    assert kept == [("key:test1", "r" * 500, made["id"], failed)]


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        ({"action": "reprioritise"}, "reprioritise needs a priority"),
        ({"action": "reprioritise", "priority": 101}, ""),
        ({"action": "move"}, "move needs a queue"),
        ({"action": "move", "queue": "slwo"}, "no task declares this queue"),
        ({"action": "move", "queue": "holdfast"}, "Holdfast's own queue"),
        ({"action": "cancel", "queue": "default"}, "move needs a queue, and nothing else takes one"),
        ({"action": "delete", "q": "status:pending"}, "jobs that are PENDING cannot be deleted"),
        ({"action": "move", "queue": "default", "q": "status:running"}, "jobs that are RUNNING cannot be moved"),
    ],
)  # fmt: skip
async def test_a_change_that_makes_no_sense_is_refused_in_words(
    calling: Calling, owner: psycopg.Connection, said: dict[str, Any], detail: str
) -> None:
    async with calling("admin") as client:
        answer = await client.post(OPERATIONS, json={"q": "task:greet", **said})

    assert problem(answer) == (422, "invalid")
    assert detail in answer.json().get("detail", "")
    assert owner.execute("select count(*) from holdfast.operation").fetchone() == (0,)


async def test_one_job_is_changed_as_many_are(
    calling: Calling, shop: Holdfast, owner: psycopg.Connection
) -> None:
    @shop.task(queue="slow")
    async def other() -> None: ...

    other.enqueue()
    job = shop.tasks["greet"].enqueue("n")
    path = f"/api/v1/jobs/{job.id}"
    async with calling("admin") as client:
        first = await client.post(f"{path}/reprioritise", json={"priority": -3, "reason": "later"})
        second = await client.post(f"{path}/move", json={"queue": "slow"})
        early = await client.post(f"{path}/delete", json={})
        await client.post(f"{path}/cancel", json={})
        late = await client.post(f"{path}/reprioritise", json={"priority": 1})
        project_all(Machine(owner))
        deleted = await client.post(f"{path}/delete", json={"reason": "asked to"})
        gone = [await client.get(path), await client.post(f"{path}/delete", json={})]

    assert (first.json()["priority"], second.json()["queue"]) == (-3, "slow")
    assert problem(early) == problem(late) == (409, "conflict")
    assert deleted.json() == {"id": str(job.id), "task": "greet", "status": "CANCELLED"}
    assert [problem(one) for one in gone] == [(404, "not-found")] * 2
    audit = owner.execute("select action, reason, data from holdfast.audit order by id").fetchall()
    assert audit[:2] == [
        ("job.reprioritise", "later", {"before": 0, "after": -3}),
        ("job.move", None, {"before": "default", "after": "slow"}),
    ]
    assert [row[0] for row in audit[2:]] == ["job.cancel", "job.delete"]


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("reprioritise", {"priority": 1}),
    ("move", {"queue": "default"}),
    ("delete", {}),
]


@pytest.mark.parametrize(
    ("scopes", "statuses"),
    [
        (("read", "approve", "enqueue"), [403, 403, 403]),
        (("operate",), [200, 200, 403]),
    ],
)
async def test_who_may_change_a_job(
    calling: Calling, shop: Holdfast, scopes: tuple[str, ...], statuses: list[int]
) -> None:
    job = shop.tasks["greet"].enqueue("n")
    async with calling(*scopes) as client:
        answers = [await client.post(f"/api/v1/jobs/{job.id}/{verb}", json=body) for verb, body in CHANGES]

    assert [answer.status_code for answer in answers] == statuses


async def test_another_tenants_job_is_not_there_to_be_changed(calling: Calling, shop: Holdfast) -> None:
    job = shop.tasks["greet"].using(tenant="globex").enqueue("n")
    async with calling("admin", tenant="acme") as client:
        answers = [await client.post(f"/api/v1/jobs/{job.id}/{verb}", json=body) for verb, body in CHANGES]

    assert [problem(answer) for answer in answers] == [(404, "not-found")] * 3
