"""GET /jobs?q=…: every term finds what it names, parts follow each other without gap or repeat, and nobody sees another's."""

import base64
import json
import random
from typing import Any
from uuid import UUID

import pytest

from holdfast import Fail, Holdfast
from holdfast.interfaces.http.cursor import write_cursor
from holdfast.testing import ScratchDatabase
from service.asking import problem, walk
from service.conftest import Calling
from world.draining import adrain
from world.often import times

JOBS = "/api/v1/jobs"


@pytest.fixture
async def ids(shop: Holdfast, holdfast_db: ScratchDatabase) -> dict[str, str]:
    """Leave some jobs of every kind, by name."""

    @shop.task(queue="billing", retries=1, backoff=[60])
    async def charge(order: dict[str, Any]) -> None:
        raise TimeoutError("the bank did not answer: 100%")

    @shop.task(retries=0)
    async def refuse(why: str) -> None:
        raise Fail(why)

    made = {
        "retrying": charge.using(subject="order:7", key="k-7", tags=["vip"]).enqueue(
            {"id": 7, "paid": False}
        ),
        "failed": refuse.using(label="invoice INV-204 for ana@example.com").enqueue("no_money"),
        "done": shop.tasks["greet"].using(tenant="acme", metadata={"from": "web", "n": "5"}).enqueue("Ann"),
    }
    await adrain(shop)
    made["late"] = shop.tasks["greet"].using(run_in=60).enqueue("Ben")
    return {name: str(handle.id) for name, handle in made.items()}


FINDS: list[tuple[str, set[str]]] = [
    ("status:retry", {"retrying"}),
    ("status:failed,retry", {"failed", "retrying"}),
    ("queue:billing", {"retrying"}),
    ("queue:bill*", {"retrying"}),
    ("task:*fuse", {"failed"}),
    ("task:refus_", set()),
    ("tenant:acme", {"done"}),
    ("tenant:ac*", {"done"}),
    ("subject:order:7", {"retrying"}),
    ("tag:vip", {"retrying"}),
    ("tag:vi", set()),
    ("key:k-7", {"retrying"}),
    ("label:inv-204", {"failed"}),
    ("label:*example.com", {"failed"}),
    ("attempt:1", {"retrying", "failed", "done"}),
    ("attempt:<1 task:greet", {"late"}),
    ("attempt:>1", set()),
    ("age:<1h status:failed", {"failed"}),
    ("age:>1h", set()),
    ("since:1h task:greet tenant:acme", {"done"}),
    ("error:timeout", {"retrying"}),
    ('error:"did not answer"', {"retrying"}),
    ("error:100%", {"retrying"}),
    ("error:no_money", {"failed"}),
    ("error:noXmoney", set()),
    ("payload.order.id:7", {"retrying"}),
    ('payload.order.id:"7"', set()),
    ("payload.order.paid:false", {"retrying"}),
    ("payload.name:Ann", {"done"}),
    ("meta.n:5 meta.from:web", {"done"}),
    ("k-7", {"retrying"}),
    ('"order:7"', {"retrying"}),
    ("vip", {"retrying"}),
    ("ana@example.com", {"failed"}),
    ('"invoice INV"', {"failed"}),
    ("worker:nobody", set()),
    ("worker:worker-* status:failed", {"failed"}),
]


async def test_every_term_finds_what_it_names(calling: Calling, ids: dict[str, str]) -> None:
    found: dict[str, set[str]] = {}
    names = {job_id: name for name, job_id in ids.items()}
    async with calling("read") as client:
        for q, _ in FINDS:
            answer = await client.get(JOBS, params={"q": q})
            items = answer.json().get("items", [])
            found[q] = {names[one["id"]] for one in items if one["id"] in names}
        whole = await client.get(JOBS, params={"q": ids["done"]})
        prefix = await walk(client, JOBS, q=f"id:{ids['done'][:13]}")

    assert found == dict(FINDS)
    assert [one["id"] for one in whole.json()["items"]] == [ids["done"]]
    assert ids["done"] in {one["id"] for one in prefix}


async def test_an_id_is_found_whatever_its_age_and_words_in_the_newest_week(
    calling: Calling, ids: dict[str, str], holdfast_db: ScratchDatabase
) -> None:
    holdfast_db.clock.advance(30 * 86_400)
    async with calling("read") as client:
        by_id = await client.get(JOBS, params={"q": ids["failed"]})
        by_word = await client.get(JOBS, params={"q": "INV-204"})
        further = await client.get(JOBS, params={"q": "INV-204 age:<31d"})

    assert [one["id"] for one in by_id.json()["items"]] == [ids["failed"]]
    assert by_word.json()["items"] == []
    assert by_word.json()["since"] is not None
    assert ([one["id"] for one in further.json()["items"]], further.json()["since"]) == (
        [ids["failed"]],
        None,
    )


async def test_a_list_shows_neither_payloads_nor_tracebacks(calling: Calling, ids: dict[str, str]) -> None:
    async with calling("read") as client:
        (listed,) = await walk(client, JOBS, q="status:failed")
        shown = (await client.get(f"{JOBS}/{ids['failed']}")).json()

    assert not {"payload", "result", "metadata"} & set(listed)
    assert "traceback" not in listed["error"]
    assert listed["why"].startswith("FAILED")
    assert shown["payload"] == {"why": "no_money"}


async def test_a_search_that_is_not_understood_says_where(calling: Calling) -> None:
    async with calling("read") as client:
        answer = await client.get(JOBS, params={"q": "task:greet stauts:failed"})

    assert problem(answer) == (422, "invalid")
    said = answer.json()["detail"]
    assert said.startswith("q: ")
    assert "did you mean status:?" in said
    assert "(at character 12)" in said


# -- parts -----------------------------------------------------------------------------------------------------------------


async def test_parts_follow_each_other_while_jobs_come_and_go(calling: Calling, shop: Holdfast) -> None:
    handles = shop.enqueue_many([shop.tasks["greet"].using(tags=["x"]).job(f"n{n}") for n in range(25)])
    seen: list[str] = []
    query: dict[str, Any] = {"q": "tag:x", "limit": 4}
    async with calling("read") as client:
        while True:
            answer = (await client.get(JOBS, params=query)).json()
            seen += [one["id"] for one in answer["items"]]
            shop.tasks["greet"].using(tags=["x"]).enqueue("new")
            if answer["next"] is None:
                break
            query["after"] = answer["next"]

    assert seen == sorted((str(handle.id) for handle in handles), reverse=True)


async def test_a_cursor_leads_to_nobody_elses_jobs(calling: Calling, shop: Holdfast) -> None:
    greet = shop.tasks["greet"]
    shop.enqueue_many([greet.using(tenant=tenant).job("n") for tenant in ("acme", "globex") * 5])
    async with calling("read", tenant="acme") as client:
        first = (await client.get(JOBS, params={"limit": 2})).json()
        cursor = first["next"]
        other = await client.get(JOBS, params={"q": "task:greet", "after": cursor})
    async with calling("read", tenant="globex") as client:
        taken = await walk(client, JOBS, after=cursor, limit=2)
        # Made up whole, from the highest place there is: still only the caller's own list.
        forged = await walk(client, JOBS, after=write_cursor("jobs ", str(UUID(int=2**128 - 1))))
        asked = await walk(client, JOBS, q="tenant:acme")

    assert problem(other) == (422, "invalid")
    assert "take `next` of the page before" in other.json()["detail"]
    assert {one["tenant"] for one in [*taken, *forged]} == {"globex"}
    assert len(forged) == 5
    assert asked == []


def tampered(cursor: str, chance: random.Random) -> str:
    """Change a cursor somewhere."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. %\x7f"
    place = chance.randrange(len(cursor))
    return chance.choice(
        [
            cursor[:place] + chance.choice(letters) + cursor[place + 1 :],
            cursor[:place] + cursor[place + 1 :],
            cursor[:place] + chance.choice(letters) + cursor[place:],
            base64.urlsafe_b64encode(chance.randbytes(30)).decode(),
            base64.urlsafe_b64encode(b"123456" + json.dumps([str(UUID(int=place))]).encode()).decode(),
        ]
    )


async def test_a_cursor_that_was_tampered_with_is_refused(calling: Calling, shop: Holdfast) -> None:
    shop.enqueue_many([shop.tasks["greet"].job("n") for _ in range(3)])
    chance = random.Random(7)
    async with calling("read") as client:
        cursor = (await client.get(JOBS, params={"limit": 2})).json()["next"]
        tries = [one for _ in range(times(60, 1000)) if (one := tampered(cursor, chance)) != cursor]
        answers = [await client.get(JOBS, params={"after": one}) for one in tries]

    assert {problem(answer) for answer in answers} == {(422, "invalid")}
