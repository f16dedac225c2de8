"""The tasks of apart_app."""

import asyncio
import os
import threading
import time
from pathlib import Path

from holdfast import Context, Fail
from runtime.apart_app import app


@app.task(executor="process")
def whose_child() -> int:
    """Say which process started this one."""
    return os.getppid()


@app.task(executor="process", queue="red", retries=0)
def red() -> None:
    """Be one of those that share the children."""


@app.task(executor="process", queue="green", retries=0)
def green() -> None:
    """Be another."""


@app.task(executor="process", queue="blue", retries=0)
def blue() -> None:
    """Be one more."""


def look(folder: str) -> None:
    """Write down whether a step that went on had ended when it was undone."""
    Path(folder, "undone").write_text(f"ended: {Path(folder, 'ended').exists()}", "utf-8")


@app.task(executor="process", retries=0, compensate=look)
async def outlasted(ctx: Context, folder: str) -> None:
    """Give a step up, which goes on for a while in its thread."""
    given_up = threading.Event()

    def outlast() -> None:
        given_up.wait()
        time.sleep(0.5)  # whoever does not wait for it now is ahead of it
        Path(folder, "ended").touch()

    try:
        await ctx.step("outlast", outlast, timeout=0.1)
    finally:
        given_up.set()


def note(folder: str, line: str) -> None:
    """Write a line down."""
    with Path(folder).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


@app.task(executor="process", retries=0)
async def branched(ctx: Context, log: str) -> None:
    """Fail in one branch while another is in the middle of its step."""

    async def charge() -> str:
        while not ctx.stopped:  # noqa: ASYNC110 - the worker says so to whoever asks
            await asyncio.sleep(0.001)
        note(log, "charge")
        return "payment 7"

    async def fails() -> None:
        raise Fail("no hotel left")

    charging = ctx.step("charge", charge, compensate=lambda payment: note(log, f"refund {payment}"))
    await asyncio.gather(charging, ctx.step("hotel", fails))
