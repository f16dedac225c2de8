"""Schedules: when they fire, what became of their times, and the hand on the switch."""

from collections import defaultdict
from datetime import datetime
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.errors import ScheduleNotFound
from holdfast.domain.schedule import Schedule
from holdfast.domain.segments import segment_of
from holdfast.domain.states import Status
from holdfast.interfaces.http.api.queues import list_queues, list_tasks
from holdfast.interfaces.http.api.schedules import (
    delete_schedule,
    list_schedules,
    pause_schedule,
    resume_schedule,
    run_schedule,
    show_schedule,
)
from holdfast.interfaces.http.api.words import ReasonBody
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Done, Form, Section
from holdfast.store import schedule as store

schedules = Section("schedules")

LISTED = 200
_BARS = 20
_TIMES = 3
_SHOWN_RUNS = 50

MISSED = {
    "skip": "times that passed while nothing ran are left out",
    "one": "times that passed while nothing ran are made up for once",
    "all": "times that passed while nothing ran are all made up for",
}
OVERLAP = {
    "allow": "a time fires even while the job of the last one runs",
    "skip": "a time is left out while the job of the last one runs",
    "replace": "a time stops the job of the last one if it still runs",
}
# What became of a time that made no job of its own.
_OUTCOMES = {
    "missed": "missed",
    "overlap": "left out: the job before still ran",
    "duplicate": "the job was there already",
    "refused": "refused",
}
_STYLES = {
    Status.COMPLETED: "completed", Status.FAILED: "failed", Status.CANCELLED: "cancelled", Status.RUNNING: "running",
    Status.RETRY: "retry", Status.WAITING_FOR_APPROVAL: "waiting", Status.PENDING: "pending",
}  # fmt: skip


class Run(NamedTuple):
    """One time of a schedule, as a bar or a row shows it."""

    slot: datetime
    times: int
    outcome: str
    job_id: UUID | None
    status: Status | None
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def word(self) -> str:
        """What became of it."""
        if self.outcome in _OUTCOMES:
            times = f" ({self.times} times)" if self.times > 1 else ""
            return _OUTCOMES[self.outcome] + times
        return "its job is not kept any more" if self.status is None else str(self.status).lower()

    @property
    def css(self) -> str:
        """How it looks."""
        if self.outcome in {"missed", "refused"}:
            return "failed"
        return _STYLES.get(self.status, "pending") if self.status else "pending"

    @property
    def seconds(self) -> float | None:
        """How long its job took from the first start to the end."""
        if self.started_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()


@schedules.panel("schedules", "jobs")
async def schedule_list(look: Look) -> dict[str, Any]:
    """List the schedules with their next times and their last ones."""
    await look.require(list_schedules)
    found = await look.call.ask(store.schedules(limit=LISTED + 1))
    shown = found[:LISTED]
    return {
        "schedules": [(each, each.next(_TIMES)) for each in shown],
        "runs": await _runs(look, [each.name for each in shown], _BARS),
        "is_cut": len(found) > LISTED,
        "hints": await _hints(look, shown),
        "operates": look.may(Scope.OPERATE),
    }


@schedules.panel("schedules", "jobs", "queues")
async def schedule_card(look: Look, name: str) -> dict[str, Any]:
    """Show one schedule."""
    schedule = await _schedule(look, name)
    return {
        "schedule": schedule,
        "times": schedule.next(_TIMES),
        "runs": (await _runs(look, [name], _BARS))[name],
        "missed": MISSED[schedule.missed],
        "overlap": OVERLAP[schedule.overlap],
        "hint": (await _hints(look, [schedule])).get(name),
        "operates": look.may(Scope.OPERATE),
    }


@schedules.panel("schedules", "jobs")
async def schedule_runs(look: Look, name: str) -> dict[str, Any]:
    """List what became of its newest times."""
    await _schedule(look, name)
    return {"runs": (await _runs(look, [name], _SHOWN_RUNS))[name][::-1]}


async def _schedule(look: Look, name: str) -> Schedule:
    await look.require(show_schedule)
    found = await look.call.ask(store.schedules(name))
    if not found:
        raise ScheduleNotFound(f"no schedule is called {name!r}")
    return found[0]


async def _runs(look: Look, names: list[str], limit: int) -> dict[str, list[Run]]:
    """Read the newest times of schedules, the oldest first."""
    runs: defaultdict[str, list[Run]] = defaultdict(list)
    for name, *told in await look.call.ask(store.schedule_bars(names, limit)):
        runs[name].append(Run(*told))
    return runs


async def _hints(look: Look, shown: list[Schedule]) -> dict[str, str]:
    """Say about which schedules something stands in the way of their jobs."""
    tasks = {each.name: each for each in (await look.at(list_tasks)).items}
    paused = {each.name for each in (await look.at(list_queues)).items if each.paused_at}
    hints = {}
    for each in shown:
        task = tasks.get(each.task)
        if task is not None and task.queue in paused:
            hints[each.name] = f"queue {task.queue} is paused"
        elif task is not None and task.paused_at:
            hints[each.name] = f"task {task.name} is paused"
        elif not each.task_has_worker:
            hints[each.name] = f"no worker has task {each.task}"
    return hints


class ReasonForm(Form):
    """Why."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]


def _page(name: str) -> str:
    return f"/schedules/{segment_of(name)}"


@schedules.action("/schedules/{name:path}/pause")
async def pause(look: Look, form: ReasonForm, name: str) -> Done:
    """Let a schedule's times pass."""
    await look.at(pause_schedule, name, ReasonBody(reason=form.reason))
    return Done(f"Schedule {name} is paused.", _page(name))


@schedules.action("/schedules/{name:path}/resume")
async def resume(look: Look, form: ReasonForm, name: str) -> Done:
    """Let a schedule go on."""
    await look.at(resume_schedule, name, ReasonBody(reason=form.reason))
    return Done(f"Schedule {name} fires again from now on.", _page(name))


@schedules.action("/schedules/{name:path}/run")
async def run(look: Look, form: ReasonForm, name: str) -> Done:
    """Enqueue a schedule's job now."""
    started = await look.at(run_schedule, name, ReasonBody(reason=form.reason))
    return Done(f"Schedule {name} runs now, as job {str(started.job_id)[-8:]}.", _page(name))


@schedules.action("/schedules/{name:path}/delete")
async def delete(look: Look, form: Form, name: str) -> Done:  # noqa: ARG001 - a form brings one, empty or not
    """Delete a schedule that was made at run time."""
    await look.at(delete_schedule, name)
    return Done(f"Schedule {name} is deleted; what became of its times stays.", "/schedules")
