import asyncio
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from guarantees.waiting import until
from holdfast import Context, Delays, Fail, Holdfast, NotRetryable, Status, SyncContext
from holdfast.domain.job import Job
from holdfast.store.upkeep import keep_up
from holdfast.testing import ScratchDatabase
from runtime import apart_app, apart_tasks
from world.draining import drain

AT_ONCE = Delays([0])


def compensation_of(owner: psycopg.Connection[Any], job_id: UUID) -> tuple[Any, ...] | None:
    """How the compensation of a job is, and whether it waits for the worker that ran the job."""
    asked = "select status, held_by like 'worker:%%' from holdfast.job where compensates = %s"
    return owner.execute(asked, (job_id,)).fetchone()


def until_two_others_have_ended(other: Any) -> None:
    """Wait, in a step's thread, until what the worker had to say before the second of them is said."""
    for _ in range(2):
        other.enqueue().result(timeout=30)


def compensations(database: ScratchDatabase, owner: psycopg.Connection[Any]) -> list[Job]:
    ids = {row[0] for row in owner.execute("select id from holdfast.job where compensates is not null")}
    return [job for job in database.jobs() if job.id in ids]


def test_what_had_succeeded_is_undone_in_reverse_order(
    app: Holdfast, holdfast_db: ScratchDatabase, owner: psycopg.Connection[Any]
) -> None:
    log: list[str] = []

    async def do(what: str) -> str:
        log.append(f"do {what}")
        return what.upper()

    async def undo(value: str) -> None:
        log.append(f"undo {value}")

    @app.task(retries=0)
    async def trip(ctx: Context) -> None:
        await ctx.step("flight", do, "flight", compensate=undo)
        await ctx.step("look", do, "look")
        await ctx.step("hotel", do, "hotel", compensate=undo)
        log.append("between")
        raise Fail("no car left")

    handle = trip.enqueue()
    drain(app)

    assert handle.status() is Status.FAILED
    assert log == ["do flight", "do look", "do hotel", "between", "undo HOTEL", "undo FLIGHT"]
    (undoing,) = compensations(holdfast_db, owner)
    assert (undoing.status, undoing.task) == (Status.COMPLETED, "trip")


def test_the_tasks_own_compensation_comes_last_and_gets_the_arguments(app: Holdfast) -> None:
    log: list[Any] = []

    async def undo_all(ctx: Context, order: int, *, fast: bool = False) -> None:
        log.append((order, fast, ctx.compensates is not None))

    @app.task(retries=0, compensate=undo_all)
    async def ship(ctx: Context, order: int, *, fast: bool = False) -> None:
        await ctx.step("pack", lambda: None, compensate=lambda: log.append("unpack"))
        raise Fail("no truck")

    ship.enqueue(7, fast=True)
    drain(app)

    assert log == ["unpack", (7, True, True)]


def test_a_task_without_a_context_is_compensated_too(app: Holdfast) -> None:
    log: list[int] = []

    def undo(order: int) -> None:
        log.append(order)

    @app.task(retries=0, compensate=undo)
    def ship(order: int) -> None:
        raise Fail("no truck")

    ship.enqueue(7)
    drain(app)

    assert log == [7]


def test_a_sync_tasks_steps_are_undone(app: Holdfast) -> None:
    log: list[str] = []

    @app.task(retries=0)
    def trip(ctx: SyncContext) -> None:
        ctx.step("flight", lambda: "F1", compensate=lambda seat: log.append(f"undo {seat}"))
        raise Fail("no car left")

    trip.enqueue()
    drain(app)

    assert log == ["undo F1"]


def test_a_compensation_that_fails_is_tried_again_without_doing_what_is_done(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    log: list[str] = []

    def undo_flight(_: Any) -> None:
        log.append("flight")
        if log.count("flight") == 1:
            raise RuntimeError("the airline is away")

    @app.task(retries=0, backoff=AT_ONCE)
    async def trip(ctx: Context) -> None:
        await ctx.step("flight", lambda: 1, compensate=undo_flight)
        await ctx.step("hotel", lambda: 2, compensate=lambda _: log.append("hotel"))
        raise Fail("no car left")

    trip.enqueue()
    drain(app)

    assert log == ["hotel", "flight", "flight"]


def test_what_a_compensation_returns_is_nobodys_concern(app: Holdfast) -> None:
    log: list[str] = []

    def undo(what: str) -> object:
        log.append(what)
        return object()

    def undo_task() -> object:
        return undo("task")

    @app.task(retries=0, compensate=undo_task)
    async def trip(ctx: Context) -> None:
        await ctx.step("flight", lambda: "flight", compensate=undo)
        await ctx.step("hotel", lambda: "hotel", compensate=undo)
        raise Fail("no car left")

    trip.enqueue()
    drain(app)

    assert log == ["hotel", "flight", "task"]


def test_what_did_not_succeed_is_not_undone(app: Holdfast, owner: psycopg.Connection[Any]) -> None:
    log: list[str] = []

    def breaks() -> None:
        raise Fail("at once")

    @app.task(retries=0)
    async def trip(ctx: Context) -> None:
        await ctx.step("flight", breaks, compensate=lambda: log.append("flight"))

    trip.enqueue()
    drain(app)

    assert log == []
    assert owner.execute("select count(*) from holdfast.job where compensates is not null").fetchone() == (0,)


def test_a_job_that_completes_or_is_tried_again_is_not_undone(app: Holdfast) -> None:
    log: list[str] = []

    @app.task(retries=1, backoff=AT_ONCE)
    async def trip(ctx: Context) -> None:
        await ctx.step("flight", lambda: 1, compensate=lambda: log.append("flight"))
        if ctx.attempt == 1:
            raise RuntimeError("once")

    handle = trip.enqueue()
    drain(app)

    assert (handle.status(), log) == (Status.COMPLETED, [])


def failing_trip(app: Holdfast, log: list[str], *, undo_works: bool = True) -> Any:
    def undo() -> None:
        log.append("undo")
        if not undo_works:
            raise Fail("cannot be undone")

    @app.task(retries=0, compensation_retries=0)
    async def trip(ctx: Context) -> None:
        await ctx.step("flight", log.append, "run", compensate=undo)
        raise Fail("no car left")

    return trip


def test_a_retry_after_the_compensation_runs_at_once(app: Holdfast) -> None:
    log: list[str] = []
    trip = failing_trip(app, log)
    handle = trip.enqueue()
    drain(app)
    again = app.retry(handle.id)
    drain(app)

    assert app.handle(again.id).status() is Status.FAILED
    assert log == ["run", "undo", "run", "undo"]


def test_a_retry_before_the_compensation_is_held(
    app: Holdfast, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    log: list[str] = []
    trip = failing_trip(app, log)
    handle = trip.enqueue()
    hold_compensations(owner)
    drain(app)
    again = app.retry(handle.id)
    drain(app)
    assert (app.handle(again.id).status(), log) == (Status.PENDING, ["run"])
    let_compensations_go(owner)
    drain(app)

    assert log == ["run", "undo", "run"]


def hold_compensations(owner: psycopg.Connection[Any]) -> None:
    """Let every compensation be born as if its job were still running somewhere."""
    owner.execute(
        "create or replace function holdfast.still_held(p_holder uuid) returns text"
        " language sql stable as $$ select 'worker:' || gen_random_uuid() $$"
    )


def let_compensations_go(owner: psycopg.Connection[Any]) -> None:
    owner.execute(
        "select holdfast.let_go(array(select id::uuid from holdfast.job where compensates is not null and held_by is not null))"
    )


def test_a_retry_after_a_failed_compensation_is_refused_until_that_is_retried(
    app: Holdfast, owner: psycopg.Connection[Any]
) -> None:
    log: list[str] = []
    trip = failing_trip(app, log, undo_works=False)
    handle = trip.enqueue()
    drain(app)

    with pytest.raises(NotRetryable, match=r"its compensation .* failed"):
        app.retry(handle.id)
    (undoing,) = owner.execute("select id from holdfast.job where compensates is not null").fetchall()
    assert app.retry(undoing[0]).status() is Status.PENDING


@pytest.mark.parametrize("asked", [True, False])
def test_a_cancel_compensates_if_the_task_says_so(app: Holdfast, asked: bool) -> None:
    log: list[str] = []

    @app.task(compensate_on_cancel=asked)
    async def trip(ctx: Context) -> None:
        await ctx.step("flight", lambda: 1, compensate=lambda: log.append("undo"))
        await ctx.sleep(60)

    handle = trip.enqueue()
    drain(app)
    app.cancel(handle.id)
    drain(app)

    assert log == (["undo"] if asked else [])


def test_a_cancelled_job_is_undone_only_when_its_attempt_has_stopped(
    app: Holdfast, owner: psycopg.Connection[Any]
) -> None:
    log: list[str] = []

    @app.task(compensate_on_cancel=True)
    def trip(ctx: SyncContext) -> None:
        ctx.step("flight", lambda: 1, compensate=lambda: log.append("undo"))
        app.cancel(ctx.job_id)
        (held,) = owner.execute(
            "select held_by from holdfast.job where compensates = %s", (ctx.job_id,)
        ).fetchone() or ("?",)
        log.append(f"held by {str(held).partition(':')[0]}")

    trip.enqueue()
    drain(app)
    owner.execute("select holdfast.sweep()")
    drain(app)

    assert log == ["held by worker", "undo"]


def test_an_attempt_that_ends_before_it_hears_of_its_cancel_is_undone_at_once(
    app: Holdfast, owner: psycopg.Connection[Any]
) -> None:
    log: list[str] = []

    @app.task(compensate_on_cancel=True)
    async def trip(ctx: Context) -> None:
        await ctx.step("flight", lambda: 1, compensate=lambda: log.append("undo"))
        if not log:
            # Without a turn of the loop: nobody can tell the attempt before it has ended.
            owner.execute("select holdfast.cancel(%s)", (ctx.job_id,))

    trip.enqueue()
    drain(app)

    assert log == ["undo"]


def test_what_timed_out_in_a_thread_is_undone_as_soon_as_the_thread_has_ended(
    app: Holdfast, owner: psycopg.Connection[Any]
) -> None:
    log: list[str] = []

    @app.task(retries=0, timeout=0.2)
    def trip(ctx: SyncContext) -> None:
        ctx.step("flight", lambda: 1, compensate=lambda: log.append("undo"))
        until("it is compensated", lambda: compensation_of(owner, ctx.job_id) is not None)
        log.append(f"beside {compensation_of(owner, ctx.job_id)}")

    @app.task(retries=0, timeout=20)
    async def keep_the_worker() -> None:
        while "undo" not in log:  # noqa: ASYNC110 - a thread writes it
            await asyncio.sleep(0.01)

    handle = trip.enqueue()
    keep_the_worker.enqueue()
    drain(app)

    assert log == ["beside ('PENDING', True)", "undo"]
    assert handle.status() is Status.FAILED


@pytest.mark.parametrize("ended_by", ["its timeout", "its step's timeout", "a cancel"])
def test_a_step_in_a_thread_is_undone_as_soon_as_the_thread_has_ended(
    app: Holdfast, owner: psycopg.Connection[Any], ended_by: str
) -> None:
    log: list[str] = []

    @app.task()
    async def other() -> None: ...

    def charge(ctx: Context) -> None:
        if ended_by == "a cancel":
            app.cancel(ctx.job_id)
        until("it is compensated", lambda: compensation_of(owner, ctx.job_id) is not None)
        until("it is told to stop", lambda: ctx.stopped)
        until_two_others_have_ended(other)
        log.append(f"charged beside {compensation_of(owner, ctx.job_id)}")

    timeouts = {"its timeout": (0.2, None), "its step's timeout": (None, 0.2), "a cancel": (None, None)}
    of_task, of_step = timeouts[ended_by]

    @app.task(
        retries=0, timeout=of_task, compensate=lambda: log.append("refunded"), compensate_on_cancel=True
    )
    async def pay(ctx: Context) -> None:
        await ctx.step("charge", charge, ctx, timeout=of_step)

    @app.task(retries=0, timeout=60)
    async def keep_the_worker() -> None:
        while "refunded" not in log:  # noqa: ASYNC110 - a thread writes it
            await asyncio.sleep(0.01)

    handle = pay.enqueue()
    keep_the_worker.enqueue()
    drain(app)

    assert log == ["charged beside ('PENDING', True)", "refunded"]
    assert handle.status() is (Status.CANCELLED if ended_by == "a cancel" else Status.FAILED)


def test_two_steps_in_threads_are_undone_when_both_have_ended(
    app: Holdfast, owner: psycopg.Connection[Any]
) -> None:
    log: list[str] = []
    first_has_ended = threading.Event()

    @app.task()
    async def other() -> None: ...

    def one(ctx: Context) -> None:
        until("it is compensated", lambda: compensation_of(owner, ctx.job_id) is not None)
        log.append("one")
        first_has_ended.set()

    def two(ctx: Context) -> None:
        first_has_ended.wait()
        until_two_others_have_ended(other)
        log.append(f"two beside {compensation_of(owner, ctx.job_id)}")

    @app.task(retries=0, timeout=0.2, compensate=lambda: log.append("undo"))
    async def trip(ctx: Context) -> None:
        await asyncio.gather(ctx.step("one", one, ctx), ctx.step("two", two, ctx))

    @app.task(retries=0, timeout=60)
    async def keep_the_worker() -> None:
        while "undo" not in log:  # noqa: ASYNC110 - a thread writes it
            await asyncio.sleep(0.01)

    trip.enqueue()
    keep_the_worker.enqueue()
    drain(app)

    assert log == ["one", "two beside ('PENDING', True)", "undo"]


def test_a_step_that_goes_on_in_a_child_process_is_undone_when_it_has_ended(
    holdfast_db: ScratchDatabase, tmp_path: Path
) -> None:
    app = holdfast_db.use(apart_app.app)
    try:
        handle = apart_tasks.outlasted.enqueue(str(tmp_path))
        drain(app)
        assert handle.status() is Status.FAILED
    finally:
        app.close()

    assert (tmp_path / "undone").read_text("utf-8") == "ended: True"


@pytest.mark.parametrize("comes_to", ["a step", "another try"])
def test_a_branch_that_is_left_behind_does_nothing_once_its_job_has_failed(
    app: Holdfast, comes_to: str
) -> None:
    log: list[str] = []
    left: list[asyncio.Task[None]] = []
    tried = asyncio.Event()

    async def book() -> None:
        log.append("tried")
        tried.set()
        raise RuntimeError("full")

    async def branch(ctx: Context) -> None:
        if comes_to == "a step":
            tried.set()
            await asyncio.sleep(0)
        await ctx.step("hotel", book, retries=1, backoff=AT_ONCE)

    async def undo() -> None:
        await asyncio.gather(*left, return_exceptions=True)
        log.append("undone")

    @app.task(retries=0, compensate=undo)
    async def trip(ctx: Context) -> None:
        left.append(asyncio.create_task(branch(ctx)))
        await tried.wait()
        raise Fail("no car left")

    trip.enqueue()
    drain(app)

    assert log == ([] if comes_to == "a step" else ["tried"]) + ["undone"]


def test_a_compensation_waits_ten_minutes_at_most(
    app: Holdfast, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    log: list[str] = []
    trip = failing_trip(app, log)
    hold_compensations(owner)
    trip.enqueue()
    drain(app)
    assert log == ["run"]
    holdfast_db.clock.advance(601)
    owner.execute("select holdfast.sweep()")
    drain(app)

    assert log == ["run", "undo"]


def test_what_was_done_instead_of_a_step_that_failed_is_undone(app: Holdfast) -> None:
    log: list[str] = []

    def declined() -> None:
        raise RuntimeError("declined")

    @app.task(retries=0)
    async def pay(ctx: Context) -> None:
        try:
            await ctx.step("card", declined, compensate=lambda: log.append("card"))
        except Exception:  # noqa: BLE001 - whatever it was, there is another way
            await ctx.step("invoice", lambda: "I-1", compensate=lambda number: log.append(f"undo {number}"))
        raise Fail("no stock")

    pay.enqueue()
    drain(app)

    assert log == ["undo I-1"]


def test_a_branch_beside_one_that_failed_is_undone(app: Holdfast) -> None:
    log: list[str] = []
    booked = asyncio.Event()

    async def breaks() -> None:
        await booked.wait()
        raise Fail("no car")

    @app.task(retries=0)
    async def trip(ctx: Context) -> None:
        async def hotel() -> None:
            await asyncio.sleep(0)
            await ctx.step("hotel", lambda: 1, compensate=lambda: log.append("hotel"))
            booked.set()

        await asyncio.gather(ctx.step("car", breaks), hotel())

    trip.enqueue()
    drain(app)

    assert log == ["hotel"]


def test_a_compensation_that_is_retried_late_finds_what_the_job_had_found(
    app: Holdfast, holdfast_db: ScratchDatabase, owner: psycopg.Connection[Any]
) -> None:
    log: list[str] = []
    bugs = ["the bank is down"]

    def undo_last() -> None:
        if bugs:
            raise Fail(bugs.pop())
        log.append("undo last")

    @app.task(retention=3600)
    async def square(n: int) -> int:
        return n * n

    @app.task(retries=0, compensation_retries=0)
    async def parent(ctx: Context, other: str) -> None:
        await ctx.step("first", lambda: None, compensate=lambda: log.append("undo first"))
        (nine,) = await ctx.wait_for(await ctx.enqueue("child", [square.job(3)]))
        (four,) = await ctx.wait_for([other])
        await ctx.step("last", lambda: nine + four, compensate=undo_last)
        raise Fail("no")

    parent.enqueue(str(square.enqueue(2).id))
    drain(app, projector=True)  # retention leaves what is not projected
    (undoing,) = compensations(holdfast_db, owner)
    assert undoing.status is Status.FAILED
    holdfast_db.clock.advance(7200)
    app.link.perform(keep_up(5000))
    again = app.retry(undoing.id)
    drain(app)

    assert (again.status(), log) == (Status.COMPLETED, ["undo last", "undo first"])
