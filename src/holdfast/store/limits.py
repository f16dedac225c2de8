"""Limits, flags and pauses of tasks: what operators set, and how it stands."""

from datetime import timedelta

from holdfast.domain.gates import FlagInfo, TaskInfo
from holdfast.store.call import Call, function, nothing, query, single


def pause_task(task: str, actor: str | None, reason: str | None, resume_in: timedelta | None) -> Call[None]:
    """Let nobody claim jobs of a task until it is resumed."""
    return function(
        "pause_task", task, actor, reason, resume_in, read=nothing, types=("text", "text", "text", "interval")
    )


def resume_task(task: str) -> Call[bool]:
    """Let jobs of a task run again; answers whether it was paused."""
    return function("resume_task", task, read=single)


def limit_queue(queue: str, most: int | None) -> Call[None]:
    """Let at most so many jobs of a queue run at once; None takes the limit away."""
    return function("limit_queue", queue, most, read=nothing, types=("text", "int"))


def set_flag(
    flag: str, *, enabled: bool | None, percent: int | None, actor: str | None, reason: str | None
) -> Call[None]:
    """Switch a flag on or off, or on for a share; what is None stays as it is."""
    return function(
        "set_flag", flag, enabled, percent, actor, reason,
        read=nothing, types=("text", "boolean", "int", "text", "text"),
    )  # fmt: skip


def flags() -> Call[list[FlagInfo]]:
    """List the flags that were ever set, and those that tasks name."""
    return query("flags", lambda rows: [FlagInfo(*row) for row in rows])


def tasks(*, own: bool = False) -> Call[list[TaskInfo]]:
    """List registered tasks with what stands in front of them; Holdfast's own only when asked."""
    return query("tasks", lambda rows: [TaskInfo(*row) for row in rows], own=own)
