"""/livez and /readyz: whether this process answers, and whether it can do anything. Nothing here says where or what the database is."""

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from holdfast.interfaces.http.access import Access
from holdfast.runtime.logs import events
from holdfast.store.migrate import schema_state

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

PATIENCE = 3.0
_HEADERS = {"Cache-Control": "no-store"}


async def _problem(app: "Holdfast") -> str | None:
    """Say in a word why requests would fail now, or None."""
    try:
        async with asyncio.timeout(PATIENCE):
            state = await app.link.aperform_once(schema_state())
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody should be sent here
        events.warning("ready:no", extra={"error": str(error) or type(error).__name__})
        return "database"
    return None if state.problem_for_workers() is None else "schema"


def health(app: "Holdfast", _access: Access) -> list[BaseRoute]:
    """Make the routes."""

    async def live(_request: Request) -> Response:
        return JSONResponse({"status": "alive"}, headers=_HEADERS)

    async def ready(_request: Request) -> Response:
        problem = await _problem(app)
        if problem is None:
            return JSONResponse({"status": "ready"}, headers=_HEADERS)
        told = {"status": "not ready", "problem": problem}
        return JSONResponse(told, HTTPStatus.SERVICE_UNAVAILABLE, _HEADERS)

    return [Route("/livez", live, methods=["GET"]), Route("/readyz", ready, methods=["GET"])]
