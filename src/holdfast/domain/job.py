"""A job as its readers see it: the row, its history, its attempts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from holdfast.domain.states import Status


@dataclass(frozen=True, slots=True)
class Job:
    """One row of holdfast.job."""

    id: UUID
    task: str
    queue: str
    status: Status
    priority: int
    attempt: int
    retry_count: int
    max_retries: int
    crash_count: int
    suspect: bool
    created_at: datetime
    updated_at: datetime
    due_at: datetime | None
    deadline_at: datetime | None
    finished_at: datetime | None
    in_line: bool
    holder: UUID | None
    worker: str | None
    retry_of: UUID | None
    retried_as: UUID | None
    tenant: str | None
    subject: str | None
    key: str | None
    key_held: bool
    held_by: str | None
    reason: str | None
    label: str | None
    requested_by: str | None
    tags: list[str] | None
    metadata: dict[str, Any] | None
    payload: dict[str, Any]
    result: Any
    error: dict[str, Any] | None
    queue_paused_by: str | None
    queue_paused_at: datetime | None
    queue_paused_for: str | None
    queue_has_worker: bool
    task_has_worker: bool
    holder_seen_at: datetime | None
    holder_is_silent: bool
    parent_id: UUID | None
    compensates: UUID | None
    compensated_by: UUID | None
    hold: dict[str, Any] | None
    now: datetime
    approval: dict[str, Any] | None = None  # what it asks while it is WAITING_FOR_APPROVAL
    ready_at: datetime | None = None  # since when its newest attempt could have started
    started_at: datetime | None = None  # and when it did
    # Of its newest attempt, where an outside executor has it: executor, state (planned, calling, sent, over), id and url.
    run: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of a job's history."""

    seq: int
    from_status: Status | None
    to_status: Status
    attempt: int
    at: datetime
    actor: str
    reason: str | None
    metadata: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """What one attempt left behind: its error, its log lines; of one that runs, the lines so far."""

    attempt: int
    worker: str
    outcome: str
    at: datetime
    error: dict[str, Any] | None
    logs: list[dict[str, Any]] | None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step that the job has behind it."""

    name: str
    kind: str
    attempt: int
    tries: int
    undoable: bool
    started_at: datetime
    finished_at: datetime
    value: Any
    size: int | None = None  # of its value as JSON, in bytes
    importance: Literal["low"] | None = None  # low: its code calls it small


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to the job without moving it."""

    at: datetime
    kind: str
    actor: str
    data: dict[str, Any] | None
    id: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the job says that it has come."""

    at: datetime
    done: float
    total: float | None
    note: str | None


class FlowJob(NamedTuple):
    """A job as a part of its flow, and what ties it to others."""

    id: UUID
    task: str
    label: str | None
    status: Status
    parent_id: UUID | None
    compensates: UUID | None
    retry_of: UUID | None
    needs: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """Everything that is known about one job."""

    job: Job
    history: list[Transition]
    attempts: list[AttemptRecord]
    steps: list[StepRecord]
    activity: list[Happening]
    progress: Progress | None


class ClaimedJob(NamedTuple):
    """A job as the worker gets it, with the fence (attempt and claim_id) that every later write must show.

    A tuple, because the hot path makes one for every job.
    """

    id: UUID
    task: str
    payload: str
    attempt: int
    claim_order: datetime
    retry_count: int
    max_retries: int
    tenant: str | None
    subject: str | None
    timeout: float | None
    extras: str | None
    claim_id: UUID

    def __repr__(self) -> str:
        # Without the payload: what is logged or raised with a job in it may be read by anybody.
        return f"<claimed job {self.id} of {self.task}, attempt {self.attempt}>"


class NewJob(NamedTuple):
    """A job on its way into the database: its payload and options are JSON text already."""

    id: UUID
    task: str
    payload: str
    options: str

    def __repr__(self) -> str:
        return f"<new job {self.id} of {self.task}>"


class Enqueued(NamedTuple):
    """What became of a job that was enqueued: its own id, or that of the job that holds its key."""

    job_id: UUID
    created: bool
