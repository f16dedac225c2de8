"""Events and figures as an application uses them: publish, read, follow, resume; the worker projects by itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from guarantees.waiting import until
from holdfast import BadInput, Configuration, FeedEvent, Holdfast, QuotaReached
from holdfast.store.project import project, set_quota, standings, statistics, throughput, usage
from holdfast.testing import ScratchDatabase, adrain, drain


def project_all(app: Holdfast) -> None:
    until("all is projected", lambda: app.link.perform_once(project(10_000)) == (0, 0, False))


async def take(events: AsyncIterator[FeedEvent], count: int) -> list[FeedEvent]:
    taken = []
    async for event in events:
        taken.append(event)
        if len(taken) == count:
            break
    return taken


def test_a_page_is_read_and_resumed(app: Holdfast) -> None:
    app.publish("chat:42", "advisor.matched", {"matchId": 7})
    app.publish("chat:42", "advisor.workspace_ready", {"matchId": 7})
    project_all(app)

    first, second = list(app.feed("chat:42"))

    assert (first.id, first.kind, first.data, first.job_id) == (1, "advisor.matched", {"matchId": 7}, None)
    assert list(app.feed("chat:42", after=first.id)) == [second]
    assert list(app.feed("chat:42", after=second.id)) == []


def test_more_than_a_page_is_read_to_its_end(app: Holdfast, owner: psycopg.Connection) -> None:
    owner.execute(
        "select holdfast.publish('c', 'k', jsonb_build_object('n', n)) from generate_series(1, 1203) as n"
    )
    project_all(app)

    assert [event.data["n"] for event in app.feed("c")] == list(range(1, 1204))


def test_publishing_belongs_to_the_callers_transaction(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    with psycopg.connect(holdfast_db.url) as connection:
        app.publish("c", "kept", {}, conn=connection)
        connection.commit()
        app.publish("c", "dropped", {}, conn=connection)
        connection.rollback()
    project_all(app)

    assert [event.kind for event in app.feed("c")] == ["kept"]


async def test_publishing_in_an_asynchronous_transaction(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    async with await psycopg.AsyncConnection.connect(holdfast_db.url) as connection:
        await app.apublish("c", "kept", {"n": 1}, conn=connection)
    await app.apublish("c", "alone", {"n": 2})
    await asyncio.to_thread(project_all, app)

    assert [event.data["n"] for event in await asyncio.to_thread(list, app.feed("c"))] == [1, 2]
    await app.aclose()


@pytest.mark.parametrize("data", [[1], {"x": float("nan")}, {"x": "\0"}, {"x": object()}])
def test_data_that_is_no_json_object_is_refused(app: Holdfast, data: object) -> None:
    with pytest.raises(BadInput):
        app.publish("c", "k", data)  # type: ignore[arg-type]  # what is refused


def test_a_channel_needs_a_name(app: Holdfast) -> None:
    with pytest.raises(BadInput, match="channel"):
        app.feed("")


async def test_a_follower_sees_what_is_there_and_what_comes(app: Holdfast) -> None:
    @app.task(name="greet", feed_fields=["name"])
    async def greet(name: str, secret: str) -> str:
        return name + secret

    await greet.using(subject="s").aenqueue("ana", "hunter2")
    async with aclosing(app.feed("subject:s").__aiter__()) as events:
        following = asyncio.create_task(take(events, 6))
        await adrain(app)
        await greet.using(subject="s").aenqueue("ben", "hunter2")
        working = asyncio.create_task(app.run_worker(handle_signals=False))
        taken = await asyncio.wait_for(following, 20)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    await app.aclose()

    assert [event.id for event in taken] == [1, 2, 3, 4, 5, 6]
    assert [event.kind for event in taken] == ["job.enqueued", "job.started", "job.completed"] * 2
    assert taken[3].data["fields"] == {"name": "ben"}
    assert "hunter2" not in str(taken)


async def test_a_follower_outlives_the_loss_of_its_connections(
    app: Holdfast, owner: psycopg.Connection
) -> None:
    app.publish("c", "one", {})
    await asyncio.to_thread(project_all, app)
    async with aclosing(app.feed("c").__aiter__()) as events:
        await take(events, 1)
    feed = app.feed("c")
    async with aclosing(feed.__aiter__()) as events:
        assert (await anext(events)).kind == "one"
        owner.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name in ('holdfast', 'holdfast listen') and datname = current_database()"
        )
        owner.execute("select holdfast.publish('c', 'two')")
        owner.execute("select holdfast.project()")
        second = await asyncio.wait_for(anext(events), 20)
    await app.aclose()

    assert (second.kind, feed.after) == ("two", 2)


def test_fields_that_the_task_does_not_take_are_refused(app: Holdfast) -> None:
    with pytest.raises(Configuration, match="shows mail in its events"):

        @app.task(feed_fields=["mail"])
        async def greet(name: str) -> None: ...


def test_a_worker_projects_by_itself(app: Holdfast) -> None:
    @app.task(name="pay")
    async def pay(amount: int) -> None:
        if amount < 0:
            raise ValueError("no")

    for amount in (1, 2, -1):
        pay.using(tenant="acme", retries=0).enqueue(amount)
    drain(app)

    [used] = app.link.perform(usage("acme", None, None, None))
    [figures] = app.link.perform(statistics(datetime.now(UTC) - timedelta(hours=1), "pay"))
    assert (used.enqueued, used.runs, used.completed, used.failed) == (3, 3, 2, 1)
    assert (figures.completed, figures.failed, figures.retries) == (2, 1, {0: 3})
    assert figures.success_rate == pytest.approx(2 / 3)
    assert figures.p50_run is not None
    assert figures.p95_wait is not None
    assert (
        sum(
            minute.completed
            for minute in app.link.perform(throughput(datetime.now(UTC) - timedelta(hours=1)))
        )
        == 2
    )
    assert {(each.status, each.jobs) for each in app.link.perform(standings())} == {
        ("COMPLETED", 2),
        ("FAILED", 1),
    }


def test_what_undoes_a_failure_is_no_success_of_its_task(app: Holdfast) -> None:
    async def refund(amount: int) -> None:
        if amount == -2:
            raise ValueError("not even that")

    @app.task(name="pay", retries=0, compensate=refund, compensation_retries=0)
    async def pay(amount: int) -> None:
        if amount < 0:
            raise ValueError("no")

    for amount in (1, -1, -2):
        pay.enqueue(amount)
    drain(app)

    [figures] = app.link.perform(statistics(datetime.now(UTC) - timedelta(hours=1), "pay"))
    assert (figures.completed, figures.undo_completed) == (2, 1)
    assert (figures.failed, figures.undo_failed) == (3, 1)
    assert figures.success_rate == pytest.approx(1 / 3)


def test_a_reached_quota_is_an_error_of_its_own(app: Holdfast) -> None:
    @app.task(name="pay")
    async def pay() -> None: ...

    pay.using(tenant="acme").enqueue()
    project_all(app)
    app.link.perform(set_quota("acme", None, "day", "enqueued", None, 1))  # type: ignore[arg-type]  # a whole number will do

    with pytest.raises(QuotaReached, match="'acme' has reached its quota"):
        pay.using(tenant="acme").enqueue()
