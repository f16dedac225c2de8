"""Read by mypy, never run: what the types of tasks accept, promise and refuse (test_typing.py).

mypy reports an ignore that hides nothing, so every `type: ignore` here is a refusal that must happen.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_type
from uuid import UUID

import holdfast
from holdfast import AsyncHandle, Context, Handle, Holdfast
from holdfast.domain.job import NewJob

if TYPE_CHECKING:
    from collections.abc import Coroutine

app = Holdfast()


@dataclass
class Receipt:
    number: int


@app.task()
def add(left: int, right: int = 0) -> int:
    return left + right


@app.task(queue="mail", retries=5, timeout=30)
async def charge(order: UUID, *, cents: int) -> Receipt:
    return Receipt(cents)


@app.task()
def audit(ctx: Context, what: str) -> list[str]:
    return [what, ctx.task]


@app.task()
async def notify(ctx: holdfast.Context, to: str, times: int = 1) -> None: ...


@app.task()
async def nothing() -> None: ...


def the_function_keeps_its_signature(order: UUID, ctx: Context) -> None:
    assert_type(add(1, right=2), int)
    assert_type(audit(ctx, "who"), list[str])
    add("1")  # type: ignore[arg-type]
    audit("who")  # type: ignore[call-arg, arg-type]
    audit(ctx, 5)  # type: ignore[arg-type]


async def an_async_function_gives_a_coroutine(order: UUID, ctx: Context) -> None:
    coroutine: Coroutine[Any, Any, Receipt] = charge(order, cents=5)
    assert_type(await coroutine, Receipt)
    assert_type(await notify(ctx, "you", times=2), None)


def enqueue_takes_what_the_function_takes(order: UUID) -> None:
    assert_type(add.enqueue(1, 2), Handle[int])
    assert_type(add.enqueue(left=1), Handle[int])
    assert_type(charge.enqueue(order, cents=5), Handle[Receipt])
    assert_type(nothing.enqueue(), Handle[None])
    add.enqueue("1")  # type: ignore[arg-type]
    add.enqueue()  # type: ignore[call-arg]
    add.enqueue(1, 2, 3)  # type: ignore[call-arg]
    add.enqueue(1, middle=2)  # type: ignore[call-arg]
    charge.enqueue(order, 5)  # type: ignore[call-arg]
    charge.enqueue(str(order), cents=5)  # type: ignore[arg-type]
    nothing.enqueue(1)  # type: ignore[call-arg]


def a_context_is_no_part_of_enqueue(ctx: Context) -> None:
    assert_type(audit.enqueue("who"), Handle[list[str]])
    assert_type(notify.enqueue("you", times=2), Handle[None])
    audit.enqueue(ctx, "who")  # type: ignore[call-arg, arg-type]
    notify.enqueue()  # type: ignore[call-arg]
    notify.enqueue("you", times="2")  # type: ignore[arg-type]


async def aenqueue_takes_the_same(order: UUID) -> None:
    assert_type(await add.aenqueue(1), AsyncHandle[int])
    assert_type(await charge.aenqueue(order, cents=5), AsyncHandle[Receipt])
    assert_type(await audit.aenqueue("who"), AsyncHandle[list[str]])
    await add.aenqueue("1")  # type: ignore[arg-type]
    await charge.aenqueue(order)  # type: ignore[call-arg]
    await audit.aenqueue()  # type: ignore[call-arg]


async def options_change_nothing_about_it(order: UUID) -> None:
    assert_type(add.using(priority=5).enqueue(1), Handle[int])
    assert_type(await charge.using(key="k", tenant="acme").aenqueue(order, cents=5), AsyncHandle[Receipt])
    assert_type(audit.using(run_in=5).job("who"), NewJob)
    add.using(priority=5).enqueue("1")  # type: ignore[arg-type]
    await charge.using(priority=5).aenqueue(order)  # type: ignore[call-arg]
    audit.using(priority=5).enqueue()  # type: ignore[call-arg]
    add.using(priority="high")  # type: ignore[arg-type]
    add.using(on_conflict="ignore")  # type: ignore[arg-type]
    add.using(importance=5)  # type: ignore[call-arg]


def jobs_for_many_are_checked_too() -> None:
    assert_type(add.job(1), NewJob)
    assert_type(app.enqueue_many([add.job(1), audit.job("who")]), list[Handle[Any]])
    add.job("1")  # type: ignore[arg-type]
    audit.job()  # type: ignore[call-arg]
    app.enqueue_many([add.enqueue(1)])  # type: ignore[list-item]


async def results_have_the_functions_type(order: UUID) -> None:
    assert_type(add.enqueue(1).result(), int)
    assert_type(charge.enqueue(order, cents=5).result(timeout=1), Receipt)
    assert_type(await (await charge.aenqueue(order, cents=5)).result(timeout=1), Receipt)
    assert_type(await (await audit.aenqueue("who")).result(), list[str])


def options_of_a_task_are_checked() -> None:
    app.task(retries="3")  # type: ignore[arg-type]
    app.task(executor="fork")  # type: ignore[arg-type]
    app.task(importance=5)  # type: ignore[call-arg]
    app.task(nothing)  # type: ignore[arg-type]
