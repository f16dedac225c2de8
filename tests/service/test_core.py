"""What holds for every request: who may, what is read, what is kept, and how a refusal looks."""

import asyncio
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from holdfast import Holdfast
from holdfast.domain.segments import segment_of
from service.asking import problem
from service.conftest import Calling
from sql.support import Machine
from world.often import times

JOB = {"task": "greet", "payload": {"name": "Ann"}}


async def test_a_job_is_enqueued_shown_and_cancelled(calling: Calling, owner: psycopg.Connection) -> None:
    async with calling("enqueue", "read", "operate") as client:
        made = await client.post("/api/v1/jobs", json=JOB)
        path = f"/api/v1/jobs/{made.json()['id']}"
        shown = await client.get(path)
        cancelled = await client.post(f"{path}/cancel", json={"reason": "not needed"})

    assert (made.status_code, made.json()["created"]) == (201, True)
    assert (shown.json()["status"], shown.json()["payload"]) == ("PENDING", {"name": "Ann"})
    assert cancelled.json()["status"] == "CANCELLED"
    audit = owner.execute("select actor, action, target, reason from holdfast.audit").fetchall()
    assert audit == [("key:test", "job.cancel", made.json()["id"], "not needed")]


@pytest.mark.parametrize(
    "key",
    [None, "nonsense", "hfk_abcdefghijkl_" + "x" * 43, "hfk_" + "a" * 12],
    ids=["none", "nonsense", "unknown", "cut short"],
)
async def test_without_a_key_that_counts_nobody_gets_in(calling: Calling, key: str | None) -> None:
    async with calling(key=key) as client:
        assert problem(await client.post("/api/v1/jobs", json=JOB)) == (401, "unauthorized")


async def test_a_key_does_what_its_scopes_say_and_admin_everything(calling: Calling) -> None:
    async with calling("read") as client:
        assert problem(await client.post("/api/v1/jobs", json=JOB)) == (403, "forbidden")
    async with calling("admin") as client:
        assert (await client.post("/api/v1/jobs", json=JOB)).status_code == 201


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"{", (400, "bad-request")),
        (b'{"task": "a", "task": "b"}', (400, "bad-request")),
        (b"\xff", (400, "bad-request")),
        (b"[" * 100 + b"]" * 100, (400, "bad-request")),
        (b'{"task": 1}', (422, "invalid")),
        (b'{"task": "greet", "surprise": 1}', (422, "invalid")),
        (b'{"task": "greet", "payload": {"a": "\\u0000"}}', (400, "bad-request")),
        (b'{"task": "nobody"}', (422, "invalid")),
        (b'{"task": "' + b"a" * 1024 * 1024 + b'"}', (413, "too-large")),
    ],
    ids=["cut", "twice", "bytes", "deep", "type", "unknown field", "nul", "unknown task", "large"],
)
async def test_a_body_that_cannot_be_obeyed_is_refused_in_words(
    calling: Calling, owner: psycopg.Connection, body: bytes, expected: tuple[int, str]
) -> None:
    async with calling("enqueue") as client:
        answer = await client.post("/api/v1/jobs", content=body, headers={"Content-Type": "application/json"})

    assert problem(answer) == expected
    assert owner.execute("select count(*) from holdfast.job").fetchone() == (1,)


async def test_what_is_not_there_is_not_found_and_405_names_the_methods(calling: Calling) -> None:
    async with calling("admin") as client:
        assert problem(await client.get(f"/api/v1/jobs/{uuid4()}")) == (404, "not-found")
        assert problem(await client.get("/api/v1/jobs/x")) == (404, "not-found")
        assert problem(await client.get("/api/v1/nothing")) == (404, "not-found")
        refused = await client.delete("/api/v1/jobs")

    assert problem(refused) == (405, "method-not-allowed")
    assert "POST" in refused.headers["allow"]


# -- Idempotency-Key -------------------------------------------------------------------------------------------------------


async def test_twenty_of_one_request_at_once_have_one_effect_and_one_answer(
    calling: Calling, owner: psycopg.Connection
) -> None:
    async with calling("enqueue") as client:
        for number in range(times(1, 1000)):
            headers = {"Idempotency-Key": f"k-{number}"}
            asked = [client.post("/api/v1/jobs", json=JOB, headers=headers) for _ in range(20)]
            answers = await asyncio.gather(*asked)

            assert {answer.status_code for answer in answers} == {201}
            assert len({answer.text for answer in answers}) == 1
            assert sum("idempotent-replayed" in answer.headers for answer in answers) == 19
            assert owner.execute("select count(*) from holdfast.job").fetchone() == (number + 2,)


async def test_another_request_under_the_same_key_is_refused(calling: Calling) -> None:
    async with calling("enqueue") as client:
        headers = {"Idempotency-Key": "k"}
        await client.post("/api/v1/jobs", json=JOB, headers=headers)
        other = await client.post("/api/v1/jobs", json={**JOB, "label": "other"}, headers=headers)

    assert problem(other) == (422, "idempotency-key-reused")


async def test_a_path_that_looks_the_same_written_down_is_another_request(
    calling: Calling, owner: psycopg.Connection
) -> None:
    headers = {"Idempotency-Key": "k"}
    async with calling("operate") as client:
        for name in ("a?x", "a%3Fx"):
            Machine(owner).register("t", queue=name)
        paused, other = [
            await client.post(
                f"/api/v1/queues/{segment_of(name)}/pause", json={"reason": "x"}, headers=headers
            )
            for name in ("a?x", "a%3Fx")
        ]

    assert paused.json()["name"] == "a?x"
    assert problem(other) == (422, "idempotency-key-reused")


async def test_what_was_refused_may_be_asked_again(calling: Calling) -> None:
    headers = {"Idempotency-Key": "k"}
    async with calling("enqueue") as client:
        refused = await client.post("/api/v1/jobs", json={"task": "nobody"}, headers=headers)
        done = await client.post("/api/v1/jobs", json=JOB, headers=headers)

    assert (refused.status_code, done.status_code) == (422, 201)


async def test_keys_of_tenants_do_not_meet(calling: Calling) -> None:
    answers: list[dict[str, Any]] = []
    for tenant in ("acme", "globex"):
        async with calling("enqueue", tenant=tenant) as client:
            answer = await client.post("/api/v1/jobs", json=JOB, headers={"Idempotency-Key": "k"})
            answers.append(answer.json())

    assert answers[0]["id"] != answers[1]["id"]


async def test_a_mistake_of_ours_says_a_number_and_nothing_else(
    calling: Calling, shop: Holdfast, owner: psycopg.Connection
) -> None:
    owner.execute("alter function holdfast.enqueue_many rename to enqueue_some")
    async with calling("enqueue") as client:
        answer = await client.post("/api/v1/jobs", json=JOB)

    assert problem(answer) == (500, "internal")
    assert set(answer.json()) == {"type", "title", "status", "detail", "incident"}
    assert "enqueue_many" not in answer.text
