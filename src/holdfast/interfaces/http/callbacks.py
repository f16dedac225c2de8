"""The door that runs report to: every request is hostile until its signature says otherwise, and none learns why it was refused."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from holdfast.domain.callback import (
    SAID,
    Action,
    Answer,
    Callback,
    Token,
    WrongToken,
    read_body,
    read_plain_body,
    read_token,
)
from holdfast.domain.errors import BadInput, Configuration, DatabaseUnavailable
from holdfast.domain.signature import SignedHeaders, verify, verify_plain
from holdfast.interfaces.http import body as bodies
from holdfast.runtime.logs import events
from holdfast.runtime.sealing import hidden_by
from holdfast.store.dispatch import callback
from holdfast.store.hidden import hidden_of

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

# What is verified against when there is no such executor or attempt: a stranger gets the same answer for the same work.
_NOBODYS_SECRET = "no executor has this secret, and nobody signs with it"  # noqa: S105 - it opens nothing
_NOBODY = read_token("00000000-0000-7000-8000-000000000000", "1", "00000000-0000-4000-8000-000000000000")

_STATUSES = {
    Answer.OK: HTTPStatus.OK,
    Answer.NONCE_REUSED: HTTPStatus.CONFLICT,
    Answer.STALE_ATTEMPT: HTTPStatus.CONFLICT,
    Answer.OTHER_RUN: HTTPStatus.CONFLICT,
    Answer.ALREADY_OVER: HTTPStatus.CONFLICT,
}


class Callbacks:
    """Verifies callbacks and hands them to the database, which decides whether they still count."""

    def __init__(self, app: "Holdfast") -> None:
        self._app = app
        # Once, and now: a missing or weak key shows when the server starts, not when the first run reports.
        self._secrets = {name: executor.secrets() for name, executor in app.executors.items()}
        self._plain = {name for name, executor in app.executors.items() if executor.plain_signature}
        if not self._secrets:
            raise Configuration("this app has no executors: register one with app.executor(…)")

    async def take(self, request: Request) -> Response:
        """Answer one callback."""
        try:
            body = await bodies.read_body(request)
        except bodies.TooLarge:
            return _answered(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large")
        except (bodies.TooSlow, ClientDisconnect):
            return _answered(HTTPStatus.REQUEST_TIMEOUT, "too_slow")
        executor = request.path_params["executor"]
        try:
            given = self._verified(executor, request.path_params, request.headers, body)
        except WrongToken:
            given = None
        except BadInput as error:
            return _answered(HTTPStatus.UNPROCESSABLE_ENTITY, "unreadable", str(error)[:300])
        if given is None:
            return _answered(HTTPStatus.UNAUTHORIZED, "unauthorized")
        return await self._hand_in(executor, given)

    def _verified(
        self, executor: str, path: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> Callback | None:
        token = read_token(path["job_id"], path["attempt"], path["claim_id"])
        secrets = self._secrets.get(executor, [_NOBODYS_SECRET])
        subject = token or _NOBODY
        assert subject is not None  # noqa: S101 - a constant of ours can be read
        signed = SignedHeaders(
            headers.get("webhook-id"), headers.get("webhook-timestamp"), headers.get("webhook-signature")
        )
        is_signed = verify(secrets, subject, signed, body, time.time())
        is_plain = executor in self._plain and verify_plain(secrets, headers.get("x-signature", ""), body)
        if token is None or executor not in self._secrets:
            return None
        digest = hashlib.sha256(body).digest()
        if is_signed:
            return _callback(token, signed.nonce, digest, read_body(body, token))
        if is_plain:
            return _callback(token, None, digest, read_plain_body(body, token))
        return None

    async def _hand_in(self, executor: str, given: Callback) -> Response:
        try:
            answer = await self._app.link.aperform(callback(executor, await self._without_hidden(given)))
        except DatabaseUnavailable:
            return _answered(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", headers={"Retry-After": "5"})
        except BadInput as error:
            return _answered(HTTPStatus.UNPROCESSABLE_ENTITY, "unreadable", str(error)[:300])
        events.info(
            "callback",
            extra={
                "job_id": str(given.token.job_id), "attempt": given.token.attempt, "executor": executor,
                "action": given.action, "answer": str(answer),
            },
        )  # fmt: skip
        if answer is Answer.NOT_FOUND:  # also who may sign learns nothing about which jobs there are
            return _answered(HTTPStatus.UNAUTHORIZED, "unauthorized")
        return _answered(_STATUSES[answer], str(answer))

    async def _without_hidden(self, given: Callback) -> Callback:
        """Leave out of a run's words what its task redacts, which the run may have got; the result is its task's, and kept as it is."""
        if not given.data.keys() & SAID:
            return given
        redacted = await self._app.link.aperform(hidden_of(given.token.job_id))
        text = hidden_by(self._app.encryption, redacted).text
        said = {name: text(value) if name in SAID else value for name, value in given.data.items()}
        return replace(given, data=said)


def _callback(
    token: Token, nonce: str | None, digest: bytes, told: tuple[Action, dict[str, object]]
) -> Callback:
    return Callback(token, told[0], nonce, digest, told[1])


def _answered(
    status: HTTPStatus, code: str, detail: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    told: dict[str, object] = {"ok": True} if status == HTTPStatus.OK else {"ok": False, "code": code}
    if detail is not None:
        told["detail"] = detail
    return JSONResponse(told, status, {"Cache-Control": "no-store", **(headers or {})})


def routes(app: "Holdfast") -> list[Route]:
    """Make the route that takes callbacks for an app's executors."""
    door = Callbacks(app)

    async def take(request: Request) -> Response:
        return await door.take(request)

    return [Route("/callbacks/v1/{executor}/{job_id}/{attempt}/{claim_id}", take, methods=["POST"])]
