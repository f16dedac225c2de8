"""What callers see of jobs, and what they say about new ones."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self
from uuid import UUID

from pydantic import Field

from holdfast.domain.job import Job, Transition
from holdfast.domain.sentence import sentence
from holdfast.domain.states import Status
from holdfast.interfaces.http.api.payloads import HIDDEN_JOB
from holdfast.interfaces.http.api.words import INTEGRAL
from holdfast.interfaces.http.operation import Body, Page, View

MOST_JOBS = 1000
_Name = Annotated[str, Field(min_length=1, max_length=200)]
_LongName = Annotated[str, Field(min_length=1, max_length=500)]
_Seconds = Annotated[float, Field(ge=0, le=3_153_600_000)]


class NewJobBody(Body):
    """A job to enqueue."""

    task: _Name
    payload: Annotated[dict[str, Any], Field(default_factory=dict)]
    queue: _Name | None = None
    tenant: _Name | None = None
    subject: _LongName | None = None
    key: _LongName | None = None
    key_scope: Literal["active", "success", "ever"] | None = None
    on_conflict: Literal["return", "raise", "replace"] | None = None
    run_at: datetime | None = None
    run_in: _Seconds | None = None
    priority: Annotated[int, Field(ge=-100, le=100), INTEGRAL] | None = None
    label: Annotated[str, Field(max_length=500)] | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    retries: Annotated[int, Field(ge=0, le=100), INTEGRAL] | None = None
    timeout: Annotated[float, Field(gt=0, le=31_536_000)] | None = None
    after: Annotated[list[UUID], Field(max_length=MOST_JOBS)] | None = None
    on_parent_failure: Literal["cancel", "run"] | None = None


class NewJobsBody(Body):
    """Jobs to enqueue, all or none of them."""

    most_members: ClassVar[int] = 100_000

    jobs: Annotated[list[NewJobBody], Field(min_length=1, max_length=MOST_JOBS)]


class EnqueuedView(View):
    """What became of a job that was to be enqueued: itself, or the job that holds its key."""

    id: UUID
    created: bool


class EnqueuedManyView(View):
    """What became of each job, in the order they came in."""

    jobs: list[EnqueuedView]


class ListedJobView(View):
    """A job as lists show it; `why` says where it is and what happens next."""

    id: UUID
    task: str
    queue: str
    status: Status
    why: str
    label: str | None
    tenant: str | None
    subject: str | None
    key: str | None
    tags: list[str] | None
    priority: int
    attempt: int
    retry_count: int
    max_retries: int
    created_at: datetime
    updated_at: datetime
    due_at: datetime | None
    ready_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    requested_by: str | None
    error: dict[str, Any] | None

    @classmethod
    def of(cls, job: Job, history: Sequence[Transition] = ()) -> Self:
        """Show a job."""
        told: dict[str, Any] = {name: getattr(job, name, None) for name in cls.model_fields}
        told["why"] = sentence(job, history)
        told["approval_id"] = job.approval["id"] if job.approval else None
        return cls.model_validate(told)


class JobView(ListedJobView):
    """A job with all that is known of it."""

    crash_count: int
    deadline_at: datetime | None
    held_by: str | None
    reason: str | None
    approval_id: UUID | None
    parent_id: UUID | None
    retry_of: UUID | None
    retried_as: UUID | None
    compensates: UUID | None
    compensated_by: UUID | None
    metadata: dict[str, Any] | None
    payload: dict[str, Any] | None
    result: Any
    hidden: Annotated[str | None, Field(description="Why payload, result and metadata are not shown")] = None

    def without_payload(self) -> Self:
        """Show it to somebody who does not see what jobs work with."""
        nothing = {"payload": None, "result": None, "metadata": None}
        return self.model_copy(update={**nothing, "hidden": HIDDEN_JOB})


class JobPage(Page):
    """Jobs that fit, newest first; a part may be short, or empty, and still have a next one: the look has a bound."""

    items: list[ListedJobView]
    since: datetime | None = None  # older jobs were not looked at, because the search named no time


class TransitionView(View):
    """A move of a job."""

    seq: int
    from_status: Status | None
    to_status: Status
    attempt: int
    at: datetime
    actor: str
    reason: str | None
    metadata: dict[str, Any] | None


class HistoryPage(Page):
    """A job's history, from its birth."""

    items: list[TransitionView]


class AttemptView(View):
    """What an attempt left behind, or has logged so far; one without error and log lines leaves nothing."""

    attempt: int
    worker: str
    outcome: str
    at: datetime
    error: dict[str, Any] | None
    logs: list[dict[str, Any]] | None


class AttemptPage(Page):
    """A job's attempts, the first one first."""

    items: list[AttemptView]


class StepView(View):
    """A step that a job has behind it; its value is left out when it is larger than 64 KiB, or hidden from your role."""

    name: str
    kind: str
    attempt: int
    tries: int
    undoable: bool
    started_at: datetime
    finished_at: datetime
    size: int | None
    value: Any
    importance: Annotated[Literal["low"] | None, Field(description="low: its code calls it small")] = None
    is_hidden: bool = False

    def without_value(self) -> Self:
        """Show it to somebody who does not see what jobs work with."""
        return self.model_copy(update={"value": None, "is_hidden": True})


class StepPage(Page):
    """A job's steps, the oldest first."""

    items: list[StepView]
