"""A backend for Django's tasks: each is a Holdfast task under its module path, enqueued in the ORM's own transaction."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.apps import apps
from django.core.checks import CheckMessage, Error
from django.db import connections
from django.utils import timezone
from django.utils.module_loading import import_string

from holdfast.contrib.django.framework import (
    AnyResult,
    AnyTask,
    BaseTaskBackend,
    Task,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
)
from holdfast.contrib.django.options import read_options
from holdfast.contrib.django.project import project_app, when_found
from holdfast.contrib.django.results import moment, read_report
from holdfast.contrib.django.running import run_in_loop, run_in_thread
from holdfast.domain.states import Status
from holdfast.domain.task import TaskSettings
from holdfast.runtime.app import Holdfast
from holdfast.runtime.registry import AnyTask as HoldfastTask
from holdfast.runtime.registry import is_async
from holdfast.store.foreign import ask_through


class HoldfastBackend(BaseTaskBackend):
    """`TASKS = {"default": {"BACKEND": "holdfast.contrib.django.HoldfastBackend"}}`; OPTIONS may have RETRIES, 0 unless told."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self.retries: int = self.options.get("RETRIES", 0)
        when_found(lambda app: app.queues.update(self.queues))

    def validate_task(self, task: AnyTask) -> None:
        """Look whether it can be a task; every one comes here when it is declared, and so becomes known to workers."""
        super().validate_task(task)
        when_found(lambda app: self._declare(app, task))

    def _declare(self, app: Holdfast, task: AnyTask) -> None:
        self._known_to(app, task)

    def _known_to(self, app: Holdfast, task: AnyTask) -> HoldfastTask:
        """Give the Holdfast task that runs it. Its payload is Django's: what JSON makes of the arguments, whatever their annotations."""
        known = app.tasks.get(task.module_path)
        if known is not None:
            return known
        run = run_in_loop(self, task) if is_async(task.func) else run_in_thread(self, task)
        told = TaskSettings(
            name=task.module_path,
            executor="loop" if is_async(run) else "thread",
            queue=task.queue_name,
            priority=task.priority,
            retries=self.retries,
        )
        return app.add_task(run, told)

    def enqueue(self, task: AnyTask, args: Sequence[Any], kwargs: Mapping[str, Any]) -> AnyResult:
        """Enqueue in the transaction that Django's connection is in, if it is in one: the job commits with your rows."""
        self.validate_task(task)
        app = project_app()
        job = (
            self._known_to(app, task)
            .using(
                queue=task.queue_name,
                priority=task.priority,
                run_at=_aware(task.run_after),
                retries=self.retries,
            )
            .job(args=list(args), kwargs=dict(kwargs))
        )
        result = self._new_result(task, str(job.id), args, kwargs)
        app.enqueue_many([job], conn=connections[read_options().database])
        task_enqueued.send(type(self), task_result=result)
        return result

    def _new_result(
        self, task: AnyTask, job_id: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> AnyResult:
        return TaskResult(
            task=task,
            id=job_id,
            status=TaskResultStatus.READY,
            enqueued_at=timezone.now(),
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=list(args),
            kwargs=dict(kwargs),
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )

    def get_result(self, result_id: str) -> AnyResult:
        """Read what came of a task; through Django's connection, which sees what its own transaction has enqueued."""
        report = self._report(result_id)
        if report is None:
            raise TaskResultDoesNotExist(result_id)
        task = self._task_called(report["task"], result_id)
        # A queue that the settings have no more is no reason to hide what came of its tasks.
        queue = report["queue"] if report["queue"] in self.queues or not self.queues else None
        waits = report["status"] == Status.PENDING and not report["starts"]
        meant = task.using(
            backend=self.alias,
            queue_name=queue,
            priority=report["priority"],
            run_after=moment(report["due_at"]) if waits else None,
        )
        return read_report(result_id, meant, report)

    def _report(self, result_id: str) -> dict[str, Any] | None:
        try:
            job_id = str(UUID(result_id))
        except ValueError:
            return None
        rows = ask_through(
            connections[read_options().database], "report", {"job": job_id}, "backend.aget_result(…)"
        )
        report: dict[str, Any] | None = json.loads(rows[0][0] or "null")
        return report

    def _task_called(self, path: str, result_id: str) -> AnyTask:
        try:
            task = import_string(path)
        except ImportError as error:
            raise TaskResultDoesNotExist(result_id) from error
        if not isinstance(task, Task):  # a job of the app's own tasks
            raise TaskResultDoesNotExist(result_id)
        return task

    def check(self, **_more: Any) -> Iterable[CheckMessage]:
        """Check what this backend needs besides the settings."""
        if not apps.is_installed("holdfast.contrib.django"):
            yield Error(
                f"TASKS[{self.alias!r}] is Holdfast's, whose app is not installed.",
                hint='Add "holdfast.contrib.django" to INSTALLED_APPS.',
                id="holdfast.E005",
            )
        unknown = sorted(set(self.options) - {"RETRIES"})
        if unknown or self.retries not in range(101):
            yield Error(
                f"TASKS[{self.alias!r}]['OPTIONS'] is {self.options!r}: it takes RETRIES, a number from 0 to 100.",
                id="holdfast.E006",
            )


def _aware(moment: Any) -> Any:
    """Django's own moments have no zone where USE_TZ is off."""
    return timezone.make_aware(moment) if moment is not None and timezone.is_naive(moment) else moment
