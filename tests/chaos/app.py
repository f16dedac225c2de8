"""The app that works while the nemesis strikes: a task of every kind, each writing down what it does outside the database.

What a task writes in the transaction that completes its job stands in chaos.effect, which lets nothing hide: it has no key.
Only public doors are used, so that an older release can run the same tasks.
"""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

from chaos.notes import Notes
from holdfast import Context, Delays, Fail, Holdfast, HttpExecutor, Retry, SyncContext
from holdfast.server import HmacHeader, WebhookEvent

SECRET = "hfx_" + "7c41e09ab25d8f36" * 4
WEBHOOK_SECRET = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
URL = os.environ.get("CHAOS_URL", "http://127.0.0.1:9")  # where customers, callbacks and outside runs are
RETENTION = float(os.environ["CHAOS_RETENTION"]) if "CHAOS_RETENTION" in os.environ else None
TICK_SECONDS = 1
POLL_SECONDS = 0.5  # how often a worker looks for jobs that nobody told it of
PILLS = "pills"  # their queue, which not every worker serves
PILL_CAP = 3  # deaths that it may cause alone
AT_A_DESK = 2  # at once, and whoever comes then is refused
# Of jobs that no customer asks for.
SUBJECTS = {"tick": "chaos:ticks", "hooked": "chaos:webhooks"}
SCHEMA = """
create table chaos.effect (job_id uuid not null, attempt int not null);
create table chaos.step_effect (job_id uuid not null);
create table chaos.delivery (event_id text not null);
create table chaos.removed (what text not null, was jsonb not null);
"""
# Retention leaves nothing behind: what it removes is kept here as it was.
KEEP_REMOVED = """
create function chaos.keep_removed() returns trigger language plpgsql security definer as $$
begin
  insert into chaos.removed (what, was) values (tg_table_name, to_jsonb(old));
  return null;
end $$;
create trigger keep_removed after delete on holdfast.job for each row execute function chaos.keep_removed();
create trigger keep_removed after delete on holdfast.approval for each row execute function chaos.keep_removed();
"""

# A database that is away fails the attempts that ask it: they come again for as long as it takes.
RETRIES = 100
PATIENT: dict[str, Any] = {
    "retries": RETRIES,
    "backoff": Delays((0.1, 0.3, 1.0)),
    "crash_cap": 100,
    "retention": RETENTION,
}

app = Holdfast()
app.executor(
    HttpExecutor(f"{URL}/machine", name="machine", allow=["127.0.0.1"], secret=SECRET, callback_url=URL)
)

_ledgers: dict[int, Notes] = {}


def tell(event: str, ctx: Context | SyncContext, **facts: Any) -> None:
    """Append to this process' ledger."""
    pid = os.getpid()
    if pid not in _ledgers:
        _ledgers[pid] = Notes(Path(os.environ["CHAOS_FOLDER"]) / f"ledger-{pid}-{time.monotonic_ns()}")
    _ledgers[pid].write(event=event, job=str(ctx.job_id), attempt=ctx.attempt, **facts)


async def write_effect(ctx: Context, connection: Any) -> None:
    await connection.execute(
        "insert into chaos.effect (job_id, attempt) values (%s, %s)", (ctx.job_id, ctx.attempt)
    )


@app.task(**PATIENT)
async def plain(ctx: Context, seconds: float) -> str:
    tell("start", ctx)
    await asyncio.sleep(seconds)
    return str(ctx.attempt)


@app.task(**PATIENT)
async def writes(ctx: Context, seconds: float) -> None:
    tell("start", ctx)
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)
        await asyncio.sleep(seconds)


@app.task(**PATIENT)
def writes_in_thread(ctx: SyncContext, seconds: float) -> None:
    tell("start", ctx)
    with ctx.transaction() as connection:
        connection.execute(
            "insert into chaos.effect (job_id, attempt) values (%s, %s)", (ctx.job_id, ctx.attempt)
        )
        time.sleep(seconds)


@app.task(**PATIENT)
async def stumbles(ctx: Context, times: int) -> None:
    tell("start", ctx)
    if ctx.retry_count < times:
        raise Retry("as asked", in_=0.05)
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)


@app.task(**{**PATIENT, "retries": 0})
async def fails(ctx: Context) -> None:
    tell("start", ctx)
    raise Fail("as asked")


async def _row(connection: Any, job_id: Any) -> None:
    await connection.execute("insert into chaos.step_effect (job_id) values (%s)", (job_id,))


@app.task(**PATIENT)
async def steps(ctx: Context, seconds: float) -> None:
    tell("start", ctx)

    async def act(step: str) -> str:
        tell("step", ctx, step=step)
        await asyncio.sleep(seconds)
        return step

    await ctx.step("first", act, "first")
    tell("passed", ctx, step="first")
    await ctx.step_transaction("row", _row, ctx.job_id)
    await ctx.sleep(0.05)
    await ctx.step("last", act, "last")
    tell("passed", ctx, step="last")
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)


@app.task(**PATIENT)
async def asks(ctx: Context, number: int) -> str:
    tell("start", ctx)
    decision = await ctx.approval("may it", question=f"May number {number}?")
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)
        ctx.set_result(decision.decided_by)
    return ""


@app.task(**PATIENT)
async def awaits(ctx: Context, number: int) -> None:
    """Wait, for as long as it takes, for what another job says at about the same time."""
    tell("start", ctx)
    told = await ctx.event(f"chaos:{number}")
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)
        ctx.set_result(told)


@app.task(**PATIENT)
async def says(ctx: Context, number: int) -> None:
    tell("start", ctx)
    await app.aemit(f"chaos:{number}", number)
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)


@app.task(**PATIENT)
async def squares(ctx: Context, number: int) -> int:
    """Be the child of a job that gathers."""
    tell("start", ctx)
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)
        ctx.set_result(number * number)
    return number * number


@app.task(**PATIENT)
async def gathers(ctx: Context, number: int) -> int:
    """Keep which attempt has come so far, have two children, and add up what they came to."""
    tell("start", ctx)
    tell("recalled", ctx, kept=await ctx.last_checkpoint())
    await ctx.checkpoint(ctx.attempt)
    tell("kept", ctx)
    children = await ctx.enqueue("parts", [squares.job(number), squares.job(number + 1)])
    total: int = sum(await ctx.wait_for(children))
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)
        ctx.set_result(total)
    return total


@app.task(**PATIENT, heartbeat_limit=60, run_limit=120)
async def runs_elsewhere(ctx: Context, number: int) -> None:
    tell("start", ctx)
    await ctx.dispatch("machine", number=number)


@app.task(**PATIENT)
async def adds(ctx: Context, number: int) -> int:
    """Add to what the jobs before it came to: the part of a flow."""
    tell("start", ctx)
    total: int = number + sum(await ctx.results())
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)
        ctx.set_result(total)
    return total


@app.task(**PATIENT, limit={"key": "room:{room}", "max": 1})
async def in_room(ctx: Context, room: int, seconds: float) -> None:
    tell("start", ctx)
    await asyncio.sleep(seconds)
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)


@app.task(**PATIENT, limit={"key": "desk:{desk}", "max": AT_A_DESK, "policy": "reject"})
async def at_desk(ctx: Context, desk: int, seconds: float) -> None:
    tell("start", ctx)
    await asyncio.sleep(seconds)
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)


@app.task(**PATIENT)
async def hooked(ctx: Context, event_id: str) -> None:
    tell("start", ctx)
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)


@app.schedule(every=TICK_SECONDS, name="tick", missed="all", using={"subject": SUBJECTS["tick"]})
@app.task(**PATIENT)
async def tick(ctx: Context) -> None:
    tell("start", ctx)
    async with ctx.transaction() as connection:
        await write_effect(ctx, connection)


@app.task(**PATIENT)
async def blocks(ctx: Context, seconds: float) -> None:
    """Block the event loop, so that only a heartbeat of its own keeps the worker alive."""
    tell("start", ctx)
    time.sleep(seconds)  # noqa: ASYNC251 - what the heartbeat has to outlive


@app.task(**{**PATIENT, "crash_cap": PILL_CAP}, queue=PILLS)
async def pill(ctx: Context) -> None:
    """Kill whatever process it runs in."""
    tell("start", ctx)
    os.kill(os.getpid(), signal.SIGKILL)


async def received(event: WebhookEvent, conn: Any) -> None:
    await conn.execute("insert into chaos.delivery (event_id) values (%s)", (event.id,))
    await hooked.using(conn=conn, subject=SUBJECTS["hooked"], key=event.id, key_scope="ever").aenqueue(
        event.id
    )


app.webhook(
    "shop",
    verify=HmacHeader([WEBHOOK_SECRET], header="X-Signature", id_field="id", type_field="type"),
    on={"*": received},
)

# The tasks whose completion leaves exactly one row in chaos.effect.
WITH_EFFECT = frozenset(
    task.name
    for task in (
        writes,
        writes_in_thread,
        stumbles,
        steps,
        asks,
        awaits,
        says,
        squares,
        gathers,
        adds,
        in_room,
        at_desk,
        hooked,
        tick,
    )
)
