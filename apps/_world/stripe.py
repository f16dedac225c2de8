"""Stripe, as far as the products use it: checkout sessions over its API, and signed events that are sent until they are accepted.

Apps call it with Stripe's own library, its API base pointed here. Kinds of trouble: `unavailable` (500 in Stripe's form).
"""

import asyncio
import hashlib
import hmac
import itertools
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps._world.script import Script
from apps._world.serving import NO_TLS, served

KEY = "sk_test_world"
SECRET = "whsec_" + hashlib.sha256(b"the world's signing secret").hexdigest()
COMPLETED = "checkout.session.completed"


class Stripe:
    """One account: its sessions, its events, and the endpoint that it sends them to."""

    def __init__(self, script: Script | None = None) -> None:
        self.url = ""
        self.endpoint = ""
        self.script = script or Script()
        self.sessions: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self._answers: dict[str, dict[str, Any]] = {}  # by idempotency key
        self._numbers = itertools.count(1)
        self._account = secrets.token_hex(4)  # ids are unique among all accounts
        self._lock = threading.Lock()

    # -- its API -----------------------------------------------------------------------------------------------------------

    async def _create_session(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return _error(401, "invalid_request_error", "Invalid API Key provided")
        if self.script.next() == "unavailable":
            return _error(500, "api_error", "An unknown error occurred")
        given = _nested(parse_qsl((await request.body()).decode()))
        if missing := [name for name in ("mode", "line_items", "success_url") if name not in given]:
            return _error(400, "invalid_request_error", f"Missing required param: {missing[0]}.")
        key = request.headers.get("idempotency-key", "")
        session = self._answers.get(key) or self._make_session(given)
        if key:
            self._answers[key] = session
        return JSONResponse(session)

    def _make_session(self, given: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        session = {
            "id": f"cs_test_{number}",
            "object": "checkout.session",
            "url": f"{self.url}/pay/cs_test_{number}",
            "status": "open",
            "payment_status": "unpaid",
            "mode": given["mode"],
            "customer": given.get("customer"),
            "metadata": given.get("metadata", {}),
            "success_url": given["success_url"],
            "cancel_url": given.get("cancel_url"),
            "line_items": given["line_items"],
            "subscription": f"sub_{number}" if given["mode"] == "subscription" else None,
            "payment_intent": f"pi_{number}" if given["mode"] == "payment" else None,
        }
        self.sessions[str(session["id"])] = session
        return session

    def application(self) -> Starlette:
        """Make its API."""
        return Starlette(routes=[Route("/v1/checkout/sessions", self._create_session, methods=["POST"])])

    # -- its events --------------------------------------------------------------------------------------------------------

    def paid(self, session_id: str) -> dict[str, Any]:
        """Let the customer pay; gives the event, which is not sent yet."""
        session = self.sessions[session_id]
        session |= {"status": "complete", "payment_status": "paid"}
        return self.event(COMPLETED, session)

    def event(self, kind: str, about: dict[str, Any]) -> dict[str, Any]:
        """Make an event about something."""
        with self._lock:
            event = {
                "id": f"evt_{self._account}_{len(self.events) + 1}",
                "object": "event",
                "api_version": "2025-09-30.clover",
                "created": int(time.time()),
                "livemode": False,
                "pending_webhooks": 1,
                "request": {"id": None, "idempotency_key": None},
                "type": kind,
                "data": {"object": about},
            }
            self.events.append(event)
        return event

    def signed(self, event: dict[str, Any], at: float | None = None) -> tuple[bytes, dict[str, str]]:
        """Write an event as it is sent: its raw body, and the header that proves where it comes from."""
        body = json.dumps(event, indent=2).encode()
        stamp = str(int(time.time() if at is None else at))
        proof = hmac.digest(SECRET.encode(), stamp.encode() + b"." + body, "sha256").hex()
        return body, {"Stripe-Signature": f"t={stamp},v1={proof}", "Content-Type": "application/json"}

    async def send(self, event: dict[str, Any], times: int = 1) -> list[int]:
        """Send an event so many times at once; gives the statuses of the answers."""
        body, headers = self.signed(event)
        async with httpx.AsyncClient(verify=NO_TLS, timeout=30) as client:
            answers = await asyncio.gather(
                *(client.post(self.endpoint, content=body, headers=headers) for _ in range(times))
            )
        return [answer.status_code for answer in answers]

    async def deliver(self, event: dict[str, Any], tries: int = 50, pause: float = 0.1) -> int:
        """Send an event again and again until it is accepted, as Stripe does over three days; gives how often it was sent."""
        for number in range(1, tries + 1):
            try:
                if (await self.send(event))[0] < 300:  # noqa: PLR2004 - HTTP's own border
                    return number
            except httpx.TransportError:
                pass
            await asyncio.sleep(pause)
        raise TimeoutError(f"nobody accepted {event['id']}")


def _error(status: int, kind: str, message: str) -> JSONResponse:
    return JSONResponse({"error": {"type": kind, "message": message}}, status)


def _nested(flat: list[tuple[str, str]]) -> dict[str, Any]:
    """Read Stripe's form encoding: metadata[agentId]=1 becomes {"metadata": {"agentId": "1"}}."""
    nested: dict[str, Any] = {}
    for name, value in flat:
        *outer, last = name.replace("]", "").split("[")
        inner = nested
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


@contextmanager
def simulated(script: Script | None = None) -> Iterator[Stripe]:
    """Run Stripe for as long as the block lasts."""
    stripe = Stripe(script)
    with served(stripe.application()) as stripe.url:
        yield stripe
