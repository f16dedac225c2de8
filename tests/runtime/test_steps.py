import asyncio
import gc
import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from holdfast import Context, Delays, Fail, Holdfast, JobFailed, LeaseLost, Status, StepsChanged, SyncContext
from holdfast.testing import ScratchDatabase
from world.draining import drain

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

AT_ONCE = Delays([0])


@dataclass
class Receipt:
    number: int
    total: Decimal


def test_a_finished_step_is_not_run_again_and_its_value_comes_back_typed(app: Holdfast) -> None:
    ran: list[str] = []

    async def charge(amount: Decimal) -> Receipt:
        ran.append("charge")
        return Receipt(7, amount)

    async def mail(receipt: Receipt) -> None:
        ran.append(f"mail {receipt.number}")

    @app.task(backoff=AT_ONCE)
    async def pay(ctx: Context) -> Decimal:
        receipt = await ctx.step("charge", charge, Decimal("9.90"))
        if ctx.attempt == 1:
            raise RuntimeError("after the charge")
        await ctx.step("mail", mail, receipt)
        return receipt.total

    handle = pay.enqueue()
    drain(app)

    assert handle.result(timeout=5) == Decimal("9.90")
    assert ran == ["charge", "mail 7"]


def test_the_first_run_of_a_step_gives_what_a_replay_would(app: Holdfast) -> None:
    seen: list[Any] = []

    @app.task(backoff=AT_ONCE)
    async def twice(ctx: Context) -> None:
        seen.append(await ctx.step("pair", lambda: (1, {2: "two"})))
        if ctx.attempt == 1:
            raise RuntimeError("again")

    twice.enqueue()
    drain(app)

    assert seen[0] == seen[1] == [1, {"2": "two"}]


def test_a_sync_task_has_steps_without_await(app: Holdfast) -> None:
    ran: list[str] = []

    def noted(name: str, value: int) -> int:
        ran.append(name)
        return value

    @app.task(backoff=AT_ONCE)
    def pay(ctx: SyncContext) -> int:
        first = ctx.step("first", noted, "first", 20)
        if ctx.attempt == 1:
            raise RuntimeError("between")
        return first + ctx.step("second", noted, "second", 22)

    handle = pay.enqueue()
    drain(app)

    assert handle.result(timeout=5) == 42
    assert ran == ["first", "second"]


def test_a_repeated_name_is_counted(app: Holdfast, owner: psycopg.Connection[Any]) -> None:
    @app.task()
    async def loop(ctx: Context) -> list[int]:
        return [await ctx.step("square", lambda n=n: n * n) for n in range(3)]

    handle = loop.enqueue()
    drain(app)

    assert handle.result(timeout=5) == [0, 1, 4]
    names = owner.execute("select name from holdfast.step order by finished_at").fetchall()
    assert [name for (name,) in names] == ["square", "square#2", "square#3"]


def test_steps_run_concurrently_and_keep_their_values_apart(app: Holdfast) -> None:
    together = asyncio.Event()
    arrived: list[int] = []

    async def fetch(n: int) -> int:
        arrived.append(n)
        if len(arrived) == 3:
            together.set()
        await together.wait()
        return n * 10

    @app.task(backoff=AT_ONCE)
    async def gather(ctx: Context) -> list[int]:
        values = await asyncio.gather(*(ctx.step("fetch", fetch, n) for n in range(3)))
        if ctx.attempt == 1:
            raise RuntimeError("again")
        return list(values)

    handle = gather.enqueue()
    drain(app)

    assert handle.result(timeout=5) == [0, 10, 20]
    assert sorted(arrived) == [0, 1, 2]


def test_branches_that_run_at_the_same_time_must_name_their_steps_apart(app: Holdfast) -> None:
    @app.task(retries=0)
    async def branches(ctx: Context) -> None:
        async def one(n: int) -> None:
            await ctx.step("work", lambda: n)

        await asyncio.gather(one(1), one(2))

    handle = branches.enqueue()
    drain(app)

    assert handle.status() is Status.FAILED
    with pytest.raises(Exception, match="give each its own name"):
        handle.result()


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (["b", "a"], "'b' is a step first now"),
        (["a", "new", "b"], "'new' comes after 'a' now, where an earlier attempt saved 'b'"),
        (["a"], "saved 'b', which the task no longer calls"),
        ([], "saved 'a', 'b', which the task no longer calls"),
        (["new", "a", "b"], "'new' comes first now, where an earlier attempt saved 'a'"),
    ],
)
def test_steps_that_changed_with_a_deploy_are_found_and_explained(
    app: Holdfast, now: list[str], said: str
) -> None:
    ran: list[str] = []

    @app.task(retries=1, backoff=AT_ONCE)
    async def deployed(ctx: Context) -> None:
        for name in ["a", "b"] if ctx.attempt == 1 else now:
            await ctx.step(name, ran.append, name)
        if ctx.attempt == 1:
            raise RuntimeError("then came the deploy")

    handle = deployed.enqueue()
    drain(app)

    with pytest.raises(Exception, match=said):
        handle.result(timeout=5)
    assert ran == ["a", "b"]


def test_a_step_may_be_added_after_what_was_saved(app: Holdfast) -> None:
    @app.task(backoff=AT_ONCE)
    async def grown(ctx: Context) -> list[str]:
        names = ["a", "b"] if ctx.attempt == 1 else ["a", "b", "c"]
        values = [await ctx.step(name, lambda name=name: name) for name in names]
        if ctx.attempt == 1:
            raise RuntimeError("then came the deploy")
        return values

    handle = grown.enqueue()
    drain(app)

    assert handle.result(timeout=5) == ["a", "b", "c"]


def test_a_step_has_retries_and_a_timeout_of_its_own(app: Holdfast) -> None:
    tries: list[int] = []

    async def flaky() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("first")
        if len(tries) == 2:
            await asyncio.Event().wait()
        return len(tries)

    @app.task(retries=0)
    async def hard(ctx: Context) -> int:
        return await ctx.step("flaky", flaky, retries=2, backoff=AT_ONCE, timeout=0.05)

    handle = hard.enqueue()
    drain(app)

    assert handle.result(timeout=5) == 3


def test_a_step_that_says_fail_is_not_tried_again(app: Holdfast) -> None:
    tries: list[int] = []

    async def never() -> None:
        tries.append(1)
        raise Fail("no use")

    @app.task()
    async def hopeless(ctx: Context) -> None:
        await ctx.step("never", never, retries=5, backoff=AT_ONCE)

    handle = hopeless.enqueue()
    drain(app)

    assert handle.status() is Status.FAILED
    assert tries == [1]


def test_a_value_over_a_mebibyte_is_refused_with_advice(app: Holdfast) -> None:
    @app.task(retries=0)
    async def large(ctx: Context) -> None:
        await ctx.step("large", lambda: "x" * 1_048_577)

    handle = large.enqueue()
    drain(app)

    with pytest.raises(Exception, match="more than the 1,048,576 allowed; store the data elsewhere"):
        handle.result(timeout=5)


def test_a_megabyte_lives_apart_from_the_job_row(app: Holdfast, owner: psycopg.Connection[Any]) -> None:
    @app.task()
    async def large(ctx: Context) -> int:
        return len(await ctx.step("large", lambda: "x" * 1_000_000))

    handle = large.enqueue()
    drain(app)

    assert handle.result(timeout=5) == 1_000_000
    assert owner.execute("select pg_column_size(job.*) < 2000 from holdfast.job").fetchone() == (True,)


def test_a_checkpoint_is_there_for_the_next_attempt(app: Holdfast) -> None:
    seen: list[Any] = []

    @app.task(backoff=AT_ONCE)
    async def reads(ctx: Context) -> None:
        seen.append(await ctx.last_checkpoint())
        await ctx.checkpoint({"page": ctx.attempt})
        if ctx.attempt < 3:
            raise RuntimeError("again")

    reads.enqueue()
    drain(app)

    assert seen == [None, {"page": 1}, {"page": 2}]


def test_progress_shows_while_the_job_runs(app: Holdfast, owner: psycopg.Connection[Any]) -> None:
    seen: list[Any] = []

    @app.task()
    async def walks(ctx: Context) -> None:
        await ctx.progress(3, 10, "three of ten")
        seen.extend(owner.execute("select done, total, note from holdfast.progress").fetchall())

    walks.enqueue()
    drain(app)

    assert seen == [(3.0, 10.0, "three of ten")]
    kinds = owner.execute("select kind, data from holdfast.activity").fetchall()
    assert kinds == [("progress", {"done": 3, "total": 10, "note": "three of ten"})]


def test_an_attempt_that_lost_its_job_saves_no_step(app: Holdfast, owner: psycopg.Connection[Any]) -> None:
    refused: list[str] = []

    @app.task()
    async def stolen(ctx: Context) -> None:
        owner.execute(
            "update holdfast.job set status = 'CANCELLED', holder = null, deadline_at = null where id = %s",
            (ctx.job_id,),
        )
        acts: list[Callable[[], Coroutine[Any, Any, Any]]] = [
            lambda: ctx.step("late", lambda: 1),
            lambda: ctx.checkpoint(1),
            lambda: ctx.progress(1),
            lambda: ctx.sleep(60),
            lambda: ctx.event("x"),
            lambda: ctx.wait_for([]),
            lambda: ctx.enqueue("children", []),
            lambda: ctx.step_transaction("t", _nothing),
        ]
        for act in acts:
            try:
                await act()
            except LeaseLost as error:
                refused.append(type(error).__name__)

    stolen.enqueue()
    drain(app)

    assert refused == ["LeaseLost"] * 8
    assert owner.execute("select count(*) from holdfast.step").fetchone() == (0,)


def test_a_task_that_goes_on_when_it_is_told_to_end_begins_no_step(app: Holdfast) -> None:
    ran: list[str] = []

    @app.task()
    async def deaf(ctx: Context) -> None:
        await app.acancel(ctx.job_id)
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await ctx.step("charge", ran.append, "charged")

    handle = deaf.enqueue()
    drain(app)

    assert (handle.status(), ran) == (Status.CANCELLED, [])


async def _nothing(connection: Any) -> None:
    pass


def test_steps_changed_is_public() -> None:
    assert issubclass(StepsChanged, Exception)


def test_a_process_task_has_steps(holdfast_db: ScratchDatabase) -> None:
    from runtime import stepped_tasks

    app = holdfast_db.use(stepped_tasks.app)
    handles = [stepped_tasks.stepped.enqueue(), stepped_tasks.stepped_sync.enqueue()]
    drain(app)

    assert [handle.result(timeout=20) for handle in handles] == [[1, 2], [1, 2]]


def test_a_step_inside_a_step_is_refused(app: Holdfast) -> None:
    @app.task(retries=0)
    async def nested(ctx: Context) -> None:
        async def outer() -> None:
            await ctx.sleep(60)

        await ctx.step("outer", outer)

    handle = nested.enqueue()
    drain(app)

    with pytest.raises(JobFailed, match="'sleep' is called inside step 'outer'"):
        handle.result(timeout=5)


# -- importance ------------------------------------------------------------------------------------------------------------


def importance_of(holdfast_db: ScratchDatabase) -> dict[str, str | None]:
    with psycopg.connect(holdfast_db.owner_url) as owner:
        return dict(owner.execute("select name::text, importance from holdfast.step").fetchall())


def test_everything_that_the_code_does_can_be_called_small(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    @app.task()
    async def child() -> None: ...

    async def write(_connection: Any) -> None: ...

    @app.task()
    async def small(ctx: Context) -> None:
        await ctx.step("step", lambda: 1, importance="low")
        await ctx.step("other", lambda: 1)
        await ctx.step_transaction("transaction", write, importance="low")
        await ctx.sleep(0, importance="low")
        await ctx.event("come", importance="low")
        children = await ctx.enqueue("children", [child.job()], importance="low")
        await ctx.wait_for(children, importance="low")

    app.emit("come")
    handle = small.enqueue()
    drain(app)

    assert handle.status() is Status.COMPLETED
    small_ones = ("step", "transaction", "sleep", "event come", "children", "wait_for")
    assert importance_of(holdfast_db) == {**dict.fromkeys(small_ones, "low"), "other": None}


def test_a_sync_task_calls_its_steps_small_too(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.task()
    def small(ctx: SyncContext) -> None:
        ctx.step("step", lambda: 1, importance="low")
        ctx.sleep(0, importance="low")

    small.enqueue()
    drain(app)

    assert importance_of(holdfast_db) == {"step": "low", "sleep": "low"}


def test_a_step_is_small_or_not(app: Holdfast) -> None:
    @app.task(retries=0)
    async def odd(ctx: Context) -> None:
        await ctx.step("step", lambda: 1, importance="high")  # type: ignore[call-overload]

    handle = odd.enqueue()
    drain(app)

    with pytest.raises(JobFailed, match="importance is normal or low, not 'high'"):
        handle.result(timeout=5)


# -- in threads ------------------------------------------------------------------------------------------------------------


def test_as_many_steps_run_in_threads_as_jobs_run(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    all_run = threading.Barrier(40, timeout=20)

    @app.task(retries=0)
    async def meet(ctx: Context) -> None:
        await ctx.step("meet", all_run.wait, timeout=20)

    app.enqueue_many([meet.job() for _ in range(40)])
    drain(app, concurrency=40)

    assert {job.status for job in holdfast_db.jobs()} == {Status.COMPLETED}


def test_of_one_job_32_steps_run_in_threads_at_once_and_the_timeout_of_the_next_counts_from_its_turn(
    app: Holdfast,
) -> None:
    let_go, all_run = threading.Event(), threading.Barrier(33, timeout=20)
    log: list[str] = []

    def hold() -> None:
        all_run.wait()
        let_go.wait()
        log.append("one of 32")

    @app.task(retries=0)
    async def gather(ctx: Context) -> None:
        holding = [asyncio.create_task(ctx.step("hold", hold)) for _ in range(32)]
        await ctx.step("wait", _met, all_run)
        asyncio.get_running_loop().call_later(0.6, let_go.set)
        await ctx.step("next", log.append, "next", timeout=0.5)
        await asyncio.gather(*holding)

    handle = gather.enqueue()
    drain(app)

    assert handle.status() is Status.COMPLETED
    assert log[0] == "one of 32"
    assert "next" in log


async def _met(barrier: threading.Barrier) -> None:
    await asyncio.to_thread(barrier.wait)


def test_what_a_step_gives_to_be_awaited_holds_no_thread(app: Holdfast) -> None:
    @app.task(retries=0)
    async def gather(ctx: Context) -> None:
        all_run = asyncio.Barrier(40)
        await asyncio.gather(*(ctx.step("meet", lambda: _passed(all_run), timeout=5) for _ in range(40)))

    handle = gather.enqueue()
    drain(app)

    assert handle.status() is Status.COMPLETED


async def _passed(barrier: asyncio.Barrier) -> int:
    return await barrier.wait()


class Kept:
    """Something that an attempt has in hand."""


def test_nothing_that_a_steps_function_refers_to_outlives_its_attempt(app: Holdfast) -> None:
    seen: list[weakref.ref[Kept]] = []

    @app.task()
    async def greets(ctx: Context) -> None:
        kept = Kept()
        seen.append(weakref.ref(kept))

        def greet() -> str:
            return f"hello from {kept}"

        await ctx.step("greet", greet)

    greets.enqueue()
    drain(app)
    gc.collect()

    assert [each() for each in seen] == [None]


def test_nothing_that_what_a_step_returns_refers_to_outlives_its_attempt(app: Holdfast) -> None:
    seen: list[weakref.ref[Kept]] = []

    @app.task()
    async def looks(ctx: Context) -> None:
        kept = Kept()
        seen.append(weakref.ref(kept))

        class Found:
            def again(self) -> tuple[object, Kept]:
                return look, kept

        def look() -> Found | None:
            return None

        await ctx.step("look", look)

    looks.enqueue()
    drain(app)
    gc.collect()

    assert [each() for each in seen] == [None]


def test_a_step_whose_annotation_is_no_type_is_done_once(app: Holdfast) -> None:
    charged: list[int] = []

    def charge() -> int:
        charged.append(1)
        return 7

    charge.__annotations__["return"] = "the charge, by its number"

    @app.task(retries=1, backoff=AT_ONCE)
    async def pays(ctx: Context) -> int:
        return await ctx.step("charge", charge)

    handle = pays.enqueue()
    drain(app)

    assert (handle.status(), handle.result(), charged) == (Status.COMPLETED, 7, [1])
