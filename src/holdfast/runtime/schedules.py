"""Schedules as an app declares, makes and steers them."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from holdfast.domain.errors import BadInput, BadPayload, Configuration, ScheduleNotFound
from holdfast.domain.job import NewJob
from holdfast.domain.schedule import (
    Missed,
    Overlap,
    Schedule,
    ScheduleRun,
    Timing,
    refuse_unknown_policies,
)
from holdfast.runtime.handle import AsyncHandle, Handle
from holdfast.runtime.registry import Enqueues
from holdfast.store import schedule as store
from holdfast.store.call import Call
from holdfast.store.enqueue import declare_tasks
from holdfast.store.ids import new_id

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

Scheduled: TypeAlias = "Enqueues[Any, Any] | str"
# A class with a method called list needs other names for lists.
Found: TypeAlias = list[Schedule]
Runs: TypeAlias = list[ScheduleRun]
Times: TypeAlias = list[datetime]
AnyEnqueues = TypeVar("AnyEnqueues", bound=Enqueues[Any, Any])

_LONGEST_NAME = 200
_NOT_FOR_SCHEDULES = {"run_at", "run_in"}


def definition(
    name: str,
    job: NewJob,
    timing: Timing,
    missed: Missed,
    overlap: Overlap,
) -> dict[str, Any]:
    """Write a schedule as the database takes it."""
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        raise BadInput(f"a schedule's name has 1 to {_LONGEST_NAME} printable characters, unlike {name!r}")
    refuse_unknown_policies(missed, overlap)
    options = json.loads("{" + job.options.removeprefix(",") + "}")
    if unfit := sorted(_NOT_FOR_SCHEDULES & set(options)):
        raise BadInput(f"schedule {name!r} has {unfit[0]}=: its own times decide when its jobs run")
    return {
        "name": name,
        "task": job.task,
        "payload": json.loads(job.payload),
        "options": options,
        "cron": timing.cron,
        "every": None if timing.every is None else timing.every.total_seconds(),
        "tz": timing.tz,
        "missed": missed,
        "overlap": overlap,
    }


def timing_of(cron: str | None, every: timedelta | float | None, tz: str) -> Timing:
    """Read what was given as a timing."""
    if cron is not None and not isinstance(cron, str):
        raise BadInput(f'{cron!r} is no cron line: write it as text, e.g. "0 9 * * mon-fri"')
    return Timing(
        cron=cron, every=timedelta(seconds=every) if isinstance(every, int | float) else every, tz=tz
    )


class Declarations:
    """The schedules that an app's code declares; its workers register them when they start."""

    def __init__(self) -> None:
        self.by_name: dict[str, dict[str, Any]] = {}

    def declaring(
        self,
        timing: Timing,
        name: str | None,
        missed: Missed,
        overlap: Overlap,
        payload: Mapping[str, Any] | None,
        using: Mapping[str, Any] | None,
    ) -> Callable[[AnyEnqueues], AnyEnqueues]:
        """Make the decorator that stands above @app.task()."""

        def declare(task: AnyEnqueues) -> AnyEnqueues:
            if not isinstance(task, Enqueues):
                raise Configuration(f"{task!r} is no task: @app.schedule(…) stands above @app.task()")
            given = task.task.using(**using) if using else task
            self._add(
                definition(name or task.task.name, given.job(**(payload or {})), timing, missed, overlap)
            )
            return task

        return declare

    def _add(self, declared: dict[str, Any]) -> None:
        if declared["name"] in self.by_name:
            raise Configuration(
                f"two schedules are called {declared['name']!r}: give one of them another name="
            )
        self.by_name[declared["name"]] = declared


class _Calls:
    """What both ways of steering ask the database."""

    def __init__(self, app: "Holdfast") -> None:
        self._app = app

    def _create(
        self,
        name: str,
        task: Scheduled,
        timing: Timing,
        missed: Missed,
        overlap: Overlap,
        payload: Mapping[str, Any] | None,
        replace: bool,
    ) -> list[Call[None]]:
        job = self._job(task, dict(payload or {}))
        written = definition(name, job, timing, missed, overlap)
        return [declare_tasks(self._app.declared({job.task})), store.create_schedule(written, replace)]

    def _job(self, task: Scheduled, payload: dict[str, Any]) -> NewJob:
        known = self._app.tasks.get(task) if isinstance(task, str) else task
        if known is not None:
            return known.job(**payload)
        try:
            return NewJob(new_id(), str(task), json.dumps(payload, allow_nan=False), "")
        except (TypeError, ValueError) as error:
            raise BadPayload(f"payload= of a schedule of {task!r} is no JSON: {error}") from error

    @staticmethod
    def _one(name: str, found: list[Schedule]) -> Schedule:
        if not found:
            raise ScheduleNotFound(f"no schedule is called {name!r} (holdfast schedule list shows them)")
        return found[0]


class Schedules(_Calls):
    """An app's schedules in its database, for synchronous code."""

    def create(
        self,
        name: str,
        task: Scheduled,
        cron: str | None = None,
        *,
        every: timedelta | float | None = None,
        tz: str = "UTC",
        missed: Missed = "one",
        overlap: Overlap = "allow",
        payload: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> None:
        """Make a schedule at run time, of a task, of task.using(…), or of a task's name; a repeat of the same is none."""
        calls = self._create(name, task, timing_of(cron, every, tz), missed, overlap, payload, replace)
        self._app.link.perform_together(lambda: calls)

    def list(self) -> Found:
        """List all schedules by name."""
        return self._app.link.perform(store.schedules())

    def get(self, name: str) -> Schedule:
        """Look one up."""
        return self._one(name, self._app.link.perform(store.schedules(name)))

    def next(self, name: str, count: int = 10) -> Times:
        """Give its next times from now on, in its own zone; paused or not."""
        return self.get(name).next(count)

    def runs(self, name: str, limit: int = 20) -> Runs:
        """List what became of its times, newest first; also after it was deleted."""
        return self._app.link.perform(store.schedule_runs(name, limit))

    def run_now(self, name: str, *, actor: str | None = None) -> Handle[Any]:
        """Run it now, once; paused or not, and whatever else of it runs."""
        job_id = self._app.link.perform(store.run_schedule(name, actor, new_id()))
        return self._app.handle(job_id)

    def pause(self, name: str, *, actor: str | None = None, reason: str | None = None) -> None:
        """Let its times pass without firing, until it is resumed; deployments do not change that."""
        self._app.link.perform(store.pause_schedule(name, actor, reason))

    def resume(self, name: str) -> bool:
        """Fire again from now on; answers whether it was paused."""
        return self._app.link.perform(store.resume_schedule(name))

    def delete(self, name: str) -> bool:
        """Forget it; answers whether it was there. One that code declares comes back with the next worker."""
        return self._app.link.perform(store.delete_schedule(name))


class AsyncSchedules(_Calls):
    """An app's schedules in its database, for asynchronous code."""

    async def create(
        self,
        name: str,
        task: Scheduled,
        cron: str | None = None,
        *,
        every: timedelta | float | None = None,
        tz: str = "UTC",
        missed: Missed = "one",
        overlap: Overlap = "allow",
        payload: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> None:
        """Make a schedule at run time, of a task, of task.using(…), or of a task's name; a repeat of the same is none."""
        calls = self._create(name, task, timing_of(cron, every, tz), missed, overlap, payload, replace)
        await self._app.link.aperform_together(lambda: calls)

    async def list(self) -> Found:
        """List all schedules by name."""
        return await self._app.link.aperform(store.schedules())

    async def get(self, name: str) -> Schedule:
        """Look one up."""
        return self._one(name, await self._app.link.aperform(store.schedules(name)))

    async def next(self, name: str, count: int = 10) -> Times:
        """Give its next times from now on, in its own zone; paused or not."""
        return (await self.get(name)).next(count)

    async def runs(self, name: str, limit: int = 20) -> Runs:
        """List what became of its times, newest first; also after it was deleted."""
        return await self._app.link.aperform(store.schedule_runs(name, limit))

    async def run_now(self, name: str, *, actor: str | None = None) -> AsyncHandle[Any]:
        """Run it now, once; paused or not, and whatever else of it runs."""
        job_id = await self._app.link.aperform(store.run_schedule(name, actor, new_id()))
        return self._app.ahandle(job_id)

    async def pause(self, name: str, *, actor: str | None = None, reason: str | None = None) -> None:
        """Let its times pass without firing, until it is resumed; deployments do not change that."""
        await self._app.link.aperform(store.pause_schedule(name, actor, reason))

    async def resume(self, name: str) -> bool:
        """Fire again from now on; answers whether it was paused."""
        return await self._app.link.aperform(store.resume_schedule(name))

    async def delete(self, name: str) -> bool:
        """Forget it; answers whether it was there. One that code declares comes back with the next worker."""
        return await self._app.link.aperform(store.delete_schedule(name))
