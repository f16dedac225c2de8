"""Running a task's function: the same in the worker's process and in a child's."""

import asyncio
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
    Released,
    outcome_of,
    settlement,
)
from holdfast.runtime import chance
from holdfast.runtime.context import Context, current
from holdfast.runtime.logs import capture
from holdfast.runtime.registry import AnyTask


def call(task: AnyTask, context: Context, payload: str) -> Any:
    """Call the function with the stored arguments; a coroutine for an async one."""
    args, kwargs = task.codec.arguments(task.codec.decode(payload))
    if task.takes_context:
        return task.function(context, *args, **kwargs)
    return task.function(*args, **kwargs)


WITHOUT_RESULT = Completed(None)


def completed(task: AnyTask, value: object) -> Completed:
    """Write down what the function returned."""
    return WITHOUT_RESULT if value is None else Completed(task.codec.encode_result(value))


def failed(task: AnyTask, error: BaseException, retry_count: int) -> Outcome:
    """Decide what an exception means for the job."""
    settings = task.settings
    return outcome_of(error, settings.backoff, settings.rules, retry_count, chance.share(), datetime.now(UTC))


def run_in_child(task: AnyTask, request: dict[str, Any]) -> dict[str, Any]:
    """Run a job in this process, which has no other, and answer with its outcome as JSON."""
    capture()
    job = _job_in(request)
    context = Context(job)
    current.set(context)
    try:
        value = call(task, context, job.payload)
        outcome: Outcome = completed(task, asyncio.run(value) if task.is_async else value)
    except BaseException as error:  # noqa: BLE001 - any code can stand in a task, sys.exit() too
        outcome = failed(task, error, job.retry_count)
    return {"logs": context.log_lines, **outcome_as_json(outcome)}


def request_for(job: ClaimedJob) -> dict[str, Any]:
    """Write a job for a child."""
    return {
        **job._asdict(),
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
        case Crashed() | Released() | Lost():
            raise AssertionError(f"a task cannot end {outcome}")
        case _:
            assert_never(outcome)


def outcome_in(answer: dict[str, Any]) -> Outcome:
    """Read a child's answer."""
    match answer["outcome"]:
        case "completed":
            return Completed(answer["result"])
        case "failed":
            return Failed(answer["error"], answer["recoverable"], answer["delay"], answer["reason"])
        case _:
            return Cancelled(answer["reason"])
