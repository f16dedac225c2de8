"""/operations: do something to many jobs at once, after a look at what that would be."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.bulk import Action, Change, Operation, search_for
from holdfast.domain.errors import OperationNotFound
from holdfast.domain.search import LONGEST
from holdfast.domain.states import Status
from holdfast.interfaces.http.api.job_views import ListedJobView
from holdfast.interfaces.http.api.jobs import read_search
from holdfast.interfaces.http.api.words import Name, Priority, ReasonBody
from holdfast.interfaces.http.cursor import link_next, read_cursor, read_id, write_cursor
from holdfast.interfaces.http.operation import (
    ApiCall,
    Body,
    ListQuery,
    Operations,
    Page,
    Query,
    View,
)
from holdfast.interfaces.http.problem import CONFLICT, FORBIDDEN, INVALID, NOT_FOUND, Refusal
from holdfast.runtime.bulk import aasked, creating_of, gathering
from holdfast.store import bulk, finish
from holdfast.store.search import count_jobs, find_jobs

operations = Operations("operations")

SAMPLES = 5
COUNTED = 10_000
MOST_NAMED = 500
_LIST = "operations"


class PreviewQuery(Query):
    """What would be done, and to which jobs."""

    action: Action
    q: Annotated[str, Field(min_length=1, max_length=LONGEST)]


class PreviewView(View):
    """What an operation would touch: how many jobs (at least so many, unless `is_all`), and the newest five of them."""

    action: Action
    q: str
    count: int
    is_all: bool
    since: datetime | None
    samples: list[ListedJobView]


class NewOperationBody(Body):
    """What is to be done, and to which jobs: those that fit q, or the named ones; nothing is done when more than at_most fit.

    `reprioritise` needs a priority, `move` a queue; `delete` is for admins.
    """

    action: Action
    priority: Priority | None = None
    queue: Name | None = None
    q: Annotated[str, Field(min_length=1, max_length=LONGEST)] | None = None
    jobs: Annotated[list[UUID], Field(min_length=1, max_length=MOST_NAMED)] | None = None
    reason: Annotated[str, Field(max_length=500)] | None = None
    at_most: Annotated[int, Field(ge=0)] | None = None


class OperationView(View):
    """An operation and how far it has come; `status` is that of the job of the same id, which carries it out."""

    id: UUID
    action: Action
    priority: int | None
    queue: str | None
    q: str
    tenant: str | None
    actor: str
    reason: str | None
    status: Status | None
    total: int
    done: int
    skipped: int
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, operation: Operation) -> "OperationView":
        """Show an operation."""
        told = {name: getattr(operation, name, None) for name in cls.model_fields}
        return cls.model_validate({**told, "q": operation.search})


class OperationPage(Page):
    """Operations, the newest first."""

    items: list[OperationView]


class SkippedView(View):
    """A job that an operation could not be done to, and why."""

    job_id: UUID
    why: str


class SkippedPage(Page):
    """Jobs that an operation could not be done to, the oldest first."""

    items: list[SkippedView]


@operations.get("/operations/preview")
async def preview_operation(call: ApiCall, query: PreviewQuery) -> PreviewView:
    """Look at what an operation would touch."""
    search = search_for(query.action, read_search(call, query.q))
    counted = await call.ask(count_jobs(search, COUNTED))
    found = await call.ask(find_jobs(search, SAMPLES, whole=False))
    ids = [job.id for job in found.jobs]
    hidden = await call.refused("show_job", ids) | await call.refused(f"{query.action}_job", ids)
    return PreviewView(
        action=query.action, q=query.q, count=counted.number, is_all=counted.is_all, since=found.since,
        samples=[ListedJobView.of(job) for job in found.jobs if job.id not in hidden],
    )  # fmt: skip


@operations.post("/operations", scope=Scope.OPERATE, status=HTTPStatus.CREATED, problems=(CONFLICT,))
async def create_operation(call: ApiCall, body: NewOperationBody) -> OperationView:
    """Do something to all jobs that fit now, or to those that are named; a job of Holdfast's own does it, 500 at a time."""
    if body.action == "delete" and not call.principal.may(Scope.ADMIN):
        raise Refusal(FORBIDDEN, f"deleting jobs needs the scope {Scope.ADMIN}")
    operation_id = await _begin(call, body)
    made = await _find(call, operation_id)
    await call.record(
        f"operation.{body.action}",
        str(operation_id),
        body.reason,
        q=made.search,
        jobs=made.total,
        **_set_by(made),
    )
    return OperationView.of(made)


def _set_by(made: Operation) -> dict[str, Any]:
    told = {"priority": made.priority, "queue": made.queue}
    return {name: value for name, value in told.items() if value is not None}


async def _begin(call: ApiCall, body: NewOperationBody) -> UUID:
    who = call.principal
    change = Change(body.action, body.priority, body.queue)
    if body.jobs is not None and body.q is None:
        jobs, text = list(dict.fromkeys(body.jobs)), None
    elif body.q is not None and body.jobs is None:
        search = read_search(call, body.q)
        jobs, text = await aasked(gathering(change, search, body.at_most), call.ask), search.text
    else:
        raise Refusal(INVALID, "say which jobs: either q or jobs")
    let = await _without_refused(call, body.action, jobs)
    making = creating_of(change, let, who.tenant, who.name, body.reason, found_by=text, at_most=body.at_most)
    return await aasked(making, call.ask)


async def _without_refused(call: ApiCall, action: Action, jobs: list[UUID]) -> list[UUID]:
    """Leave out the jobs with which the application's rule does not let the caller do this one by one."""
    if call.hooks.authorize is not None and len(jobs) > COUNTED:
        raise Refusal(
            INVALID,
            f"this application decides about each job, and {len(jobs):,} fit: narrow the search down to {COUNTED:,}",
        )
    refused = await call.refused(f"{action}_job", jobs)
    if jobs and len(refused) == len(jobs):
        raise Refusal(FORBIDDEN, "this application does not let you do that with any of these jobs")
    return [job_id for job_id in jobs if job_id not in refused]


@operations.get("/operations")
async def list_operations(call: ApiCall, query: ListQuery) -> OperationPage:
    """List operations, the newest first."""
    before = read_id(read_cursor(_LIST, query.after))
    found = await call.ask(bulk.list_operations(call.principal.tenant, query.limit + 1, before))
    following = write_cursor(_LIST, str(found[query.limit - 1].id)) if len(found) > query.limit else None
    link_next(call, query, following)
    return OperationPage(items=[OperationView.of(one) for one in found[: query.limit]], next=following)


async def _find(call: ApiCall, operation_id: UUID) -> Operation:
    found = await call.ask(bulk.list_operations(call.principal.tenant, 1, only=operation_id))
    if not found:
        raise OperationNotFound(f"no operation has the id {operation_id}")
    return found[0]


@operations.get("/operations/{operation_id}", problems=(NOT_FOUND,))
async def show_operation(call: ApiCall, operation_id: UUID) -> OperationView:
    """Show an operation and how far it has come."""
    return OperationView.of(await _find(call, operation_id))


@operations.get("/operations/{operation_id}/skipped", problems=(NOT_FOUND,))
async def list_skipped(call: ApiCall, operation_id: UUID, query: ListQuery) -> SkippedPage:
    """List the jobs that an operation could not be done to, and why."""
    await _find(call, operation_id)
    name = f"skipped {operation_id}"
    after = read_id(read_cursor(name, query.after))
    found = await call.ask(bulk.list_refusals(operation_id, after, query.limit + 1))
    following = write_cursor(name, str(found[query.limit - 1].job_id)) if len(found) > query.limit else None
    link_next(call, query, following)
    shown = [SkippedView.model_validate(one) for one in found[: query.limit]]
    return SkippedPage(items=shown, next=following)


@operations.post("/operations/{operation_id}/cancel", scope=Scope.OPERATE, problems=(NOT_FOUND, CONFLICT))
async def cancel_operation(call: ApiCall, operation_id: UUID, body: ReasonBody) -> OperationView:
    """Stop an operation; what it has done stays done."""
    await _find(call, operation_id)
    await call.ask(finish.cancel(operation_id, call.principal.name, body.reason))
    await call.record("operation.cancel", str(operation_id), body.reason)
    return await show_operation(call, operation_id)
