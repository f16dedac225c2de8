"""The event loop the worker runs on, uvloop where there is one, and what is done to its tasks."""

import asyncio
import faulthandler
import sys
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

LAST_SECONDS = 2.0


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on the fastest loop there is."""
    runner = asyncio.Runner(loop_factory=_loop_factory())
    try:
        return runner.run(main)
    finally:
        # A task that swallows its cancellation would keep the runner's own end waiting for ever.
        if _left_tasks_end(runner.get_loop()):
            runner.close()


def _left_tasks_end(loop: asyncio.AbstractEventLoop) -> bool:
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if not left:
        return True
    _, pending = loop.run_until_complete(asyncio.wait(left, timeout=LAST_SECONDS))
    return not pending


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def dump_stacks() -> None:
    """Show where every thread and every asyncio task is, on stderr."""
    faulthandler.dump_traceback(file=sys.stderr, all_threads=True)
    for task in asyncio.all_tasks():
        task.print_stack(file=sys.stderr)


async def cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until all have ended."""
    # Again and again: a connection that is cut while its call is being cancelled raises its own error instead.
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=1.0)


def tell(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: Any) -> None:
    """Have the loop's own thread call a function."""
    with suppress(RuntimeError):  # the loop is closed: the worker ends anyway
        loop.call_soon_threadsafe(function, *arguments)
