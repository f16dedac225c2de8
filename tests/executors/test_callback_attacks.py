"""C1-C9: callbacks forged, replayed, late, crossed and timed, as often as it takes to believe that none of them counts."""

import math
import random
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from executors.stage import SECRET, another_job, body_of, signed_headers
from guarantees.audit import broken_rules
from holdfast import Holdfast, HttpExecutor
from holdfast.domain.callback import Token
from holdfast.domain.signature import executor_secret
from holdfast.server import callbacks
from holdfast.testing import TestServer
from sql.runs import dispatch, notes, sent
from sql.support import Machine, Row
from world.often import LONG, times

UNAUTHORIZED = (401, b'{"ok":false,"code":"unauthorized"}')
OTHERS = executor_secret("a master key of more than thirty-two bytes", "gitlab")


@dataclass
class Door:
    """The door for callbacks without a network before it, and the database behind it."""

    client: httpx.AsyncClient
    machine: Machine

    def run(self, **options: Any) -> tuple[Row, Token]:
        """Bring a job into the hands of the executor."""
        job = sent(self.machine, **{"max_retries": 0, **options})
        return job, Token(job["id"], job["attempt"], job["claim_id"])

    async def report(
        self, token: Token, action: str, nonce: str | None = None, **facts: Any
    ) -> tuple[int, bytes]:
        body = body_of(token, action, **facts)
        return await self.send(token, body, signed_headers(token, body, nonce=nonce))

    async def send(
        self, token: Token | str, body: bytes, headers: Any, executor: str = "ci"
    ) -> tuple[int, bytes]:
        path = token if isinstance(token, str) else token.path
        answer = await self.client.post(f"/callbacks/v1/{executor}/{path}", content=body, headers=headers)
        return answer.status_code, answer.content

    def everything(self, job: Row) -> tuple[Any, ...]:
        """Give all that a callback could change."""
        return (
            self.machine.job(job["id"]),
            self.machine.history(job["id"]),
            notes(self.machine, job),
            dispatch(self.machine, job),
        )


@pytest.fixture(scope="module")
def behind(holdfast_server: TestServer) -> Iterator[tuple[Holdfast, Machine, Any]]:
    """Give one database for all: each test has runs of its own, and no rule is broken at the end."""
    with (
        holdfast_server.database() as database,
        psycopg.connect(database.owner_url, autocommit=True) as owner,
    ):
        app, machine = database.use(Holdfast()), Machine(owner)
        machine.register("t")
        app.executor(HttpExecutor("https://ci.example", name="ci", secret=SECRET))
        yield app, machine, database
        app.close()
        assert broken_rules(owner) == []


@pytest.fixture
async def door(behind: tuple[Holdfast, Machine, Any]) -> AsyncIterator[Door]:
    app, machine, _ = behind
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(callbacks(app)), base_url="http://test"
    ) as client:
        yield Door(client, machine)
    await app.link.aclose()


def forgery(token: Token, other: Token, chance: random.Random) -> tuple[Token | str, bytes, Any, str]:
    """Make a callback that its sender had no right to: where it goes, what it says, how it is signed, to which executor."""
    body = body_of(token, chance.choice(["started", "heartbeat", "progress", "completed", "failed"]), done=1)
    right = signed_headers(token, body)
    signature = right["webhook-signature"]
    flipped = list(signature)
    place = chance.randrange(3, len(flipped) - 2)  # the last letters of base64 may mean the same bytes
    flipped[place] = chance.choice(
        [each for each in "ABCDEFGHIJabcdefghij0123456789" if each != flipped[place]]
    )
    at, missing = chance.randrange(len(body)), chance.choice([*right])
    bent = body[:at] + bytes([body[at] ^ (1 << chance.randrange(8))]) + body[at + 1 :]
    made: list[tuple[Token | str, bytes, Any, str]] = [
        (token, body, {**right, "webhook-signature": "".join(flipped)}, "ci"),
        (token, bent, right, "ci"),
        (token, body, {**right, "webhook-id": secrets.token_hex(8)}, "ci"),
        (token, body, {**right, "webhook-timestamp": str(int(right["webhook-timestamp"]) + chance.randint(1, 99))}, "ci"),
        (token, body, signed_headers(token, body, at=time.time() - chance.randint(301, 10**6)), "ci"),
        (token, body, signed_headers(token, body, at=time.time() + chance.randint(302, 10**6)), "ci"),
        (token, body, signed_headers(token, body, secret=OTHERS), "ci"),  # another executor's, another tenant's
        (token, body, signed_headers(other, body), "ci"),  # another job's
        (other, body, signed_headers(other, body), "ci"),  # its own, about another job
        (token, body, signed_headers(replace(token, attempt=token.attempt + 1), body), "ci"),
        (token, body, signed_headers(replace(token, claim_id=uuid4()), body), "ci"),
        (token, body, right, "gitlab"),
        (replace(token, job_id=another_job()), body, right, "ci"),
        (token, body, {name: value for name, value in right.items() if name != missing}, "ci"),
        (token, body, {**right, "webhook-signature": signature.replace("v1,", chance.choice(["v0,", "v2,", "", "v1a,"]))}, "ci"),
        (token, body, {**right, "webhook-signature": "v1," + chance.choice(["", "=", "AAAA", "é"])} if chance.random() < 0.5 else {}, "ci"),
        (f"{token.job_id}/{token.attempt}/x", body, right, "ci"),
        (f"{str(token.job_id).upper()}/{token.attempt}/{token.claim_id}", body, signed_headers(other, body), "ci"),
    ]  # fmt: skip
    chosen = chance.choice(made)
    headers = [(name.encode(), str(value).encode()) for name, value in chosen[2].items()]
    return chosen[0], chosen[1], headers, chosen[3]


async def test_no_forgery_gets_in_or_learns_why(door: Door) -> None:
    """C1."""
    job, token = door.run()
    _, other = door.run()
    before, chance = door.everything(job), random.Random(17)

    for _ in range(times(150, 10_000)):
        path, body, headers, executor = forgery(token, other, chance)
        assert await door.send(path, body, headers, executor) == UNAUTHORIZED, (path, headers)

    assert door.everything(job) == before


async def test_a_replay_is_answered_the_same_and_changes_nothing(door: Door) -> None:
    """C2: every kind of callback, and the last of them ends the run."""
    for _ in range(times(2, 200)):
        job, token = door.run()
        for action in ("started", "heartbeat", "progress", chance_end()):
            body = body_of(token, action, done=1)
            signed = signed_headers(token, body)
            first = await door.send(token, body, signed)
            after = door.everything(job)

            assert [await door.send(token, body, signed) for _ in range(2)] == [first] * 2
            assert (first[0], door.everything(job)) == (200, after)


def chance_end() -> str:
    return secrets.choice(["completed", "failed"])


async def test_an_attempt_that_another_followed_changes_nothing(door: Door) -> None:
    """C3."""
    for _ in range(times(3, 200)):
        old, token = door.run(max_retries=1)
        assert (await door.report(token, "failed", message="flaky"))[0] == 200
        worker = door.machine.worker()
        (again,) = [row for row in door.machine.claim(worker, 100) if row["id"] == old["id"]]
        before = door.machine.job(old["id"]), door.machine.history(old["id"])
        for action in ("started", "heartbeat", "progress", "completed", "failed"):
            status, said = await door.report(token, action, done=1)

            assert (status, b"stale_attempt" in said) == (409, True)
        assert (door.machine.job(old["id"]), door.machine.history(old["id"])) == before
        done = (worker, [again["id"]], [again["attempt"]], [again["claim_id"]])
        door.machine.rows("select * from holdfast.complete(%s, %s, %s, %s, array[null]::text[])", *done)


async def test_a_heartbeats_signature_completes_nothing(door: Door) -> None:
    """C4."""
    job, token = door.run()
    for _ in range(times(5, 100)):
        heartbeat = body_of(token, "heartbeat")
        signed = signed_headers(token, heartbeat)
        for action in ("completed", "failed", "started", "progress"):
            assert await door.send(token, body_of(token, action, done=1), signed) == UNAUTHORIZED
        assert (await door.send(token, heartbeat, signed))[0] == 200

    assert door.machine.job(job["id"])["status"] == "RUNNING"


async def test_callbacks_in_any_order_and_late_ones_change_nothing_that_has_ended(door: Door) -> None:
    """C6."""
    chance = random.Random(3)
    for _ in range(times(3, 200)):
        job, token = door.run()
        sent_before = [
            body_of(token, action, done=n) for n, action in enumerate(["heartbeat", "progress", "heartbeat"])
        ]
        signed = [(body, signed_headers(token, body)) for body in sent_before]
        chance.shuffle(signed)
        on_time, late = signed[:1], signed[1:]
        for body, headers in on_time:
            assert (await door.send(token, body, headers))[0] == 200
        assert (await door.report(token, "completed", result=7))[0] == 200
        before = door.everything(job)
        for body, headers in late:
            status, said = await door.send(token, body, headers)
            assert (status, b"already_over" in said) == (409, True)
        assert door.everything(job) == before
        # Another end is heard, for whatever waits until the run has stopped; the job does not change.
        assert (await door.report(token, "failed", message="no"))[0] == 409
        assert door.everything(job)[:3] == before[:3]
        assert before[0]["result"] == 7


async def test_another_body_under_a_nonce_is_refused(door: Door) -> None:
    """C7."""
    job, token = door.run()
    for number in range(times(5, 100)):
        nonce = f"nonce-{number}"
        assert (await door.report(token, "progress", nonce, done=number))[0] == 200
        before = door.everything(job)
        for action, facts in (("progress", {"done": number + 1}), ("completed", {}), ("heartbeat", {})):
            status, said = await door.report(token, action, nonce, **facts)

            assert (status, b"nonce_reused" in said) == (409, True)
        assert door.everything(job) == before


async def test_a_run_that_beats_for_ever_ends_by_its_limit(
    door: Door, behind: tuple[Holdfast, Machine, Any]
) -> None:
    """C8: by the database's clock, and whatever the run says."""
    _, machine, database = behind
    for _ in range(times(1, 20)):
        job, token = door.run(run=900)
        beats = 0
        while machine.job(job["id"])["status"] == "RUNNING":
            database.clock.advance(290)
            beats += (await door.report(token, "heartbeat"))[0] == 200
            machine.sweep()
            assert beats < 10

        error = machine.job(job["id"])["error"]
        assert (error["kind"], beats) == ("timeout", 5)  # it counts from the first that was heard of it
        assert (await door.report(token, "heartbeat"))[0] == 409


def interval(waits: list[float], z: float) -> tuple[float, float]:
    """Give the interval in which the median lies, so many deviations wide, without believing in any distribution."""
    ordered, half = sorted(waits), z * math.sqrt(len(waits)) / 2
    middle = len(ordered) / 2
    return ordered[max(int(middle - half), 0)], ordered[min(int(middle + half), len(ordered) - 1)]


async def test_how_long_a_refusal_takes_does_not_say_whether_there_is_such_a_job(door: Door) -> None:
    """C9: the answers to a job that is there and to one that is not take as long, by their medians."""
    _, token = door.run()
    strange = replace(token, job_id=another_job(), claim_id=uuid4())
    waits: dict[Token, list[float]] = {token: [], strange: []}
    order, chance = [token, strange], random.Random(9)
    for number in range(times(150, 10_000) + 50):
        chance.shuffle(order)
        for one in order:
            body = body_of(one, "completed")
            headers = signed_headers(one, body, secret=OTHERS)
            began = time.perf_counter()
            assert await door.send(one, body, headers) == UNAUTHORIZED
            if number >= 50:  # the first of all are slow
                waits[one].append(time.perf_counter() - began)

    # 95 % where there are enough of them; in a short run, so wide that chance alone never falls outside.
    (low, high), (other_low, other_high) = (interval(some, 1.96 if LONG else 5.0) for some in waits.values())
    assert low <= other_high, (low, high, other_low, other_high)
    assert other_low <= high, (low, high, other_low, other_high)
