"""/queues, /tasks, /workers, /flags: who works on what, and what holds it back."""

from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.errors import WorkerNotFound
from holdfast.domain.gates import FlagInfo
from holdfast.domain.health import COUNT_CAP, Wish
from holdfast.interfaces.http.api.words import INTEGRAL, Length, PauseBody, Reason, ReasonBody
from holdfast.interfaces.http.operation import ApiCall, Body, Operations, View
from holdfast.interfaces.http.problem import CONFLICT, NOT_FOUND, Refusal
from holdfast.store import limits, overview, upkeep
from holdfast.store.claim import wish_of_worker

queues = Operations("queues")
tasks = Operations("tasks")
workers = Operations("workers")
flags = Operations("flags")


class QueueView(View):
    """A queue. Counts stop at 10,001, which means more than 10,000."""

    name: str
    status: str
    paused_at: datetime | None
    paused_by: str | None
    paused_for: str | None
    resume_at: datetime | None
    waiting: Annotated[int, Field(le=COUNT_CAP + 1)]
    running: Annotated[int, Field(le=COUNT_CAP + 1)]
    oldest: datetime | None
    workers: int
    limit: int | None


class QueuesView(View):
    """All queues."""

    items: list[QueueView]


class LimitBody(ReasonBody):
    """How many jobs may run at once; null takes the limit away."""

    limit: Annotated[int, Field(ge=1, le=1_000_000), INTEGRAL] | None


@queues.get("/queues", for_all=True)
async def list_queues(call: ApiCall) -> QueuesView:
    """List the queues, those without jobs too."""
    return QueuesView(items=[QueueView.model_validate(each) for each in await call.ask(overview.queues())])


async def _queue(call: ApiCall, name: str) -> QueueView:
    found = [each for each in await call.ask(overview.queues()) if each.name == name]
    if not found:
        raise Refusal(NOT_FOUND, f"no queue is called {name!r}")
    return QueueView.model_validate(found[0])


@queues.get("/queues/{name}", for_all=True, problems=(NOT_FOUND,))
async def show_queue(call: ApiCall, name: str) -> QueueView:
    """Show a queue."""
    return await _queue(call, name)


@queues.post("/queues/{name}/pause", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND,))
async def pause_queue(call: ApiCall, name: str, body: PauseBody) -> QueueView:
    """Pause a queue: its jobs wait, and what runs goes on."""
    await _queue(call, name)
    await call.ask(upkeep.pause_queue(name, call.principal.name, body.reason, _span(body.resume_in)))
    await call.record("queue.pause", name, body.reason)
    return await _queue(call, name)


@queues.post("/queues/{name}/resume", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND,))
async def resume_queue(call: ApiCall, name: str, body: ReasonBody) -> QueueView:
    """Let a queue's jobs run again."""
    await _queue(call, name)
    await call.ask(upkeep.resume_queue(name))
    await call.record("queue.resume", name, body.reason)
    return await _queue(call, name)


@queues.put("/queues/{name}/limit", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND,))
async def limit_queue(call: ApiCall, name: str, body: LimitBody) -> QueueView:
    """Set how many jobs of a queue may run at once."""
    await _queue(call, name)
    await call.ask(limits.limit_queue(name, body.limit))
    await call.record("queue.limit", name, body.reason, limit=body.limit)
    return await _queue(call, name)


class TaskView(View):
    """A task, and what stands in front of its jobs."""

    name: str
    queue: str
    status: str
    gates: str
    paused_at: datetime | None
    paused_by: str | None
    paused_for: str | None
    resume_at: datetime | None
    workers: int
    retention: Annotated[
        Length | None, Field(description="Seconds that a finished job is kept; null is for ever")
    ]


class TasksView(View):
    """All registered tasks."""

    items: list[TaskView]


@tasks.get("/tasks", for_all=True)
async def list_tasks(call: ApiCall) -> TasksView:
    """List the registered tasks."""
    return TasksView(items=[TaskView.model_validate(each) for each in await call.ask(limits.tasks())])


async def _task(call: ApiCall, name: str) -> TaskView:
    found = [each for each in await call.ask(limits.tasks(own=True)) if each.name == name]
    if not found:
        raise Refusal(NOT_FOUND, f"no task is called {name!r}")
    return TaskView.model_validate(found[0])


@tasks.post("/tasks/{name}/pause", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND,))
async def pause_task(call: ApiCall, name: str, body: PauseBody) -> TaskView:
    """Pause a task: its jobs wait, and what runs goes on."""
    await _task(call, name)
    await call.ask(limits.pause_task(name, call.principal.name, body.reason, _span(body.resume_in)))
    await call.record("task.pause", name, body.reason)
    return await _task(call, name)


@tasks.post("/tasks/{name}/resume", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND,))
async def resume_task(call: ApiCall, name: str, body: ReasonBody) -> TaskView:
    """Let a task's jobs run again."""
    await _task(call, name)
    await call.ask(limits.resume_task(name))
    await call.record("task.resume", name, body.reason)
    return await _task(call, name)


class WorkerView(View):
    """A worker as the database knows it."""

    id: UUID
    name: str
    host: str
    pid: int
    version: str
    state: str
    queues: dict[str, int]
    tasks: list[str]
    started_at: datetime
    seen_at: datetime
    held: int
    wish: Annotated[
        Wish | None, Field(description="quiet: it claims no more; stop: it ends when what runs has ended")
    ]
    wished: Annotated[str | None, Field(description="By whom, when and why that was asked")]
    clock_skew: Annotated[Length, Field(description="Seconds that its clock is ahead of the database's")]


class WorkersView(View):
    """Workers, the living first."""

    items: list[WorkerView]


@workers.get("/workers", for_all=True)
async def list_workers(call: ApiCall) -> WorkersView:
    """List the newest 200 workers, the living first."""
    return WorkersView(items=[WorkerView.model_validate(each) for each in await call.ask(overview.workers())])


async def _wish(
    call: ApiCall, worker_id: UUID, wish: Wish | None, action: str, reason: str | None
) -> WorkerView:
    await call.ask(wish_of_worker(worker_id, wish, call.principal.name, reason))
    found = next((each for each in await call.ask(overview.workers()) if each.id == worker_id), None)
    if found is None:
        raise WorkerNotFound(f"no living worker has the id {worker_id}")
    await call.record(action, found.name, reason)
    return WorkerView.model_validate(found)


@workers.post("/workers/{worker_id}/quiet", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND, CONFLICT))
async def quiet_worker(call: ApiCall, worker_id: UUID, body: ReasonBody) -> WorkerView:
    """Let a worker claim no more: it finishes what it runs, and stays. Its next heartbeat tells it."""
    return await _wish(call, worker_id, "quiet", "worker.quiet", body.reason)


@workers.post("/workers/{worker_id}/stop", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND, CONFLICT))
async def stop_worker(call: ApiCall, worker_id: UUID, body: ReasonBody) -> WorkerView:
    """Let a worker finish what it runs and end, as a SIGTERM does; whatever started it may start it again."""
    return await _wish(call, worker_id, "stop", "worker.stop", body.reason)


@workers.post(
    "/workers/{worker_id}/resume", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND, CONFLICT)
)
async def resume_worker(call: ApiCall, worker_id: UUID, body: ReasonBody) -> WorkerView:
    """Let a quiet worker claim again."""
    return await _wish(call, worker_id, None, "worker.resume", body.reason)


class FlagView(View):
    """A flag: what holds jobs back without failing them."""

    name: str
    enabled: bool
    percent: int
    status: str
    set_by: str | None
    reason: str | None
    at: datetime | None
    tasks: list[str]


class FlagsView(View):
    """All flags that were ever set, and those that tasks name."""

    items: list[FlagView]


class FlagBody(Body):
    """What a flag is to be; what is left out stays."""

    enabled: bool | None = None
    percent: Annotated[int, Field(ge=0, le=100), INTEGRAL] | None = None
    reason: Reason | None = None


@flags.get("/flags", for_all=True)
async def list_flags(call: ApiCall) -> FlagsView:
    """List the flags."""
    return FlagsView(items=[FlagView.model_validate(each) for each in await call.ask(limits.flags())])


@flags.put("/flags/{name}", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND,))
async def set_flag(call: ApiCall, name: str, body: FlagBody) -> FlagView:
    """Switch a flag that exists or that a task names: on, off, or on for a share."""
    await _flag(call, name)
    changed: dict[str, Any] = {"enabled": body.enabled, "percent": body.percent}
    await call.ask(limits.set_flag(name, **changed, actor=call.principal.name, reason=body.reason))
    await call.record("flag.set", name, body.reason, **changed)
    return FlagView.model_validate(await _flag(call, name))


async def _flag(call: ApiCall, name: str) -> FlagInfo:
    found = [each for each in await call.ask(limits.flags()) if each.name == name]
    if not found:
        raise Refusal(NOT_FOUND, f"no flag is called {name!r}")
    return found[0]


def _span(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
