import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from holdfast import Context, Delays, EventTimedOut, Holdfast, JobFailed, Status, SyncContext
from holdfast.store.upkeep import keep_up
from holdfast.testing import ScratchDatabase
from world.draining import drain

AT_ONCE = Delays([0])


def test_a_sleeping_job_holds_no_worker_and_goes_on_after_its_sleep(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    ran: list[str] = []

    @app.task()
    async def naps(ctx: Context) -> str:
        await ctx.step("before", ran.append, "before")
        await ctx.sleep(timedelta(days=3))
        await ctx.step("after", ran.append, "after")
        return "rested"

    handle = naps.enqueue()
    drain(app)
    assert handle.status() is Status.WAITING
    holdfast_db.clock.advance(2 * 86_400)
    drain(app)
    assert (handle.status(), ran) == (Status.WAITING, ["before"])
    holdfast_db.clock.advance(86_401)
    drain(app)

    assert handle.result(timeout=5) == "rested"
    assert ran == ["before", "after"]
    (job,) = holdfast_db.jobs()
    assert (job.attempt, job.retry_count, job.crash_count) == (2, 0, 0)


def test_a_sync_task_sleeps_too(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.task()
    def naps(ctx: SyncContext) -> int:
        ctx.sleep(60)
        return ctx.attempt

    handle = naps.enqueue()
    drain(app)
    assert handle.status() is Status.WAITING
    holdfast_db.clock.advance(61)
    drain(app)

    assert handle.result(timeout=5) == 2


def test_sleeping_until_a_moment_that_has_passed_is_no_wait(app: Holdfast) -> None:
    @app.task()
    async def naps(ctx: Context) -> int:
        await ctx.sleep(datetime(2020, 1, 1, tzinfo=UTC))
        return ctx.attempt

    handle = naps.enqueue()
    drain(app)

    assert handle.result(timeout=5) == 1


def test_an_event_wakes_whoever_waits_for_it(app: Holdfast) -> None:
    @app.task()
    async def buys(ctx: Context) -> Any:
        return await ctx.event("payment:42")

    handles = [buys.enqueue(), buys.enqueue()]
    drain(app)
    assert [handle.status() for handle in handles] == [Status.WAITING] * 2

    assert app.emit("payment:41", {"amount": 1}) == 0
    assert app.emit("payment:42", {"amount": 2}) == 2
    drain(app)

    assert [handle.result(timeout=5) for handle in handles] == [{"amount": 2}] * 2


def test_an_event_before_the_wait_is_not_lost_and_each_wait_takes_the_next(app: Holdfast) -> None:
    @app.task()
    async def buys(ctx: Context) -> list[Any]:
        return [await ctx.event("payment"), await ctx.event("payment")]

    app.emit("payment", 1)
    handle = buys.enqueue()
    drain(app)
    assert handle.status() is Status.WAITING
    app.emit("payment", 2)
    app.emit("payment", 3)
    drain(app)

    assert handle.result(timeout=5) == [1, 2]


def test_an_event_of_another_tenant_is_not_heard(app: Holdfast) -> None:
    @app.task()
    async def buys(ctx: Context) -> Any:
        return await ctx.event("payment")

    handle = buys.using(tenant="acme").enqueue()
    drain(app)
    assert app.emit("payment", "theirs", tenant="globex") == 0
    assert app.emit("payment", "ours", tenant="acme") == 1
    drain(app)

    assert handle.result(timeout=5) == "ours"


def test_a_wait_that_takes_too_long_is_told_so_once_and_for_all(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    told: list[str] = []

    @app.task(backoff=AT_ONCE)
    async def buys(ctx: Context) -> str:
        try:
            await ctx.event("payment", timeout=timedelta(hours=1))
        except EventTimedOut as error:
            told.append(error.event)
        if len(told) == 1:
            raise RuntimeError("again")
        return "without"

    handle = buys.enqueue()
    drain(app)
    holdfast_db.clock.advance(3601)
    drain(app)
    app.emit("payment", "too late")
    drain(app)

    assert handle.result(timeout=5) == "without"
    assert told == ["payment", "payment"]


def test_an_event_emitted_in_a_transaction_comes_with_its_commit(
    app: Holdfast, login: psycopg.Connection[Any]
) -> None:
    @app.task()
    async def buys(ctx: Context) -> Any:
        return await ctx.event("payment")

    handle = buys.enqueue()
    drain(app)
    with login.transaction(force_rollback=True):
        app.emit("payment", "rolled back", conn=login)
    with login.transaction():
        app.emit("payment", "paid", conn=login)
    drain(app)

    assert handle.result(timeout=5) == "paid"


def test_a_cancelled_wait_leaves_nothing_behind(app: Holdfast, owner: psycopg.Connection[Any]) -> None:
    @app.task()
    async def buys(ctx: Context) -> Any:
        return await ctx.event("payment")

    handle = buys.enqueue()
    drain(app)
    app.cancel(handle.id)

    assert app.emit("payment") == 0
    assert owner.execute("select count(*) from holdfast.wait").fetchone() == (0,)


def test_children_are_enqueued_once_and_waited_for(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.task()
    async def square(n: int) -> int:
        return n * n

    @app.task(backoff=AT_ONCE)
    async def squares(ctx: Context) -> list[int]:
        children = await ctx.enqueue("children", [square.job(n) for n in range(20)])
        if ctx.attempt == 1:
            raise RuntimeError("after enqueuing")
        return await ctx.wait_for(children)

    handle = squares.enqueue()
    drain(app)

    assert handle.result(timeout=5) == [n * n for n in range(20)]
    assert len(holdfast_db.jobs(task=square)) == 20


def test_waiting_for_a_job_that_fails_says_so(app: Holdfast) -> None:
    @app.task(retries=0)
    async def breaks() -> None:
        raise ValueError("no")

    @app.task(retries=0)
    async def waits(ctx: Context) -> str:
        (child,) = await ctx.enqueue("child", [breaks.job()])
        try:
            await ctx.wait_for([child])
        except JobFailed as error:
            return f"{error.status} {error}"
        return "?"

    handle = waits.enqueue()
    drain(app)

    assert "FAILED" in handle.result(timeout=5)
    assert "no" in handle.result(timeout=5)


def test_a_wait_lets_steps_that_run_beside_it_end(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    ran: list[str] = []

    async def slow() -> str:
        await asyncio.sleep(0.05)
        ran.append("slow")
        return "done"

    @app.task()
    async def both(ctx: Context) -> str:
        value, _ = await asyncio.gather(ctx.step("slow", slow), ctx.sleep(60))
        return str(value)

    handle = both.enqueue()
    drain(app)
    holdfast_db.clock.advance(61)
    drain(app)

    assert handle.result(timeout=5) == "done"
    assert ran == ["slow"]


def test_a_task_group_that_a_wait_ends_is_no_failure(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.task(retries=0)
    async def grouped(ctx: Context) -> int:
        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.sleep(60))
            group.create_task(ctx.sleep(120))
        return ctx.attempt

    handle = grouped.enqueue()
    for _ in range(3):
        drain(app)
        holdfast_db.clock.advance(121)
    drain(app)

    assert handle.status() is Status.COMPLETED


def test_no_step_begins_once_the_job_waits(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    ran: list[str] = []

    @app.task(retries=0)
    async def careful(ctx: Context) -> None:
        try:
            await ctx.sleep(60)
        finally:
            await ctx.step("release", ran.append, "released")

    handle = careful.enqueue()
    drain(app)
    assert (handle.status(), ran) == (Status.WAITING, [])
    holdfast_db.clock.advance(61)
    drain(app)

    assert (handle.status(), ran) == (Status.COMPLETED, ["released"])


def test_no_step_begins_while_a_branch_asks_to_wait(
    app: Holdfast, holdfast_db: ScratchDatabase, owner: psycopg.Connection[Any]
) -> None:
    ran: list[str] = []

    async def charge(ctx: Context) -> None:
        ran.append(f"charge in attempt {ctx.attempt}")

    def waits_for_us() -> bool:
        asked = "select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))"
        return owner.execute(asked).rowcount > 0

    @app.task(retries=0)
    async def trip(ctx: Context) -> None:
        sleeps = asyncio.create_task(ctx.sleep(60))
        with owner.transaction():
            owner.execute("select from holdfast.job where id = %s for update", [ctx.job_id])
            while ctx.attempt == 1 and not waits_for_us():  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.001)
            charges = asyncio.create_task(ctx.step("charge", charge, ctx))
            await asyncio.sleep(0)  # it begins, but for who asks to wait
        await asyncio.gather(sleeps, charges)

    handle = trip.enqueue()
    drain(app)
    assert handle.status() is Status.WAITING
    holdfast_db.clock.advance(61)
    drain(app)

    assert handle.status() is Status.COMPLETED
    assert ran == ["charge in attempt 2"]


def test_a_task_cannot_catch_its_own_wait(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.task(retries=0)
    async def stubborn(ctx: Context) -> str:
        with suppress(BaseException):
            await ctx.sleep(60)
        return "went on"

    handle = stubborn.enqueue()
    drain(app)
    assert handle.status() is Status.WAITING
    holdfast_db.clock.advance(61)
    drain(app)

    assert handle.result(timeout=5) == "went on"


def test_what_a_job_has_waited_for_is_there_when_it_reads_it_again(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    @app.task(retention=timedelta(hours=1))
    async def other() -> int:
        return 7

    @app.task(retries=0)
    async def waits(ctx: Context, job: str) -> int:
        (seven,) = await ctx.wait_for([job])
        await ctx.sleep(timedelta(hours=2))
        return int(seven)

    first = other.enqueue()
    handle = waits.enqueue(str(first.id))
    drain(app, projector=True)  # retention leaves what is not projected
    holdfast_db.clock.advance(7201)
    app.link.perform(keep_up(5000))
    drain(app)

    assert handle.result(timeout=5) == 7
