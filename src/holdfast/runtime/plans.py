"""Plans and their two drivers: what to ask the database and what to run is written once, for async and for sync tasks.

An async task's context awaits each part of a plan, a sync task's performs it in its thread.
"""

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from holdfast.runtime.link import Link
from holdfast.runtime.threads import InThreads
from holdfast.store.call import Call

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Run:
    """Call a function of the task's; an async one on the loop, another in a thread."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class RunTogether:
    """Call a function with a connection inside a transaction, and commit its writes with what `then` asks of its value."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    then: Callable[[Any], Call[Any]]


@dataclass(frozen=True, slots=True)
class Pause:
    """Let some time go by before another try."""

    seconds: float


class Alone:
    """Wait until no other step of this attempt is under way."""


Operation: TypeAlias = Call[Any] | Run | RunTogether | Pause | Alone
Plan: TypeAlias = Generator[Operation, Any, T]


class Beside:
    """How many plans of one async attempt are under way."""

    def __init__(self) -> None:
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def begin(self) -> None:
        """Note that one begins."""
        self._count += 1
        self._idle.clear()

    def end(self) -> None:
        """Note that one has ended."""
        self._count -= 1
        if not self._count:
            self._idle.set()

    async def others(self) -> None:
        """Wait until all but the asking one have ended, or ask this too."""
        self.end()
        try:
            await self._idle.wait()
        finally:
            self.begin()


class RunsFunctions(Protocol):
    """What a driver needs of the attempt that it runs functions for."""

    @property
    def in_threads(self) -> InThreads:
        """Where those that are not async run."""

    def raise_if_stopped(self) -> None:
        """Let nothing begin that nobody waits for."""


async def drive(plan: Plan[T], link: Link, beside: Beside, attempt: RunsFunctions) -> T:
    """Carry out a plan for an async task."""
    beside.begin()
    try:
        operation = next(plan)
        while True:
            try:
                answer = await _do(operation, link, beside, attempt)
            except BaseException as error:  # noqa: BLE001 - the plan decides what any end of an operation means
                operation = plan.throw(error)
            else:
                operation = plan.send(answer)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        beside.end()


async def _do(operation: Operation, link: Link, beside: Beside, attempt: RunsFunctions) -> Any:
    match operation:
        case Call():
            return await link.aperform(operation)
        case Run():
            with _inside(operation.name):
                return await _run(operation, attempt)
        case RunTogether():
            with _inside(operation.name):
                return await link.atogether(
                    lambda connection: _called(
                        operation.function, (connection, *operation.arguments), attempt
                    ),
                    operation.then,
                )
        case Pause():
            return await asyncio.sleep(operation.seconds)
        case Alone():
            return await beside.others()


async def _run(operation: Run, attempt: RunsFunctions) -> Any:
    return await _called(operation.function, operation.arguments, attempt, operation.timeout)


async def _called(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    attempt: RunsFunctions,
    timeout: float | None = None,  # noqa: ASYNC109 - the caller's own timeout would count the wait for a turn
) -> Any:
    if inspect.iscoroutinefunction(function):
        attempt.raise_if_stopped()
        return await _within(timeout, function(*arguments))
    threads = attempt.in_threads
    async with threads.turn:
        # A branch that its task has left behind comes to its next try, or to its turn, when what undoes the job may have begun.
        attempt.raise_if_stopped()
        return await _within(timeout, _in_thread(threads, function, arguments))


async def _in_thread(threads: InThreads, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    value = await threads.begin(function, *arguments)
    return await value if isinstance(value, Coroutine | Awaitable) else value


async def _within(timeout: float | None, work: Awaitable[Any]) -> Any:  # noqa: ASYNC109 - None is none
    if timeout is None:
        return await work
    async with asyncio.timeout(timeout):
        return await work


def drive_sync(plan: Plan[T], link: Link) -> T:
    """Carry out a plan for a sync task, in its own thread."""
    try:
        operation = next(plan)
        while True:
            try:
                answer = _do_sync(operation, link)
            except BaseException as error:  # noqa: BLE001 - the plan decides what any end of an operation means
                operation = plan.throw(error)
            else:
                operation = plan.send(answer)
    except StopIteration as end:
        value: T = end.value
        return value


def _do_sync(operation: Operation, link: Link) -> Any:
    match operation:
        case Call():
            return link.perform(operation)
        case Run():
            with _inside(operation.name):
                return _plain(operation.function(*operation.arguments))
        case RunTogether():
            with _inside(operation.name):
                return link.together(
                    lambda connection: _plain(operation.function(connection, *operation.arguments)),
                    operation.then,
                )
        case Pause():
            return time.sleep(operation.seconds)
        case Alone():
            return None


def _plain(value: Any) -> Any:
    """Run what a sync task's async step gives; it has no loop of its own."""
    return asyncio.run(value) if isinstance(value, Coroutine) else value


running_step: ContextVar[str | None] = ContextVar("holdfast_step", default=None)


@contextmanager
def _inside(name: str) -> Iterator[None]:
    token = running_step.set(name)
    try:
        yield
    finally:
        running_step.reset(token)


def line_of_execution() -> Hashable:
    """Name the line of execution that calls: the asyncio task, or else the thread."""
    try:
        return asyncio.current_task() or threading.current_thread()
    except RuntimeError:
        return threading.current_thread()
