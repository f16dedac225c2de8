"""Threads for tasks: one for each that runs, used again when it ends; none of them keeps the process from exiting.

A ThreadPoolExecutor joins its threads at exit, and a task that was told to stop and does not would hold it up for ever.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
Work = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]]


class Threads:
    """What an event loop's run_in_executor needs; the caller limits how many run at once."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._made = 0

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
                self._idle += 1

    def close(self) -> None:
        """End the idle threads; busy ones end with what they do, or with the process."""
        with self._lock:
            for _ in range(self._idle):
                self._work.put(None)
            self._idle = 0


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
