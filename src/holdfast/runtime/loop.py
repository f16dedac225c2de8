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


async def unless(event: asyncio.Event, work: Coroutine[Any, Any, Any]) -> bool:
    """Do it, or give it up when the event comes first; answers whether it was done."""
    doing, coming = asyncio.create_task(work), asyncio.create_task(event.wait())
    await asyncio.wait([doing, coming], return_when=asyncio.FIRST_COMPLETED)
    coming.cancel()
    if not doing.done():
        await cancelled([doing])
        return False
    doing.result()
    return True


async def until_one_ends(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Wait until one of them has ended, and raise its error if it has one."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        if not task.cancelled():
            task.result()


class Beside:
    """Coroutines that run beside the loops; an error in one of them is told, never lost."""

    def __init__(self, on_error: Callable[[BaseException], None]) -> None:
        self.tasks: set[asyncio.Task[None]] = set()
        self._on_error = on_error

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Start one."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_error(error)
