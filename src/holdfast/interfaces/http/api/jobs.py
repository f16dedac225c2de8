"""/jobs: enqueue, look at and steer jobs."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.errors import JobNotFound
from holdfast.domain.job import NewJob
from holdfast.domain.json_rules import check_written
from holdfast.domain.options import written_options
from holdfast.interfaces.http.operation import ApiCall, Body, Operations, View
from holdfast.interfaces.http.problem import CONFLICT, DUPLICATE_KEY, LIMIT_REACHED, NOT_FOUND, QUOTA_REACHED
from holdfast.store import finish
from holdfast.store.enqueue import enqueue_many
from holdfast.store.ids import new_id
from holdfast.store.inspect import find_job

jobs = Operations("jobs")


class NewJobBody(Body):
    """A job to enqueue."""

    task: Annotated[str, Field(min_length=1, max_length=200)]
    payload: Annotated[dict[str, Any], Field(default_factory=dict)]
    queue: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    tenant: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    subject: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    key: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    on_conflict: Literal["return", "raise", "replace"] | None = None
    run_at: datetime | None = None
    run_in: Annotated[float, Field(ge=0, le=3_153_600_000)] | None = None
    priority: Annotated[int, Field(ge=-100, le=100)] | None = None
    label: Annotated[str, Field(max_length=500)] | None = None
    tags: list[str] | None = None


class EnqueuedView(View):
    """What became of a job that was to be enqueued."""

    id: UUID
    created: bool


class JobView(View):
    """A job."""

    id: UUID
    task: str
    queue: str
    status: str
    attempt: int
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    tenant: str | None
    subject: str | None
    payload: dict[str, Any]
    result: Any
    error: dict[str, Any] | None


class ReasonBody(Body):
    """Why something is done, for the audit."""

    reason: Annotated[str, Field(max_length=500)] | None = None


@jobs.post(
    "/jobs",
    scope=Scope.ENQUEUE,
    status=HTTPStatus.CREATED,
    problems=(DUPLICATE_KEY, LIMIT_REACHED, QUOTA_REACHED),
)
async def enqueue_job(call: ApiCall, body: NewJobBody) -> EnqueuedView:
    """Enqueue a job."""
    options = body.model_dump(exclude={"task", "payload", "tenant"})
    written = body.model_dump_json(include={"payload"})[len('{"payload":') : -1]
    check_written(written.encode())
    job = NewJob(new_id(), body.task, written, _options(call, body.tenant, options))
    (enqueued,) = await call.ask(enqueue_many(call.app.sealed([job]), None))
    return EnqueuedView(id=enqueued.job_id, created=enqueued.created)


def _options(call: ApiCall, tenant: str | None, options: dict[str, Any]) -> str:
    unsaid = dict.fromkeys(("key_scope", "metadata", "trace_parent", "retries", "timeout"))
    return written_options(
        **{**unsaid, **options}, tenant=call.require_tenant(tenant), requested_by=call.principal.name
    )


@jobs.get("/jobs/{job_id}", problems=(NOT_FOUND,))
async def show_job(call: ApiCall, job_id: UUID) -> JobView:
    """Show a job."""
    job = await call.ask(find_job(job_id))
    if job is None:
        raise JobNotFound(f"no job has the id {job_id}")
    return JobView.model_validate(job)


@jobs.post("/jobs/{job_id}/cancel", scope=Scope.OPERATE, problems=(NOT_FOUND, CONFLICT))
async def cancel_job(call: ApiCall, job_id: UUID, body: ReasonBody) -> JobView:
    """Cancel a job that has not ended."""
    await call.ask(finish.cancel(job_id, call.principal.name, body.reason))
    await call.record("job.cancel", str(job_id), body.reason)
    return await show_job(call, job_id)
