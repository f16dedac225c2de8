"""/jobs: enqueue, find, look at, wait for and steer jobs."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.errors import BadInput, BadPayload, JobNotFound
from holdfast.domain.job import Job, NewJob
from holdfast.domain.json_rules import check_written
from holdfast.domain.options import written_options
from holdfast.domain.search import LONGEST, BadSearch, Search, parse
from holdfast.domain.states import Status
from holdfast.interfaces.http.api.job_views import (
    AttemptPage,
    AttemptView,
    EnqueuedManyView,
    EnqueuedView,
    HistoryPage,
    JobPage,
    JobView,
    ListedJobView,
    NewJobBody,
    NewJobsBody,
    StepPage,
    StepView,
    TransitionView,
)
from holdfast.interfaces.http.api.payloads import may_see
from holdfast.interfaces.http.api.words import Name, Priority, ReasonBody
from holdfast.interfaces.http.cursor import bad_cursor, link_next, read_cursor, read_id, write_cursor
from holdfast.interfaces.http.operation import ApiCall, ListQuery, Operations, Query, View
from holdfast.interfaces.http.problem import (
    CONFLICT,
    DUPLICATE_KEY,
    INVALID,
    LIMIT_REACHED,
    NOT_FOUND,
    QUOTA_REACHED,
    Refusal,
)
from holdfast.runtime.alerts import OWN_PREFIX
from holdfast.runtime.handle import pauses
from holdfast.store import change, finish, inspect
from holdfast.store.enqueue import enqueue_many
from holdfast.store.ids import new_id
from holdfast.store.outcome import job_outcome
from holdfast.store.search import find_jobs

jobs = Operations("jobs")

LARGEST_STEP_VALUE = 65_536
_REFUSALS = (DUPLICATE_KEY, LIMIT_REACHED, QUOTA_REACHED)


# -- enqueue ---------------------------------------------------------------------------------------------------------------


@jobs.post("/jobs", scope=Scope.ENQUEUE, status=HTTPStatus.CREATED, problems=_REFUSALS)
async def enqueue_job(call: ApiCall, body: NewJobBody) -> EnqueuedView:
    """Enqueue a job."""
    (enqueued,) = await _enqueue(call, [body])
    return enqueued


@jobs.post("/jobs/batch", scope=Scope.ENQUEUE, status=HTTPStatus.CREATED, problems=_REFUSALS)
async def enqueue_jobs(call: ApiCall, body: NewJobsBody) -> EnqueuedManyView:
    """Enqueue up to 1,000 jobs, all or none of them."""
    return EnqueuedManyView(jobs=await _enqueue(call, body.jobs))


async def _enqueue(call: ApiCall, bodies: Sequence[NewJobBody]) -> list[EnqueuedView]:
    made = [_new_job(call, body, place) for place, body in enumerate(bodies, 1)]
    await _refuse_foreign(call, bodies)
    enqueued = await call.ask(enqueue_many(call.app.sealed(made), None))
    return [EnqueuedView(id=one.job_id, created=one.created) for one in enqueued]


def _new_job(call: ApiCall, body: NewJobBody, place: int) -> NewJob:
    if body.task.startswith(OWN_PREFIX):
        raise BadInput(f"job {place}: tasks whose names begin with {OWN_PREFIX} are Holdfast's own")
    written = body.model_dump_json(include={"payload"})[len('{"payload":') : -1]
    options = body.model_dump(exclude={"task", "payload", "tenant"})
    try:
        check_written(written.encode())
        told = written_options(
            **options,
            trace_parent=None,
            tenant=call.require_tenant(body.tenant),
            requested_by=call.principal.name,
        )
    except BadPayload as error:
        raise BadPayload(f"job {place}: {error}") from None
    except BadInput as error:
        raise BadInput(f"job {place}: {error}") from None
    return NewJob(new_id(), body.task, written, told)


async def _refuse_foreign(call: ApiCall, bodies: Sequence[NewJobBody]) -> None:
    """Refuse to run after another tenant's job, whose result the new one would get, as if there were none."""
    tenant = call.principal.tenant
    needed = {job_id for body in bodies for job_id in body.after or ()}
    if tenant is None or not needed:
        return
    known = await call.ask(inspect.jobs_of_tenant(list(needed), tenant))
    for place, body in enumerate(bodies, 1):
        for job_id in body.after or ():
            if job_id not in known:
                raise BadInput(f"job {place}: it is to run after job {job_id}, which does not exist")


# -- find and show ---------------------------------------------------------------------------------------------------------


class SearchQuery(ListQuery):
    """Which jobs are wanted, in the search grammar."""

    q: Annotated[str, Field(max_length=LONGEST)] = ""


def read_search(call: ApiCall, text: str) -> Search:
    """Understand a search, which finds the caller's own jobs only."""
    try:
        return parse(text).within(call.principal.tenant)
    except BadSearch as error:
        raise Refusal(INVALID, f"q: {error}"[:1000]) from None


def cursor_at(text: str, job_id: UUID) -> str:
    """Write the cursor with which the list of a search begins at this job, whatever is newer."""
    return write_cursor(_list_name(text), str(UUID(int=job_id.int + 1)))


def _list_name(text: str) -> str:
    return f"jobs {text}"


@jobs.get("/jobs")
async def list_jobs(call: ApiCall, query: SearchQuery) -> JobPage:
    """Find jobs, newest first; without q all of them."""
    search = read_search(call, query.q)
    name = _list_name(query.q)
    before = read_id(read_cursor(name, query.after))
    narrows = call.hooks.authorize is not None  # by what it may know: all of a job
    found = await call.ask(find_jobs(search, query.limit, before=before, whole=narrows))
    following = None if found.next is None else write_cursor(name, str(found.next))
    link_next(call, query, following)
    items = [ListedJobView.of(job) for job in found.jobs if await call.may_show(job)]
    return JobPage(items=items, next=following, since=found.since)


async def find_own(call: ApiCall, job_id: UUID) -> Job:
    """Look a job up that the caller may see; another tenant's is not there."""
    job = await call.ask(inspect.find_job(job_id))
    if job is None or call.principal.tenant not in {None, job.tenant}:
        raise JobNotFound(f"no job has the id {job_id}")
    return job


async def _shown(call: ApiCall, job: Job) -> JobView:
    # Who cancelled it stands in the history alone.
    history = await call.ask(inspect.history(job.id)) if job.status is Status.CANCELLED else []
    shown = JobView.of(job, history)
    return shown if await may_see(call, job.id) else shown.without_payload()


@jobs.get("/jobs/{job_id}", problems=(NOT_FOUND,))
async def show_job(call: ApiCall, job_id: UUID) -> JobView:
    """Show a job."""
    return await _shown(call, await find_own(call, job_id))


@jobs.get("/jobs/{job_id}/history", problems=(NOT_FOUND,))
async def list_history(call: ApiCall, job_id: UUID, query: ListQuery) -> HistoryPage:
    """Tell a job's history: every move, by whom and why."""
    await find_own(call, job_id)
    name = f"history {job_id}"
    after = read_number(read_cursor(name, query.after))
    rows = await call.ask(inspect.history(job_id, after, query.limit + 1))
    following = write_cursor(name, str(rows[query.limit - 1].seq)) if len(rows) > query.limit else None
    link_next(call, query, following)
    shown = [TransitionView.model_validate(row) for row in rows[: query.limit]]
    return HistoryPage(items=shown, next=following)


@jobs.get("/jobs/{job_id}/attempts", problems=(NOT_FOUND,))
async def list_attempts(call: ApiCall, job_id: UUID, query: ListQuery) -> AttemptPage:
    """List what a job's attempts left behind: errors and log lines."""
    await find_own(call, job_id)
    name = f"attempts {job_id}"
    after = read_number(read_cursor(name, query.after))
    rows = await call.ask(inspect.attempts(job_id, after, query.limit + 1))
    following = write_cursor(name, str(rows[query.limit - 1].attempt)) if len(rows) > query.limit else None
    link_next(call, query, following)
    shown = [AttemptView.model_validate(row) for row in rows[: query.limit]]
    return AttemptPage(items=shown, next=following)


@jobs.get("/jobs/{job_id}/steps", problems=(NOT_FOUND,))
async def list_steps(call: ApiCall, job_id: UUID, query: ListQuery) -> StepPage:
    """List the steps that a job has behind it, with their values."""
    await find_own(call, job_id)
    name = f"steps {job_id}"
    place = read_cursor(name, query.after, parts=2)
    after = None if place is None else (_moment(place[0]), place[1])
    rows = await call.ask(inspect.steps(job_id, after, query.limit + 1, LARGEST_STEP_VALUE))
    following = None
    if len(rows) > query.limit:
        last = rows[query.limit - 1]
        following = write_cursor(name, last.finished_at.isoformat(), last.name)
    link_next(call, query, following)
    shown = [StepView.model_validate(row) for row in rows[: query.limit]]
    if not await may_see(call, job_id):
        shown = [step.without_value() for step in shown]
    return StepPage(items=shown, next=following)


def read_number(place: list[str] | None, below: int = 2**31) -> int:
    """Read a place in a list that is numbered; its beginning is 0."""
    if place is None:
        return 0
    if not place[0].isascii() or not place[0].isdigit() or int(place[0]) >= below:
        raise bad_cursor()
    return int(place[0])


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise bad_cursor() from None
    if moment.utcoffset() is None:
        raise bad_cursor()
    return moment


# -- wait ------------------------------------------------------------------------------------------------------------------


class WaitQuery(Query):
    """How long to wait, in seconds."""

    timeout: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = 30.0


@jobs.get("/jobs/{job_id}/wait", problems=(NOT_FOUND,), transaction=False)
async def wait_for_job(call: ApiCall, job_id: UUID, query: WaitQuery) -> JobView:
    """Wait until a job has ended, and show it; after the timeout it is shown as it is, and its status says so."""
    job = await find_own(call, job_id)
    for pause in pauses(query.timeout):
        if job.status.is_terminal or await call.is_gone():
            break
        await asyncio.sleep(pause)
        outcome = await call.ask(job_outcome(job_id))
        if outcome is None or outcome.status is not job.status:
            job = await find_own(call, job_id)
    return await _shown(call, job)


# -- change ----------------------------------------------------------------------------------------------------------------


class PriorityBody(ReasonBody):
    """A place in the line: a point is 36 seconds."""

    priority: Priority


class QueueBody(ReasonBody):
    """The queue that a job goes to."""

    queue: Name


class DeletedJobView(View):
    """What was deleted; its payload is not told any more."""

    id: UUID
    task: str
    status: Status


@jobs.post("/jobs/{job_id}/reprioritise", scope=Scope.OPERATE, problems=(NOT_FOUND, CONFLICT))
async def reprioritise_job(call: ApiCall, job_id: UUID, body: PriorityBody) -> JobView:
    """Give a job that has not ended another priority; one that runs has it from its next attempt on."""
    old = await find_own(call, job_id)
    await call.ask(change.reprioritise(job_id, body.priority, call.principal.name, body.reason))
    await call.record("job.reprioritise", str(job_id), body.reason, before=old.priority, after=body.priority)
    return await show_job(call, job_id)


@jobs.post("/jobs/{job_id}/move", scope=Scope.OPERATE, problems=(NOT_FOUND, CONFLICT))
async def move_job(call: ApiCall, job_id: UUID, body: QueueBody) -> JobView:
    """Put a job that waits into another queue, at the place in line that it has."""
    old = await find_own(call, job_id)
    await call.ask(change.move_to_queue(job_id, body.queue, call.principal.name, body.reason))
    await call.record("job.move", str(job_id), body.reason, before=old.queue, after=body.queue)
    return await show_job(call, job_id)


@jobs.post("/jobs/{job_id}/delete", scope=Scope.ADMIN, problems=(NOT_FOUND, CONFLICT))
async def delete_job(call: ApiCall, job_id: UUID, body: ReasonBody) -> DeletedJobView:
    """Delete a job that has ended, with its history; that it was there, and who deleted it, stays in the audit."""
    old = await find_own(call, job_id)
    # The database writes the audit, whoever deletes.
    await call.ask(change.delete_job(job_id, call.principal.name, body.reason, call.address))
    return DeletedJobView.model_validate(old)


# -- steer -----------------------------------------------------------------------------------------------------------------


@jobs.post("/jobs/{job_id}/cancel", scope=Scope.OPERATE, problems=(NOT_FOUND, CONFLICT))
async def cancel_job(call: ApiCall, job_id: UUID, body: ReasonBody) -> JobView:
    """Cancel a job that has not ended; one that runs is told to stop."""
    await find_own(call, job_id)
    await call.ask(finish.cancel(job_id, call.principal.name, body.reason))
    await call.record("job.cancel", str(job_id), body.reason)
    return await show_job(call, job_id)


@jobs.post(
    "/jobs/{job_id}/retry", scope=Scope.OPERATE, status=HTTPStatus.CREATED, problems=(NOT_FOUND, CONFLICT)
)
async def retry_job(call: ApiCall, job_id: UUID, body: ReasonBody) -> JobView:
    """Retry a FAILED job as a new job, which is shown; the old one stays as it is."""
    await find_own(call, job_id)
    retried = await call.ask(finish.retry(job_id, call.principal.name, body.reason, new_id()))
    await call.record("job.retry", str(job_id), body.reason, retried_as=str(retried))
    return await show_job(call, retried)
