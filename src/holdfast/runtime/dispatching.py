"""Handing over: the plan by which a task gives its job to an outside executor."""

from typing import TYPE_CHECKING, Any, NoReturn

from holdfast.domain.errors import BadInput, DispatchFailed
from holdfast.domain.outcome import LONGEST_DELAY
from holdfast.domain.payload import encode_result
from holdfast.domain.states import Status
from holdfast.runtime import chance
from holdfast.runtime.durable import Durable, EndOfReplay
from holdfast.runtime.plans import Plan
from holdfast.runtime.waiting import put_aside
from holdfast.store import dispatch as book

if TYPE_CHECKING:
    from holdfast.runtime.executors.protocol import Executor
    from holdfast.runtime.registry import AnyTask


def hand_over(
    durable: Durable, task: "AnyTask", executor: "str | Executor", inputs: dict[str, Any]
) -> Plan[NoReturn]:
    """Write down that the executor is to have the job, and end the attempt; a worker calls the executor afterwards."""
    name = executor if isinstance(executor, str) else executor.name
    known = task.app.executors
    if name not in known or not (isinstance(executor, str) or known[name] is executor):
        there = ", ".join(sorted(known)) or "none"
        raise BadInput(
            f"no executor {name!r} is registered with this app (there are: {there}): app.executor(…)"
        )
    durable.refuse_inside_step("dispatch")
    if durable.replayed is not None:  # nothing comes after it
        raise EndOfReplay
    yield from durable.close()
    yield from durable.alone()
    job, settings = durable.job, task.settings
    failed = DispatchFailed("the run failed")
    yield book.hand_over(
        book.HandOver(
            job.id,
            job.attempt,
            job.claim_id,
            name,
            encode_result(inputs),
            settings.heartbeat_limit,
            settings.run_limit,
            min(max(0.0, settings.backoff.delay(job.retry_count, chance.share(), failed)), LONGEST_DELAY),
            durable.logs(),
        )
    )
    raise put_aside(durable, Status.RUNNING)
