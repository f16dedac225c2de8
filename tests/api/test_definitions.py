"""Defining tasks: what is refused when the module is imported, and what comes of the options."""

import functools
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from holdfast import BadInput, Configuration, Context, Handle, Holdfast, Status
from holdfast.testing import ScratchDatabase
from world.draining import drain

if TYPE_CHECKING:
    from holdfast import Context as Renamed
    from holdfast.runtime.registry import AnyTask


def add(left: int, right: int) -> int:
    return left + right


async def wait() -> None: ...


def spread(*numbers: int) -> None: ...


def count() -> Iterator[int]:
    yield 1


async def acount() -> AsyncIterator[int]:
    yield 1


class Mailer:
    def send(self, to: str) -> str:
        return f"sent to {to}"

    @staticmethod
    def sign(to: str) -> str:
        return f"signed for {to}"

    async def __call__(self, to: str) -> str:
        return f"called {to}"


@pytest.mark.parametrize(
    ("options", "function", "said"),
    [
        ({"priority": 101}, add, "task 'add' has priority=101; allowed are -100 to 100"),
        ({"retries": -1}, add, "task 'add' has retries=-1; allowed are 0 to 100"),
        ({"timeout": 0}, add, "task 'add' has timeout=0; it must be more than 0 s"),
        ({"retention": -1}, add, "task 'add' has retention=-1"),
        ({"crash_cap": 0}, add, "task 'add' has crash_cap=0"),
        ({"queue": ""}, add, "task 'add' has an empty queue name"),
        ({"name": ""}, add, "has no name"),
        ({"executor": "fork"}, add, "task 'add' has executor='fork'; choose loop, thread or process"),
        ({"key_scope": "forever"}, add, "task 'add' has key_scope='forever'; choose active, success or ever"),
        ({"executor": "thread"}, wait, "task 'wait' is async: use executor='loop' or 'process'"),
        ({"executor": "loop"}, add, "task 'add' is not async and would block the loop"),
        ({"unique": ["order"]}, add, "task 'add' is unique by order, which it does not take"),
        ({}, lambda: None, "has no name of its own: pass name="),
        ({}, functools.partial(add, 1), "has no name of its own: pass name="),
        ({}, Mailer.send, r"Mailer\.send is a method, and self cannot be stored with a job"),
        ({}, count, "count yields: a task returns its result once"),
        ({}, acount, "acount yields"),
        ({}, Mailer, "is no function: @app.task"),
        ({}, "add", "'add' is no function"),
    ],
)
def test_a_task_that_cannot_work_is_refused_where_it_is_defined(
    options: dict[str, Any], function: Callable[..., Any], said: str
) -> None:
    with pytest.raises(Configuration, match=said):
        Holdfast().task(**options)(function)


def test_star_arguments_have_no_names_to_be_stored_under() -> None:
    with pytest.raises(BadInput, match=r"task spread: \*numbers has no names .* take a list instead"):
        Holdfast().task()(spread)


def test_forgotten_parentheses_are_pointed_out() -> None:
    with pytest.raises(Configuration, match=r"write @app\.task\(\), with parentheses"):
        Holdfast().task(add)  # type: ignore[arg-type]


def test_two_tasks_of_one_name_are_refused() -> None:
    app = Holdfast()
    app.task()(add)

    with pytest.raises(Configuration, match="two tasks are called 'add': give one of them another name="):
        app.task()(add)
    app.task(name="add_again")(add)


def test_a_function_stays_what_it_was() -> None:
    app = Holdfast()
    task = app.task()(add)

    assert task(1, right=2) == 3
    assert (task.name, task.__name__, task.__wrapped__) == ("add", "add", add)


async def test_an_async_function_stays_awaitable() -> None:
    app = Holdfast()

    @app.task()
    async def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    assert await double(4) == 8
    assert double.__doc__ == "Double a number."


def test_whatever_can_be_called_can_be_a_task_under_a_name(app: Holdfast) -> None:
    tasks: list[AnyTask] = [
        app.task(name="add_one")(functools.partial(add, 1)),
        app.task(name="lambda")(lambda left, right: left * right),
        app.task()(Mailer.sign),
        app.task(name="bound")(Mailer().send),
        app.task(name="called")(Mailer()),
    ]
    arguments: list[dict[str, Any]] = [
        {"right": 2},
        {"left": 2, "right": 3},
        {"to": "a"},
        {"to": "b"},
        {"to": "c"},
    ]

    handles = [task.enqueue(**given) for task, given in zip(tasks, arguments, strict=True)]
    drain(app)

    assert [handle.result() for handle in handles] == [3, 6, "signed for a", "sent to b", "called c"]


def test_a_context_is_recognised_however_it_is_written(app: Holdfast) -> None:
    @app.task()
    def plain(ctx: Context) -> str:
        return ctx.task

    @app.task()
    def quoted(ctx: "Context", n: int) -> str:
        return ctx.task * n

    @app.task(name="later")
    def not_first(n: int) -> int:
        return n

    handles: list[Handle[Any]] = [plain.enqueue(), quoted.enqueue(2), not_first.enqueue(3)]
    drain(app)

    assert [handle.result() for handle in handles] == ["plain", "quotedquoted", 3]


def test_a_context_imported_under_another_name_for_the_checker_only_is_refused_with_the_reason() -> None:
    def hidden(ctx: "Renamed") -> None: ...

    with pytest.raises(BadInput, match="names 'Renamed', which its module does not define when it runs"):
        Holdfast().task()(hidden)


def test_tasks_may_live_in_other_modules(app: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("shop_tasks")
    module.__dict__["app"] = app
    source = """
from __future__ import annotations
from holdfast import Context as Ctx

@app.task()
def charge(ctx: Ctx, order: Order) -> Order:
    return order

class Order(dict[str, int]): ...
"""
    monkeypatch.setitem(sys.modules, "shop_tasks", module)

    with pytest.raises(BadInput, match="names 'Order'"):
        exec(source, module.__dict__)
    exec(source.replace("order: Order", "order: int").replace("-> Order", "-> int"), module.__dict__)
    handle = module.__dict__["charge"].enqueue(7)
    drain(app)

    assert handle.result() == 7


def test_what_was_said_of_a_job_reaches_its_row_and_its_context(
    app: Holdfast, holdfast_db: ScratchDatabase, owner: psycopg.Connection
) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    seen: dict[str, Any] = {}

    @app.task()
    def charge(ctx: Context) -> None:
        for name in (
            "label",
            "metadata",
            "requested_by",
            "trace_parent",
            "key",
            "tenant",
            "subject",
            "max_retries",
        ):
            seen[name] = getattr(ctx, name)

    said = {
        "label": "Charge the card of ACME",
        "metadata": {"source": "web", "items": [1, None]},
        "requested_by": "user:7",
        "trace_parent": trace,
        "key": "order-7",
        "tenant": "acme",
        "subject": "order:7",
    }
    charge.using(**said, tags=["vip", "eu"], retries=9, timeout=30, priority=-7).enqueue()  # type: ignore[arg-type]
    drain(app)

    (job,) = holdfast_db.jobs()
    assert seen == {**said, "max_retries": 9}
    assert {name: getattr(job, name) for name in said if name != "trace_parent"} == {
        k: v for k, v in said.items() if k != "trace_parent"
    }
    assert (job.tags, job.priority, job.max_retries) == (["vip", "eu"], -7, 9)
    row = owner.execute("select trace_parent, extract(epoch from timeout)::int from holdfast.job").fetchone()
    assert row == (trace, 30)


def test_a_task_without_any_of_it_has_a_quiet_context(app: Holdfast) -> None:
    @app.task()
    def bare(ctx: Context) -> list[Any]:
        return [ctx.label, ctx.metadata, ctx.requested_by, ctx.trace_parent, ctx.key, ctx.tenant, ctx.subject]

    handle = bare.enqueue()
    drain(app)

    assert handle.result() == [None, {}, None, None, None, None, None]


def test_retries_and_timeout_can_be_said_per_job(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.task(retries=5, timeout=60)
    def broken() -> None:
        raise ValueError("no")

    never_again = broken.using(retries=0).enqueue()
    again = broken.enqueue()
    drain(app)

    assert never_again.status() is Status.FAILED
    assert again.status() is Status.RETRY
