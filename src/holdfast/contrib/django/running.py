"""How a worker runs one of Django's tasks: with Django's context, and with its signals around it.

An error of somebody who listens is logged by Django, and is not the task's: its work is done.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from holdfast.contrib.django.framework import (
    AnyResult,
    AnyTask,
    TaskContext,
    TaskResultStatus,
    task_finished,
    task_started,
)
from holdfast.domain.backoff import Backoff
from holdfast.domain.outcome import Failed, outcome_of
from holdfast.runtime.context import Context, JobContext, SyncContext

if TYPE_CHECKING:
    from holdfast.contrib.django.backend import HoldfastBackend


def run_in_thread(backend: "HoldfastBackend", task: AnyTask) -> Callable[..., Any]:
    """Make the function that a worker calls for a task that is not async."""

    def run(ctx: SyncContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        result = backend.get_result(str(ctx.job_id))
        task_started.send_robust(type(backend), task_result=result)
        try:
            value = task.func(*_context(task, result), *args, **kwargs)
        except BaseException as error:
            if _is_last(ctx, error):
                task_finished.send_robust(type(backend), task_result=_ended(result, TaskResultStatus.FAILED))
            raise
        task_finished.send_robust(type(backend), task_result=_ended(result, TaskResultStatus.SUCCESSFUL))
        return value

    return run


def run_in_loop(backend: "HoldfastBackend", task: AnyTask) -> Callable[..., Awaitable[Any]]:
    """Make the function that a worker calls for an async task."""

    async def run(ctx: Context, args: list[Any], kwargs: dict[str, Any]) -> Any:
        result = await backend.aget_result(str(ctx.job_id))
        await task_started.asend_robust(type(backend), task_result=result)
        try:
            value = await task.func(*_context(task, result), *args, **kwargs)
        except BaseException as error:
            if _is_last(ctx, error):
                await task_finished.asend_robust(
                    type(backend), task_result=_ended(result, TaskResultStatus.FAILED)
                )
            raise
        await task_finished.asend_robust(
            type(backend), task_result=_ended(result, TaskResultStatus.SUCCESSFUL)
        )
        return value

    return run


def _context(task: AnyTask, result: AnyResult) -> tuple[TaskContext, ...]:
    return (TaskContext(task_result=result),) if task.takes_context else ()


def _is_last(ctx: JobContext, error: BaseException) -> bool:
    """Whether the job ends with this error: a task that is tried again has not finished."""
    if ctx.stopped:
        return False  # somebody else's job now, or cancelled
    outcome = outcome_of(error, Backoff(), None, ctx.retry_count, 0.0, datetime.now(UTC))
    return not (isinstance(outcome, Failed) and outcome.recoverable and ctx.retry_count < ctx.max_retries)


def _ended(result: AnyResult, status: Any) -> AnyResult:
    return replace(result, status=status, finished_at=timezone.now())
