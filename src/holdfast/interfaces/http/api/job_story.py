"""/jobs/{id}/…: what else is known of a job: what happened beside its moves, what it asked, what it hangs together with."""

from datetime import datetime
from typing import Any
from uuid import UUID

from holdfast.domain.access import Scope
from holdfast.domain.states import Status
from holdfast.interfaces.http.api.approvals import ApprovalsView, ApprovalView
from holdfast.interfaces.http.api.job_views import JobView
from holdfast.interfaces.http.api.jobs import find_own, read_number, show_job
from holdfast.interfaces.http.api.words import Reason
from holdfast.interfaces.http.cursor import link_next, read_cursor, write_cursor
from holdfast.interfaces.http.operation import ApiCall, Body, ListQuery, Operations, Page, View
from holdfast.interfaces.http.problem import NOT_FOUND
from holdfast.store import inspect
from holdfast.store.approval import approvals_of

stories = Operations("jobs")

MOST_FLOW_JOBS = 2000


class HappeningView(View):
    """Something that happened to a job without moving it."""

    at: datetime
    kind: str
    actor: str
    data: dict[str, Any] | None


class ProgressView(View):
    """How far a job says that it has come."""

    at: datetime
    done: float
    total: float | None
    note: str | None


class ActivityPage(Page):
    """What happened to a job without moving it, the oldest first; and how far it has come."""

    items: list[HappeningView]
    progress: ProgressView | None


class FlowJobView(View):
    """A job as a part of its flow, and what ties it to others."""

    id: UUID
    task: str
    label: str | None
    status: Status
    parent_id: UUID | None
    compensates: UUID | None
    retry_of: UUID | None
    needs: list[UUID]


class FlowView(View):
    """The jobs that one hangs together with; not whole when there are more than 2,000."""

    jobs: list[FlowJobView]
    whole: bool


@stories.get("/jobs/{job_id}/activity", problems=(NOT_FOUND,))
async def list_activity(call: ApiCall, job_id: UUID, query: ListQuery) -> ActivityPage:
    """List what happened to a job without moving it: callbacks, events, questions and answers."""
    await find_own(call, job_id)
    name = f"activity {job_id}"
    after = read_number(read_cursor(name, query.after), below=2**63)
    rows = await call.ask(inspect.activity(job_id, after, query.limit + 1))
    following = write_cursor(name, str(rows[query.limit - 1].id)) if len(rows) > query.limit else None
    link_next(call, query, following)
    progress = await call.ask(inspect.progress(job_id))
    return ActivityPage(
        items=[HappeningView.model_validate(row) for row in rows[: query.limit]],
        progress=None if progress is None else ProgressView.model_validate(progress),
        next=following,
    )


@stories.get("/jobs/{job_id}/approvals", problems=(NOT_FOUND,))
async def list_job_approvals(call: ApiCall, job_id: UUID) -> ApprovalsView:
    """List what a job has asked of people, and what they answered, newest first."""
    await find_own(call, job_id)
    found = await call.ask(approvals_of(job_id))
    return ApprovalsView(items=[ApprovalView.of(each) for each in found])


@stories.get("/jobs/{job_id}/flow", problems=(NOT_FOUND,))
async def show_flow(call: ApiCall, job_id: UUID) -> FlowView:
    """Show the jobs that a job hangs together with: what it needs, what needs it, its children, retries and compensations."""
    await find_own(call, job_id)
    found = await call.ask(inspect.flow(job_id, MOST_FLOW_JOBS + 1, call.principal.tenant))
    shown = [FlowJobView.model_validate(each) for each in found[:MOST_FLOW_JOBS]]
    return FlowView(jobs=shown, whole=len(found) <= MOST_FLOW_JOBS)


class RevealBody(Body):
    """Why somebody has to see what a job works with."""

    reason: Reason


@stories.post("/jobs/{job_id}/reveal", scope=Scope.READ, problems=(NOT_FOUND,), lasting=False)
async def reveal_job(call: ApiCall, job_id: UUID, body: RevealBody) -> JobView:
    """Show a job with its payload for ten minutes, also to a viewer, and write down who wanted to see it and why."""
    await find_own(call, job_id)
    await call.record("job.reveal", str(job_id), body.reason)
    return await show_job(call, job_id)
