"""Jobs in one worker do not get in each other's way."""

import asyncio
from contextvars import ContextVar

import psycopg
import pytest

from holdfast import Context, Holdfast, Status
from holdfast.runtime.worker import Worker
from holdfast.store.claim import beat
from holdfast.testing import ScratchDatabase
from world.draining import drain

tenant: ContextVar[str] = ContextVar("tenant", default="nobody")


def test_what_one_task_sets_in_its_context_no_other_sees(app: Holdfast) -> None:
    seen = []

    @app.task()
    async def work(number: int) -> None:
        seen.append(tenant.get())
        tenant.set(f"tenant {number}")

    app.enqueue_many([work.job(number) for number in range(40)])
    drain(app, concurrency=1)

    assert set(seen) == {"nobody"}


def test_a_busy_queue_does_not_keep_the_slots_that_all_queues_share(app: Holdfast) -> None:
    order: list[str] = []

    @app.task(queue="busy")
    async def often() -> None:
        order.append("busy")
        await asyncio.sleep(0)

    @app.task(queue="calm")
    async def seldom() -> None:
        order.append("calm")

    app.enqueue_many([often.job() for _ in range(2000)])
    seldom.enqueue()
    drain(app, concurrency=2)

    assert order.index("calm") < len(order) // 2


def test_a_thread_task_that_raises_stop_iteration_has_an_outcome(app: Holdfast) -> None:
    @app.task(retries=0)
    def empty() -> int:
        nothing: list[int] = []
        return next(iter(nothing))

    handle = empty.enqueue()
    drain(app)

    assert handle.status() is Status.FAILED


async def _until(happened: asyncio.Event) -> None:
    async with asyncio.timeout(20):
        await happened.wait()


@pytest.mark.parametrize("said", ["nonsense", "the id of the running job"])
async def test_a_notice_from_anybody_ends_neither_job_nor_worker(
    app: Holdfast, login: psycopg.Connection, said: str
) -> None:
    started, may_end = asyncio.Event(), asyncio.Event()

    @app.task()
    async def work(ctx: Context) -> str:
        started.set()
        await may_end.wait()
        return "done"

    @app.task()
    async def after() -> None: ...

    handle = await work.aenqueue()
    worker = Worker(app, handle_signals=False, poll=0.05)
    running = asyncio.create_task(worker.run())
    await _until(started)
    login.execute("select pg_notify('holdfast_cancel', %s)", [str(handle.id) if "id" in said else said])
    # The next job is claimed through the same listener, after the notice.
    later = await after.aenqueue()
    await later.wait(timeout=20)
    may_end.set()

    assert await handle.result(timeout=20) == "done"
    assert not running.done()
    worker.stop()
    await running
    await app.aclose()


async def test_a_row_that_somebody_keeps_locked_holds_up_no_other_outcome(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    started, may_end = asyncio.Event(), asyncio.Event()

    @app.task()
    async def work(number: int) -> int:
        started.set()
        await may_end.wait()
        return number

    handles = await app.aenqueue_many([work.job(number) for number in range(5)])
    worker = Worker(app, handle_signals=False, poll=0.05)
    running = asyncio.create_task(worker.run())
    await _until(started)
    with psycopg.connect(holdfast_db.owner_url) as somebody:
        somebody.execute("select 1 from holdfast.job where id = %s for update", [handles[0].id])
        may_end.set()

        assert [await handle.result(timeout=20) for handle in handles[1:]] == [1, 2, 3, 4]
        assert await handles[0].status() is Status.RUNNING
    assert await handles[0].result(timeout=20) == 0
    worker.stop()
    await running
    await app.aclose()


def test_of_two_attempts_of_one_job_the_older_is_the_lost_one() -> None:
    from uuid import uuid4

    job, old, new = uuid4(), uuid4(), uuid4()
    call = beat(uuid4(), [(job, old), (job, new)])

    assert call.read([(True, [job])]).lost == [(job, old)]
