import asyncio
import threading
from typing import Any
from uuid import UUID

import psycopg
import pytest

from holdfast import Context, Delays, Holdfast, Status, SyncContext
from holdfast.testing import ScratchDatabase
from world.draining import drain

AT_ONCE = Delays([0])


@pytest.fixture
def ledger(owner: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    owner.execute("create table public.ledger (entry text); grant all on public.ledger to public")
    return owner


def entries(ledger: psycopg.Connection[Any]) -> list[str]:
    return [entry for (entry,) in ledger.execute("select entry from public.ledger order by entry").fetchall()]


def written_in(ledger: psycopg.Connection[Any], *moves: tuple[UUID, str]) -> int:
    """Say in how many transactions these moves and all entries were written."""
    jobs, statuses = ([move[place] for move in moves] for place in (0, 1))
    (number,) = ledger.execute(
        "select count(distinct w.xid)"
        "  from (select l.xmin::text::bigint as xid from public.ledger l"
        "        union all"
        "        select h.xid from unnest(%s::uuid[], %s::holdfast.job_status[]) as m (job, status)"
        "          join holdfast.job_history h on h.job_id = m.job and h.to_status = m.status) as w",
        (jobs, statuses),
    ).fetchone() or (0,)
    return int(number)


def test_writes_enqueues_and_completion_commit_together(
    app: Holdfast, holdfast_db: ScratchDatabase, ledger: psycopg.Connection[Any]
) -> None:
    @app.task()
    async def mail() -> None:
        pass

    @app.task()
    async def book(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await conn.execute("insert into public.ledger values ('booked')")
            await mail.using(conn=conn).aenqueue()
            ctx.set_result(None)

    handle = book.enqueue()
    drain(app)

    assert handle.status() is Status.COMPLETED
    assert entries(ledger) == ["booked"]
    (mailed,) = holdfast_db.jobs(task=mail)
    assert mailed.status is Status.COMPLETED
    assert written_in(ledger, (handle.id, "COMPLETED"), (mailed.id, "PENDING")) == 1


def test_a_transaction_that_fails_leaves_nothing_and_the_job_is_retried(
    app: Holdfast, holdfast_db: ScratchDatabase, ledger: psycopg.Connection[Any]
) -> None:
    @app.task(backoff=AT_ONCE)
    async def book(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await conn.execute("insert into public.ledger values (%s)", (f"attempt {ctx.attempt}",))
            if ctx.attempt == 1:
                raise RuntimeError("in the middle")

    handle = book.enqueue()
    drain(app)

    assert handle.status() is Status.COMPLETED
    assert entries(ledger) == ["attempt 2"]


def test_the_result_of_a_transaction_is_given_inside_it(app: Holdfast) -> None:
    @app.task()
    async def book(ctx: Context) -> dict[str, int]:
        async with ctx.transaction():
            ctx.set_result({"seats": 2})
        return {"seats": 3}

    handle = book.enqueue()
    drain(app)

    assert handle.result(timeout=5) == {"seats": 2}


@pytest.mark.parametrize("many", [10, 12])
def test_what_is_asked_inside_a_transaction_finds_a_connection_however_many_are_open(
    app: Holdfast, many: int
) -> None:
    @app.task(retries=0, timeout=20)
    async def book(ctx: Context) -> None:
        async with ctx.transaction():
            begun.append(ctx.job_id)
            if len(begun) == 10:
                all_open.set()
            await all_open.wait()
            await ctx.progress(1, 2)

    begun: list[Any] = []
    all_open = asyncio.Event()
    handles = [book.enqueue() for _ in range(many)]
    drain(app, concurrency=20)

    assert {handle.status() for handle in handles} == {Status.COMPLETED}


def test_what_is_asked_inside_a_sync_transaction_finds_a_connection_too(app: Holdfast) -> None:
    together = threading.Barrier(10)

    @app.task(retries=0, timeout=20)
    def book(ctx: SyncContext) -> None:
        with ctx.transaction():
            together.wait(20)
            ctx.progress(1, 2)

    handles = [book.enqueue() for _ in range(10)]
    drain(app, concurrency=20)

    assert {handle.status() for handle in handles} == {Status.COMPLETED}


def test_a_stale_attempts_transaction_cannot_commit(app: Holdfast, ledger: psycopg.Connection[Any]) -> None:
    @app.task()
    async def stolen(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await conn.execute("insert into public.ledger values ('late')")
            ledger.execute(
                "update holdfast.job set status = 'RETRY', holder = null, due_at = holdfast.clock() + interval '1 hour'"
            )

    handle = stolen.enqueue()
    drain(app)

    assert handle.status() is Status.RETRY
    assert entries(ledger) == []


def test_a_sync_task_completes_in_a_transaction(app: Holdfast, ledger: psycopg.Connection[Any]) -> None:
    @app.task()
    def book(ctx: SyncContext) -> None:
        with ctx.transaction() as conn:
            conn.execute("insert into public.ledger values ('booked')")

    handle = book.enqueue()
    drain(app)

    assert handle.status() is Status.COMPLETED
    assert entries(ledger) == ["booked"]


def test_a_failure_after_the_transaction_changes_nothing(
    app: Holdfast, ledger: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    @app.task()
    async def book(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await conn.execute("insert into public.ledger values ('booked')")
        raise RuntimeError("afterwards")

    book.enqueue()
    drain(app)

    (job,) = holdfast_db.jobs()
    assert (job.status, job.attempt) == (Status.COMPLETED, 1)


def test_a_steps_writes_and_its_record_commit_together(
    app: Holdfast, ledger: psycopg.Connection[Any]
) -> None:
    async def write(conn: Any, entry: str) -> str:
        await conn.execute("insert into public.ledger values (%s)", (entry,))
        return entry.upper()

    @app.task(backoff=AT_ONCE)
    async def book(ctx: Context) -> str:
        seat = await ctx.step_transaction("seat", write, "seat")
        if ctx.attempt == 1:
            raise RuntimeError("between")
        meal = await ctx.step_transaction("meal", write, "meal")
        return f"{seat} {meal}"

    handle = book.enqueue()
    drain(app)

    assert handle.result(timeout=5) == "SEAT MEAL"
    assert entries(ledger) == ["meal", "seat"]
    together = ledger.execute(
        "select l.entry from public.ledger l join holdfast.step s on s.name = l.entry and s.xmin = l.xmin order by 1"
    ).fetchall()
    assert together == [("meal",), ("seat",)]


def test_a_sync_steps_writes_and_its_record_commit_together(
    app: Holdfast, ledger: psycopg.Connection[Any]
) -> None:
    def write(conn: Any, entry: str) -> None:
        conn.execute("insert into public.ledger values (%s)", (entry,))
        if entry == "bad":
            raise ValueError(entry)

    @app.task(retries=0)
    def book(ctx: SyncContext) -> None:
        ctx.step_transaction("good", write, "good")
        ctx.step_transaction("bad", write, "bad")

    handle = book.enqueue()
    drain(app)

    assert handle.status() is Status.FAILED
    assert entries(ledger) == ["good"]
