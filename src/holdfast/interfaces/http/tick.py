"""/api/v1/tick: whoever knows the secret makes this process work for a few seconds; for hosts that call and do not stay."""

import hashlib
import hmac
import os
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from holdfast.domain.signature import refuse_weak
from holdfast.interfaces.http.access import Access
from holdfast.interfaces.http.problem import CONFLICT, METHOD_NOT_ALLOWED, UNAUTHORIZED, Refusal, refusal_of
from holdfast.interfaces.settings import Settings
from holdfast.runtime.keys import read_secret
from holdfast.runtime.tick import Ticker

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from holdfast.runtime.app import Holdfast

SECRET = "HOLDFAST_TICK_SECRET"  # noqa: S105 - the name of the variable
_BEARER = "bearer "
_METHODS = ["GET", "POST"]


class TickDoor:
    """Lets in who has the secret, by header or, where a host cannot send one, in the query."""

    def __init__(self, ticker: Ticker, secret: str) -> None:
        self._ticker = ticker
        self._digest = _digest(secret)

    # An ASGI application, not a function: Starlette then leaves the method to us. Its route for GET would run on HEAD too.
    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request."""
        try:
            response = await self._take(Request(scope, receive, send))
        except Refusal as refusal:
            response = refusal.response
        except Exception as error:  # noqa: BLE001 - nothing may reach the caller that says how we work inside
            response = refusal_of(error).response
        await response(scope, receive, send)

    async def _take(self, request: Request) -> Response:
        if request.method not in _METHODS:
            raise Refusal(METHOD_NOT_ALLOWED, headers={"Allow": ", ".join(_METHODS)})
        if not hmac.compare_digest(_digest(_given(request)), self._digest):
            raise Refusal(UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"})
        ticked = await self._ticker.tick()
        if ticked is None:
            raise Refusal(CONFLICT, "a tick is under way in this process", headers={"Retry-After": "10"})
        return JSONResponse(ticked._asdict(), headers={"Cache-Control": "no-store"})


def _given(request: Request) -> str:
    header = request.headers.get("authorization", "")
    if header.lower().startswith(_BEARER):
        return header[len(_BEARER) :].strip()
    return request.query_params.get("secret", "")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def tick(app: "Holdfast", _access: Access) -> list[BaseRoute]:
    """Make the route, if there is a secret for it."""
    secret = read_secret(SECRET)
    if secret is None:
        return []
    settings = Settings({}, os.environ, Path.cwd())
    ticker = Ticker(app, settings.whole("tick_jobs", 1), settings.number("tick_seconds", 1))
    return [Route("/api/v1/tick", TickDoor(ticker, refuse_weak(SECRET, secret)))]
