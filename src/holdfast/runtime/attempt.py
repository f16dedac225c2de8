"""One attempt's life: run the task where it belongs, and turn what happened into an outcome."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, cast

from holdfast.domain.encryption import is_sealed
from holdfast.domain.errors import LeaseLost
from holdfast.domain.failure import Failure
from holdfast.domain.job import ClaimedJob
from holdfast.domain.outcome import Crashed, Failed, Lost, Outcome, Released
from holdfast.runtime import execute, tracing
from holdfast.runtime.context import current
from holdfast.runtime.lane import Lane
from holdfast.runtime.loop import tell
from holdfast.runtime.processes import ChildDied, ChildFailedToStart, ChildGaveNoAnswer, Processes
from holdfast.runtime.registry import AnyTask
from holdfast.runtime.sealing import aopened
from holdfast.runtime.surrounding import Around, Hook
from holdfast.runtime.threads import Threads


class Attempt:
    """A claimed job on its way to an outcome."""

    __slots__ = (
        "_begun",
        "_release_reason",
        "_task",
        "alone",
        "context",
        "job",
        "lane",
        "lost",
        "runs_in",
        "runs_on",
        "settlement",
        "started",
    )

    def __init__(self, job: ClaimedJob, task: AnyTask, lane: Lane, *, alone: bool) -> None:
        self.job = job
        self.lane = lane
        self.context = execute.context_for(job, task)
        self.lost = False
        self.alone = alone
        self.started = time.monotonic()
        self.settlement: dict[str, Any] = {}  # how it was told to end, unless it completed
        self.runs_in: asyncio.Task[None] | None = None
        self.runs_on = False  # it has come to an outcome, and a thread of it that nobody can end goes on
        self._task = task
        self._release_reason: str | None = None
        self._begun = False

    async def run_watched(self, threads: Threads, processes: Processes, hooks: Sequence[Hook]) -> Outcome:
        """Run the task in a span of its own, inside what its app puts around attempts."""
        with tracing.attempt(self.job) as span:
            outcome = await self._run_inside(hooks, threads, processes)
            tracing.ended(span, outcome)
            return outcome

    async def _run_inside(self, hooks: Sequence[Hook], threads: Threads, processes: Processes) -> Outcome:
        if not hooks or self.context.stopped:
            return await self.run(threads, processes)
        current.set(self.context)
        try:
            around = Around(hooks, self.context)
        except Exception as error:  # noqa: BLE001 - any code can stand in a hook
            return execute.failed(self.context, error)
        raised: list[BaseException] = []
        outcome = await self.run(threads, processes, raised)
        # Popped: a list that keeps an error is in its traceback, and nothing would be freed before the collector comes.
        around.leave(raised.pop() if raised else None)
        return outcome

    async def run(  # noqa: C901, PLR0911 - one for each way to end
        self, threads: Threads, processes: Processes, raised: list[BaseException] | None = None
    ) -> Outcome:
        """Run the task and say how it ended, and by which error if somebody wants to know; never raises."""
        self._begun = True
        if self.context.stopped:
            return self._after_cancel()
        self.context.threads = threads
        current.set(self.context)
        try:
            if self.alone or self._task.settings.executor == "process":
                return await self._in_child(processes)
            payload = self.job.payload
            if is_sealed(payload):
                payload = await aopened(self._task.app.encryption, self._task.link, self.job)
            work = self._begin(payload)
            value = await work if self.job.timeout is None else await self._within(self.job.timeout, work)
            if self.context.must_close:
                await execute.close(self.context, self._task)
            return self.context.recorded or execute.completed(self._task, value)
        except asyncio.CancelledError as error:
            if self.context.recorded is not None:
                return self.context.recorded
            # Without a word from us it is the task's own doing, and must not leave the job RUNNING for ever.
            return await self._ended(error, raised)
        except LeaseLost as error:
            # A task that goes on when it is told to end is told so by its next step.
            return self.context.recorded or await self._ended(error, raised)
        except ChildDied as died:
            _tell(raised, died)
            return Crashed(_crash(died))
        except (ChildFailedToStart, ChildGaveNoAnswer) as error:
            _tell(raised, error)
            return _unusable_child(error)
        except GeneratorExit:
            raise  # the loop is closed: nobody waits for an outcome
        except BaseException as error:  # noqa: BLE001 - any code can stand in a task, sys.exit() too
            return self.context.recorded or await self._failed(error, raised)
        finally:
            self.runs_on = self.thread_goes_on

    async def _ended(self, error: BaseException, raised: list[BaseException] | None) -> Outcome:
        if not self._told_to_end():
            return await self._failed(error, raised)
        _tell(raised, error)
        await self._see_out(0.0)
        return self._after_cancel()

    async def _failed(self, error: BaseException, raised: list[BaseException] | None) -> Outcome:
        _tell(raised, error)
        await self._see_out(
            None if self.job.timeout is None else self.started + self.job.timeout - time.monotonic()
        )
        return self.context.recorded or execute.failed(self.context, error)

    async def _see_out(self, seconds: float | None) -> None:
        try:
            await self.context.see_out(seconds)
        except asyncio.CancelledError:  # told to end meanwhile
            with suppress(asyncio.CancelledError):
                await self.context.see_out(0.0)

    def _begin(self, payload: str) -> Any:
        if self._task.settings.executor == "loop":
            return execute.call(self._task, self.context, payload)
        return self.context.in_threads.begin(execute.call, self._task, self.context, payload)

    async def _within(self, seconds: float, work: Awaitable[Any]) -> Any:
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            self.context.stop()
            raise

    async def _in_child(self, processes: Processes) -> Outcome:
        heard: list[dict[str, Any]] = []
        self.context.log_lines = heard  # they stay when the child dies
        answer = await processes.run(
            execute.request_for(self.job, self._task), timeout=self.job.timeout, hear=heard.append
        )
        self.context.log_lines = cast("list[dict[str, Any]] | None", answer.pop("logs", None))
        return execute.outcome_in(answer)

    @property
    def thread_goes_on(self) -> bool:
        """Whether a thread of it runs, its own or a step's, which nobody can end."""
        return self.context.thread_going_on is not None

    @property
    def goes_on_unseen(self) -> bool:
        """Whether something of it runs though its job is no longer its own in the books, or will not be when its outcome is written."""
        is_out = self.lost or self.runs_on or self.context.recorded is not None
        return is_out and (self.thread_goes_on or (self.runs_in is not None and not self.runs_in.done()))

    def when_stopped(self, then: Callable[[], None]) -> None:
        """Call back when nothing of the attempt runs any more; a thread goes on after we have turned away from it."""
        thread = self.context.thread_going_on
        if thread is None:
            then()
        else:
            loop = asyncio.get_running_loop()
            thread.add_done_callback(lambda _done: tell(loop, self.when_stopped, then))

    def _told_to_end(self) -> bool:
        return self.context.stopped

    def _after_cancel(self) -> Outcome:
        if self._release_reason is not None:
            return Released(self._release_reason)
        return Lost()

    def give_up(self) -> None:
        """End it without an outcome: the job is somebody else's, or was cancelled."""
        self.lost = True
        self._stop()

    @property
    def is_released(self) -> bool:
        """Whether somebody wanted the job given back."""
        return self._release_reason is not None

    def release(self, reason: str) -> None:
        """End it and give the job back."""
        self._release_reason = reason
        self._stop()

    def _stop(self) -> None:
        self.context.stop()
        # One that has not begun sees it then: a coroutine cancelled before its first step would never run at all.
        if self.runs_in is not None and self._begun:
            self.runs_in.cancel()


def _tell(raised: list[BaseException] | None, error: BaseException) -> None:
    if raised is not None:
        raised.append(error)


def _unusable_child(error: ChildFailedToStart | ChildGaveNoAnswer) -> Failed:
    told = {
        "kind": "process",
        "recoverable": True,
        "type": type(error).__name__,
        "message": str(error)[:2000],
    }
    return Failed(told, recoverable=True, delay=5.0, reason=str(error)[:500])


def _crash(died: ChildDied) -> dict[str, Any]:
    return Failure(
        "crash", recoverable=True, retry_after=None, type="ProcessDied", message=str(died), traceback=""
    ).as_json()
