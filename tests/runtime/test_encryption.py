"""Encrypted payloads from enqueue to the task, and what no key opens."""

import json
import os
from typing import Any

import psycopg
import pytest

from holdfast import Configuration, Fail, Holdfast, Keys, Undecipherable
from holdfast.domain.job import NewJob
from holdfast.testing import ScratchDatabase
from world.draining import drain

KEYS = Keys({"a": os.urandom(32)})
CARD = "4111-1111"


def shop(db: ScratchDatabase, keys: Keys | None = KEYS) -> tuple[Holdfast, list[str]]:
    app, seen = db.use(Holdfast(encryption=keys)), list[str]()

    @app.task(retries=0, redact=["card"])
    async def pay(card: str, refuse: bool = False) -> None:
        seen.append(card)
        if refuse:
            raise Fail(f"{card} refused")

    @app.task(retries=0)
    def pay_in_a_thread(card: str) -> None:
        seen.append(card)

    return app, seen


@pytest.mark.parametrize("task", ["pay", "pay_in_a_thread"])
def test_the_task_reads_what_the_database_cannot(
    holdfast_db: ScratchDatabase, owner: psycopg.Connection, task: str
) -> None:
    app, seen = shop(holdfast_db)
    app.tasks[task].using(tenant="acme").enqueue(CARD)
    drain(app)

    (stored,) = owner.execute("select j::text from holdfast.job j").fetchone()  # type: ignore[misc]
    assert seen == [CARD]
    assert CARD not in stored
    assert holdfast_db.jobs()[0].payload == {"$encrypted": {"key": "a"}}


def test_a_retry_by_hand_reads_the_payload_of_the_job_it_retries(
    holdfast_db: ScratchDatabase, owner: psycopg.Connection
) -> None:
    app, seen = shop(holdfast_db)
    job = app.tasks["pay"].enqueue(CARD, refuse=True)
    drain(app)
    again = app.retry(job.id)
    drain(app)
    app.retry(again.id)
    drain(app)

    assert seen == [CARD] * 3
    assert owner.execute("select distinct error ->> 'message' from holdfast.job").fetchall() == [
        ("[redacted] refused",)
    ]


def test_a_payload_under_another_job_does_not_run(holdfast_db: ScratchDatabase) -> None:
    app, seen = shop(holdfast_db)
    (sealed,) = app.sealed([app.tasks["pay"].job(CARD)])
    app.enqueue_many([NewJob(app.tasks["pay"].job("x").id, "pay", sealed.payload, "")])
    drain(app)

    (job,) = holdfast_db.jobs()
    assert seen == []
    assert (job.status, job.error["type"]) == ("FAILED", "holdfast.domain.errors.Undecipherable")  # type: ignore[index]


def test_a_worker_without_the_key_says_so_and_what_is_not_encrypted_runs(
    holdfast_db: ScratchDatabase, owner: psycopg.Connection
) -> None:
    app, _ = shop(holdfast_db)
    app.tasks["pay"].enqueue(CARD)
    plain, seen = shop(holdfast_db, None)
    drain(plain)
    owner.execute("select holdfast.enqueue('pay', %s)", [json.dumps({"card": "readable"})])
    drain(app)

    assert "no keys" in holdfast_db.jobs()[0].error["message"]  # type: ignore[index]
    assert seen == []
    assert [job.status for job in holdfast_db.jobs()] == ["FAILED", "COMPLETED"]


def test_a_job_enqueued_twice_is_one(holdfast_db: ScratchDatabase) -> None:
    app, _ = shop(holdfast_db)
    job = app.tasks["pay"].job(CARD)

    (first,), (second,) = app.enqueue_many([job]), app.enqueue_many([job])

    assert (first.id, first.created, second.id, second.created) == (job.id, True, job.id, False)


def test_a_claimed_job_is_read_by_its_host(holdfast_db: ScratchDatabase) -> None:
    app, _ = shop(holdfast_db)
    app.tasks["pay"].enqueue(CARD)

    (claimed,) = app.claim()

    assert (claimed.payload, claimed.arguments["card"]) == ({"card": CARD}, CARD)
    claimed.complete()


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        ({"job": "no id"}, "not written for this job"),
        ({"job": "00000000-0000-7000-8000-000000000001"}, "not written for this job"),
        ({"text": "AAAA"}, "not written for this job"),
        ({"key": "old"}, "'old'"),
        ({"v": 2}, "this release does not know"),
        (None, "not written for this job"),
    ],
    ids=["no id", "another job", "text", "key", "version", "no envelope"],
)
def test_a_payload_that_somebody_changed_fails_its_job_and_says_why(
    holdfast_db: ScratchDatabase, forged: dict[str, Any] | None, message: str
) -> None:
    app, seen = shop(holdfast_db)
    (job,) = app.sealed([app.tasks["pay"].job(CARD)])
    envelope = json.loads(job.payload)["$encrypted"]
    written = {"$encrypted": None if forged is None else {**envelope, **forged}}
    app.enqueue_many([job._replace(payload=json.dumps(written))])
    drain(app)

    error: Any = holdfast_db.jobs()[0].error
    assert seen == []
    assert error["type"] == "holdfast.domain.errors.Undecipherable"
    assert message in error["message"]


def test_a_host_without_the_key_can_say_that_it_failed(holdfast_db: ScratchDatabase) -> None:
    app, _ = shop(holdfast_db)
    app.tasks["pay"].enqueue(CARD)
    plain, _ = shop(holdfast_db, None)
    (claimed,) = plain.claim()

    with pytest.raises(Undecipherable, match="no keys"):
        _ = claimed.payload
    claimed.fail("cannot read it", recoverable=False)

    assert holdfast_db.jobs()[0].error["message"] == "cannot read it"  # type: ignore[index]


def test_what_undoes_a_job_reads_its_payload(holdfast_db: ScratchDatabase) -> None:
    app, undone = db_app(holdfast_db)
    app.tasks["book"].using(tenant="acme").enqueue(CARD)
    drain(app)

    assert undone == [CARD]


def db_app(db: ScratchDatabase) -> tuple[Holdfast, list[str]]:
    app, undone = db.use(Holdfast(encryption=KEYS)), list[str]()

    async def undo(card: str) -> None:
        undone.append(card)

    @app.task(retries=0, compensate=undo)
    async def book(card: str) -> None:
        raise Fail("no")

    return app, undone


@pytest.mark.parametrize("options", [{"unique": True}, {"feed_fields": ["card"]}])
def test_a_task_whose_payload_the_database_would_read_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(Configuration, match="payloads are encrypted"):

        @Holdfast(encryption=KEYS).task(**options)
        def pay(card: str) -> None: ...
