"""The app that workers of two releases run beside each other: a task of every kind that a deployment meets half done.

Only public doors are used, and no new ones: the release before this one has to have them too. Started as a program, it enqueues.
"""

import json
import sys
from pathlib import Path
from typing import Any

import holdfast
from holdfast import Context, Delays, Holdfast, Retry, SyncContext

SOURCE = str(Path(holdfast.__file__).parent)
HOUR = 3600.0
WRITE = "insert into public.ledger (entry) values (%s)"

app = Holdfast()


async def _write(connection: Any, entry: str) -> None:
    await connection.execute(WRITE, (entry,))


@app.task(retries=0)
async def plain(ctx: Context, n: int) -> str:
    return SOURCE


@app.task(retries=0, executor="process")
def apart(ctx: SyncContext, n: int) -> str:
    return SOURCE


@app.task(retries=0, limit={"key": "room:{n}", "max": 1})
def limited(ctx: SyncContext, n: int) -> str:
    with ctx.transaction() as connection:
        connection.execute(WRITE, (f"limited {n}",))
        ctx.set_result(SOURCE)
    return ""


@app.task(retries=3, backoff=Delays((0.0,)))
async def again(ctx: Context, seconds: float) -> str:
    """Fail once, and go on so many seconds later."""
    if ctx.retry_count == 0:
        raise Retry("as asked", in_=seconds)
    return SOURCE


@app.task(retries=0)
async def stepped(ctx: Context, name: str) -> str:
    """Do one thing, wait for a word, do another."""

    async def step(what: str) -> str:
        return what

    first = await ctx.step("first", step, f"first {name}")
    await ctx.step_transaction("row", _write, first)
    word = await ctx.event(f"go {name}")
    await ctx.step("last", step, "last")
    async with ctx.transaction() as connection:
        await _write(connection, f"{word} {name}")
        ctx.set_result(SOURCE)
    return ""


@app.task(retries=0)
async def asleep(ctx: Context, seconds: float) -> str:
    await ctx.sleep(seconds)
    return SOURCE


@app.task(retries=0)
async def asks(ctx: Context, amount: int) -> str:
    decision = await ctx.approval("large", question=f"Refund {amount}?", facts={"amount": amount})
    return f"{decision.decided_by}: {SOURCE}"


@app.task(retries=0)
async def family(ctx: Context, queue: str) -> str:
    """Wait for two children."""
    children = await ctx.enqueue("children", [plain.using(queue=queue).job(n) for n in (1, 2)])
    results = await ctx.wait_for(children)
    return " ".join([SOURCE, *results])


def of_every_kind(queue: str, seconds: float = 0.05) -> list[Any]:
    """Name a job of every kind; what waits does so for so many seconds, for the word `go` to its queue, or for an approval."""
    return [
        plain.using(queue=queue).job(1),
        apart.using(queue=queue).job(1),
        limited.using(queue=queue, key=queue).job(1),
        again.using(queue=queue).job(seconds),
        stepped.using(queue=queue).job(queue),
        asleep.using(queue=queue).job(seconds),
        asks.using(queue=queue).job(7),
        family.using(queue=queue).job(queue),
    ]


def enqueue(queue: str) -> dict[str, Any]:
    """Enqueue in all ways there are."""
    many = app.enqueue_many(of_every_kind(queue))
    first = plain.using(queue=queue, key="one").enqueue(3)
    with app.transaction() as connection:
        connection.execute(WRITE, ("with a job",))
        after = plain.using(queue=queue, conn=connection, after=[first], run_in=0.05).enqueue(4)
    return {"source": SOURCE, "jobs": [str(job.id) for job in (*many, first, after)]}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(enqueue(sys.argv[1])))
