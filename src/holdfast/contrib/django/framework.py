"""Django's tasks: its own from 6.0 on, and the package `django-tasks` before that, which has the same names."""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.base import Task, TaskContext, TaskError, TaskResult
    from django_tasks.exceptions import TaskResultDoesNotExist
    from django_tasks.signals import task_enqueued, task_finished, task_started

    TaskResultStatus: Any  # an enumeration, which cannot be seen without types of Django's own
    AnyTask: TypeAlias = Task[..., Any]
    AnyResult: TypeAlias = TaskResult[Any]
else:
    try:
        from django.tasks.backends.base import BaseTaskBackend
        from django.tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
        from django.tasks.exceptions import TaskResultDoesNotExist
        from django.tasks.signals import task_enqueued, task_finished, task_started
    except ModuleNotFoundError as error:
        if error.name != "django.tasks":
            raise
        from django_tasks.backends.base import BaseTaskBackend
        from django_tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
        from django_tasks.exceptions import TaskResultDoesNotExist
        from django_tasks.signals import task_enqueued, task_finished, task_started

    AnyTask, AnyResult = Task, TaskResult  # Django's own take no parameters

__all__ = [
    "AnyResult",
    "AnyTask",
    "BaseTaskBackend",
    "Task",
    "TaskContext",
    "TaskError",
    "TaskResult",
    "TaskResultDoesNotExist",
    "TaskResultStatus",
    "task_enqueued",
    "task_finished",
    "task_started",
]
