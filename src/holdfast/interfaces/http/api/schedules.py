"""/schedules: what is enqueued when."""

import json
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.errors import ScheduleNotFound
from holdfast.domain.job import NewJob
from holdfast.domain.schedule import Schedule
from holdfast.interfaces.http.api.payloads import HIDDEN
from holdfast.interfaces.http.api.words import Limit, Name, Reason, ReasonBody, Seconds
from holdfast.interfaces.http.operation import ApiCall, Body, Operations, Query, View
from holdfast.interfaces.http.problem import CONFLICT, NOT_FOUND
from holdfast.runtime.schedules import definition, timing_of
from holdfast.store import schedule as store
from holdfast.store.access import database_clock
from holdfast.store.ids import new_id

schedules = Operations("schedules")


class ScheduleView(View):
    """A schedule."""

    name: str
    task: str
    payload: dict[str, Any] | None
    cron: str | None
    every: Annotated[float | None, Field(description="Seconds")]
    tz: str
    sentence: str
    missed: str
    overlap: str
    declared: bool
    status: str
    next_at: datetime | None
    paused_at: datetime | None
    paused_by: str | None
    paused_for: str | None
    last_slot: datetime | None
    last_outcome: str | None
    last_job_id: UUID | None
    hidden: Annotated[str | None, Field(description="Why the payload is not shown")]

    @classmethod
    def of(cls, schedule: Schedule, call: ApiCall) -> "ScheduleView":
        """Show a schedule to somebody."""
        told = {
            **schedule.as_json(),
            "every": None if schedule.every is None else schedule.every.total_seconds(),
            "hidden": None,
        }
        if not call.principal.sees_payloads:
            told |= {"payload": None, "hidden": HIDDEN}
        return cls(**{name: told[name] for name in cls.model_fields})


class SchedulesView(View):
    """All schedules."""

    items: list[ScheduleView]


class RunView(View):
    """What became of one time of a schedule."""

    slot: datetime
    last_slot: datetime
    times: int
    outcome: str
    at: datetime
    job_id: UUID | None
    actor: str
    detail: str | None


class RunsView(View):
    """The newest runs of a schedule."""

    items: list[RunView]


class TimesView(View):
    """When a schedule fires next."""

    items: list[datetime]


class RunsQuery(Query):
    """How many."""

    limit: Limit = 20


Cron: TypeAlias = Annotated[str, Field(max_length=200)]
Zone: TypeAlias = Annotated[str, Field(max_length=100)]


class _WhenBody(Body):
    """When a schedule fires: a cron expression or an interval in seconds."""

    cron: Cron | None = None
    every: Seconds | None = None
    tz: Zone = "UTC"
    missed: Literal["skip", "one", "all"] = "one"
    overlap: Literal["allow", "skip", "replace"] = "allow"


class NewScheduleBody(_WhenBody):
    """A schedule made at run time: a cron expression or an interval in seconds."""

    name: Name
    task: Name
    payload: Annotated[dict[str, Any], Field(default_factory=dict)]


class EditScheduleBody(_WhenBody):
    """What a schedule is to be from now on; without a payload it keeps the one it has."""

    payload: dict[str, Any] | None = None
    reason: Reason | None = None


class TimesQuery(Query):
    """A cron expression or an interval in seconds, which no schedule needs to have."""

    cron: Cron | None = None
    every: Seconds | None = None
    tz: Zone = "UTC"


class TimingView(View):
    """What a timing means: in words, and its next three times in its own zone."""

    sentence: str
    next: list[datetime]


class StartedView(View):
    """The job that was made."""

    job_id: UUID


async def _schedule(call: ApiCall, name: str) -> Schedule:
    found = await call.ask(store.schedules(name))
    if not found:
        raise ScheduleNotFound(f"no schedule is called {name!r}")
    return found[0]


@schedules.get("/schedules", for_all=True)
async def list_schedules(call: ApiCall) -> SchedulesView:
    """List the schedules."""
    return SchedulesView(items=[ScheduleView.of(each, call) for each in await call.ask(store.schedules())])


@schedules.get("/schedules/{name}", for_all=True, problems=(NOT_FOUND,))
async def show_schedule(call: ApiCall, name: str) -> ScheduleView:
    """Show a schedule."""
    return ScheduleView.of(await _schedule(call, name), call)


@schedules.get("/schedules/{name}/next", for_all=True, problems=(NOT_FOUND,))
async def next_times(call: ApiCall, name: str) -> TimesView:
    """Tell a schedule's next ten times."""
    return TimesView(items=(await _schedule(call, name)).next())


@schedules.get("/schedules/{name}/runs", for_all=True, problems=(NOT_FOUND,))
async def list_runs(call: ApiCall, name: str, query: RunsQuery) -> RunsView:
    """List what became of a schedule's times, newest first."""
    await _schedule(call, name)
    found = await call.ask(store.schedule_runs(name, query.limit))
    return RunsView(items=[RunView.model_validate(each) for each in found])


@schedules.post(
    "/schedules", scope=Scope.OPERATE, status=HTTPStatus.CREATED, for_all=True, problems=(CONFLICT,)
)
async def create_schedule(call: ApiCall, body: NewScheduleBody) -> ScheduleView:
    """Make a schedule; the same again changes nothing, another under its name is refused."""
    timing = timing_of(body.cron, body.every, body.tz)
    job = NewJob(new_id(), body.task, json.dumps(body.payload), "")
    written = definition(body.name, job, timing, body.missed, body.overlap)
    await call.ask(store.create_schedule(written, replace=False))
    await call.record("schedule.create", body.name)
    return ScheduleView.of(await _schedule(call, body.name), call)


@schedules.get("/schedule-times", for_all=True)
async def explain_timing(call: ApiCall, query: TimesQuery) -> TimingView:
    """Say in words when a timing would fire from now on."""
    timing = timing_of(query.cron, query.every, query.tz)
    now = await call.ask(database_clock())
    return TimingView(sentence=str(timing), next=timing.first(3, now, now))


@schedules.put("/schedules/{name}", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND, CONFLICT))
async def edit_schedule(call: ApiCall, name: str, body: EditScheduleBody) -> ScheduleView:
    """Change a schedule that was made at run time; what is declared in code is changed there."""
    timing = timing_of(body.cron, body.every, body.tz)
    before = await _schedule(call, name)
    changes: dict[str, Any] = {
        "cron": timing.cron, "every": body.every, "tz": timing.tz, "missed": body.missed, "overlap": body.overlap,
    }  # fmt: skip
    if body.payload is not None:
        changes["payload"] = body.payload
    await call.ask(store.edit_schedule(name, changes))
    after = await _schedule(call, name)
    await call.record(
        "schedule.edit", name, body.reason, before=str(before.timing), after=str(after.timing),
        payload="replaced" if body.payload is not None else "kept",
    )  # fmt: skip
    return ScheduleView.of(after, call)


@schedules.post("/schedules/{name}/run", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND,))
async def run_schedule(call: ApiCall, name: str, body: ReasonBody) -> StartedView:
    """Enqueue a schedule's job now, besides its own times."""
    await _schedule(call, name)
    job_id = await call.ask(store.run_schedule(name, call.principal.name, new_id()))
    await call.record("schedule.run", name, body.reason, job_id=str(job_id))
    return StartedView(job_id=job_id)


@schedules.post("/schedules/{name}/pause", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND,))
async def pause_schedule(call: ApiCall, name: str, body: ReasonBody) -> ScheduleView:
    """Pause a schedule."""
    await _schedule(call, name)
    await call.ask(store.pause_schedule(name, call.principal.name, body.reason))
    await call.record("schedule.pause", name, body.reason)
    return ScheduleView.of(await _schedule(call, name), call)


@schedules.post("/schedules/{name}/resume", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND,))
async def resume_schedule(call: ApiCall, name: str, body: ReasonBody) -> ScheduleView:
    """Let a schedule go on."""
    await _schedule(call, name)
    await call.ask(store.resume_schedule(name))
    await call.record("schedule.resume", name, body.reason)
    return ScheduleView.of(await _schedule(call, name), call)


@schedules.delete("/schedules/{name}", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND, CONFLICT))
async def delete_schedule(call: ApiCall, name: str) -> ScheduleView:
    """Delete a schedule that was made at run time."""
    last = ScheduleView.of(await _schedule(call, name), call)
    await call.ask(store.delete_schedule(name))
    await call.record("schedule.delete", name)
    return last
