"""Upkeep by workers: retention keeps up with what comes in, whatever becomes of a pass and of who makes it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from guarantees.waiting import until
from holdfast import Holdfast
from holdfast.runtime import sweeper
from holdfast.testing import ScratchDatabase
from world.draining import adrain

AT_WORK = "select pid from pg_stat_activity where application_name = 'holdfast upkeep' and datname = current_database()"


@pytest.fixture
async def outdated(app: Holdfast, holdfast_db: ScratchDatabase, monkeypatch: pytest.MonkeyPatch) -> Holdfast:
    """Give an app with seven jobs that retention wants to remove, two at a time."""

    @app.task(retention=60)
    async def report() -> None: ...

    await app.aenqueue_many([report.job() for _ in range(7)])
    await adrain(app, projector=True)  # retention leaves what is not projected
    holdfast_db.clock.advance(61)
    monkeypatch.setattr(sweeper, "UPKEEP_BATCH", 2)
    return app


@asynccontextmanager
async def working(app: Holdfast) -> AsyncIterator[None]:
    worker = asyncio.create_task(app.run_worker(handle_signals=False))
    yield
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker
    await app.aclose()


async def all_removed(database: ScratchDatabase) -> None:
    await asyncio.to_thread(until, "all are removed", lambda: database.jobs() == [])


async def test_a_worker_that_is_behind_with_retention_goes_on_until_it_is_not(
    outdated: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    async with working(outdated):
        await all_removed(holdfast_db)


async def test_retention_that_an_outage_interrupts_goes_on_behind_it(
    outdated: Holdfast, holdfast_db: ScratchDatabase, owner: psycopg.Connection
) -> None:
    with psycopg.connect(holdfast_db.owner_url) as other:
        other.execute("lock table holdfast.step in exclusive mode")
        async with working(outdated):
            waiting = await asyncio.to_thread(
                until,
                "a pass waits for the table",
                lambda: owner.execute(f"{AT_WORK} and wait_event_type = 'Lock'").fetchall(),
            )
            owner.execute("select pg_terminate_backend(%s, 10000)", waiting[0])
            other.rollback()

            await all_removed(holdfast_db)


@pytest.mark.new_database  # who looks again is told by its session
async def test_who_finds_another_at_upkeep_looks_again_soon(
    outdated: Holdfast,
    holdfast_db: ScratchDatabase,
    owner: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweeper, "UPKEEP_AGAIN", 0.05)
    with psycopg.connect(holdfast_db.owner_url) as other:
        other.execute("select * from holdfast.upkeep for update")
        async with working(outdated):
            seen: set[int] = set()

            def looked_twice() -> bool:
                seen.update(pid for (pid,) in owner.execute(AT_WORK))
                return len(seen) > 1

            await asyncio.to_thread(until, "it has looked twice", looked_twice)
            other.rollback()  # as if it had died

            await all_removed(holdfast_db)


async def test_what_is_kept_briefly_goes_soon_after_its_time(
    app: Holdfast, holdfast_db: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "UPKEEP_AGAIN", 0.05)

    @app.task(retention=0.05)
    async def ping() -> None: ...

    async with working(app):
        for _ in range(2):  # one may meet the pass that a worker begins with
            await app.aenqueue_many([ping.job()])
            await all_removed(holdfast_db)


@pytest.mark.parametrize(
    ("retentions", "every"),
    [([], 600), ([None], 600), ([None, 7200, 90], 90), ([1], 60), ([7200], 600)],
)
def test_upkeep_comes_as_often_as_the_shortest_retention_wants(
    retentions: list[float | None], every: float
) -> None:
    assert sweeper.upkeep_every(retentions) == every
