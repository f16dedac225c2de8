"""An app with a hook around its attempts, and tasks that run, and end, in every way; child processes import it."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import wraps
from typing import Any

from holdfast import Cancel, Context, Holdfast, Retry, SyncContext
from holdfast.runtime.context import JobContext

app = Holdfast()
tenant: ContextVar[str | None] = ContextVar("tenant", default=None)
seen: list[tuple[str, str]] = []


@app.around
def watching(ctx: JobContext) -> Iterator[None]:
    """Bind the tenant, and note how each attempt ended."""
    token = tenant.set(ctx.tenant)
    try:
        yield
    except BaseException as error:
        seen.append((ctx.task, type(error).__name__))
        raise
    else:
        seen.append((ctx.task, "ended"))
    finally:
        tenant.reset(token)


@app.wrap
def told_where(function: Callable[..., Any]) -> Callable[..., Any]:
    """Note nothing, but run where the function runs."""
    if asyncio.iscoroutinefunction(function):

        @wraps(function)
        async def arun(*args: Any, **kwargs: Any) -> Any:
            return [threading.current_thread().name, await function(*args, **kwargs)]

        return arun

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return [threading.current_thread().name, function(*args, **kwargs)]

    return run


@app.task()
async def on_the_loop() -> str | None:
    """Tell what the hook has bound."""
    return tenant.get()


@app.task()
def in_a_thread() -> str | None:
    """Tell what the hook has bound."""
    return tenant.get()


@app.task(executor="process")
def in_a_process() -> list[Any]:
    """Tell what the hook has bound, there."""
    return [os.getpid(), tenant.get()]


@app.task(executor="process", crash_cap=1)
def dies() -> None:
    """Take its process with it."""
    os._exit(9)


@app.task(executor="process", retries=0)
def fails_there() -> None:
    """Fail in a process of its own."""
    raise LookupError("there")


@app.task(retries=0)
async def fails() -> None:
    """Fail."""
    raise LookupError("here")


@app.task(retries=0, timeout=0.05)
async def hangs() -> None:
    """Take too long."""
    await asyncio.Event().wait()


@app.task(retries=0, timeout=0.05)
def hangs_in_a_thread(ctx: SyncContext) -> None:
    """Take too long where nobody can end it."""
    while not ctx.stopped:
        threading.Event().wait(0.005)
    raise RuntimeError("too late to be heard")


@app.task()
async def gives_up() -> None:
    """Have nothing to do."""
    raise Cancel("nothing to do")


@app.task(retries=1, backoff=0)
async def asks_again() -> None:
    """Ask for another attempt, always."""
    raise Retry("not ready")


@app.task()
async def rests(ctx: Context) -> None:
    """Wait, without a worker."""
    await ctx.sleep(60)


@app.task(retries=0)
async def unwritable() -> object:
    """Return what cannot be stored."""
    return object()
