"""The app whose workers the guarantee tests start, stop, freeze and kill; its tasks write what they do into a ledger.

The ledger is a file outside the database, appended to in single writes: what it says happened, whoever dies afterwards.
"""

import asyncio
import ctypes
import json
import logging
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from holdfast import (
    AnyFailure,
    Cancel,
    Context,
    Delays,
    Email,
    Fail,
    Holdfast,
    NoWorker,
    Retry,
    SignedWebhook,
    SyncContext,
)
from holdfast.domain.approval import OnExpiry

app = Holdfast()


def folder() -> Path:
    """Where the test looks for the ledger and leaves its signs."""
    return Path(os.environ["GUARANTEES_FOLDER"])


def write(event: str, ctx: Context | SyncContext, **facts: Any) -> None:
    """Append one line; the clock is the machine's, so that lines of several processes can be compared."""
    line = {
        "event": event,
        "job": str(ctx.job_id),
        "attempt": ctx.attempt,
        "pid": os.getpid(),
        "at": time.monotonic(),
        **facts,
    }
    descriptor = os.open(folder() / "ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, json.dumps(line).encode() + b"\n")
    finally:
        os.close(descriptor)


def may_go(name: str, attempt: int = 0) -> bool:
    """Whether the test has let the jobs of this name go on, or this attempt of them."""
    return (folder() / f"go-{name}").exists() or (folder() / f"go-{name}-{attempt}").exists()


@app.task(retries=0)
async def note(ctx: Context, n: int) -> int:
    write("start", ctx, n=n)
    await asyncio.sleep(0)
    write("end", ctx, n=n)
    return n


@app.task(retries=0)
async def nap(ctx: Context, n: int) -> int:
    write("start", ctx, n=n)
    await asyncio.sleep(0.03)
    write("end", ctx, n=n)
    return n


@app.task(retries=0)
async def hold(ctx: Context, name: str) -> str:
    write("start", ctx, name=name)
    try:
        while not may_go(name, ctx.attempt):  # noqa: ASYNC110 - the sign comes from another process
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        write("cancelled", ctx, name=name)
        raise
    write("end", ctx, name=name)
    return f"attempt {ctx.attempt}"


@app.task(retries=0, limit={"key": "room:{room}", "max": 1})
async def hold_room(ctx: Context, room: str, name: str) -> str:
    return await hold.function(ctx, name)  # type: ignore[no-any-return]


@app.task(retries=0)
def hold_thread(ctx: Context, name: str) -> str:
    write("start", ctx, name=name)
    while not may_go(name, ctx.attempt):
        if ctx.stopped:
            write("stopped", ctx, name=name)
            return "stopped"
        time.sleep(0.01)
    write("end", ctx, name=name)
    return f"attempt {ctx.attempt}"


@app.task(retries=0)
def ignore_everything(ctx: Context) -> None:
    """Run in a thread for ever, whatever it is told."""
    write("start", ctx)
    threading.Event().wait()


@app.task(retries=0, timeout=1.0)
def outlast(ctx: Context) -> None:
    """Run in a thread for ever, longer than it may."""
    write("start", ctx)
    threading.Event().wait()


@app.task(retries=0)
def end_and_go_on(ctx: SyncContext) -> None:
    """Complete the job, and run in a thread for ever."""
    with ctx.transaction():
        write("start", ctx)
    threading.Event().wait()


@app.task(retries=0)
async def ignore_everything_in_a_step(ctx: Context) -> None:
    """Run a step in a thread for ever, whatever it is told."""
    write("start", ctx)
    await ctx.step("for ever", threading.Event().wait)


@app.task(retries=0)
async def ignore_cancels(ctx: Context) -> None:
    """Run in the loop for ever, whatever it is told."""
    write("start", ctx)
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            write("cancelled", ctx)


@app.task(retries=0, executor="process")
def hold_process(ctx: Context, name: str) -> str:
    write("start", ctx, name=name)
    while not may_go(name, ctx.attempt):
        time.sleep(0.01)
    write("end", ctx, name=name)
    return f"attempt {ctx.attempt}"


def talk(ctx: Context, name: str, lines: int) -> None:
    """Log lines, wait for the test, and log one more."""
    for number in range(lines):
        logging.getLogger("shop").warning("line %s of attempt %s", number, ctx.attempt)
    write("start", ctx, name=name)
    while not may_go(name, ctx.attempt):
        if ctx.stopped:
            return
        time.sleep(0.01)
    logging.getLogger("shop").warning("the last of attempt %s", ctx.attempt)


@app.task(retries=0)
def talk_here(ctx: Context, name: str, lines: int = 1) -> None:
    talk(ctx, name, lines)


@app.task(retries=0, executor="process")
def talk_apart(ctx: Context, name: str, lines: int = 1) -> None:
    talk(ctx, name, lines)


@app.task(retries=0)
async def fail(ctx: Context) -> None:
    write("start", ctx)
    raise Fail("as asked")


@app.task(retries=3, backoff=Delays((0.0,)))
async def fail_once(ctx: Context) -> str:
    write("start", ctx)
    if ctx.retry_count == 0:
        raise Retry("as asked", in_=0)
    return "second time"


@app.task(retries=0)
async def pill(ctx: Context) -> None:
    """Kill whatever process it runs in."""
    write("start", ctx)
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(retries=0, executor="process")
def die_in_child(ctx: Context, how: str) -> None:
    write("start", ctx)
    if how == "segfault":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        ctypes.string_at(0)
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(retries=0)
async def block(ctx: Context, seconds: float) -> None:
    """Block the event loop, not the interpreter."""
    write("start", ctx)
    time.sleep(seconds)  # noqa: ASYNC251 - what the heartbeat has to outlive
    write("end", ctx)


@app.task(retries=0)
async def block_until(ctx: Context, name: str) -> None:
    """Block the event loop until the test lets go."""
    write("start", ctx)
    while not may_go(name, ctx.attempt):
        time.sleep(0.01)  # noqa: ASYNC251 - as block
    write("end", ctx)


@app.task(retries=0)
async def hold_the_interpreter(ctx: Context, seconds: int) -> None:
    """Let no other thread run, the heartbeat's neither."""
    write("start", ctx)
    ctypes.PyDLL(None).sleep(seconds)
    write("end", ctx)


@app.task(retries=0, timeout=0.3)
async def too_long(ctx: Context) -> None:
    write("start", ctx)
    await asyncio.sleep(3600)


@app.task(retries=0, timeout=1.0)
async def hang(ctx: Context, name: str) -> None:
    """Block the loop, so that no timeout of our own can end it."""
    write("start", ctx)
    while not may_go(name, ctx.attempt):
        time.sleep(0.01)  # noqa: ASYNC251 - as block
    write("end", ctx)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Odd(BaseException):
    """What `except Exception` does not catch."""


def nul() -> None:
    raise Fail("a\x00b")


def surrogate() -> None:
    raise RuntimeError("\ud800")


def unprintable() -> None:
    raise Unprintable


def nan_retry() -> None:
    raise Retry("soon", in_=float("nan"))


def endless_retry() -> None:
    raise Retry("late", in_=1e300)


def nul_cancel() -> None:
    raise Cancel("a\x00b")


def leave() -> None:
    sys.exit(3)


def interrupt() -> None:
    raise KeyboardInterrupt


def odd() -> None:
    raise Odd


def cancelled() -> None:
    raise asyncio.CancelledError


NASTY = {
    f.__name__: f
    for f in (
        nul,
        surrogate,
        unprintable,
        nan_retry,
        endless_retry,
        nul_cancel,
        leave,
        interrupt,
        odd,
        cancelled,
    )
}


@app.task(retries=0)
async def nasty(ctx: Context, how: str) -> None:
    write("start", ctx)
    NASTY[how]()


@app.task(retries=0)
def nasty_in_thread(ctx: Context, how: str) -> None:
    write("start", ctx)
    NASTY[how]()


@app.task(retries=0, executor="process")
def nasty_in_process(ctx: Context, how: str) -> None:
    write("start", ctx)
    NASTY[how]()


async def _effect(ctx: Context, what: str) -> str:
    write("effect", ctx, what=what)
    return what


async def _write_row(connection: Any, what: str) -> None:
    await connection.execute("insert into public.ledger (entry) values (%s)", (what,))


@app.task(retries=0)
async def stepped(ctx: Context, name: str) -> str:
    """Go through every kind of durable operation; a test kills its worker at each of them."""
    await ctx.step("first", _effect, ctx, "first")
    await ctx.step_transaction("row", _write_row, f"row {name}")
    await ctx.sleep(0.05)
    (child,) = await ctx.enqueue("child", [note.using(queue=name).job(7)])
    answer = await ctx.event(f"go {name}")
    (seven,) = await ctx.wait_for([child])
    await ctx.step("last", _effect, ctx, "last")
    async with ctx.transaction() as connection:
        await _write_row(connection, f"done {name}")
        ctx.set_result(f"{answer} {seven}")
    return ""


@app.task(retries=0)
async def held_between_steps(ctx: Context, name: str) -> None:
    """Do one thing, wait for a sign, do another; a test kills the worker that waits."""
    await ctx.step("first", _effect, ctx, "first")
    await hold.function(ctx, name)
    await ctx.step("last", _effect, ctx, "last")


@app.task(retries=0)
async def saga(ctx: Context) -> None:
    """Do two things, fail, and have both undone; a test kills the worker that undoes them."""
    for what in ("one", "two"):
        await ctx.step(what, _effect, ctx, what, compensate=lambda done: write("undo", ctx, what=done))
    raise Fail("both must go")


@app.task(retries=0)
async def refund(ctx: Context, amount: int, on_expiry: OnExpiry | None = None) -> str:
    """Ask between two steps; for an hour, when it is said what happens then."""

    def done(what: str) -> str:
        write(what, ctx, amount=amount)
        return what

    await ctx.step("look up", done, "look up", compensate=lambda: write("put back", ctx))
    decision = await ctx.approval(
        "large",
        question=f"Refund {amount}?",
        facts={"amount": amount},
        approvers=["ann", "ben"],
        expires_in=None if on_expiry is None else 3600,
        on_expiry=on_expiry or "fail",
    )
    await ctx.step("pay", done, "pay")
    return decision.decided_by


@app.task(retries=0)
async def add(ctx: Context, n: int) -> int:
    """Add to what the jobs before it came to."""
    write("start", ctx, n=n)
    total = n + sum(one or 0 for one in await ctx.results())
    write("end", ctx, n=n)
    return total


@app.task(retries=0)
async def family(ctx: Context, queue: str) -> int:
    """Add what two children come to, who begin when it waits for them, however slow the machine is."""
    (before,) = await ctx.results()
    children = await ctx.enqueue("children", [note.using(queue=queue, run_in=0.3).job(n) for n in (7, 8)])
    results = await ctx.wait_for(children)
    write("end", ctx)
    return before + sum(results)  # type: ignore[no-any-return]


def declare_alerts() -> None:
    """Tell the receivers that the test has opened what goes wrong; without them there is nothing to declare."""
    if "GUARANTEES_WEBHOOK" in os.environ:
        secret = "0123456789abcdef0123456789abcdef"
        app.alerts.to(SignedWebhook(os.environ["GUARANTEES_WEBHOOK"], secret, allow=["127.0.0.1"]))
        port = int(os.environ["GUARANTEES_MAIL_PORT"])
        app.alerts.to(Email("127.0.0.1", port, sender="ops@example.com", to=["duty@example.com"]))
        app.alerts.rule("broken", AnyFailure())
        app.alerts.rule("unserved", NoWorker(queue="unserved"))


declare_alerts()  # in a child process, which imports the app anew
