"""A tick: whoever knows the secret makes the process work for a while, beside workers and without doubling anything."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
import psycopg
import pytest

from holdfast import Configuration, Context, Fail, Holdfast
from holdfast.interfaces.http.asgi import asgi
from holdfast.testing import ScratchDatabase
from service.asking import problem
from world.draining import adrain

SECRET = "0f2c3cd4a3111bafe76d677443d733eea03ce2ac9ff5932fc64ef5f76b777be3"
HEADERS = {"Authorization": f"Bearer {SECRET}"}


@pytest.fixture
def host(holdfast_db: ScratchDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Holdfast]:
    """Give an app on a host that runs no worker."""
    monkeypatch.setenv("HOLDFAST_TICK_SECRET", SECRET)
    app = holdfast_db.use(Holdfast())

    @app.task()
    def note(number: int) -> int:
        return number

    @app.task(retries=1, backoff=3600)
    async def fail(*, for_good: bool) -> None:
        if for_good:
            raise Fail("never")
        raise ConnectionError

    @app.task()
    async def slow(ctx: Context, seconds: float) -> None:
        await asyncio.sleep(seconds)

    @app.schedule(every=timedelta(minutes=1), payload={"number": 60})
    @app.task()
    def minutely(number: int) -> int:
        return number

    yield app
    app.close()


@asynccontextmanager
async def called(host: Holdfast) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(asgi(host))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client
    await host.link.aclose()


async def test_a_tick_runs_what_is_there_and_says_how_it_ended(
    host: Holdfast, owner: psycopg.Connection
) -> None:
    for number in range(5):
        await host.tasks["note"].aenqueue(number)
    await host.tasks["fail"].aenqueue(for_good=False)
    await host.tasks["fail"].aenqueue(for_good=True)
    await host.tasks["note"].using(run_in=timedelta(hours=1)).aenqueue(9)

    async with called(host) as client:
        first = await client.post("/api/v1/tick", headers=HEADERS)
        second = await client.get("/api/v1/tick", params={"secret": SECRET})

    assert first.json() == {"ran": 7, "completed": 5, "failed": 1, "retried": 1, "remaining": 0}
    assert second.json() == {"ran": 0, "completed": 0, "failed": 0, "retried": 0, "remaining": 0}
    assert owner.execute(
        "select count(*), count(stopped_at), count(*) filter (where died_at is null) from holdfast.worker"
    ).fetchone() == (2, 2, 0)
    # The projector has run too: what the page of figures says is as of now.
    tallied = "select entered from holdfast.tally where task = 'note' and status = 'COMPLETED'"
    assert owner.execute(tallied).fetchone() == (5,)


async def test_a_tick_runs_no_more_than_it_may_and_says_what_remains(
    host: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_TICK_JOBS", "3")
    await host.aenqueue_many([host.tasks["note"].job(number) for number in range(8)])

    async with called(host) as client:
        answers = [(await client.post("/api/v1/tick", headers=HEADERS)).json() for _ in range(3)]

    assert [(answer["ran"], answer["remaining"]) for answer in answers] == [(3, 5), (3, 2), (2, 0)]


async def test_a_tick_ends_in_time_and_gives_back_what_does_not(
    host: Holdfast, monkeypatch: pytest.MonkeyPatch, owner: psycopg.Connection
) -> None:
    monkeypatch.setenv("HOLDFAST_TICK_SECONDS", "2")
    job = await host.tasks["slow"].aenqueue(60.0)

    async with called(host) as client:
        answer = await client.post("/api/v1/tick", headers=HEADERS)

    assert answer.json() == {"ran": 1, "completed": 0, "failed": 0, "retried": 0, "remaining": 1}
    told = owner.execute("select status, retry_count from holdfast.job where id = %s", [job.id]).fetchone()
    assert told == ("RETRY", 0)


async def test_one_tick_at_a_time(host: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_TICK_SECONDS", "2")
    await host.tasks["slow"].aenqueue(0.5)

    async with called(host) as client:
        answers = await asyncio.gather(*(client.post("/api/v1/tick", headers=HEADERS) for _ in range(3)))

    assert sorted(answer.status_code for answer in answers) == [200, 409, 409]
    assert problem(next(answer for answer in answers if answer.status_code == 409))[1] == "conflict"


async def test_schedules_fire_and_the_silent_are_swept(
    host: Holdfast, holdfast_db: ScratchDatabase, owner: psycopg.Connection
) -> None:
    async with called(host) as client:
        await client.post("/api/v1/tick", headers=HEADERS)  # the schedule is known from now on
        job = await host.tasks["note"].aenqueue(1)
        (held,) = await asyncio.to_thread(host.claim)
        await asyncio.to_thread(host.close)  # whoever held it is silent from now on
        holdfast_db.clock.advance(90)
        answer = await client.post("/api/v1/tick", headers=HEADERS)

    assert held.id == job.id
    assert answer.json()["completed"] == 2
    ran = owner.execute("select task, status from holdfast.job order by task").fetchall()
    assert ran == [("minutely", "COMPLETED"), ("note", "COMPLETED")]


async def test_ticks_beside_a_worker_double_nothing(host: Holdfast, owner: psycopg.Connection) -> None:
    await host.aenqueue_many([host.tasks["note"].job(number) for number in range(300)])
    async with called(host) as client:
        working = asyncio.create_task(adrain(host, handle_signals=False))
        answers = [await client.post("/api/v1/tick", headers=HEADERS) for _ in range(3)]
        await working

    assert {answer.status_code for answer in answers} == {200}
    counted = "select count(*), sum(attempt) from holdfast.job where task = 'note' and status = 'COMPLETED'"
    assert owner.execute(counted).fetchone() == (300, 300)


# -- who may ---------------------------------------------------------------------------------------------------------------


async def test_without_the_secret_nothing_runs(host: Holdfast, owner: psycopg.Connection) -> None:
    await host.tasks["note"].aenqueue(1)
    async with called(host) as client:
        refused = [
            await client.post("/api/v1/tick"),
            await client.post("/api/v1/tick", headers={"Authorization": f"Bearer {SECRET[:-1]}"}),
            await client.get("/api/v1/tick", params={"secret": SECRET.upper()}),
            await client.get("/api/v1/tick?secret=%FF%00"),
            await client.get("/api/v1/tick?secret="),
        ]
        by_head = await client.head("/api/v1/tick", headers=HEADERS)
        by_put = await client.put("/api/v1/tick", headers=HEADERS)

    assert {problem(answer) for answer in refused} == {(401, "unauthorized")}
    assert (by_head.status_code, by_put.status_code) == (405, 405)
    assert owner.execute("select status from holdfast.job").fetchall() == [("PENDING",)]


async def test_it_is_off_unless_there_is_a_secret_and_a_weak_one_is_refused(
    host: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_TICK_SECRET", "secret")
    with pytest.raises(Configuration, match="HOLDFAST_TICK_SECRET is too weak"):
        asgi(host)

    monkeypatch.delenv("HOLDFAST_TICK_SECRET")
    async with called(host) as client:
        answer = await client.post("/api/v1/tick", headers=HEADERS)

    assert problem(answer) == (404, "not-found")


async def test_without_the_database_it_says_so(
    holdfast_db: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_TICK_SECRET", SECRET)
    app = Holdfast("postgresql://nobody@127.0.0.1:1/nothing")
    app.task(name="t")(lambda: None)

    async with called(app) as client:
        answer = await client.post("/api/v1/tick", headers=HEADERS)

    assert problem(answer) == (503, "unavailable")


async def test_a_host_ticks_without_http_too(host: Holdfast) -> None:
    await host.aenqueue_many([host.tasks["note"].job(number) for number in range(3)])

    ticked = await host.atick(most_jobs=2, seconds=10)

    assert ticked is not None
    assert ticked._asdict() == {"ran": 2, "completed": 2, "failed": 0, "retried": 0, "remaining": 1}
    await host.aclose()


async def test_ticks_of_one_process_exclude_each_other_however_they_are_begun(host: Holdfast) -> None:
    await host.tasks["slow"].aenqueue(0.5)

    ticks = await asyncio.gather(*(host.atick(seconds=4) for _ in range(3)))

    assert [ticked is None for ticked in ticks] == [False, True, True]
    await host.aclose()
