"""The control plane over HTTP: agents, their jobs, and Holdfast's own API, streams and approval page beside them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from apps.agent_workflows.agents import Agent, NoSuchAgent, find_agent, keep_agent
from apps.agent_workflows.app import app
from apps.agent_workflows.settings import Settings
from apps.agent_workflows.tasks import run_agent
from holdfast import BadInput, DatabaseUnavailable, Job, Status
from holdfast.server import Principal, Role, asgi


class Goal(BaseModel):
    """What an agent is to do."""

    model_config = ConfigDict(extra="forbid")

    topic: Annotated[str, Field(min_length=1, max_length=200)]
    tidy: bool = False
    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    tags: list[str] = []


# -- who comes -------------------------------------------------------------------------------------------------------------


async def authenticate(request: Request) -> Principal | None:
    """Know a user by the bearer token; operators may also decide approvals, though never those of jobs they asked for."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    user = Settings.read().users.get(token) if scheme.lower() == "bearer" else None
    return None if user is None else Principal.of_role(user, Role.OPERATOR)


Answering = Callable[[Request, str], Awaitable[Response]]


def for_users(answer: Answering) -> Callable[[Request], Awaitable[Response]]:
    """Answer users only, and refusals in plain JSON."""

    async def guarded(request: Request) -> Response:
        user = await authenticate(request)
        if user is None:
            return JSONResponse({"error": "who are you? send a bearer token"}, 401)
        try:
            return await answer(request, user.name)
        except ValidationError as error:
            told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            return JSONResponse({"error": told}, 400)
        except BadInput as error:
            return JSONResponse({"error": str(error)}, 400)
        except NoSuchAgent as error:
            return JSONResponse({"error": str(error)}, 404)
        except DatabaseUnavailable:
            return JSONResponse({"error": "try again later"}, 503)

    return guarded


# -- agents and their jobs -------------------------------------------------------------------------------------------------


async def put_agent(request: Request, _user: str) -> Response:
    """Make an agent, or change it."""
    agent = Agent.model_validate_json(await request.body())
    async with app.atransaction() as connection:
        await keep_agent(connection, request.path_params["agent_id"], agent)
    return JSONResponse(agent.model_dump())


async def get_agent(request: Request, _user: str) -> Response:
    """Show an agent's settings."""
    async with app.atransaction() as connection:
        return JSONResponse((await find_agent(connection, request.path_params["agent_id"])).model_dump())


async def start_job(request: Request, user: str) -> Response:
    """Give an agent a goal."""
    agent_id = request.path_params["agent_id"]
    goal = Goal.model_validate_json(await request.body())
    async with app.atransaction() as connection:
        agent = await find_agent(connection, agent_id)
        job = await run_agent.using(
            conn=connection,
            subject=f"agent:{agent_id}",
            label=f"{agent_id}: {goal.topic}",
            retries=agent.max_retries,
            priority=goal.priority,
            tags=goal.tags,
            requested_by=user,
        ).aenqueue(agent_id, goal.topic, goal.tidy)
    return JSONResponse({"id": str(job.id)}, 201)


async def list_jobs(request: Request, _user: str) -> Response:
    """List jobs by status, agent, tag and time, newest first."""
    wanted = dict(request.query_params)
    before = wanted.pop("before", None)
    if "agent" in wanted:
        wanted["subject"] = f"agent:{wanted.pop('agent')}"
    if unknown := sorted(set(wanted) - {"status", "subject", "tag", "since", "until"}):
        raise BadInput(f"jobs are listed by status, agent, tag, since, until and before, not by {unknown[0]}")
    found = await app.ajobs("task:run_agent", where=wanted, before=before)
    return JSONResponse(
        {"jobs": [shown(job) for job in found.jobs], "before": found.next and str(found.next)}
    )


def shown(job: Job) -> dict[str, Any]:
    """Show a job in the control plane's own words."""
    return {
        "id": str(job.id),
        "agent_id": job.payload["agent_id"],
        "status": job.status,
        "payload": job.payload,
        "priority": job.priority,
        "tags": job.tags or [],
        "retry_count": job.retry_count,
        "max_retries": job.max_retries,
        "next_retry_at": job.due_at.isoformat() if job.due_at and job.status is Status.RETRY else None,
        "approval_id": job.approval and str(job.approval["id"]),
        "approval_expires_at": job.approval and job.approval["expires_at"],
        "error_message": job.error and job.error["message"],
        "held_by": job.worker,
        "created_at": job.created_at.isoformat(),
        "updated_at": job.updated_at.isoformat(),
        "finished_at": job.finished_at and job.finished_at.isoformat(),
    }


# -- the application -------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def lifespan(_web: Starlette) -> AsyncIterator[None]:
    """Leave no connection behind."""
    yield
    await app.aclose()


web = Starlette(
    routes=[
        Route("/agents/{agent_id}", for_users(put_agent), methods=["PUT"]),
        Route("/agents/{agent_id}", for_users(get_agent)),
        Route("/agents/{agent_id}/jobs", for_users(start_job), methods=["POST"]),
        Route("/jobs", for_users(list_jobs)),
        # History, cancel and live events of jobs; deciding as oneself; and the page where a mailed link leads.
        Mount("/", asgi(app, ["api", "live", "approvals", "health"], authenticate)),
    ],
    lifespan=lifespan,
)
