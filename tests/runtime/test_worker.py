import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import psycopg
import pytest

from holdfast import BadInput, Cancel, Context, Delays, Fail, Holdfast, JobFailed, LeaseLost, Retry, Status
from holdfast.runtime.worker import Worker
from holdfast.store.connection import Database
from holdfast.testing import ScratchDatabase, crash_at
from runtime import apart_app, apart_tasks
from world import held
from world.draining import adrain, drain


def test_an_async_task_runs_and_its_result_comes_back_typed(app: Holdfast) -> None:
    @app.task()
    async def total(prices: list[Decimal]) -> Decimal:
        return sum(prices, Decimal())

    handle = total.enqueue([Decimal("1.10"), Decimal("2.20")])
    drain(app)

    assert handle.result(timeout=5) == Decimal("3.30")


def test_a_sync_task_runs_in_a_thread_with_its_context(app: Holdfast) -> None:
    @app.task()
    def who(ctx: Context, greeting: str) -> str:
        return f"{greeting} {ctx.task} {ctx.attempt} {ctx.tenant}"

    handle = who.using(tenant="acme").enqueue("hello")
    drain(app)

    assert handle.result(timeout=5) == "hello who 1 acme"


def test_a_failing_task_is_retried_with_its_backoff_and_then_fails(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    @app.task(retries=2, backoff=Delays([60]))
    async def broken() -> None:
        raise RuntimeError("no")

    handle = broken.enqueue()
    for _ in range(3):
        drain(app)
        holdfast_db.clock.advance(61)

    assert handle.status() is Status.FAILED
    with pytest.raises(JobFailed, match="RuntimeError: no"):
        handle.result()
    (job,) = holdfast_db.jobs()
    assert (job.attempt, job.retry_count, job.max_retries) == (3, 2, 2)


def test_a_retry_waits_for_its_time(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    runs = []

    @app.task()
    async def sometimes(ctx: Context) -> None:
        runs.append(ctx.attempt)
        if ctx.attempt == 1:
            raise Retry("later", in_=timedelta(minutes=5))

    handle = sometimes.enqueue()
    drain(app)
    assert handle.status() is Status.RETRY
    drain(app)
    assert runs == [1]
    holdfast_db.clock.advance(timedelta(minutes=6))
    drain(app)

    assert runs == [1, 2]
    assert handle.status() is Status.COMPLETED


def test_fail_ends_a_job_at_once(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.task(retries=5)
    async def hopeless() -> None:
        raise Fail("the card is gone")

    hopeless.enqueue()
    drain(app)

    (job,) = holdfast_db.jobs()
    assert job.status is Status.FAILED
    assert job.attempt == 1
    assert job.error is not None
    assert job.error["message"] == "the card is gone"


def test_cancel_raised_by_a_task_ends_it_cancelled(app: Holdfast) -> None:
    @app.task()
    async def pointless() -> None:
        raise Cancel("nothing to do")

    handle = pointless.enqueue()
    drain(app)

    assert handle.status() is Status.CANCELLED


def test_log_lines_are_kept_with_their_attempt(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    from holdfast.store import inspect

    @app.task()
    async def chatty() -> None:
        logging.getLogger("shop").warning("charging %s", "42 EUR")

    handle = chatty.enqueue()
    drain(app)

    (record,) = app.link.perform(inspect.attempts(handle.id))
    assert record.outcome == "completed"
    assert record.logs is not None
    assert [line["message"] for line in record.logs] == ["charging 42 EUR"]


def test_the_log_says_why_a_job_is_retried_and_when_and_which_worker_says_so(
    app: Holdfast, caplog: pytest.LogCaptureFixture
) -> None:
    @app.task(retries=1, backoff=Delays([60]))
    async def fetch() -> None:
        raise ValueError("the door is closed")

    fetch.enqueue()
    with caplog.at_level(logging.INFO, "holdfast"):
        drain(app)

    (said,) = [record.__dict__ for record in caplog.records if record.msg == "job:retry"]
    assert (said["error"], said["max_retries"], said["retry_in"]) == (
        "ValueError: the door is closed",
        1,
        60.0,
    )
    (started,) = [record.__dict__ for record in caplog.records if record.msg == "worker:started"]
    assert said["worker"] == started["worker"]


def test_a_delayed_job_runs_when_it_is_due(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.task()
    async def later() -> None: ...

    handle = later.using(run_at=datetime.now(UTC) + timedelta(hours=1)).enqueue()
    drain(app)
    assert handle.status() is Status.PENDING
    holdfast_db.clock.advance(timedelta(hours=2))
    drain(app)

    assert handle.status() is Status.COMPLETED


@pytest.mark.parametrize("point", ["claimed", "ran"])
def test_a_crashed_workers_job_is_taken_over(app: Holdfast, holdfast_db: ScratchDatabase, point: str) -> None:
    @app.task(retries=0)
    async def once() -> str:
        return "done"

    handle = once.enqueue()
    with crash_at(point):  # type: ignore[arg-type]
        drain(app)
    assert handle.status() is Status.RUNNING
    holdfast_db.clock.advance(31)
    drain(app)

    (job,) = holdfast_db.jobs()
    assert job.status is Status.RETRY  # a suspect waits for a worker whose app a child process can import
    assert job.suspect
    assert job.retry_count == 0


def test_an_attempt_may_bring_a_backoff_of_its_own(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.task(backoff=Delays([60]))
    async def broken(ctx: Context, patience: int | None) -> None:
        if patience is not None:
            ctx.use_backoff(Delays([patience]))
        raise RuntimeError("no")

    for patience in (None, 5, 600):
        broken.enqueue(patience)
    drain(app)

    waits = [(job.due_at - job.updated_at).total_seconds() for job in holdfast_db.jobs() if job.due_at]
    assert waits == pytest.approx([60, 5, 600], abs=0.5)


def test_the_tries_of_a_step_follow_the_attempts_own_backoff(app: Holdfast) -> None:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise TimeoutError
        return "done"

    @app.task(backoff=Delays([3600]))
    async def patient(ctx: Context) -> str:
        await ctx.step("first", str)
        ctx.use_backoff(Delays([0]))
        return await ctx.step("flaky", flaky, retries=2)

    handle = patient.enqueue()
    drain(app)

    assert handle.result() == "done"


def test_a_child_runs_tasks_of_an_app_whose_own_module_does_not_import_them(
    holdfast_db: ScratchDatabase,
) -> None:
    holdfast_db.use(apart_app.app)

    handle = apart_tasks.whose_child.enqueue()
    drain(apart_app.app)

    assert handle.result() == os.getpid()


@asynccontextmanager
async def a_worker_that_runs(app: Holdfast) -> AsyncIterator[None]:
    ready = asyncio.Event()
    worker = Worker(app, handle_signals=False, projector=False, on_ready=lambda _: ready.set())
    running = asyncio.create_task(worker.run())
    try:
        await ready.wait()
        yield
    finally:
        worker.stop()
        await running


async def comes(event: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(20):
            await event.wait()
    return event.is_set()


async def test_schedules_fire_though_tasks_hold_all_of_asyncios_threads(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    fired = asyncio.Event()

    @app.schedule(every=timedelta(hours=1))
    @app.task()
    async def report() -> None:
        fired.set()

    async with a_worker_that_runs(app), held.all_threads_of_asyncio():
        holdfast_db.clock.advance(timedelta(hours=1))

        assert await comes(fired)


async def test_a_worker_declared_dead_starts_again_though_tasks_hold_all_of_asyncios_threads(
    app: Holdfast, owner: psycopg.Connection
) -> None:
    ran = asyncio.Event()

    @app.task()
    async def note() -> None:
        ran.set()

    async with a_worker_that_runs(app), held.all_threads_of_asyncio():
        owner.execute("update holdfast.worker set died_at = holdfast.clock()")
        await note.aenqueue()

        assert await comes(ran)


def test_of_all_queues_no_more_process_jobs_are_claimed_than_there_are_children_for_and_all_get_their_turn(
    holdfast_db: ScratchDatabase, owner: psycopg.Connection
) -> None:
    app = holdfast_db.use(apart_app.app)
    tasks = (apart_tasks.red, apart_tasks.green, apart_tasks.blue)
    app.enqueue_many([task.job() for task in tasks for _ in range(4)])

    drain(app, processes=1)
    app.close()

    moves = owner.execute(
        "select job_id, to_status::text, j.queue from holdfast.job_history h join holdfast.job j on j.id = h.job_id"
        " where to_status <> 'PENDING' order by h.at, to_status = 'RUNNING'"
    ).fetchall()
    # One begins when the one before it has ended, and none has two turns where another has had none.
    assert [move[1] for move in moves] == ["RUNNING", "COMPLETED"] * 12
    turns = [queue for _, status, queue in moves if status == "RUNNING"]
    assert [set(turns[n : n + 3]) for n in range(0, 12, 3)] == [{"red", "green", "blue"}] * 4


def test_an_outcome_committed_before_a_crash_stands(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.task()
    async def once() -> str:
        return "done"

    handle = once.enqueue()
    with crash_at("finished"):
        drain(app)

    assert handle.result() == "done"


async def test_a_worker_runs_inside_a_running_loop(app: Holdfast) -> None:
    @app.task()
    async def double(n: int) -> int:
        return 2 * n

    handles = [await double.aenqueue(n) for n in range(20)]
    await adrain(app)

    assert [await handle.result(timeout=5) for handle in handles] == [2 * n for n in range(20)]
    await app.aclose()


def test_a_host_claims_and_completes_by_itself(app: Holdfast) -> None:
    @app.task()
    async def report(day: int) -> None: ...

    handle = report.enqueue(3)
    (claimed,) = app.claim(5)
    assert claimed.arguments == {"day": 3}
    claimed.complete({"pages": 12})

    assert handle.status() is Status.COMPLETED
    claimed.complete({"pages": 12})  # a repeat by the same attempt is a success
    with pytest.raises(LeaseLost):
        claimed.fail("too late")


async def test_a_late_tenants_job_is_not_the_last_to_run_behind_anothers_thousands(app: Holdfast) -> None:
    order: list[str | None] = []

    @app.task()
    async def work(ctx: Context) -> None:
        order.append(ctx.tenant)

    await app.aenqueue_many([work.using(tenant="big").job() for _ in range(3000)])
    await app.aenqueue_many([work.using(tenant="small").job(), work.job()])
    await adrain(app)

    assert len(order) == 3002
    assert (
        max(order.index("small"), order.index(None)) < 1600
    )  # claimed at once, and at most a claim's other jobs ran before


async def test_an_app_sets_the_weight_of_a_tenant(app: Holdfast) -> None:
    @app.task()
    async def work() -> None: ...

    await app.aset_tenant_weight("big", 3)
    app.set_tenant_weight("huge", 4)
    await app.aset_tenant_weight("huge", 1)
    for tenant in ("big", "small"):
        await app.aenqueue_many([work.using(tenant=tenant).job() for _ in range(20)])

    claimed = await asyncio.to_thread(app.claim, 16)

    assert Counter(job.tenant for job in claimed) == {"big": 12, "small": 4}
    with pytest.raises(BadInput, match="1 to 1000"):
        await app.aset_tenant_weight("big", 0)


def test_the_log_says_what_an_attempt_failed_with(
    app: Holdfast, holdfast_db: ScratchDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    @app.task(retries=1, backoff=60)
    async def broken() -> None:
        raise RuntimeError("no " + "x" * 1000)

    broken.enqueue()

    with caplog.at_level(logging.INFO, "holdfast"):
        drain(app)
        holdfast_db.clock.advance(61)
        drain(app)

    told = {
        line.message: vars(line) for line in caplog.records if line.message in {"job:retry", "job:failed"}
    }
    assert told.keys() == {"job:retry", "job:failed"}
    assert all(one["error"] == ("RuntimeError: no " + "x" * 1000)[:500] for one in told.values())


async def test_a_worker_on_a_busy_machine_finds_that_nothing_is_left_to_do(app: Holdfast) -> None:
    @app.task()
    async def greet(name: str) -> str:
        return f"Hello {name}"

    async def keep_busy() -> None:
        while True:
            time.sleep(0.01)  # noqa: ASYNC251 - every answer of the database comes later than the next look
            await asyncio.sleep(0)

    handle = await greet.aenqueue("Ann")
    busy = asyncio.create_task(keep_busy())

    async with asyncio.timeout(30):
        await adrain(app)

    busy.cancel()
    assert await handle.status() is Status.COMPLETED
    await app.aclose()


@pytest.mark.parametrize("is_away", [False, True], ids=["", "the database is away"])
async def test_a_worker_that_is_told_to_stop_before_it_has_begun_ends_well(
    app: Holdfast, *, is_away: bool
) -> None:
    @app.task()
    async def rest() -> None: ...

    if is_away:
        app.connect_to(Database("postgresql://nobody@127.0.0.1:1/none", "test"))
    worker = Worker(app, handle_signals=False)

    worker.stop()

    assert await worker.run() == 0
