"""Queues, and the workers that serve them."""

import shlex
from collections import defaultdict
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.health import LIVING, MUCH_SKEW, WorkerState
from holdfast.domain.segments import segment_of
from holdfast.domain.served import written_queue
from holdfast.interfaces.http.api.queues import (
    LimitBody,
    WorkerView,
    limit_queue,
    list_queues,
    list_tasks,
    list_workers,
    pause_queue,
    pause_task,
    quiet_worker,
    resume_queue,
    resume_task,
    resume_worker,
    show_queue,
    stop_worker,
)
from holdfast.interfaces.http.api.words import PauseBody, ReasonBody
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Done, Form, Section
from holdfast.store.access import database_clock
from holdfast.store.overview import FLOW_PARTS, HeldJob, held_jobs, queue_flow

queues = Section("queues")

Reason = Annotated[str, Field(min_length=1, max_length=500)]
Flow = list[tuple[int, int]]
_WORKER = "holdfast -a your_module:app worker"
_FEW = 3  # jobs that are named of those that a worker runs
_LATELY = timedelta(days=1)  # a worker that died before is history


@queues.panel("queues", "jobs", "workers")
async def queue_list(look: Look) -> dict[str, Any]:
    """List the queues, those without jobs too."""
    found = await look.at(list_queues)
    return {"queues": found.items, "flows": await _flows(look), "operates": look.may(Scope.OPERATE)}


@queues.panel("workers", "jobs")
async def worker_list(look: Look) -> dict[str, Any]:
    """List the workers that live, and those that lately did."""
    found = (await look.at(list_workers)).items
    shown, ended = _apart(found, await look.call.ask(database_clock()))
    return {
        "workers": shown,
        "held": await _held(look, shown),
        "ended": ended,
        "warnings": _warnings(found),
        "command": _WORKER,
        "operates": look.may(Scope.OPERATE),
    }


@queues.panel("queues", "jobs", "workers")
async def queue_card(look: Look, name: str) -> dict[str, Any]:
    """Show one queue."""
    shown = await look.at(show_queue, name)
    return {"queue": shown, "flow": (await _flows(look, name))[name], "operates": look.may(Scope.OPERATE)}


@queues.panel("workers", "queues")
async def queue_tasks(look: Look, name: str) -> dict[str, Any]:
    """List the tasks whose jobs go into this queue unless told otherwise."""
    found = [each for each in (await look.at(list_tasks)).items if each.queue == name]
    return {"tasks": found, "operates": look.may(Scope.OPERATE)}


@queues.panel("workers", "jobs")
async def queue_workers(look: Look, name: str) -> dict[str, Any]:
    """List the workers that serve this queue."""
    found = [each for each in (await look.at(list_workers)).items if name in each.queues]
    living = [each for each in found if each.state in LIVING]
    return {
        "workers": living,
        "held": await _held(look, living),
        "ended": [],
        "warnings": [],
        "command": f"{_WORKER} -q {shlex.quote(written_queue(name))}",
        "operates": look.may(Scope.OPERATE),
    }


queues.page("/queues", "Queues", queue_list, worker_list)
queues.page("/queues/{name:path}", "Queue", queue_card, queue_tasks, queue_workers, name="queue")


async def _held(look: Look, workers: list[WorkerView]) -> defaultdict[UUID, list[HeldJob]]:
    """Read what each worker works on, a few jobs of each."""
    held: defaultdict[UUID, list[HeldJob]] = defaultdict(list)
    for job in await look.call.ask(held_jobs([each.id for each in workers if each.held], _FEW)):
        held[job.worker].append(job)
    return held


def _apart(workers: list[WorkerView], now: datetime) -> tuple[list[WorkerView], list[WorkerView]]:
    """Tell those that somebody may have to care about, living or lately dead, from those that are history."""
    shown = [each for each in workers if _matters(each, now)]
    return shown, [each for each in workers if not _matters(each, now)]


def _matters(worker: WorkerView, now: datetime) -> bool:
    is_lost = worker.state == WorkerState.DEAD and now - worker.seen_at < _LATELY
    return worker.state in LIVING or is_lost


async def _flows(look: Look, queue: str | None = None) -> defaultdict[str, Flow]:
    """Read how many jobs each queue completed and failed, by five minutes, the oldest first."""
    flows: defaultdict[str, Flow] = defaultdict(lambda: [(0, 0)] * FLOW_PARTS)
    for name, ago, completed, failed in await look.call.ask(queue_flow(queue)):
        place = FLOW_PARTS - 1 - min(ago, FLOW_PARTS - 1)
        before = flows[name][place]
        flows[name][place] = (before[0] + completed, before[1] + failed)
    return flows


def _warnings(workers: list[WorkerView]) -> list[str]:
    """Say what living workers should not disagree about: their release and the time."""
    living = [each for each in workers if each.state in LIVING]
    versions = sorted({each.version for each in living})
    told = []
    if len(versions) > 1:
        told.append(
            f"Workers of {len(versions)} releases run side by side: {', '.join(versions)}. That is fine during a deployment, and not for long."
        )
    for each in living:
        if abs(each.clock_skew) > MUCH_SKEW.total_seconds():
            way = "ahead of" if each.clock_skew > 0 else "behind"
            told.append(
                f"The clock of {each.host} ({each.name}) is {abs(each.clock_skew):.0f} s {way} the database's. Start a time service there."
            )
    return told


class ReasonForm(Form):
    """Why, and on which page it was said."""

    reason: Reason
    here: Literal["list", "queue"] = "list"


class PauseForm(ReasonForm):
    """Why, and for how long."""

    minutes: Annotated[int, Field(ge=1, le=60 * 24 * 30)] | None = None

    @property
    def span(self) -> float | None:
        """How long, in seconds."""
        return None if self.minutes is None else timedelta(minutes=self.minutes).total_seconds()


class LimitForm(ReasonForm):
    """How many may run at once; nothing takes the limit away."""

    limit: Annotated[int, Field(ge=1, le=100_000)] | None = None


class TaskPauseForm(PauseForm):
    """Which task, why, and for how long."""

    task: Annotated[str, Field(max_length=200)]


class TaskForm(ReasonForm):
    """Which task, and why."""

    task: Annotated[str, Field(max_length=200)]


def _there(form: ReasonForm, name: str) -> str:
    return "/queues" if form.here == "list" else f"/queues/{segment_of(name)}"


@queues.action("/queues/{name:path}/pause")
async def pause(look: Look, form: PauseForm, name: str) -> Done:
    """Pause a queue."""
    await look.at(pause_queue, name, PauseBody(reason=form.reason, resume_in=form.span))
    return Done(f"Queue {name} is paused; what runs goes on.", _there(form, name))


@queues.action("/queues/{name:path}/resume")
async def resume(look: Look, form: ReasonForm, name: str) -> Done:
    """Let a queue's jobs run again."""
    await look.at(resume_queue, name, ReasonBody(reason=form.reason))
    return Done(f"Queue {name} runs again.", _there(form, name))


@queues.action("/queues/{name:path}/limit")
async def limit(look: Look, form: LimitForm, name: str) -> Done:
    """Set how many jobs of a queue may run at once."""
    await look.at(limit_queue, name, LimitBody(limit=form.limit, reason=form.reason))
    return Done(f"Queue {name} runs {form.limit or 'any number of'} jobs at once.", _there(form, name))


@queues.action("/queues/{name:path}/pause-task")
async def pause_one(look: Look, form: TaskPauseForm, name: str) -> Done:
    """Pause a task of a queue."""
    await look.at(pause_task, form.task, PauseBody(reason=form.reason, resume_in=form.span))
    return Done(f"Task {form.task} is paused; what runs goes on.", f"/queues/{segment_of(name)}")


@queues.action("/queues/{name:path}/resume-task")
async def resume_one(look: Look, form: TaskForm, name: str) -> Done:
    """Let a task's jobs run again."""
    await look.at(resume_task, form.task, ReasonBody(reason=form.reason))
    return Done(f"Task {form.task} runs again.", f"/queues/{segment_of(name)}")


class WorkerForm(Form):
    """Which worker, and why."""

    worker: UUID
    reason: Reason


@queues.action("/queues/quiet-worker")
async def quiet(look: Look, form: WorkerForm) -> Done:
    """Let a worker claim no more."""
    worker = await look.at(quiet_worker, form.worker, ReasonBody(reason=form.reason))
    return Done(
        f"Worker {worker.name} claims no more from its next heartbeat on; what it runs goes on.", "/queues"
    )


@queues.action("/queues/stop-worker")
async def stop(look: Look, form: WorkerForm) -> Done:
    """Let a worker end."""
    worker = await look.at(stop_worker, form.worker, ReasonBody(reason=form.reason))
    return Done(
        f"Worker {worker.name} hears it with its next heartbeat, finishes what it runs, and ends.", "/queues"
    )


@queues.action("/queues/resume-worker")
async def claim_again(look: Look, form: WorkerForm) -> Done:
    """Let a quiet worker claim again."""
    worker = await look.at(resume_worker, form.worker, ReasonBody(reason=form.reason))
    return Done(f"Worker {worker.name} claims again from its next heartbeat on.", "/queues")
