"""What becomes of the branches of an async task when one of them fails: their steps end and are saved before the job is told as failed."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import psycopg
import pytest

from holdfast import Context, Delays, Fail, Holdfast, Status
from holdfast.runtime import job_context
from holdfast.testing import ScratchDatabase
from runtime import apart_app, apart_tasks
from world.draining import drain

AT_ONCE = Delays([0])


async def until_the_other_has_failed(ctx: Context) -> None:
    while not ctx.stopped:  # noqa: ASYNC110 - the worker says so to whoever asks
        await asyncio.sleep(0.001)


async def fails() -> NoReturn:
    raise Fail("no hotel left")


def error_of(owner: psycopg.Connection[Any]) -> tuple[Any, ...] | None:
    return owner.execute(
        "select status, error ->> 'message' from holdfast.job where compensates is null"
    ).fetchone()


def test_a_step_beside_one_that_fails_is_saved_and_undone(app: Holdfast) -> None:
    log: list[str] = []

    async def charge(ctx: Context) -> str:
        await until_the_other_has_failed(ctx)
        log.append("charge")
        return "payment 7"

    @app.task(retries=0)
    async def trip(ctx: Context) -> None:
        charging = ctx.step("charge", charge, ctx, compensate=lambda payment: log.append(f"refund {payment}"))
        await asyncio.gather(charging, ctx.step("hotel", fails))

    handle = trip.enqueue()
    drain(app)

    assert handle.status() is Status.FAILED
    assert log == ["charge", "refund payment 7"]


def test_a_step_beside_one_that_fails_is_not_done_again(app: Holdfast) -> None:
    log: list[str] = []
    again = asyncio.Event()

    async def charge(ctx: Context) -> None:
        if ctx.attempt == 1:
            await until_the_other_has_failed(ctx)
            with suppress(TimeoutError):  # time enough for another attempt to begin beside it
                await asyncio.wait_for(again.wait(), 1)
        log.append(f"charge in attempt {ctx.attempt}")

    async def book(ctx: Context) -> None:
        log.append(f"book in attempt {ctx.attempt}")
        if ctx.attempt == 1:
            raise RuntimeError("the hotel does not answer")
        again.set()

    @app.task(retries=1, backoff=AT_ONCE)
    async def trip(ctx: Context) -> None:
        await asyncio.gather(ctx.step("charge", charge, ctx), ctx.step("book", book, ctx))

    handle = trip.enqueue()
    drain(app)

    assert handle.status() is Status.COMPLETED
    assert log == ["book in attempt 1", "charge in attempt 1", "book in attempt 2"]


@pytest.mark.parametrize("timeout", [0.3, None])
def test_a_branch_that_does_not_end_is_cancelled_before_its_job_is_undone(
    app: Holdfast, owner: psycopg.Connection[Any], timeout: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if timeout is None:
        monkeypatch.setattr(job_context, "PATIENCE", 0.1)
    log: list[str] = []

    async def waits_for_what_failed() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.5)  # longer than it takes to undo, on a busy machine too
            log.append("cleaned up")

    @app.task(retries=0, timeout=timeout, compensate=lambda: log.append("undo"))
    async def trip(ctx: Context) -> None:
        await asyncio.gather(ctx.step("wait", waits_for_what_failed), ctx.step("hotel", fails))

    trip.enqueue()
    drain(app)

    assert error_of(owner) == ("FAILED", "no hotel left")
    assert log == ["cleaned up", "undo"]


def test_branches_that_a_timeout_leaves_behind_are_cancelled_before_their_job_is_undone(
    app: Holdfast,
) -> None:
    log: list[str] = []
    left: list[asyncio.Task[None]] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)  # longer than it takes to undo
            log.append("cleaned up")

    @app.task(retries=0, timeout=0.2, compensate=lambda: log.append("undo"))
    async def trip(ctx: Context) -> None:
        left.append(asyncio.create_task(ctx.step("wait", waits)))
        await asyncio.Event().wait()

    trip.enqueue()
    drain(app)

    assert log == ["cleaned up", "undo"]


def test_a_branch_that_would_try_again_much_later_is_not_waited_for(app: Holdfast) -> None:
    log: list[str] = []
    tried = asyncio.Event()

    async def breaks() -> NoReturn:
        tried.set()
        raise RuntimeError("full")

    async def books(ctx: Context) -> None:
        try:
            await ctx.step("hotel", breaks, retries=1, backoff=Delays([3600]))
        except BaseException as error:
            log.append(type(error).__name__)
            raise

    async def fails_then() -> NoReturn:
        await tried.wait()
        raise Fail("no car left")

    @app.task(retries=0, timeout=20)
    async def trip(ctx: Context) -> None:
        await asyncio.gather(books(ctx), ctx.step("car", fails_then))

    handle = trip.enqueue()
    drain(app)

    assert handle.status() is Status.FAILED
    assert log == ["LeaseLost"]  # it was not cancelled, which is for those that had to be waited for


def test_a_branch_that_waits_until_others_have_ended_lets_no_failed_job_sleep(app: Holdfast) -> None:
    async def ends_late(ctx: Context) -> None:
        await until_the_other_has_failed(ctx)

    @app.task(retries=0)
    async def trip(ctx: Context) -> None:
        await asyncio.gather(ctx.step("late", ends_late, ctx), ctx.sleep(60), ctx.step("hotel", fails))

    handle = trip.enqueue()
    drain(app)

    assert handle.status() is Status.FAILED


@pytest.mark.parametrize("begins", ["before", "after"])
def test_a_transaction_beside_a_step_that_fails_does_not_complete_the_job(
    app: Holdfast, owner: psycopg.Connection[Any], begins: str
) -> None:
    begun: list[str] = []

    @app.task(retries=0)
    async def trip(ctx: Context) -> None:
        over = asyncio.Event()

        async def books() -> None:
            try:
                if begins == "after":
                    await until_the_other_has_failed(ctx)
                async with ctx.transaction():
                    begun.append(begins)
                    await until_the_other_has_failed(ctx)
            finally:
                over.set()

        await asyncio.gather(books(), ctx.step("late", over.wait), ctx.step("hotel", fails))

    trip.enqueue()
    drain(app)

    assert error_of(owner) == ("FAILED", "no hotel left")
    assert begun == (["before"] if begins == "before" else [])


def test_a_cancel_ends_the_branches_that_a_failure_waits_for(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    log: list[str] = []

    async def goes_on(ctx: Context) -> None:
        await until_the_other_has_failed(ctx)
        try:
            await app.acancel(ctx.job_id)  # it may be told to end before it is answered
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)  # longer than it takes to undo
            log.append("cleaned up")

    @app.task(retries=0, compensate=lambda: log.append("undo"), compensate_on_cancel=True)
    async def trip(ctx: Context) -> None:
        await asyncio.gather(ctx.step("on", goes_on, ctx), ctx.step("hotel", fails))

    handle = trip.enqueue()
    drain(app)

    assert handle.status() is Status.CANCELLED
    assert log == ["cleaned up", "undo"]


def test_a_step_beside_one_that_fails_in_a_child_process_is_saved_and_undone(
    holdfast_db: ScratchDatabase, tmp_path: Path
) -> None:
    app = holdfast_db.use(apart_app.app)
    log = tmp_path / "log"
    log.touch()
    try:
        handle = apart_tasks.branched.enqueue(str(log))
        drain(app)
        assert handle.status() is Status.FAILED
    finally:
        app.close()

    assert log.read_text("utf-8") == "charge\nrefund payment 7\n"
