"""The product's HTTP: who asks, what they ask for, and the answer in its form. Every change is one transaction."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from apps.workspace_access import idempotency, matches, tasks
from apps.workspace_access.app import app
from apps.workspace_access.events import Event, channel
from apps.workspace_access.matches import Match, Side, Status
from apps.workspace_access.trouble import WORDS, Code, Trouble
from holdfast import DatabaseUnavailable, Job

PREFIX = "/api/advisor-matching"
_STATUS = {
    Code.FORBIDDEN: 403,
    Code.PROJECT_NOT_FOUND: 404,
    Code.MATCH_NOT_FOUND: 404,
    Code.NOT_FOUND: 404,
    Code.ALREADY_PROVISIONED: 409,
    Code.MATCH_CLOSED: 409,
    Code.INVALID_REQUEST: 422,
    Code.IDEMPOTENCY_KEY_REUSED: 422,
    Code.DATABASE_ERROR: 503,
}


# -- decisions -------------------------------------------------------------------------------------------------------------


class Decision(BaseModel):
    """What somebody decides about a match."""

    model_config = ConfigDict(extra="forbid")

    decision: Literal["approved", "declined"]
    reason: str | None = None


async def finalize_match(request: Request) -> Response:
    """Let a project's owner finalize or decline its match."""
    user, key, body = _user(request), request.headers.get("idempotency-key"), await request.body()
    decision = _decision(body)
    async with app.atransaction() as conn:
        answer = await idempotency.recall(conn, user, key, request.url.path.encode() + body)
        if answer is not None:
            return _answer(answer)
        match = await matches.newest(conn, request.path_params["project_id"])
        status, event = await _decide(conn, match, "owner", user, decision)
        message = _message(status, is_ready=match.has_access)
        answer = {"status": status, "workspaceReady": match.has_access, "message": message}
        await idempotency.keep(conn, user, key, answer)
    if event is not None:
        event.tell()
    return _answer(answer, 200 if status is match.status else 201)


async def party_decision(request: Request) -> Response:
    """Let the client or the advisor decide about a match."""
    user, decision = _user(request), _decision(await request.body())
    side: Side = "client" if request.url.path.endswith("/client-decision") else "advisor"
    async with app.atransaction() as conn:
        match = await matches.locked(conn, request.path_params["match_id"])
        status, event = await _decide(conn, match, side, user, decision)
    if event is not None:
        event.tell()
    is_queued = status is Status.FINALIZED and not match.has_access
    return _answer({"status": status, **({"workspaceProvisioning": "queued"} if is_queued else {})})


async def _decide(
    conn: Any, match: Match, side: Side, user: UUID, decision: Decision
) -> tuple[Status, Event | None]:
    """Take the decision of whoever may make it; and nobody lets themselves in, also as the owner of a project."""
    whose = match.advisor_id if side == "advisor" else match.owner_id
    if user != whose or match.advisor_id == match.owner_id:
        raise Trouble(Code.FORBIDDEN)
    is_yes = decision.decision == "approved"
    return await tasks.decide(conn, match, side, str(user), approved=is_yes, reason=decision.reason)


def _message(status: Status, *, is_ready: bool) -> str:
    if status is Status.DECLINED:
        return "The match was declined."
    return "The workspace is ready." if is_ready else "The match is final; the workspace is being opened."


# -- what there is ---------------------------------------------------------------------------------------------------------

_ACTIVE = """
select m.id::text, m.status, m.score::float8, m.created_at, m.expires_at, m.job_id,
       (select to_jsonb(c) from workspace_access.advisor_cards c where c.id = m.advisor_id),
       exists (select from workspace_access.access a where a.project_id = m.project_id and a.advisor_id = m.advisor_id)
  from workspace_access.projects p
  left join workspace_access.matches m on m.project_id = p.id and m.status not in ('pending', 'declined', 'left')
 where p.id = %s
 order by m.created_at desc, m.id limit 1
"""


async def active_match(request: Request) -> Response:
    """Show a project's match, its advisor, and how far the workspace is."""
    async with app.atransaction() as conn:
        row = await (await conn.execute(_ACTIVE, (request.path_params["project_id"],))).fetchone()
    if row is None:
        raise Trouble(Code.PROJECT_NOT_FOUND)
    match_id, status, score, created_at, expires_at, job_id, advisor, is_ready = row
    if match_id is None:
        raise Trouble(Code.MATCH_NOT_FOUND)
    job = await app.ajob(job_id) if job_id else None
    trouble = _trouble(job) if job and not is_ready else None
    shown = {
        "id": match_id, "status": status, "advisor": advisor, "matchScore": score,
        "workspaceStatus": "ready" if is_ready else _workspace_status(job),
        "provisioningAttempts": job.attempt if job else 0,
        "createdAt": created_at.isoformat(), "expiresAt": expires_at.isoformat(),
    }  # fmt: skip
    return _answer(shown, error=trouble)


def _workspace_status(job: Job | None) -> str | None:
    if job is None or job.status == "CANCELLED":
        return None
    return "failed" if job.status == "FAILED" else "provisioning"


def _trouble(job: Job) -> Trouble | None:
    """Say what keeps a job from being done: the switch, or its last error, of which people learn the code only."""
    if job.held_by and job.held_by.startswith("flag:"):
        return Trouble(Code.FEATURE_DISABLED, recoverable=True)
    if job.error is None:
        return None
    named = job.error["message"].partition(":")[0]
    code = Code(named) if named in WORDS else Code.DATABASE_ERROR
    return Trouble(code, recoverable=job.error["recoverable"])


# -- live events -----------------------------------------------------------------------------------------------------------

_MAY_FOLLOW = """
select from workspace_access.projects p
 where p.id = %(project)s
   and (p.owner_id = %(user)s
        or exists (select from workspace_access.access a where a.project_id = p.id and a.advisor_id = %(user)s))
"""


async def events(request: Request) -> Response:
    """Stream a project's live events, behind the one that the reader had last."""
    user, project_id = _user(request), request.path_params["project_id"]
    after = request.headers.get("last-event-id", "0")
    if not after.isdecimal():
        raise Trouble(Code.INVALID_REQUEST, "Last-Event-ID is the number of an event")
    async with app.atransaction() as conn:
        if not (await conn.execute(_MAY_FOLLOW, {"project": project_id, "user": user})).rowcount:
            raise Trouble(Code.FORBIDDEN)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _written(project_id, int(after)), headers=headers, media_type="text/event-stream"
    )


async def _written(project_id: UUID, after: int) -> AsyncIterator[str]:
    yield "retry: 2000\n\n"
    async for event in app.feed(channel(project_id)):
        if event.data["seq"] > after:
            yield f"id: {event.data['seq']}\nevent: {event.kind}\ndata: {json.dumps(event.data)}\n\n"


# -- the edge --------------------------------------------------------------------------------------------------------------


def _user(request: Request) -> UUID:
    """Read who asks; whatever stands in front of us has made sure of it."""
    try:
        return UUID(request.headers.get("x-user-id", ""))
    except ValueError:
        raise Trouble(Code.FORBIDDEN, "the header x-user-id says who asks") from None


def _decision(body: bytes) -> Decision:
    try:
        return Decision.model_validate_json(body)
    except ValidationError as error:
        said = error.errors()[0]
        place = ".".join(map(str, said["loc"])) or "body"
        raise Trouble(Code.INVALID_REQUEST, f"{place}: {said['msg']}") from None


def _answer(data: dict[str, Any], status: int = 200, error: Trouble | None = None) -> Response:
    told = {} if error is None else {"error": _error(error)}
    return JSONResponse({"success": True, "data": data, **told}, status)


def _error(trouble: Trouble) -> dict[str, Any]:
    return {"code": trouble.code, "message": trouble.said, "recoverable": trouble.recoverable}


async def _refused(_request: Request, error: Exception) -> Response:
    if not isinstance(error, Trouble):
        error = Trouble(Code.DATABASE_ERROR, "please try again in a moment", recoverable=True)
    return JSONResponse({"success": False, "error": _error(error)}, _STATUS[error.code])


async def _not_found(request: Request, _error: Exception) -> Response:
    return await _refused(request, Trouble(Code.NOT_FOUND))


@asynccontextmanager
async def _lifespan(_web: Starlette) -> AsyncIterator[None]:
    yield
    await app.aclose()


PROJECT, MATCH = f"{PREFIX}/projects/{{project_id:uuid}}", f"{PREFIX}/matches/{{match_id:uuid}}"
web = Starlette(
    lifespan=_lifespan,
    routes=[
        Route(f"{PROJECT}/active-match", active_match),
        Route(f"{PROJECT}/finalize-match", finalize_match, methods=["POST"]),
        Route(f"{PROJECT}/events", events),
        Route(f"{MATCH}/client-decision", party_decision, methods=["POST"]),
        Route(f"{MATCH}/advisor-decision", party_decision, methods=["POST"]),
    ],
    exception_handlers={Trouble: _refused, DatabaseUnavailable: _refused, 404: _not_found},
)
