"""Threads for tasks: one for each that runs, used again when it ends; none of them keeps the process from exiting.

A ThreadPoolExecutor joins its threads at exit, and a task that was told to stop and does not would hold it up for ever.
An event loop's own has few threads besides: no function of an application runs there, or whatever else needs one waits for it.
"""

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from holdfast.runtime.loop import tell

T = TypeVar("T")

# The steps of one attempt that run in threads at once; a task may gather thousands. One whose timeout has passed counts no more: those
# that hang must not keep the others from their turn, and so there may be more threads than this.
MOST_OF_ONE = 32
Work = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]]


class Threads:
    """Runs functions in threads; the caller limits how many run at once."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._made = 0
        self._closed = False

    def submit(self, function: Callable[..., T], /, *arguments: Any) -> "Future[T]":
        """Run it in an idle thread, or in a new one."""
        future: Future[T] = Future()
        with self._lock:
            needs_thread = self._idle == 0
            if not needs_thread:
                self._idle -= 1
        if needs_thread:  # first the thread: where none can be started, nobody must find the work later
            self._made += 1
            threading.Thread(target=self._serve, name=f"holdfast-task-{self._made}", daemon=True).start()
        self._work.put((future, function, arguments))
        return future

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            _run(*work)
            del work  # an idle thread keeps nothing of the last task alive
            with self._lock:
                if self._closed:
                    return
                self._idle += 1

    def close(self) -> None:
        """End the idle threads; busy ones end with what they do, or with the process."""
        with self._lock:
            self._closed = True
            for _ in range(self._idle):
                self._work.put(None)
            self._idle = 0


def in_own_thread(function: Callable[..., T], /, *arguments: Any) -> "asyncio.Future[T]":
    """Run it in a thread of its own that ends with it: it waits for no other, as it might in asyncio.to_thread."""
    return asyncio.wrap_future(_started(function, *arguments))


def _started(function: Callable[..., T], /, *arguments: Any) -> "Future[T]":
    future: Future[T] = Future()
    work = (future, contextvars.copy_context().run, (function, *arguments))
    threading.Thread(target=_run, args=work, name="holdfast-own", daemon=True).start()
    return future


class InTurn:
    """Runs functions that are not ours in threads of their own, so many at once; one that hangs keeps its place until it ends."""

    def __init__(self, most: int) -> None:
        self._places = asyncio.Semaphore(most)

    async def run(self, function: Callable[..., T], /, *arguments: Any) -> T:
        """Run it when there is a place; who gives up waiting leaves the thread as it is."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        try:
            begun = _started(function, *arguments)
        except BaseException:
            self._places.release()
            raise
        begun.add_done_callback(lambda _done: tell(loop, self._places.release))
        return await asyncio.wrap_future(begun)


class InThreads:
    """What one attempt runs in threads. Nobody can end a thread: it is known here until it ends, whoever has turned away from it."""

    __slots__ = ("_begun", "_threads", "turn")

    def __init__(self, threads: Threads) -> None:
        self.turn = asyncio.Semaphore(MOST_OF_ONE)  # for steps, of which one attempt may have many
        self._threads = threads
        self._begun: list[Future[Any]] = []

    def begin(self, function: Callable[..., T], /, *arguments: Any) -> "asyncio.Future[T]":
        """Run it in a thread, with the caller's context variables; who gives up waiting leaves the thread as it is."""
        begun = self._threads.submit(contextvars.copy_context().run, function, *arguments)
        self._begun = [one for one in self._begun if not one.done()]
        self._begun.append(begun)
        return asyncio.wrap_future(begun)

    @property
    def going_on(self) -> "Future[Any] | None":
        """One that has not ended yet."""
        return next((one for one in self._begun if not one.done()), None)

    def wait(self) -> None:
        """Wait until all have ended."""
        wait(self._begun)


def _run(future: "Future[Any]", function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(function(*arguments))
    except StopIteration as error:
        # asyncio refuses to pass a StopIteration on, and whoever waits would wait for ever.
        refused = RuntimeError(f"the task raised StopIteration: {error}")
        refused.__cause__ = error
        future.set_exception(refused)
    except BaseException as error:  # noqa: BLE001 - whoever waits for it shall have it
        future.set_exception(error)
