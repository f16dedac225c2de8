"""The product's HTTP side: the wizard's last step, the dashboard's two questions, and the doors for Stripe and the workflow."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from stripe import StripeError

from apps.agent_provisioning import agents
from apps.agent_provisioning.settings import Settings, refuse_missing
from apps.agent_provisioning.tasks import app
from holdfast.server import callbacks, webhooks

REGION = re.compile(r"[a-z0-9-]{1,32}")
LONGEST_NAME = 60


async def finish_wizard(request: Request) -> Response:
    """Take the wizard's step 4: the agent is a draft, and the browser goes to the checkout."""
    name, region = await _choices(request)
    agent_id, checkout_url = await agents.draft(_user(request), name, region)
    return JSONResponse({"agentId": str(agent_id), "checkoutUrl": checkout_url}, 201)


async def show(request: Request) -> Response:
    """Say how far an agent's machine is."""
    found = await agents.look(request.path_params["agent_id"], _user(request))
    job = found.job
    error = (job and job.error) or {}
    return JSONResponse(
        {
            "agentId": str(found.agent_id),
            "region": found.region,
            "state": found.state,
            "jobId": job and str(job.id),
            "workflowRunId": job and job.run and job.run["id"],
            "error": error.get("message"),
            "failedStep": error.get("step"),
            "retriesLeft": max(0, Settings.read().retries - found.retries),
        }
    )


async def retry(request: Request) -> Response:
    """Try a failed agent once more."""
    job_id = await agents.retry(request.path_params["agent_id"], _user(request))
    return JSONResponse({"jobId": str(job_id)}, 202)


def _user(request: Request) -> str:
    """Say who asks. Your own login belongs here; this one believes the proxy in front, which has one."""
    user_id = request.headers.get("x-user-id")
    if not user_id:
        raise HTTPException(401, "log in first")
    return user_id


async def _choices(request: Request) -> tuple[str, str]:
    try:
        given = await request.json()
        name, region = given["name"], given["region"]
        if 0 < len(name) <= LONGEST_NAME and REGION.fullmatch(region):
            return name, region
    except (ValueError, KeyError, TypeError):
        pass
    raise HTTPException(422, f"name has 1 to {LONGEST_NAME} characters, region is one like fsn1")


class Door:
    """One of Holdfast's doors, at an address of this product's own."""

    def __init__(self, door: Any, path: str) -> None:
        self._door, self._path = door, path

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on, bytes untouched."""
        path = self._path.format(**scope["path_params"])
        await self._door({**scope, "path": path, "raw_path": path.encode()}, receive, send)


async def _refused(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 409)


async def _unknown(_request: Request, _error: Exception) -> Response:
    return JSONResponse({"error": "you have no such agent"}, 404)


async def _http(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JSONResponse({"error": getattr(error, "detail", "")}, status)


async def _no_payments(_request: Request, _error: Exception) -> Response:
    return JSONResponse({"error": "payments are not available now: please try again"}, 502)


@asynccontextmanager
async def _lifespan(_web: Starlette) -> AsyncIterator[None]:
    yield
    await app.aclose()


def application() -> Starlette:
    """Make the ASGI application; what it needs and does not have is said now."""
    refuse_missing(Settings.read())
    attempt = "{job_id}/{attempt}/{claim_id}"
    return Starlette(
        routes=[
            Route("/api/wizard/4", finish_wizard, methods=["POST"]),
            Route("/api/agents/{agent_id:uuid}/provision", show),
            Route("/api/agents/{agent_id:uuid}/provision/retry", retry, methods=["POST"]),
            Route("/api/webhooks/stripe", Door(webhooks(app), "/webhooks/v1/stripe"), methods=["POST"]),
            Route(
                f"/api/webhooks/github/{attempt}",
                Door(callbacks(app), f"/callbacks/v1/github/{attempt}"),
                methods=["POST"],
            ),
        ],
        exception_handlers={
            agents.Refused: _refused,
            agents.Unknown: _unknown,
            HTTPException: _http,
            StripeError: _no_payments,
        },
        lifespan=_lifespan,
    )


web = application()
