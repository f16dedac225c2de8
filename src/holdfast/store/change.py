"""Changes of jobs that exist: their priority, their queue, and that they are kept at all."""

from uuid import UUID

from holdfast.store.call import Call, function, nothing


def reprioritise(job_id: UUID, priority: int, actor: str | None, reason: str | None) -> Call[None]:
    """Give a job that has not ended another priority; one that runs has it from its next attempt on."""
    return function(
        "reprioritise", job_id, priority, actor, reason, read=nothing, types=("", "int", "text", "text")
    )


def move_to_queue(job_id: UUID, queue: str, actor: str | None, reason: str | None) -> Call[None]:
    """Put a job that waits into another queue's line, at the place that it has."""
    return function(
        "move_to_queue", job_id, queue, actor, reason, read=nothing, types=("", "text", "text", "text")
    )


def delete_job(job_id: UUID, actor: str | None, reason: str | None, address: str | None = None) -> Call[None]:
    """Delete a job that has ended, with its history; the audit keeps who did it."""
    return function(
        "delete_job", job_id, actor, reason, address, read=nothing, types=("", "text", "text", "text")
    )
