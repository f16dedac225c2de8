"""The product's HTTP: who asks, what they ask for, and the answer in its form. Every change is one transaction."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from apps.workspace_access import matches, tasks
from apps.workspace_access.app import app
from apps.workspace_access.matches import Code, Match, Side, Status, Trouble
from holdfast import DatabaseUnavailable

PREFIX = "/api/advisor-matching"
_STATUS = {
    Code.FORBIDDEN: 403,
    Code.PROJECT_NOT_FOUND: 404,
    Code.ADVISOR_NOT_FOUND: 404,
    Code.MATCH_NOT_FOUND: 404,
    Code.ALREADY_PROVISIONED: 409,
    Code.MATCH_CLOSED: 409,
    Code.INVALID_REQUEST: 422,
    Code.IDEMPOTENCY_KEY_REUSED: 422,
    Code.DATABASE_ERROR: 503,
}
_WORDS = {
    Code.FEATURE_DISABLED: "workspaces are not opened at the moment; yours is in line",
    Code.ADVISOR_NOT_FOUND: "the advisor is gone",
    Code.PROJECT_NOT_FOUND: "there is no such project",
    Code.CHAT_SESSION_ERROR: "the advisor's chat could not be opened",
    Code.DATABASE_ERROR: "the workspace could not be written",
}


class Decision(BaseModel):
    """What somebody decides about a match."""

    model_config = ConfigDict(extra="forbid")

    decision: Literal["approved", "declined"]
    reason: str | None = None

    @property
    def is_approval(self) -> bool:
        """Whether it is a yes."""
        return self.decision == "approved"


# -- decisions -------------------------------------------------------------------------------------------------------------


async def finalize_match(request: Request) -> Response:
    """Let a project's owner finalize or decline its match."""
    user, project_id = _user(request), _id(request, "project_id", Code.PROJECT_NOT_FOUND)
    body = await request.body()
    decision = _decision(body)
    key = request.headers.get("idempotency-key")
    event = None
    async with app.atransaction() as conn:
        answer = await _repeated(conn, user, key, request.url.path.encode() + body) if key else None
        is_repeat = answer is not None
        if answer is None:
            match = await _owned(conn, user, await matches.newest(conn, project_id), project_id)
            before = match.status
            status, event = await tasks.decide(
                conn, match, "owner", str(user), approved=decision.is_approval, reason=decision.reason
            )
            is_repeat = status is before
            answer = {
                "status": status,
                "workspaceReady": match.has_access,
                "message": _message(status, match),
            }
            if key:
                await _keep(conn, user, key, answer)
    if event is not None:
        tasks.tell_of_event(event)
    return JSONResponse({"success": True, "data": answer}, 200 if is_repeat else 201)


async def client_decision(request: Request) -> Response:
    """Let the client decide about a match."""
    return await _party_decision(request, "client")


async def advisor_decision(request: Request) -> Response:
    """Let the advisor decide about a match."""
    return await _party_decision(request, "advisor")


async def _party_decision(request: Request, side: Side) -> Response:
    user, match_id = _user(request), _id(request, "match_id", Code.MATCH_NOT_FOUND)
    decision = _decision(await request.body())
    async with app.atransaction() as conn:
        match = await matches.locked(conn, match_id)
        if match is None:
            raise Trouble(Code.MATCH_NOT_FOUND, "there is no such match")
        if side == "client":
            await _owned(conn, user, match, match.project_id)
        elif user != match.advisor_id:
            raise Trouble(Code.FORBIDDEN, "only the advisor of this match decides here")
        status, event = await tasks.decide(
            conn, match, side, str(user), approved=decision.is_approval, reason=decision.reason
        )
    if event is not None:
        tasks.tell_of_event(event)
    queued = (
        {"workspaceProvisioning": "queued"} if status is Status.FINALIZED and not match.has_access else {}
    )
    return JSONResponse({"success": True, "data": {"status": status, **queued}})


_OWNER = "select p.owner_id from workspace_access.projects p where p.id = %s"


async def _owned(conn: Any, user: UUID, match: Match | None, project_id: UUID) -> Match:
    """Let only the project's owner pass; and nobody gives access to themselves."""
    row = await (await conn.execute(_OWNER, (project_id,))).fetchone()
    if row is None:
        raise Trouble(Code.PROJECT_NOT_FOUND, _WORDS[Code.PROJECT_NOT_FOUND])
    if row[0] != user:
        raise Trouble(Code.FORBIDDEN, "only the project's owner may decide this")
    if match is None:
        raise Trouble(Code.MATCH_NOT_FOUND, "the project has no match")
    if match.advisor_id == user:
        raise Trouble(Code.FORBIDDEN, "an advisor cannot let themselves in")
    return match


def _message(status: Status, match: Match) -> str:
    if status is Status.DECLINED:
        return "The match was declined."
    return (
        "The workspace is ready."
        if match.has_access
        else "The match is final; the workspace is being opened."
    )


# -- idempotency keys ------------------------------------------------------------------------------------------------------

_FORGET = (
    "delete from workspace_access.idempotency_keys where created_at <= holdfast.clock() - interval '1 hour'"
)
_TAKE = """
insert into workspace_access.idempotency_keys (user_id, key, request) values (%s, %s, %s) on conflict do nothing returning key
"""
_KEPT = (
    "select k.request, k.answer from workspace_access.idempotency_keys k where k.user_id = %s and k.key = %s"
)
_KEEP = "update workspace_access.idempotency_keys set answer = %s::jsonb where user_id = %s and key = %s"


async def _repeated(conn: Any, user: UUID, key: str, asked: bytes) -> dict[str, Any] | None:
    """Give the answer that a key had before; who asks the same at the same time waits here for it."""
    digest = hashlib.sha256(asked).digest()
    await conn.execute(_FORGET)
    if await (await conn.execute(_TAKE, (user, key, digest))).fetchone():
        return None
    before, answer = await (await conn.execute(_KEPT, (user, key))).fetchone()
    if before != digest:
        raise Trouble(Code.IDEMPOTENCY_KEY_REUSED, "this idempotency key came with another request before")
    kept: dict[str, Any] = answer
    return kept


async def _keep(conn: Any, user: UUID, key: str, answer: dict[str, Any]) -> None:
    await conn.execute(_KEEP, (json.dumps(answer), user, key))


# -- what there is ---------------------------------------------------------------------------------------------------------

_ACTIVE = """
select m.id::text, m.status, m.score::float8, m.created_at, m.expires_at, m.job_id,
       jsonb_build_object('id', m.advisor_id, 'name', a.name, 'avatar', a.avatar, 'skills', a.skills, 'rating', a.rating),
       exists (select from workspace_access.access c where c.project_id = m.project_id and c.advisor_id = m.advisor_id)
  from workspace_access.projects p
  left join workspace_access.matches m on m.project_id = p.id and m.status not in ('pending', 'declined', 'left')
  left join workspace_access.advisors a on a.id = m.advisor_id
 where p.id = %s
 order by m.created_at desc, m.id limit 1
"""


async def active_match(request: Request) -> Response:
    """Show a project's match, its advisor, and how far the workspace is."""
    project_id = _id(request, "project_id", Code.PROJECT_NOT_FOUND)
    async with app.atransaction() as conn:
        row = await (await conn.execute(_ACTIVE, (project_id,))).fetchone()
    if row is None:
        raise Trouble(Code.PROJECT_NOT_FOUND, _WORDS[Code.PROJECT_NOT_FOUND])
    match_id, status, score, created_at, expires_at, job_id, advisor, has_access = row
    if match_id is None:
        raise Trouble(Code.MATCH_NOT_FOUND, "the project has no match")
    job = await _job(job_id) if job_id else None
    data = {
        "id": match_id, "status": status, "advisor": advisor, "matchScore": score,
        "workspaceStatus": _workspace_status(job, has_access=has_access),
        "provisioningAttempts": job.attempts if job else 0,
        "createdAt": created_at.isoformat(), "expiresAt": expires_at.isoformat(),
    }  # fmt: skip
    trouble = None if job is None or has_access else _trouble(job)
    return JSONResponse({"success": True, "data": data, **({"error": _error(trouble)} if trouble else {})})


class Job(NamedTuple):
    """What the engine knows of a match's newest job."""

    status: str
    attempts: int
    held_by: str | None
    error: str | None
    recoverable: bool | None


# A job that retention has removed had completed or failed long ago.
_JOB = """
select j.status::text, j.attempt, j.held_by, j.error ->> 'message', (j.error ->> 'recoverable')::boolean from holdfast.job j where j.id = %s
"""


async def _job(job_id: UUID) -> Job | None:
    async with app.atransaction() as conn:
        await conn.execute("select holdfast.enter('*')")
        row = await (await conn.execute(_JOB, (job_id,))).fetchone()
    return None if row is None else Job(*row)


def _workspace_status(job: Job | None, *, has_access: bool) -> str | None:
    if has_access:
        return "ready"
    if job is None or job.status == "CANCELLED":
        return None
    return "failed" if job.status == "FAILED" else "provisioning"


def _trouble(job: Job) -> Trouble | None:
    """Say what keeps a job from being done: the switch, or its last error."""
    if job.held_by and job.held_by.startswith("flag:"):
        return Trouble(Code.FEATURE_DISABLED, _WORDS[Code.FEATURE_DISABLED], recoverable=True)
    if job.error is None:
        return None
    named = job.error.partition(":")[0]
    code = Code(named) if named in _WORDS else Code.DATABASE_ERROR
    return Trouble(code, _WORDS[code], recoverable=bool(job.recoverable))


# -- live events -----------------------------------------------------------------------------------------------------------

_MAY_FOLLOW = """
select from workspace_access.projects p
 where p.id = %(project)s
   and (p.owner_id = %(user)s
        or exists (select from workspace_access.access a where a.project_id = p.id and a.advisor_id = %(user)s))
"""


async def events(request: Request) -> Response:
    """Stream a project's live events, behind the one that the reader had last."""
    user, project_id = _user(request), _id(request, "project_id", Code.PROJECT_NOT_FOUND)
    after = request.headers.get("last-event-id", "0")
    if not after.isdecimal():
        raise Trouble(Code.INVALID_REQUEST, "Last-Event-ID is the number of an event")
    async with app.atransaction() as conn:
        told = {"project": project_id, "user": user}
        if not (await conn.execute(_MAY_FOLLOW, told)).rowcount:
            raise Trouble(Code.FORBIDDEN, "only people in the project may follow it")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _written(project_id, int(after)), headers=headers, media_type="text/event-stream"
    )


async def _written(project_id: UUID, after: int) -> AsyncIterator[str]:
    yield "retry: 2000\n\n"
    async for event in app.feed(matches.channel(project_id)):
        if event.data["seq"] > after:
            yield f"id: {event.data['seq']}\nevent: {event.kind}\ndata: {json.dumps(event.data)}\n\n"


# -- the edge --------------------------------------------------------------------------------------------------------------


def _user(request: Request) -> UUID:
    """Read who asks; whatever stands in front of us has made sure of it."""
    try:
        return UUID(request.headers.get("x-user-id", ""))
    except ValueError:
        raise Trouble(Code.FORBIDDEN, "the header x-user-id says who asks") from None


def _id(request: Request, name: str, otherwise: Code) -> UUID:
    try:
        return UUID(request.path_params[name])
    except ValueError:
        raise Trouble(otherwise, "that is no id") from None


def _decision(body: bytes) -> Decision:
    try:
        return Decision.model_validate_json(body)
    except ValidationError as error:
        said = error.errors()[0]
        place = ".".join(map(str, said["loc"])) or "body"
        raise Trouble(Code.INVALID_REQUEST, f"{place}: {said['msg']}") from None


def _error(trouble: Trouble) -> dict[str, Any]:
    return {"code": trouble.code, "message": trouble.said, "recoverable": trouble.recoverable}


async def _refused(_request: Request, error: Exception) -> Response:
    trouble = error if isinstance(error, Trouble) else None
    if trouble is None:
        trouble = Trouble(Code.DATABASE_ERROR, "please try again in a moment", recoverable=True)
    return JSONResponse({"success": False, "error": _error(trouble)}, _STATUS[trouble.code])


@asynccontextmanager
async def _lifespan(_web: Starlette) -> AsyncIterator[None]:
    yield
    await app.aclose()


web = Starlette(
    lifespan=_lifespan,
    routes=[
        Route(f"{PREFIX}/projects/{{project_id}}/active-match", active_match),
        Route(f"{PREFIX}/projects/{{project_id}}/finalize-match", finalize_match, methods=["POST"]),
        Route(f"{PREFIX}/projects/{{project_id}}/events", events),
        Route(f"{PREFIX}/matches/{{match_id}}/client-decision", client_decision, methods=["POST"]),
        Route(f"{PREFIX}/matches/{{match_id}}/advisor-decision", advisor_decision, methods=["POST"]),
    ],
    exception_handlers={Trouble: _refused, DatabaseUnavailable: _refused},
)
