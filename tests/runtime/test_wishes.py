"""What is wished of a worker from afar: its heartbeat hears it, and the worker obeys."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from holdfast import Holdfast
from holdfast.domain.health import Wish, WorkerState
from holdfast.runtime.worker import Worker
from holdfast.store.claim import wish_of_worker
from holdfast.store.overview import workers
from holdfast.testing import ScratchDatabase

PATIENCE = 20


class Stage:
    """A worker that beats often, and somebody who wishes."""

    def __init__(self, app: Holdfast, concurrency: int = 50) -> None:
        self.app = app
        self.worker = Worker(app, handle_signals=False, poll=0.05, lease=1.0, concurrency=concurrency)
        self.running: asyncio.Task[int] | None = None

    async def wish(self, wish: Wish | None) -> None:
        (found,) = await self.app.link.aperform(workers())
        await self.app.link.aperform(wish_of_worker(found.id, wish, "ann", "a deploy"))

    async def state(self) -> WorkerState:
        (found,) = await self.app.link.aperform(workers())
        return found.state

    async def until_quiet(self, *, quiet: bool) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.worker._wishes._may_claim.is_set() is quiet:  # noqa: ASYNC110 - nobody tells when it was heard
                await asyncio.sleep(0.02)


@pytest.fixture
def app(holdfast_db: ScratchDatabase) -> Iterator[Holdfast]:
    made = holdfast_db.use(Holdfast())
    yield made
    made.close()


@pytest.fixture
async def stage(app: Holdfast) -> AsyncIterator[Stage]:
    """Give a worker that runs, of an app with one task."""

    @app.task()
    async def greet(name: str) -> str:
        return f"Hello {name}"

    stage = Stage(app)
    stage.running = asyncio.create_task(stage.worker.run())
    assert await (await greet.aenqueue("first")).result(timeout=PATIENCE) == "Hello first"
    yield stage
    stage.worker.stop()
    await stage.running
    await app.aclose()


async def test_a_quiet_worker_claims_no_more_until_it_may_again(stage: Stage) -> None:
    await stage.wish("quiet")
    await stage.until_quiet(quiet=True)
    waiting = await stage.app.tasks["greet"].aenqueue("later")

    assert await stage.state() is WorkerState.DRAINING
    with pytest.raises(TimeoutError):
        await waiting.wait(timeout=0.5)

    await stage.wish(None)

    assert await waiting.result(timeout=PATIENCE) == "Hello later"
    assert await stage.state() is WorkerState.LIVE


async def test_a_worker_that_is_full_when_it_is_made_quiet_claims_no_more_when_it_has_room(
    app: Holdfast,
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @app.task()
    async def hold(_name: str) -> None:
        begun.set()
        await go_on.wait()

    stage = Stage(app, concurrency=1)
    running = asyncio.create_task(stage.worker.run())
    first = await hold.aenqueue("first")
    await begun.wait()
    waiting = await hold.aenqueue("later")

    await stage.wish("quiet")
    await stage.until_quiet(quiet=True)
    go_on.set()
    await first.result(timeout=PATIENCE)

    with pytest.raises(TimeoutError):
        await waiting.wait(timeout=0.5)
    stage.worker.stop()
    await running
    await app.aclose()


async def test_a_worker_that_is_asked_to_stop_ends_as_if_by_a_signal(stage: Stage) -> None:
    assert stage.running is not None

    await stage.wish("stop")
    code = await asyncio.wait_for(asyncio.shield(stage.running), PATIENCE)

    assert code == 0
    assert await stage.state() is WorkerState.STOPPED
