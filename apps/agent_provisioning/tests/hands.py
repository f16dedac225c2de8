"""What the tests do by hand: play a run of the workflow, and look into the database."""

import base64
import hashlib
import hmac
import json
import time
from typing import Any
from uuid import uuid4

import httpx
from starlette.responses import Response

from apps._world.github import CALLBACK_SECRET
from apps._world.serving import NO_TLS
from apps.agent_provisioning.app import app
from apps.agent_provisioning.story import World
from holdfast import Job
from holdfast.testing import adrain


async def work() -> None:
    """Let a worker do what can be done now; nobody reads its events here."""
    await adrain(app, projector=False)


class Attempt:
    """A run as the product sees it: it knows its inputs and the repository's secret, and nothing else."""

    def __init__(self, inputs: dict[str, str], secret: str, run_id: str = "7001") -> None:
        self.url = inputs["callback_url"]
        self.job_id, self.attempt, self.claim_id = self.url.rsplit("/", 3)[1:]
        self.secret = secret
        self.run_id = run_id

    def body(self, action: str, **facts: Any) -> bytes:
        told = {
            "action": action,
            "job_id": self.job_id,
            "attempt": int(self.attempt),
            "claim_id": self.claim_id,
        }
        return json.dumps({**told, "run_id": self.run_id, **facts}).encode()

    def headers(self, body: bytes, at: float | None = None) -> dict[str, str]:
        """Sign a body with the key of this attempt, as decision 0010 says."""
        parts = ("holdfast callback v1", self.job_id, self.attempt, self.claim_id)
        key = _hmac(self.secret.encode(), "".join(f"{len(part)}:{part}" for part in parts).encode())
        nonce, stamp = uuid4().hex, str(int(time.time() if at is None else at))
        proof = base64.b64encode(_hmac(key, f"{nonce}.{stamp}.".encode() + body)).decode()
        return {"webhook-id": nonce, "webhook-timestamp": stamp, "webhook-signature": f"v1,{proof}"}

    async def report(self, action: str, **facts: Any) -> int:
        """Report as the delivered script does; gives the answer's status."""
        body = self.body(action, **facts)
        return (await send(self.url, body, self.headers(body))).status_code


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()


def plain(secret: str, body: bytes) -> dict[str, str]:
    """Sign as old workflows do."""
    return {"X-Signature": hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


async def send(url: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
    async with httpx.AsyncClient(verify=NO_TLS, timeout=30) as client:
        return await client.post(url, content=body, headers=headers)


async def hand_over(world: World) -> Attempt:
    """Let a worker dispatch what waits; GitHub takes it, and the test is the run."""
    world.github.answers.append(Response(status_code=204))
    await work()
    world.github.answers.clear()
    return Attempt(world.github.dispatches()[-1]["inputs"], world.github.known[CALLBACK_SECRET])


async def take_all(world: World, many: int) -> list[Attempt]:
    """As hand_over, for many at once."""
    before = len(world.github.dispatches())
    world.github.answers.extend(Response(status_code=204) for _ in range(many))
    await work()
    world.github.answers.clear()
    secret = world.github.known[CALLBACK_SECRET]
    return [Attempt(body["inputs"], secret) for body in world.github.dispatches()[before:]]


def rows(statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Look into the product's own tables."""
    with app.transaction() as connection:
        found: list[tuple[Any, ...]] = connection.execute(statement, values).fetchall()
    return found


def engine_rows(statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Look into Holdfast's tables: who reads them says whose rows."""
    with app.transaction() as connection:
        connection.execute("select holdfast.enter('*')")
        found: list[tuple[Any, ...]] = connection.execute(statement, values).fetchall()
    return found


def has_begun() -> bool:
    """Whether a run has called back."""
    return bool(engine_rows("select from holdfast.activity where kind = 'callback.started'"))


def jobs() -> list[Job]:
    """All provisions, the first one first, without what cleans up after them."""
    found = app.jobs("task:provision", limit=1000).jobs
    return [job for job in reversed(found) if job.compensates is None]
