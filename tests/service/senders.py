"""Senders of webhooks as tests play them: honest ones that sign as their systems do, and what a forger changes."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from holdfast import Holdfast
from holdfast.server import webhooks

SECRET = "whsec_" + base64.b64encode(b"the secret of an honest sender").decode()
OTHER = "whsec_" + base64.b64encode(b"the secret of somebody else!!!").decode()


def event(event_id: str = "evt_1", kind: str = "checkout.session.completed", **about: Any) -> bytes:
    """Write an event as Stripe does."""
    return json.dumps({"id": event_id, "object": "event", "type": kind, "data": {"object": about}}).encode()


def digest(secret: str | bytes, signed: bytes, algorithm: str = "sha256") -> bytes:
    return hmac.digest(secret.encode() if isinstance(secret, str) else secret, signed, algorithm)


def stripe(body: bytes, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    moment = str(int(time.time() if at is None else at))
    return {"Stripe-Signature": f"t={moment},v1={digest(secret, moment.encode() + b'.' + body).hex()}"}


def github(
    body: bytes, secret: str = SECRET, delivery: str = "72d3162e-cc78", kind: str = "push"
) -> dict[str, str]:
    signature = f"sha256={digest(secret, body).hex()}"
    return {"X-Hub-Signature-256": signature, "X-GitHub-Delivery": delivery, "X-GitHub-Event": kind}


def standard(
    body: bytes, secret: str = SECRET, at: float | None = None, event_id: str = "msg_1"
) -> dict[str, str]:
    moment = str(int(time.time() if at is None else at))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signature = digest(key, f"{event_id}.{moment}.".encode() + body)
    signed = "v1," + base64.b64encode(signature).decode()
    return {"webhook-id": event_id, "webhook-timestamp": moment, "webhook-signature": signed}


def hmac_header(body: bytes, secret: str = SECRET) -> dict[str, str]:
    return {"X-Signature": digest(secret, body).hex()}


def slack(body: bytes, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    moment = str(int(time.time() if at is None else at))
    signed = hmac.new(secret.encode(), f"v0:{moment}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": moment, "X-Slack-Signature": f"v0={signed}"}


def shared(_body: bytes, secret: str = SECRET) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


class Sender:
    """Brings events to one endpoint."""

    def __init__(self, client: httpx.AsyncClient, endpoint: str = "stripe") -> None:
        self.client = client
        self.path = f"/webhooks/v1/{endpoint}"

    async def post(
        self, body: bytes, headers: Mapping[str, str] | list[tuple[str, str]] | None = None
    ) -> httpx.Response:
        given = stripe(body) if headers is None else headers
        return await self.client.post(self.path, content=body, headers=given)

    async def bring(
        self, event_id: str = "evt_1", kind: str = "checkout.session.completed", **about: Any
    ) -> httpx.Response:
        return await self.post(event(event_id, kind, **about))


@asynccontextmanager
async def sending(app: Holdfast, endpoint: str = "stripe") -> AsyncIterator[Sender]:
    """Open an app's door for as long as the block lasts."""
    transport = httpx.ASGITransport(webhooks(app))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield Sender(client, endpoint)
    await app.link.aclose()
