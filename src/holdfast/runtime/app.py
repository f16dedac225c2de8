"""The app: where tasks are declared and enqueued, and where everything is put together."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, overload

from holdfast.domain.backoff import BackoffLike
from holdfast.domain.encryption import Keys
from holdfast.domain.errors import Configuration
from holdfast.domain.failure import Rules
from holdfast.domain.limits import Limit, Rate, gate_options, is_on
from holdfast.domain.payload import PayloadCodec
from holdfast.domain.redaction import checked_paths
from holdfast.domain.schedule import Missed, Overlap
from holdfast.domain.task import (
    CountedPer,
    Executor,
    KeyScope,
    TaskSettings,
    backoff_rule,
    seconds,
    unique_fields,
)
from holdfast.runtime import execute
from holdfast.runtime.alerts import OWN_PREFIX, Alerts
from holdfast.runtime.approvals import Approvals
from holdfast.runtime.bulk import BULK_TASK, bulk_task
from holdfast.runtime.context import Context, JobContext, SyncContext
from holdfast.runtime.enqueuing import Enqueuing
from holdfast.runtime.executors.protocol import Executor as OutsideExecutor
from holdfast.runtime.feed import Channels
from holdfast.runtime.holding import Claimed, Holding
from holdfast.runtime.link import Link
from holdfast.runtime.logs import events
from holdfast.runtime.processes import AppLocation, Processes
from holdfast.runtime.reading import Reading
from holdfast.runtime.registry import (
    AnyTask,
    ContextTask,
    Task,
    default_name,
    is_async,
    redacting,
    refuse_unfit,
    refuse_unknown_fields,
    takes_context,
)
from holdfast.runtime.schedules import (
    AnyEnqueues,
    AsyncSchedules,
    Declarations,
    Schedules,
    timing_of,
)
from holdfast.runtime.sealing import refuse_what_reads_payloads
from holdfast.runtime.steering import Steering
from holdfast.runtime.surrounding import Hook, Surrounding, Wrapper
from holdfast.runtime.webhooks import Receiving, Webhook
from holdfast.store import migrate
from holdfast.store.connection import Database, find_database
from holdfast.store.enqueue import declare_tasks

if TYPE_CHECKING:
    from holdfast.runtime.tick import Ticked

P = ParamSpec("P")
R = TypeVar("R")
OutsideExecutorT = TypeVar("OutsideExecutorT", bound=OutsideExecutor)


class Holdfast(Enqueuing, Steering, Reading, Channels, Receiving, Surrounding):
    """Durable jobs in one PostgreSQL database."""

    def __init__(self, database_url: str | None = None, *, encryption: Keys | None = None) -> None:
        self.encryption = encryption
        self.tasks: dict[str, AnyTask] = {}
        self.queues: set[str] = set()  # that workers serve too, beside those that the tasks name
        self.hooks: list[Hook] = []
        self._wrappers: list[Wrapper] = []
        self.executors: dict[str, OutsideExecutor] = {}
        self.webhooks: dict[str, Webhook] = {}
        self._registered: set[str] = set()  # tasks that this database is known to have
        self._flags_told: set[str] = set()
        self.made_in: str = sys._getframe(1).f_globals.get("__name__", "")  # noqa: SLF001 - where children will find it
        self.link = Link(lambda: find_database(database_url))
        self.approvals = Approvals(self.link, lambda: self.alerts.base_url)
        self._holding: Holding | None = None
        self.ticking = threading.Lock()  # held by the one tick of this process
        self.declarations = Declarations()
        self.schedules = Schedules(self)
        self.aschedules = AsyncSchedules(self)
        self.alerts = Alerts(self)
        self.notify, self.anotify = self.alerts.notify, self.alerts.anotify
        self._own_tasks: dict[str, AnyTask] = {BULK_TASK: bulk_task(self)}

    # -- tasks ---------------------------------------------------------------------------------------------------------

    def task(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        queue: str = "default",
        retries: int = 3,
        backoff: BackoffLike | None = None,
        timeout: float | timedelta | None = None,
        priority: int = 0,
        unique: bool | str | Sequence[str] = False,
        key_scope: KeyScope = "active",
        retention: float | timedelta | None = None,
        keep_failed: bool = False,
        executor: Executor | None = None,
        crash_cap: int = 3,
        manual_retries: int = 3,
        manual_retries_per: CountedPer = "job",
        errors: Rules | None = None,
        heartbeat_limit: float | timedelta = 600.0,
        run_limit: float | timedelta = 900.0,
        feed_fields: Sequence[str] = (),
        redact: Sequence[str] = (),
        compensate: Callable[..., Any] | None = None,
        compensate_on_cancel: bool = False,
        compensation_retries: int = 10,
        limit: Limit | None = None,
        limits: Sequence[Limit] = (),
        rate: Rate | Sequence[Rate] | None = None,
        flag: str | None = None,
        rollout_by: str | None = None,
    ) -> "TaskDecorator":
        """Declare a task; an async function runs on the event loop, another in a thread, either in a process if asked."""
        if function is not None:
            raise Configuration("write @app.task(), with parentheses")

        def settings(function: Callable[..., Any]) -> TaskSettings:
            own_name = default_name(function) if name is None else name
            return TaskSettings(
                name=own_name,
                executor=executor or ("loop" if is_async(function) else "thread"),
                queue=queue,
                retries=retries,
                backoff=backoff_rule(backoff),
                timeout=seconds(timeout),
                priority=priority,
                unique_by=unique_fields(unique),
                key_scope=key_scope,
                retention=seconds(retention),
                crash_cap=crash_cap,
                manual_retries=manual_retries,
                manual_retries_per=manual_retries_per,
                rules=errors,
                heartbeat_limit=seconds(heartbeat_limit) or 0.0,
                run_limit=seconds(run_limit) or 0.0,
                compensate=compensate,
                compensate_on_cancel=compensate_on_cancel,
                compensation_retries=compensation_retries,
                options={
                    **gate_options(
                        own_name, limit=limit, limits=limits, rate=rate, flag=flag, rollout_by=rollout_by
                    ),
                    **({"feed_fields": list(feed_fields)} if feed_fields else {}),
                    **({"keep_failed": True} if keep_failed else {}),
                    **({"redact": checked_paths(own_name, redact)} if redact else {}),
                },
            )

        return TaskDecorator(self, settings)

    def add_task(self, function: Callable[..., Any], settings: TaskSettings) -> AnyTask:
        """Register a function under its settings."""
        if settings.name in self.tasks:
            raise Configuration(f"two tasks are called {settings.name!r}: give one of them another name=")
        if settings.name.startswith(OWN_PREFIX):
            raise Configuration(
                f"task {settings.name!r}: names that begin with {OWN_PREFIX} are Holdfast's own"
            )
        if settings.executor == "loop" and not is_async(function):
            raise Configuration(
                f"task {settings.name!r} is not async and would block the loop: use executor='thread' or 'process'"
            )
        if settings.executor == "thread" and is_async(function):
            raise Configuration(f"task {settings.name!r} is async: use executor='loop' or 'process'")
        refuse_unknown_fields(function, settings)
        codec = PayloadCodec.of(function, context_type=JobContext, redact=settings.options.get("redact", ()))
        settings = redacting(settings, codec.secrets)
        if self.encryption is not None:
            refuse_what_reads_payloads(settings)
        kind: Any = ContextTask if takes_context(function) else Task
        task: AnyTask = kind(self, function, settings, codec)
        task.body = self.wrapped(function)
        self.tasks[settings.name] = task
        return task

    def executor(self, executor: OutsideExecutorT) -> OutsideExecutorT:
        """Register an outside executor under its name; tasks hand jobs to it with ctx.dispatch."""
        if self.executors.get(executor.name, executor) is not executor:
            raise Configuration(f"two executors are called {executor.name!r}: give one of them another name=")
        self.executors[executor.name] = executor
        return executor

    @property
    def all_tasks(self) -> dict[str, AnyTask]:
        """The app's tasks and Holdfast's own, which deliver its alerts and carry out operations on many jobs."""
        return {**self.tasks, **self.alerts.tasks, **self._own_tasks}

    def declared(self, names: set[str]) -> str:
        """Write the definitions of these tasks, for a database that has not seen them yet."""
        return json.dumps(self.definitions(name for name in names if name in self.tasks))

    def definitions(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """Give these tasks' definitions; once a process also what its environment says about their flags."""
        tasks = self.all_tasks
        found = [tasks[name].settings.definition() for name in sorted(names)]
        for definition in found:
            flag = definition["options"].get("flag")
            if flag is not None and flag in os.environ and flag not in self._flags_told:
                enabled = definition["flag_is_on"] = is_on(os.environ[flag])
                self._flags_told.add(flag)
                events.info("flag:from_environment", extra={"flag": flag, "enabled": enabled})
        return found

    def schedule(
        self,
        cron: str | None = None,
        *,
        every: timedelta | float | None = None,
        tz: str = "UTC",
        name: str | None = None,
        missed: Missed = "one",
        overlap: Overlap = "allow",
        payload: Mapping[str, Any] | None = None,
        using: Mapping[str, Any] | None = None,
    ) -> Callable[[AnyEnqueues], AnyEnqueues]:
        """Declare a schedule of the task below; its workers register it. `using` has the options of task.using(…)."""
        return self.declarations.declaring(timing_of(cron, every, tz), name, missed, overlap, payload, using)

    # -- run -----------------------------------------------------------------------------------------------------------

    def claim(self, limit: int = 1, *, queue: str = "default") -> list[Claimed]:
        """Claim jobs to run them yourself; each must be completed, failed or released, and is fenced like a worker's."""
        if self._holding is None:
            self._holding = Holding(self)
        return self._holding.claim(limit, queue)

    async def run_worker(self, **options: Any) -> int:
        """Run a worker here until it is told to stop; see holdfast.runtime.worker.Worker for the options."""
        from holdfast.runtime.worker import Worker  # noqa: PLC0415 - the worker imports the app

        return await Worker(self, **options).run()

    def work(self, **options: Any) -> int:
        """Run a worker in this thread until it is told to stop."""
        from holdfast.runtime.loop import run  # noqa: PLC0415 - uvloop is loaded where it is used

        return run(self.run_worker(**options))

    async def atick(self, most_jobs: int = 100, seconds: float = 20.0) -> "Ticked | None":
        """Be a worker for a while, for hosts where no process may stay; None when this process is at it already.

        It claims for half of the time and at most so many jobs; what runs has the other half to end.
        """
        from holdfast.runtime.tick import Ticker  # noqa: PLC0415 - it has a worker, which imports the app

        return await Ticker(self, most_jobs, seconds).tick()

    @property
    def location(self) -> AppLocation | None:
        """Where a child process can import this app from; None when it is no module's attribute."""
        module = sys.modules.get(self.made_in)
        names = [name for name, value in vars(module).items() if value is self] if module else []
        return AppLocation.of(self.made_in, names[0]) if names else None

    @property
    def is_locatable(self) -> bool:
        """Whether child processes can run this app's tasks."""
        return self.location is not None

    def child_processes(self, limit: int) -> Processes:
        """Prepare child processes; they are started when first needed."""
        location = self.location
        if location is None:
            needy = [name for name, task in self.tasks.items() if task.settings.executor == "process"]
            if needy:
                raise Configuration(
                    f"tasks {needy} run in processes, which must import the app: make it a module's attribute"
                )
            location = AppLocation(self.made_in, "?")
        return Processes(location, limit)

    def run_in_child(self, request: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Run one job in this process; a child process of a worker calls this."""
        if self.link.found is None or self.link.found.url != request["database"]:
            self.connect_to(Database(request["database"], "its worker"))
        if request["task"] not in self.all_tasks:
            import_module(request["module"])  # it declares the task
        return execute.run_in_child(self.all_tasks[request["task"]], request, tell)

    # -- set up --------------------------------------------------------------------------------------------------------

    def migrate(self) -> list[str]:
        """Bring the database's schema up to this release."""
        return migrate.migrate(self.link.database)

    def connect_to(self, database: Database) -> None:
        """Use this database from now on, whatever was configured."""
        self._registered.clear()
        self._flags_told.clear()
        self.link.use(database)

    async def aopen(self) -> None:
        """Tell the database of this app's tasks, so that HTTP and plain SQL can enqueue them; a worker's start does it too."""
        await self.link.aperform(declare_tasks(self.declared(set(self.tasks))))

    async def __aenter__(self) -> Self:
        await self.aopen()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()

    def close(self) -> None:
        """Close the connections of synchronous code, and stop holding claimed jobs."""
        holding, self._holding = self._holding, None
        if holding is not None:
            holding.close()
        self.link.close()

    async def aclose(self) -> None:
        """Close all connections of this event loop."""
        await self.link.aclose()
        await asyncio.to_thread(self.close)


class TaskDecorator:
    """What @app.task(…) answers: it turns a function into a Task and keeps its types."""

    def __init__(self, app: Holdfast, settings: Callable[[Callable[..., Any]], TaskSettings]) -> None:
        self._app = app
        self._settings = settings

    # What fits one of the first three fits the last too, with other types: mypy takes the first that fits, and so do we.
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /
    ) -> ContextTask[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[SyncContext, P], R], /) -> ContextTask[P, R, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> ContextTask[P, R, R]: ...
    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Task[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R, R]: ...
    def __call__(self, function: Callable[..., Any], /) -> Any:
        """Register the function."""
        refuse_unfit(function)
        return self._app.add_task(function, self._settings(function))
