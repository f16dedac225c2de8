import pytest

from holdfast import BadInput, Context, Fail, Holdfast, Status, chain, group
from holdfast.testing import ScratchDatabase
from world.draining import drain
from world.often import times


def test_a_chain_runs_in_order_and_each_job_gets_the_result_before_it(app: Holdfast) -> None:
    ran: list[str] = []

    @app.task()
    async def link(ctx: Context, name: str) -> str:
        ran.append(name)
        return "".join(await ctx.results()) + name

    handles = app.enqueue_many(chain(link.job("a"), link.job("b"), link.job("c")))
    drain(app)

    assert ran == ["a", "b", "c"]
    assert [handle.result() for handle in handles] == ["a", "ab", "abc"]


def test_a_fan_in_job_gets_the_results_of_its_group_in_order(app: Holdfast) -> None:
    @app.task()
    async def square(n: int) -> int:
        return n * n

    @app.task()
    async def gather(ctx: Context) -> list[int]:
        return await ctx.results()

    *_, last = app.enqueue_many(group([square.job(n) for n in range(50)], then=gather.job()))
    drain(app)

    assert last.result() == [n * n for n in range(50)]


def test_a_fan_in_job_that_is_retried_by_hand_gets_the_results_too(app: Holdfast) -> None:
    bugs = ["one"]

    @app.task()
    async def square(n: int) -> int:
        return n * n

    @app.task(retries=0)
    async def gather(ctx: Context) -> list[int]:
        if bugs:
            raise Fail(bugs.pop())
        return await ctx.results()

    *_, last = app.enqueue_many(group([square.job(n) for n in range(3)], then=gather.job()))
    drain(app)
    again = app.retry(last.id)
    drain(app)

    assert again.result() == [0, 1, 4]


def test_thousands_of_children_of_one_job_work(app: Holdfast) -> None:
    many = times(2_000, 10_000)

    @app.task()
    async def child(n: int) -> int:
        return n

    @app.task()
    async def gather(ctx: Context) -> int:
        return sum(await ctx.results())

    *_, last = app.enqueue_many(group([child.job(n) for n in range(many)], then=gather.job()))
    drain(app, concurrency=200)

    assert last.result() == sum(range(many))


def test_a_dag_by_hand_waits_for_all_it_names(app: Holdfast) -> None:
    ran: list[str] = []

    @app.task()
    async def node(name: str) -> None:
        ran.append(name)

    top = node.enqueue("top")
    left, right = (node.using(after=[top]).enqueue(name) for name in ("left", "right"))
    node.using(after=[left, right.id, str(top.id)]).enqueue("bottom")
    drain(app)

    assert (ran[0], ran[-1], len(ran)) == ("top", "bottom", 4)


@pytest.mark.parametrize("policy", ["cancel", "run"])
def test_what_needs_a_failed_job_is_cancelled_or_runs_anyway(
    app: Holdfast, holdfast_db: ScratchDatabase, policy: str
) -> None:
    @app.task(retries=0)
    async def breaks() -> None:
        raise Fail("no")

    @app.task()
    async def after(ctx: Context) -> list[object]:
        return await ctx.results()

    flow = chain(breaks.job(), after.job(), after.job(), on_parent_failure=policy)  # type: ignore[arg-type]
    handles = app.enqueue_many(flow)
    drain(app)

    ended = Status.CANCELLED if policy == "cancel" else Status.COMPLETED
    assert [handle.status() for handle in handles] == [Status.FAILED, ended, ended]


def test_cancelling_a_parent_cancels_the_children_that_have_not_started(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    @app.task()
    async def child(n: int) -> int:
        return n

    @app.task()
    async def parent(ctx: Context) -> None:
        await ctx.enqueue("now", [child.job(1)])
        await ctx.enqueue("later", [child.using(run_in=3600).job(2)])
        await ctx.sleep(60)

    handle = parent.enqueue()
    drain(app)
    app.cancel(handle.id)

    assert [job.status for job in holdfast_db.jobs(task=child)] == [Status.COMPLETED, Status.CANCELLED]


def test_a_long_chain_is_cancelled_to_its_end(app: Holdfast) -> None:
    @app.task()
    async def link() -> None: ...

    first = link.using(run_in=3600).job()
    handles = app.enqueue_many(chain(first, *(link.job() for _ in range(300))))

    app.cancel(handles[0].id)

    assert {handle.status() for handle in handles} == {Status.CANCELLED}


def test_a_flow_with_a_cycle_is_refused(app: Holdfast) -> None:
    @app.task()
    async def node() -> None: ...

    first = node.job()
    second = node.using(after=[first]).job()

    with pytest.raises(BadInput, match="stands twice"):
        chain(first, second, first)
