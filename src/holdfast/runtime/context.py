"""What a task may do with the job it is running: steps, waits, transactions, and questions about itself."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar, overload

from holdfast.domain.approval import Decision, OnExpiry
from holdfast.domain.backoff import BackoffLike
from holdfast.domain.errors import BadInput
from holdfast.domain.job import NewJob
from holdfast.domain.step import Importance
from holdfast.domain.task import backoff_rule, seconds
from holdfast.runtime import asking, transactions, waiting
from holdfast.runtime.dispatching import hand_over
from holdfast.runtime.durable import Work
from holdfast.runtime.handle import AsyncHandle, Handle, awaited
from holdfast.runtime.job_context import JobContext, current
from holdfast.runtime.plans import Plan, drive, drive_sync

if TYPE_CHECKING:
    from uuid import UUID

    from holdfast.runtime.executors.protocol import Executor

__all__ = ["Context", "JobContext", "SyncContext", "current"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Context(JobContext):
    """One attempt, as an async task sees it. Annotate the task's first parameter with it to get it."""

    __slots__ = ()

    def carry_out(self, plan: Plan[T]) -> Coroutine[Any, Any, T]:
        """Carry out a plan of the durable side."""
        return drive(plan, self._task.link, self.durable.beside, self)

    @overload
    def step(
        self, name: str, function: Callable[..., Awaitable[R]], /, *args: Any, retries: int = ..., backoff: BackoffLike | None = ...,
        timeout: float | timedelta | None = ..., compensate: Callable[..., Any] | None = ..., returns: Any = ...,
        importance: Importance = ...,
    ) -> Coroutine[Any, Any, R]: ...  # fmt: skip
    @overload
    def step(
        self, name: str, function: Callable[..., R], /, *args: Any, retries: int = ..., backoff: BackoffLike | None = ...,
        timeout: float | timedelta | None = ..., compensate: Callable[..., Any] | None = ..., returns: Any = ...,
        importance: Importance = ...,
    ) -> Coroutine[Any, Any, R]: ...  # fmt: skip
    def step(
        self,
        name: str,
        function: Callable[..., Any],
        /,
        *args: Any,
        retries: int = 0,
        backoff: BackoffLike | None = None,
        timeout: float | timedelta | None = None,
        compensate: Callable[..., Any] | None = None,
        returns: Any = None,
        importance: Importance = "normal",
    ) -> Coroutine[Any, Any, Any]:
        """Run a function once and keep what it returns: after a crash it is not run again, its value is.

        A function that is not async runs in a thread. `compensate` undoes it, with its value, when the job fails for good.
        With `importance="low"` the timeline folds it away.
        """
        work = _work(function, args, retries, backoff, seconds(timeout), compensate, returns)
        return self.carry_out(self.durable.step(self.durable.begin(name, "step", importance), work))

    def step_transaction(
        self,
        name: str,
        function: Callable[..., Any],
        /,
        *args: Any,
        compensate: Callable[..., Any] | None = None,
        returns: Any = None,
        importance: Importance = "normal",
    ) -> Coroutine[Any, Any, Any]:
        """Run `function(connection, *args)` in a transaction that its record commits with: its writes happen exactly once."""
        work = Work(function, args, compensate=compensate, returns=returns)
        return self.carry_out(
            self.durable.step_transaction(self.durable.begin(name, "transaction", importance), work)
        )

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        """Open a transaction whose commit also completes the job; a stale attempt's cannot commit.

        Its connection is psycopg's. The job's result, if it has one, is given to set_result inside.
        """
        async with transactions.completing(self, self._task.link) as connection:
            yield connection

    def checkpoint(self, value: Any) -> Coroutine[Any, Any, None]:
        """Keep free-form progress, at most 1 MiB of JSON; the newest replaces the one before."""
        return self.carry_out(self.durable.checkpoint(value))

    def last_checkpoint(self) -> Coroutine[Any, Any, Any]:
        """Read what checkpoint kept last, None before the first."""
        return self.carry_out(self.durable.last_checkpoint())

    def progress(
        self, done: float, total: float | None = None, note: str | None = None
    ) -> Coroutine[Any, Any, None]:
        """Show how far the job has come."""
        return self.carry_out(self.durable.progress(done, total, self.hidden.text(note)))

    def sleep(
        self, time: timedelta | float | datetime, *, importance: Importance = "normal"
    ) -> Coroutine[Any, Any, None]:
        """Let the job rest for a while, or until a moment, without a worker."""
        return self.carry_out(
            waiting.sleep(self.durable, self.durable.begin("sleep", "sleep", importance), time)
        )

    def event(
        self, name: str, *, timeout: timedelta | float | None = None, importance: Importance = "normal"
    ) -> Coroutine[Any, Any, Any]:
        """Wait for an event without a worker and give its payload; EventTimedOut when it does not come in time."""
        place = self.durable.begin(f"event {name}"[:450], "event", importance)
        return self.carry_out(waiting.event(self.durable, place, name, seconds(timeout)))

    def approval(
        self,
        name: str,
        *,
        question: str,
        facts: Mapping[str, Any] | None = None,
        approvers: Iterable[str] = (),
        quorum: int = 1,
        expires_in: timedelta | float | None = None,
        on_expiry: OnExpiry = "fail",
        self_approval: bool = False,
        bulk: bool = False,
    ) -> Coroutine[Any, Any, Decision]:
        """Ask people, without a worker, and go on once they have approved; denied or expired, the job is FAILED.

        Question and facts must be the same in every attempt: make them from the payload and from saved steps.
        With bulk=True people may approve it together with others, in one go; the others are read one by one.
        """
        asked = asking.gate(
            self.hidden, question, facts, approvers, quorum, expires_in, on_expiry, self_approval, bulk
        )
        return self.carry_out(asking.approval(self.durable, self.durable.begin(name, "approval"), asked))

    def enqueue(
        self, name: str, jobs: Iterable[NewJob], *, importance: Importance = "normal"
    ) -> Coroutine[Any, Any, list[AsyncHandle[Any]]]:
        """Enqueue children, once: a replay gives the same jobs again. Make them with task.job(…)."""
        place = self.durable.begin(name, "children", importance)
        return self.carry_out(waiting.children(self.durable, place, list(jobs), self._task, AsyncHandle))

    def wait_for(
        self,
        jobs: Iterable["AsyncHandle[Any] | Handle[Any] | UUID | str"],
        *,
        timeout: timedelta | float | None = None,
        importance: Importance = "normal",
    ) -> Coroutine[Any, Any, list[Any]]:
        """Wait, without a worker, until all these jobs have ended; gives their results, or JobFailed for the first that failed."""
        place = self.durable.begin("wait_for", "jobs", importance)
        return self.carry_out(
            waiting.wait_for(self.durable, place, [awaited(job) for job in jobs], seconds(timeout))
        )

    def dispatch(self, executor: "str | Executor", /, **inputs: Any) -> Coroutine[Any, Any, NoReturn]:
        """Hand the job over to an outside executor: a task's last act, which does not return.

        The job stays RUNNING without a worker until a run reports that it completed or failed, or passes a limit.
        """
        return self.carry_out(hand_over(self.durable, self._task, executor, inputs))

    def results(self) -> Coroutine[Any, Any, list[Any]]:
        """Give the results of the jobs that this one was enqueued after, in their order; None for one that has none."""
        return self.carry_out(waiting.results(self.durable))


class SyncContext(JobContext):
    """One attempt, as a task that is not async sees it: the same, without await."""

    __slots__ = ()

    def carry_out(self, plan: Plan[T]) -> T:
        """Carry out a plan of the durable side."""
        return drive_sync(plan, self._task.link)

    def step(
        self,
        name: str,
        function: Callable[..., R],
        /,
        *args: Any,
        retries: int = 0,
        backoff: BackoffLike | None = None,
        compensate: Callable[..., Any] | None = None,
        returns: Any = None,
        importance: Importance = "normal",
    ) -> R:
        """Run a function once and keep what it returns; see Context.step. What runs in a thread cannot be timed out."""
        work = _work(function, args, retries, backoff, None, compensate, returns)
        value: R = self.carry_out(self.durable.step(self.durable.begin(name, "step", importance), work))
        return value

    def step_transaction(
        self,
        name: str,
        function: Callable[..., R],
        /,
        *args: Any,
        compensate: Callable[..., Any] | None = None,
        returns: Any = None,
        importance: Importance = "normal",
    ) -> R:
        """Run `function(connection, *args)` in a transaction that its record commits with; see Context.step_transaction."""
        work = Work(function, args, compensate=compensate, returns=returns)
        value: R = self.carry_out(
            self.durable.step_transaction(self.durable.begin(name, "transaction", importance), work)
        )
        return value

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Open a transaction whose commit also completes the job; see Context.transaction."""
        with transactions.completing_sync(self, self._task.link) as connection:
            yield connection

    def checkpoint(self, value: Any) -> None:
        """Keep free-form progress; see Context.checkpoint."""
        self.carry_out(self.durable.checkpoint(value))

    def last_checkpoint(self) -> Any:
        """Read what checkpoint kept last, None before the first."""
        return self.carry_out(self.durable.last_checkpoint())

    def progress(self, done: float, total: float | None = None, note: str | None = None) -> None:
        """Show how far the job has come."""
        self.carry_out(self.durable.progress(done, total, self.hidden.text(note)))

    def sleep(self, time: timedelta | float | datetime, *, importance: Importance = "normal") -> None:
        """Let the job rest for a while, or until a moment, without a worker."""
        self.carry_out(waiting.sleep(self.durable, self.durable.begin("sleep", "sleep", importance), time))

    def event(
        self, name: str, *, timeout: timedelta | float | None = None, importance: Importance = "normal"
    ) -> Any:
        """Wait for an event without a worker and give its payload; see Context.event."""
        place = self.durable.begin(f"event {name}"[:450], "event", importance)
        return self.carry_out(waiting.event(self.durable, place, name, seconds(timeout)))

    def approval(
        self,
        name: str,
        *,
        question: str,
        facts: Mapping[str, Any] | None = None,
        approvers: Iterable[str] = (),
        quorum: int = 1,
        expires_in: timedelta | float | None = None,
        on_expiry: OnExpiry = "fail",
        self_approval: bool = False,
        bulk: bool = False,
    ) -> Decision:
        """Ask people, without a worker, and go on once they have approved; see Context.approval."""
        asked = asking.gate(
            self.hidden, question, facts, approvers, quorum, expires_in, on_expiry, self_approval, bulk
        )
        return self.carry_out(asking.approval(self.durable, self.durable.begin(name, "approval"), asked))

    def enqueue(
        self, name: str, jobs: Iterable[NewJob], *, importance: Importance = "normal"
    ) -> list[Handle[Any]]:
        """Enqueue children, once; see Context.enqueue."""
        place = self.durable.begin(name, "children", importance)
        return self.carry_out(waiting.children(self.durable, place, list(jobs), self._task, Handle))

    def wait_for(
        self,
        jobs: Iterable["AsyncHandle[Any] | Handle[Any] | UUID | str"],
        *,
        timeout: timedelta | float | None = None,
        importance: Importance = "normal",
    ) -> list[Any]:
        """Wait, without a worker, until all these jobs have ended; see Context.wait_for."""
        place = self.durable.begin("wait_for", "jobs", importance)
        return self.carry_out(
            waiting.wait_for(self.durable, place, [awaited(job) for job in jobs], seconds(timeout))
        )

    def dispatch(self, executor: "str | Executor", /, **inputs: Any) -> NoReturn:
        """Hand the job over to an outside executor; see Context.dispatch."""
        self.carry_out(hand_over(self.durable, self._task, executor, inputs))

    def results(self) -> list[Any]:
        """Give the results of the jobs that this one was enqueued after; see Context.results."""
        return self.carry_out(waiting.results(self.durable))


def _work(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    retries: int,
    backoff: BackoffLike | None,
    timeout: float | None,
    compensate: Callable[..., Any] | None,
    returns: Any,
) -> Work:
    if not callable(function):
        raise BadInput(
            f"a step runs a function, not {function!r:.100}: give the function and its arguments apart"
        )
    rule = None if backoff is None else backoff_rule(backoff)
    return Work(function, args, retries, rule, timeout, compensate, returns)
