"""Waits: plans that give a job up until a time, an event, or other jobs' ends."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from holdfast.domain.errors import BadInput, EventTimedOut, JobFailed, WaitTimedOut
from holdfast.domain.job import NewJob
from holdfast.domain.payload import decode_result
from holdfast.domain.states import Status
from holdfast.domain.step import Place
from holdfast.runtime import failpoints
from holdfast.runtime.durable import Durable
from holdfast.runtime.plans import Plan
from holdfast.store import steps as book
from holdfast.store.enqueue import document
from holdfast.store.outcome import JobOutcome

if TYPE_CHECKING:
    from holdfast.runtime.registry import AnyTask

H = TypeVar("H")


def put_aside(durable: Durable, status: Status) -> BaseException:
    """Note that the job waits now; the caller raises the answer."""
    failpoints.reach("put_aside")
    return durable.record(status)


def sleep(durable: Durable, place: Place, time: timedelta | float | datetime) -> Plan[None]:
    """Rest for a while, or until a moment."""
    span, until = _time(time)
    if (yield from durable.recall(place)) is not None:
        return
    yield from durable.alone()
    if (yield book.sleep_until(durable.job, place, span, until, durable.logs())):
        raise put_aside(durable, Status.WAITING)
    failpoints.reach("step_saved")


def _time(time: timedelta | float | datetime) -> tuple[float | None, datetime | None]:
    if isinstance(time, datetime):
        if time.utcoffset() is None:
            raise BadInput(
                f"{time.isoformat()} has no time zone: sleep until an aware datetime, or for a timedelta"
            )
        return None, time
    span = time.total_seconds() if isinstance(time, timedelta) else float(time)
    if not 0 <= span <= 100 * 366 * 86_400:
        raise BadInput(f"cannot sleep for {time!r}: give a time between nothing and a hundred years")
    return span, None


def event(durable: Durable, place: Place, name: str, timeout: float | None) -> Plan[Any]:
    """Take an event, or wait for it."""
    saved = yield from durable.recall(place)
    if saved is not None:
        told = json.loads(saved.value or "{}")
        if told["timed_out"]:
            raise EventTimedOut(name)
        return told["payload"]
    yield from durable.alone()
    came = yield book.wait_for_event(durable.job, place, name, timeout, durable.logs())
    if came.waits:
        raise put_aside(durable, Status.WAITING)
    failpoints.reach("step_saved")
    if came.timed_out:
        raise EventTimedOut(name)
    return json.loads(came.payload)


def children(
    durable: Durable, place: Place, jobs: list[NewJob], task: "AnyTask", handle: Callable[..., H]
) -> Plan[list[H]]:
    """Enqueue jobs once, however often the attempt is replayed."""
    app = task.app
    saved = yield from durable.recall(place)
    if saved is None:
        declared = app.declared({job.task for job in jobs})
        ids = yield book.enqueue_children(durable.job, place, document(app.sealed(jobs)), declared)
        failpoints.reach("step_saved")
    else:
        ids = [UUID(told) for told in json.loads(saved.value or "[]")]
    return [
        handle(task.link, job_id, created=True, decode=app.decoder(job))
        for job, job_id in zip(jobs, ids, strict=True)
    ]


def wait_for(
    durable: Durable, place: Place, jobs: Sequence[tuple[UUID, Callable[[str], Any]]], timeout: float | None
) -> Plan[list[Any]]:
    """Wait until other jobs have ended, and give their results."""
    ids = [job_id for job_id, _ in jobs]
    saved = yield from durable.recall(place)
    timed_out = saved is not None and json.loads(saved.value or "{}")["timed_out"]
    if saved is None:
        yield from durable.alone()
        came = yield book.wait_for_jobs(durable.job, place, ids, timeout, durable.logs())
        if came.waits:
            raise put_aside(durable, Status.WAITING)
        failpoints.reach("step_saved")
        timed_out = came.timed_out
    if timed_out:
        raise WaitTimedOut(f"job {durable.job.id} waited for {len(ids)} jobs, and not all ended in time")
    outcomes = yield book.job_outcomes(ids)
    return [
        _result(job_id, outcome, decode)
        for (job_id, outcome), (_, decode) in zip(outcomes, jobs, strict=True)
    ]


def results(durable: Durable) -> Plan[list[Any]]:
    """Read what the jobs came to that this one was enqueued after."""
    outcomes = yield book.results_of(durable.job.id)
    return [None if one.result is None else decode_result(one.result) for _, one in outcomes]


def _result(job_id: UUID, outcome: JobOutcome, decode: Callable[[str], Any]) -> Any:
    if outcome.status is not Status.COMPLETED:
        told = json.loads(outcome.error or "{}")
        raise JobFailed(
            f"job {job_id} ended {outcome.status}: {told.get('message', 'no error')}", job_id, outcome.status
        )
    return decode(outcome.result or "null")
