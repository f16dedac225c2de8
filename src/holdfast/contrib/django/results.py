"""A job's story in the words of Django's tasks."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from holdfast.contrib.django.framework import AnyResult, AnyTask, TaskError, TaskResult, TaskResultStatus
from holdfast.domain.states import Status

_STATUSES = {
    Status.RUNNING: TaskResultStatus.RUNNING,
    Status.COMPLETED: TaskResultStatus.SUCCESSFUL,
    Status.FAILED: TaskResultStatus.FAILED,
    Status.CANCELLED: TaskResultStatus.FAILED,  # Django's tasks know no other end
}


def read_report(job_id: str, task: AnyTask, report: dict[str, Any]) -> AnyResult:
    """Read what holdfast.job_report tells."""
    starts = report["starts"]
    status = _STATUSES.get(Status(report["status"]), TaskResultStatus.READY)
    result: AnyResult = TaskResult(
        task=task,
        id=job_id,
        status=status,
        enqueued_at=moment(report["created_at"]),
        started_at=moment(starts[0]["at"]) if starts else None,
        finished_at=moment(report["finished_at"]),
        last_attempted_at=moment(starts[-1]["at"]) if starts else None,
        args=report["payload"].get("args", []),
        kwargs=report["payload"].get("kwargs", {}),
        backend=task.backend,
        errors=[_error(error) for error in report["errors"]],
        worker_ids=[start["by"] for start in starts],
    )
    if status == TaskResultStatus.SUCCESSFUL:
        object.__setattr__(result, "_return_value", report["result"])  # as Django's own backends do
    return result


def _error(error: dict[str, Any]) -> TaskError:
    path = str(error.get("type", ""))
    return TaskError(
        exception_class_path=path if "." in path else f"builtins.{path}",
        traceback=str(error.get("traceback") or error.get("message", "")),
    )


def moment(text: str | None) -> datetime | None:
    """Read a moment as Django keeps them: with a zone, or without one where USE_TZ is off."""
    if text is None:
        return None
    read = datetime.fromisoformat(text)
    return read if settings.USE_TZ else timezone.make_naive(read)
