"""What an app puts around its tasks: hooks around every attempt, and wrappers around every function.

A worker without any pays nothing for them: it runs attempts another way as soon as there is one.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeAlias, TypeVar

from holdfast.domain.errors import Configuration
from holdfast.runtime.context import JobContext
from holdfast.runtime.logs import events
from holdfast.runtime.registry import AnyTask, is_async

Hook: TypeAlias = Callable[[JobContext], AbstractContextManager[Any]]
Wrapper: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
HookT = TypeVar("HookT", bound=Callable[[Any], "Iterator[None] | AbstractContextManager[Any]"])
WrapperT = TypeVar("WrapperT", bound=Wrapper)


class Surrounding:
    """The part of an app that other libraries hang themselves into."""

    tasks: dict[str, AnyTask]
    hooks: list[Hook]
    _wrappers: list[Wrapper]

    def around(self, hook: HookT) -> HookT:
        """Put a context manager, or a function that yields once, around every attempt; it gets the attempt's context.

        What it sets in context variables, the task finds there. It sees the error that ended the attempt, whatever that was:
        also a timeout, a dead process, or CancelledError when the attempt was ended from outside; not a wait, which is no end.
        It cannot change the outcome, except by failing before the task begins. It runs on the event loop and must not block.
        For a task in a child process it runs in both: around the task there, and here for what the child does not live to see.
        """
        if is_async(hook) or inspect.isasyncgenfunction(hook):
            raise Configuration(f"{_named(hook)} is async: what is put around attempts is a def that yields")
        self.hooks.append(contextmanager(hook) if inspect.isgeneratorfunction(hook) else hook)  # type: ignore[arg-type]
        return hook

    def wrap(self, wrapper: WrapperT) -> WrapperT:
        """Run every task's function through this decorator, where the function runs: on the loop, in its thread, in its child.

        It gets a function and gives one of the same kind, async for async. Calling the task yourself calls the function itself.
        """
        self._wrappers.append(wrapper)
        for task in self.tasks.values():
            task.body = self.wrapped(task.function)
        return wrapper

    def wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give what runs in place of a function; the first wrapper is the innermost."""
        body = function
        for wrapper in self._wrappers:
            body = wrapper(body)
            if is_async(body) is not is_async(function):
                kinds = ("an async def", "a def") if is_async(function) else ("a def", "an async def")
                raise Configuration(
                    f"{_named(wrapper)} made of {_named(function)}, {kinds[0]}, {kinds[1]}: it must give the kind that it gets"
                )
        return body


class Around:
    """The hooks around one attempt, entered; one that cannot be is the attempt's failure."""

    def __init__(self, hooks: Sequence[Hook], context: JobContext) -> None:
        self._job_id = context.job_id
        with ExitStack() as entered:
            for hook in hooks:
                entered.enter_context(hook(context))
            self._entered = entered.pop_all()

    def leave(self, error: BaseException | None) -> None:
        """Tell the hooks how the attempt ended. The work is done, or has failed for its own reasons: neither is up to them."""
        try:
            if error is None:
                self._entered.close()
            else:
                self._entered.__exit__(type(error), error, error.__traceback__)
        except BaseException:  # noqa: BLE001 - any code can stand in a hook
            events.exception("around:failed", extra={"job_id": str(self._job_id)})


def _named(function: Any) -> str:
    return str(getattr(function, "__qualname__", function)).replace("<locals>.", "")
