"""Running a task's function: the same in the worker's process and in a child's."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, assert_never
from uuid import UUID

from holdfast.domain.job import ClaimedJob
from holdfast.domain.outcome import (
    Cancelled,
    Completed,
    Crashed,
    Failed,
    Lost,
    Outcome,
    Recorded,
    Released,
    outcome_of,
    settlement,
)
from holdfast.domain.states import Status
from holdfast.runtime import chance, compensation
from holdfast.runtime.context import Context, JobContext, SyncContext, current
from holdfast.runtime.logs import capture
from holdfast.runtime.registry import AnyTask
from holdfast.runtime.sealing import opened
from holdfast.runtime.surrounding import Around
from holdfast.runtime.threads import Threads

# Before its worker ends a child for its timeout, it says what has failed.
TO_ANSWER = 1.0


def context_for(job: ClaimedJob, task: AnyTask) -> JobContext:
    """Make the context that fits the task's function."""
    return Context(job, task) if task.is_async else SyncContext(job, task)


def call(task: AnyTask, context: JobContext, payload: str) -> Any:
    """Call the function with the stored arguments, or undo what it did; a coroutine for an async one."""
    context.read(payload)
    args, kwargs = task.codec.arguments(task.codec.decode(payload))
    if context.compensates is not None:
        undo = compensation.undo if isinstance(context, Context) else compensation.undo_sync
        return task.app.wrapped(undo)(task, context, args, kwargs)
    if task.takes_context:
        return task.body(context, *args, **kwargs)
    return task.body(*args, **kwargs)


WITHOUT_RESULT = Completed(None)


def completed(task: AnyTask, value: object) -> Completed:
    """Write down what the function returned."""
    return WITHOUT_RESULT if value is None else Completed(task.codec.encode_result(value))


def failed(context: JobContext, error: BaseException) -> Outcome:
    """Decide what an exception means for the job; what the task redacts does not stand in its words."""
    settings = context.settings
    outcome = outcome_of(
        error, settings.backoff, settings.rules, context.retry_count, chance.share(), datetime.now(UTC)
    )
    match outcome:
        case Failed():
            hidden = context.hidden
            return replace(outcome, error=hidden.text(outcome.error), reason=hidden.text(outcome.reason))
        case Cancelled():
            return replace(outcome, reason=context.hidden.text(outcome.reason))
        case _:
            return outcome


class _Told(list[dict[str, Any]]):
    """Lines that the worker hears one by one: it has them when this process dies."""

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self._tell = tell

    def append(self, line: dict[str, Any]) -> None:
        super().append(line)
        self._tell(line)


def run_in_child(
    task: AnyTask, request: dict[str, Any], tell: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Run a job in this process, which has no other, and answer with its outcome as JSON."""
    capture()
    job = _job_in(request)
    context = context_for(job, task)
    context.log_lines = _Told(tell)
    context.threads = threads = Threads()
    current.set(context)
    around: Around | None = None
    raised: BaseException | None = None
    try:
        around = Around(task.app.hooks, context)
        value = call(task, context, opened(task.app.encryption, task.link, job))
        value = asyncio.run(_awaited(context, value, task)) if task.is_async else value
        if isinstance(context, SyncContext) and context.must_close and context.recorded is None:
            context.carry_out(context.durable.close())
        outcome: Outcome = context.recorded or completed(task, value)
    except BaseException as error:  # noqa: BLE001 - any code can stand in a task, sys.exit() too
        outcome = context.recorded or failed(context, error)
        raised = None if context.recorded else error
    if context.thread_going_on is not None:
        context.in_threads.wait()  # who hears of the outcome may undo it, or give this process another job
    threads.close()
    if around is not None:
        around.leave(raised)
    del raised  # it holds this frame, which holds it
    return {"logs": context.log_lines or None, **outcome_as_json(outcome)}


async def _awaited(context: JobContext, work: Awaitable[Any], task: AnyTask) -> Any:
    until = (
        None if context.claimed.timeout is None else time.monotonic() + context.claimed.timeout - TO_ANSWER
    )
    try:
        value = await work
        if context.must_close:
            await close(context, task)
    except BaseException:
        await context.see_out(None if until is None else until - time.monotonic())
        raise
    finally:
        await task.link.aclose()  # the loop ends with the job
    return value


async def close(context: JobContext, task: AnyTask) -> None:
    """Make sure that the code still calls everything that earlier attempts saved."""
    if context.recorded is None:
        await Context.carry_out(_as_async(context, task), context.durable.close())


def _as_async(context: JobContext, task: AnyTask) -> Context:
    return context if isinstance(context, Context) else Context(context.claimed, task)


def request_for(job: ClaimedJob, task: AnyTask) -> dict[str, Any]:
    """Write a job for a child, and where its database and its code are: the app's own module need not import its tasks."""
    return {
        **job._asdict(),
        "database": task.link.database.url,
        "module": task.function.__module__,
        "id": str(job.id),
        "claim_id": str(job.claim_id),
        "claim_order": job.claim_order.isoformat(),
    }


def _job_in(request: dict[str, Any]) -> ClaimedJob:
    told = {name: request[name] for name in ClaimedJob._fields}
    return ClaimedJob(
        **{
            **told,
            "id": UUID(told["id"]),
            "claim_id": UUID(told["claim_id"]),
            "claim_order": datetime.fromisoformat(told["claim_order"]),
        }
    )


def outcome_as_json(outcome: Outcome) -> dict[str, Any]:
    """Write an outcome for the parent."""
    match outcome:
        case Completed():
            return {"outcome": "completed", "result": outcome.result}
        case Failed() | Cancelled():
            return settlement(outcome)
        case Recorded():
            return {"outcome": "recorded", "status": outcome.status}
        case Crashed() | Released() | Lost():
            raise AssertionError(f"a task cannot end {outcome}")
        case _:
            assert_never(outcome)


def outcome_in(answer: dict[str, Any]) -> Outcome:
    """Read a child's answer."""
    match answer["outcome"]:
        case "completed":
            return Completed(answer["result"])
        case "recorded":
            return Recorded(Status(answer["status"]))
        case "failed":
            return Failed(answer["error"], answer["recoverable"], answer["delay"], answer["reason"])
        case _:
            return Cancelled(answer["reason"])
