"""What the tests of executors do often: hand a job over, send callbacks, look at what came of it."""

import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import httpx

from apps._world.github import GitHub
from holdfast import Holdfast, Status
from holdfast.domain.callback import Token
from holdfast.domain.signature import sign
from holdfast.store.dispatch import HandOver, hand_over
from holdfast.testing import ScratchDatabase
from sql.support import Machine
from world.draining import drain

if TYPE_CHECKING:
    import psycopg

SECRET = "hfx_" + "4b1d97c02ea8f653" * 4


@dataclass
class Stage:
    app: Holdfast
    github: GitHub
    owner: "psycopg.Connection[Any]"
    database: ScratchDatabase
    url: str

    @property
    def machine(self) -> Machine:
        return Machine(self.owner)

    def hand_over(self, *, executor: str = "github", retries: int = 0, **inputs: Any) -> Token:
        """Put a job into the executor's hands; nobody has called it yet."""
        if "t" not in self.app.tasks:

            @self.app.task(name="t")
            async def nothing() -> None: ...

        given = inputs or {"agent_id": "a-1", "region": "fsn1"}
        self.app.tasks["t"].using(retries=retries).enqueue()
        (claimed,) = self.app.claim()
        token = Token(claimed.id, claimed.attempt, claimed._job.claim_id)
        self.app.link.perform(
            hand_over(
                HandOver(
                    token.job_id,
                    token.attempt,
                    token.claim_id,
                    executor,
                    json.dumps(given),
                    600,
                    900,
                    0,
                    None,
                )
            )
        )
        claimed._holding.let_go(claimed._job)
        return token

    def work(self) -> None:
        """Let a worker do what there is to do now."""
        drain(self.app)

    def job(self, token: Token) -> dict[str, Any]:
        return self.machine.job(token.job_id)

    def status(self, token: Token) -> Status:
        return self.machine.status(token.job_id)

    def dispatch(self, token: Token) -> dict[str, Any]:
        return self.machine.one(
            "select * from holdfast.dispatch where job_id = %s and attempt = %s", token.job_id, token.attempt
        )

    def path(self, token: Token, executor: str = "github") -> str:
        return f"{self.url}/callbacks/v1/{executor}/{token.path}"

    def report(self, token: Token, action: str, **given: Any) -> httpx.Response:
        return post(self.path(token), token, action, **given)


def body_of(token: Token, action: str, **facts: Any) -> bytes:
    told = {
        "action": action,
        "job_id": str(token.job_id),
        "attempt": token.attempt,
        "claim_id": str(token.claim_id),
        **facts,
    }
    return json.dumps(told).encode()


def post(
    url: str,
    token: Token,
    action: str,
    *,
    secret: str = SECRET,
    nonce: str | None = None,
    at: float | None = None,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    **facts: Any,
) -> httpx.Response:
    """Send a callback, signed as the script signs it, or wrongly where a test says so."""
    content = body_of(token, action, **facts) if body is None else body
    signed = signed_headers(token, content, secret=secret, nonce=nonce, at=at)
    return httpx.post(url, content=content, headers=signed if headers is None else headers, trust_env=False)


def signed_headers(
    token: Token, body: bytes, *, secret: str = SECRET, nonce: str | None = None, at: float | None = None
) -> dict[str, str]:
    """Sign a callback as the script does."""
    nonce, timestamp = nonce or uuid4().hex, int(time.time() if at is None else at)
    return {
        "webhook-id": nonce,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, token, nonce, timestamp, body),
    }


def plain_signature(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def another_job() -> UUID:
    return UUID("01890a5d-ac96-774b-bcce-b302099a8057")
