"""Plans and their two drivers: what to ask the database and what to run is written once, for async and for sync tasks.

An async task's context awaits each part of a plan, a sync task's performs it in its thread.
"""

import asyncio
import inspect
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator, Hashable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from holdfast.runtime.link import Link
from holdfast.runtime.threads import InThreads
from holdfast.store.call import Call

T = TypeVar("T")

# Cancelled branches have what they clean up; an attempt that timed out is given ten seconds to say so.
TO_CLEAN_UP = 5.0


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
    """The plans of one async attempt that are under way, each in the asyncio task of a branch of the code."""

    def __init__(self) -> None:
        self._branches: Counter[asyncio.Task[Any] | None] = Counter()
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_alone = False
        self._is_ending = asyncio.Event()

    async def begin(self, branch: "asyncio.Task[Any] | None") -> None:
        """Note that this branch begins one, once no other asks to wait: what it did meanwhile could not be saved, and would be done again."""
        while self._is_alone:
            await self._idle.wait()
        self._note(branch)

    def _note(self, branch: "asyncio.Task[Any] | None") -> None:
        self._branches[branch] += 1
        self._idle.clear()

    def end(self, branch: "asyncio.Task[Any] | None") -> None:
        """Note that this branch has ended one."""
        self._branches[branch] -= 1
        if not self._branches[branch]:
            del self._branches[branch]
        if not self._branches:
            self._is_alone = False
            self._idle.set()

    async def others(self, branch: "asyncio.Task[Any] | None") -> None:
        """Wait until all but this branch's have ended; of several that ask one goes on, and the next when it has ended."""
        self.end(branch)
        try:
            while self._branches:
                await self._idle.wait()
            self._is_alone = True
        finally:
            self._note(branch)

    async def pause(self, seconds: float) -> None:
        """Let some time go by, or less when the attempt ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_ending.wait()

    async def ended(self, seconds: float) -> None:
        """Wait until none is under way any more; those that take longer are cancelled."""
        self._is_ending.set()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._idle.wait()
        finally:
            for branch in self._branches:
                # A second time would cut off what it cleans up.
                if branch is not None and not branch.cancelling():
                    branch.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(TO_CLEAN_UP):
                await self._idle.wait()


class RunsFunctions(Protocol):
    """What a driver needs of the attempt that it runs functions for."""

    @property
    def in_threads(self) -> InThreads:
        """Where those that are not async run."""

    def raise_if_stopped(self) -> None:
        """Let nothing begin that nobody waits for."""


async def drive(plan: Plan[T], link: Link, beside: Beside, attempt: RunsFunctions) -> T:
    """Carry out a plan for an async task."""
    branch = asyncio.current_task()
    await beside.begin(branch)
    try:
        operation = next(plan)
        while True:
            try:
                answer = await _do(operation, link, beside, branch, attempt)
            except BaseException as error:  # noqa: BLE001 - the plan decides what any end of an operation means
                operation = plan.throw(error)
            else:
                operation = plan.send(answer)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        beside.end(branch)  # as it began: who closes what was never carried out to its end is another


async def _do(
    operation: Operation,
    link: Link,
    beside: Beside,
    branch: "asyncio.Task[Any] | None",
    attempt: RunsFunctions,
) -> Any:
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
            return await beside.pause(operation.seconds)
        case Alone():
            return await beside.others(branch)


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
        async with asyncio.timeout(timeout):
            return await function(*arguments)
    async with asyncio.timeout(None) as limit:
        async with attempt.in_threads.turn:
            # A branch that its task has left behind comes to its next try, or to its turn, when what undoes the job may have begun.
            attempt.raise_if_stopped()
            if timeout is not None:
                limit.reschedule(asyncio.get_running_loop().time() + timeout)
            value = await attempt.in_threads.begin(function, *arguments)
        # Without a turn: what it gives to be awaited holds no thread.
        return await value if isinstance(value, Coroutine | Awaitable) else value


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
