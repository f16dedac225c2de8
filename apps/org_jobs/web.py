"""The product's HTTP: an organisation sees and queues its own jobs; the operator sees all."""

import hmac
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import date
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, JsonValue, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.org_jobs import usage
from apps.org_jobs.organisations import organisation_of
from apps.org_jobs.plot import Measure, as_svg
from apps.org_jobs.repository import HoldfastRepository, JobRepository
from apps.org_jobs.rules import STATUSES, WORDS, can_retry
from apps.org_jobs.settings import Settings
from apps.org_jobs.tasks import app
from holdfast import BadInput, DatabaseUnavailable, Job, UnknownTask

MOST_LISTED = 200

repository: JobRepository = HoldfastRepository(app)


class NewJob(BaseModel):
    """What is posted to queue a job."""

    model_config = ConfigDict(extra="forbid")

    type: str
    payload: dict[str, JsonValue] = {}
    run_at: AwareDatetime | None = None
    dedupe: bool = False
    org_id: str | None = None  # the operator says for whom; nobody is everybody


# -- who asks --------------------------------------------------------------------------------------------------------------


def _org_of(request: Request) -> str | None:
    """Give the organisation that asks; None is the operator, who is bound to none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise HTTPException(401, "say who you are: Authorization: Bearer <token>")
    operator = request.app.state.settings.operator_token
    if operator is not None and hmac.compare_digest(token.encode(), operator.encode()):
        return None
    org_id = organisation_of(token)
    if org_id is None:
        raise HTTPException(401, "nobody has this token")
    return org_id


def _require_operator(request: Request) -> None:
    if _org_of(request) is not None:
        raise HTTPException(403, "this is for the operator")


def _org_asked_about(request: Request) -> str | None:
    """Give whose figures are asked for: an organisation's own, whatever it says; the operator may choose."""
    org_id = _org_of(request)
    return request.query_params.get("org_id") if org_id is None else org_id


# -- jobs ------------------------------------------------------------------------------------------------------------------


async def enqueue(request: Request) -> Response:
    """Queue a job."""
    org_id = await run_in_threadpool(_org_of, request)
    wanted = NewJob.model_validate_json(await request.body())
    if org_id is not None and wanted.org_id not in {None, org_id}:
        raise HTTPException(403, "you queue jobs for your own organisation only")
    job_id = await run_in_threadpool(
        repository.enqueue,
        wanted.type,
        org_id if org_id is not None else wanted.org_id,
        wanted.payload,
        wanted.run_at,
        dedupe=wanted.dedupe,
    )
    return JSONResponse({"id": str(job_id)}, 202)


def list_jobs(request: Request) -> Response:
    """List jobs, newest first, by status and type."""
    org_id, asked = _org_of(request), request.query_params
    search = [_status_search(asked["status"])] if "status" in asked else []
    search += [f"task:{_known_type(asked['type'])}"] if "type" in asked else []
    found = app.jobs(" ".join(search), tenant=org_id, limit=MOST_LISTED, before=asked.get("before"))
    next_page = None if found.next is None else str(found.next)
    return JSONResponse({"jobs": [_shown(job) for job in found.jobs], "next": next_page})


def list_upcoming(request: Request) -> Response:
    """List what is queued for later, the next to run first."""
    _require_operator(request)
    return JSONResponse({"jobs": [_shown(job) for job in app.upcoming(MOST_LISTED)]})


def show_job(request: Request) -> Response:
    """Show a job with its usage records; another organisation's is not there."""
    org_id, job_id = _org_of(request), request.path_params["job_id"]
    jobs = app.jobs(f"id:{job_id}", tenant=org_id).jobs
    if not jobs:
        raise HTTPException(404, f"there is no job {job_id}")
    runs = [
        {**asdict(run), "ended_at": run.ended_at.isoformat(), "seconds": float(run.seconds)}
        for run in usage.records(jobs[0].id)
    ]
    return JSONResponse({**_shown(jobs[0]), "runs": runs})


def _status_search(word: str) -> str:
    if word not in STATUSES:
        raise HTTPException(400, f"status={word}: choose {', '.join(STATUSES)}")
    return "status:" + ",".join(status.lower() for status in STATUSES[word])


def _known_type(job_type: str) -> str:
    if job_type not in app.tasks:
        raise HTTPException(400, f"type={job_type}: choose {', '.join(sorted(app.tasks))}")
    return job_type


def _shown(job: Job) -> dict[str, Any]:
    status = WORDS.get(job.status, job.status.lower())
    return {
        "id": str(job.id),
        "type": job.task,
        "org_id": job.tenant,
        "status": status,
        "payload": job.payload,
        "attempts": job.attempt,
        "next_run_at": None if job.due_at is None else job.due_at.isoformat(),
        "last_error": None if job.error is None else job.error.get("message"),
        "can_retry": can_retry(status, job.attempt),
    }


async def tick(request: Request) -> Response:
    """Run some jobs here and now: for development, and for hosts without workers."""
    settings: Settings = request.app.state.settings
    if not settings.may_tick:
        raise HTTPException(404)
    if settings.is_production:
        await run_in_threadpool(_require_operator, request)
    ticked = await app.atick(settings.tick_jobs)
    if ticked is None:
        raise HTTPException(409, "a tick is under way")
    counts = {
        "claimed": ticked.ran,
        "success": ticked.completed,
        "failed": ticked.failed,
        "requeued": ticked.retried,
        "remaining": ticked.remaining,
    }
    return JSONResponse({"ok": True, **counts})


# -- usage -----------------------------------------------------------------------------------------------------------------


def show_usage(request: Request) -> Response:
    """List usage per organisation, type and day."""
    rows = [asdict(row) for row in _usage_asked_for(request)]
    return JSONResponse(
        {"usage": [{**row, "day": row["day"].isoformat(), "seconds": float(row["seconds"])} for row in rows]}
    )


def export_usage(request: Request) -> Response:
    """Give usage as CSV."""
    return Response(usage.as_csv(_usage_asked_for(request)), media_type="text/csv")


def plot_usage(request: Request) -> Response:
    """Draw usage: runs, or seconds with ?measure=seconds."""
    measure: Measure = "seconds" if request.query_params.get("measure") == "seconds" else "runs"
    return Response(as_svg(_usage_asked_for(request), measure), media_type="image/svg+xml")


def _usage_asked_for(request: Request) -> list[usage.Usage]:
    asked = request.query_params
    first, last = (_day(asked[name]) if name in asked else None for name in ("first", "last"))
    return usage.usage(_org_asked_about(request), asked.get("type"), first, last)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise HTTPException(400, f"{text} is no day: write 2030-01-31") from error


# -- the application -------------------------------------------------------------------------------------------------------

ROUTES = [
    Route("/api/jobs", enqueue, methods=["POST"]),
    Route("/api/jobs", list_jobs),
    Route("/api/jobs/tick", tick, methods=["POST"]),
    Route("/api/jobs/upcoming", list_upcoming),
    Route("/api/jobs/{job_id:uuid}", show_job),
    Route("/api/usage", show_usage),
    Route("/api/usage.csv", export_usage),
    Route("/api/usage.svg", plot_usage),
]


def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
    return JSONResponse({"ok": False, "error": error.detail}, error.status_code)


def _misunderstood(_request: Request, error: Exception) -> Response:
    return JSONResponse({"ok": False, "error": str(error)}, 400)


def _away(_request: Request, _error: Exception) -> Response:
    return JSONResponse({"ok": False, "error": "the database is away: try again"}, 503)


def make_web(settings: Settings | None = None) -> Starlette:
    """Make the ASGI application; without settings it reads the environment when it is served, not when it is imported."""

    @asynccontextmanager
    async def lifespan(web: Starlette) -> AsyncIterator[None]:
        web.state.settings = settings or Settings.read(os.environ)
        yield

    refusals: dict[Any, Callable[[Request, Exception], Response]] = {
        HTTPException: _refused,
        DatabaseUnavailable: _away,
        **dict.fromkeys((BadInput, UnknownTask, ValidationError), _misunderstood),
    }
    return Starlette(routes=ROUTES, lifespan=lifespan, exception_handlers=refusals)


web = make_web()
