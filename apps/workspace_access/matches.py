"""Matches: their states, what opens a workspace, and what takes a match back. Every function works in its caller's transaction."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple
from uuid import UUID

from apps.workspace_access.app import app

Side = Literal["owner", "client", "advisor"]
WELCOME = "Advisor has joined the workspace and is ready to help!"
ADVISOR_GONE = "23503"


class Code(StrEnum):
    """What the caller is told went wrong."""

    FEATURE_DISABLED = "FEATURE_DISABLED"
    ALREADY_PROVISIONED = "ALREADY_PROVISIONED"
    PROJECT_NOT_FOUND = "PROJECT_NOT_FOUND"
    ADVISOR_NOT_FOUND = "ADVISOR_NOT_FOUND"
    DATABASE_ERROR = "DATABASE_ERROR"
    CHAT_SESSION_ERROR = "CHAT_SESSION_ERROR"
    MATCH_NOT_FOUND = "MATCH_NOT_FOUND"
    MATCH_CLOSED = "MATCH_CLOSED"
    FORBIDDEN = "FORBIDDEN"
    INVALID_REQUEST = "INVALID_REQUEST"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"


class Trouble(Exception):
    """Something that a caller is told by a code; trying again helps, or it does not."""

    def __init__(self, code: Code, said: str = "", *, recoverable: bool = False) -> None:
        super().__init__(f"{code}: {said}" if said else code)
        self.code = code
        self.said = said
        self.recoverable = recoverable
        self.sqlstate: str | None = None  # of the database's error behind it, by which the engine classifies


class Status(StrEnum):
    """Where a match is."""

    PENDING = "pending"
    MATCHED = "matched"
    CLIENT_APPROVED = "client_approved"
    ADVISOR_ACCEPTED = "advisor_accepted"
    FINALIZED = "finalized"
    DECLINED = "declined"
    LEFT = "left"


OPEN = {Status.MATCHED, Status.CLIENT_APPROVED, Status.ADVISOR_ACCEPTED}


@dataclass(frozen=True, slots=True)
class Match:
    """A match as one transaction sees it, with what is needed to decide about it."""

    id: UUID
    project_id: UUID
    advisor_id: UUID
    owner_id: UUID
    status: Status
    score: float
    client_approved: bool
    advisor_accepted: bool
    has_expired: bool
    has_access: bool
    job_id: UUID | None


# Locked first and read after that: a statement that waits for a lock goes on with what it saw of other tables before it waited.
_LOCK = "select m.id from workspace_access.matches m where m.id = %s for update"
_LOCK_NEWEST = """
select m.id from workspace_access.matches m
 where m.project_id = %s and m.status not in ('pending', 'left')
 order by m.created_at desc, m.id limit 1 for update
"""
_MATCH = """
select m.id, m.project_id, m.advisor_id, p.owner_id, m.status, m.score::float8, m.client_approved_at is not null,
       m.advisor_accepted_at is not null, m.expires_at <= holdfast.clock(),
       exists (select from workspace_access.access a where a.project_id = m.project_id and a.advisor_id = m.advisor_id),
       m.job_id
  from workspace_access.matches m
  join workspace_access.projects p on p.id = m.project_id
 where m.id = %s
"""


async def locked(conn: Any, match_id: UUID) -> Match | None:
    """Find a match, and let nobody else decide about it until this transaction ends."""
    return await _match(conn, _LOCK, match_id)


async def newest(conn: Any, project_id: UUID) -> Match | None:
    """Find a project's match, and let nobody else decide about it until this transaction ends."""
    return await _match(conn, _LOCK_NEWEST, project_id)


async def _match(conn: Any, lock: str, wanted: UUID) -> Match | None:
    found = await (await conn.execute(lock, (wanted,))).fetchone()
    if found is None:
        return None
    row = await (await conn.execute(_MATCH, found)).fetchone()
    return Match(*row[:4], Status(row[4]), *row[5:])


# -- the machine -----------------------------------------------------------------------------------------------------------


def decided(match: Match, side: Side, *, approved: bool) -> Status | None:
    """Say where a decision leads; None when it has been made before."""
    if match.status is (Status.FINALIZED if approved else Status.DECLINED):
        return None
    if match.status is Status.FINALIZED and match.has_access:
        raise Trouble(Code.ALREADY_PROVISIONED, "the advisor is in the workspace already")
    if match.status is not Status.FINALIZED and (match.status not in OPEN or match.has_expired):
        raise Trouble(Code.MATCH_CLOSED, "this match can no longer be decided")
    if not approved:
        return Status.DECLINED
    other_has = {"owner": True, "client": match.advisor_accepted, "advisor": match.client_approved}[side]
    if other_has:
        return Status.FINALIZED
    own = Status.CLIENT_APPROVED if side == "client" else Status.ADVISOR_ACCEPTED
    return None if match.status is own else own


_DECIDE = """
update workspace_access.matches
   set status = %(status)s, decline_reason = %(reason)s,
       client_approved_at = case when %(side)s <> 'advisor' and %(approved)s then holdfast.clock() else client_approved_at end,
       advisor_accepted_at = case when %(side)s = 'advisor' and %(approved)s then holdfast.clock() else advisor_accepted_at end
 where id = %(match)s
"""


async def decide(conn: Any, match: Match, side: Side, status: Status, reason: str | None) -> None:
    """Move a match to where a decision led."""
    approved = status is not Status.DECLINED
    told = {"match": match.id, "status": status, "side": side, "approved": approved, "reason": reason}
    await conn.execute(_DECIDE, told)


_PROPOSE = """
insert into workspace_access.matches (project_id, advisor_id, score) values (%s, %s, %s) returning id
"""
_MATCHED = "update workspace_access.matches set status = 'matched' where id = %s and status = 'pending'"


async def propose(conn: Any, project_id: UUID, advisor_id: UUID, score: float) -> tuple[UUID, "Event"]:
    """Match an advisor to a project."""
    row = await (await conn.execute(_PROPOSE, (project_id, advisor_id, score))).fetchone()
    match_id: UUID = row[0]
    await conn.execute(_MATCHED, (match_id,))
    return match_id, await publish(conn, "advisor.matched", match_id, matchScore=score)


_LEAVE = "update workspace_access.matches set status = 'left' where id = %s and status = 'finalized'"
_REMOVE = """
update workspace_access.project_advisors set status = 'removed', updated_at = holdfast.clock()
 where project_id = %s and advisor_id = %s
"""
_CLOSE = "update workspace_access.chat_sessions set state = 'closed' where project_id = %s and user_id = %s"


async def leave(conn: Any, match: Match) -> "Event":
    """Take an advisor out of the workspace."""
    where = (match.project_id, match.advisor_id)
    await conn.execute(_LEAVE, (match.id,))
    await conn.execute(_REMOVE, where)
    await conn.execute(_CLOSE, where)
    return await publish(conn, "advisor.left", match.id)


# -- the workspace ---------------------------------------------------------------------------------------------------------


class Opened(NamedTuple):
    """What opening a workspace did."""

    event: "Event"
    chat_session_created: bool
    locale: str


_ASSIGN = """
insert into workspace_access.project_advisors (project_id, advisor_id, status, added_by)
values (%(project)s, %(advisor)s, 'active', %(owner)s)
on conflict (project_id, advisor_id) do update
   set status = 'active', added_by = excluded.added_by, updated_at = holdfast.clock()
"""
_OPEN_CHAT = """
insert into workspace_access.chat_sessions (project_id, user_id, actor_type, locale)
select %(project)s, %(advisor)s, 'advisor', case when u.locale in ('en', 'ar', 'fr', 'es', 'de') then u.locale else 'en' end
  from workspace_access.users u
 where u.id = %(owner)s
on conflict (project_id, user_id) do update
   set state = 'active', actor_type = excluded.actor_type, locale = excluded.locale
returning xmax = 0, locale
"""
_WELCOME = """
with next as (
  update workspace_access.projects set timeline = timeline + 1 where id = %(project)s returning timeline)
insert into workspace_access.chat_messages (project_id, sequence, actor_type, mode, content, response_data)
select %(project)s, next.timeline, 'system', 'plan', %(content)s,
       jsonb_build_object('event_code', 'advisor_joined', 'advisor_id', %(advisor)s::uuid, 'match_id', %(match)s::uuid,
                          'timestamp', holdfast.clock())
  from next
"""


async def open_workspace(conn: Any, match: Match) -> Opened | None:
    """Give the advisor access, all of it in the caller's transaction; None when it is there."""
    if match.has_access:
        return None
    where = {
        "project": match.project_id, "advisor": match.advisor_id, "owner": match.owner_id,
        "match": match.id, "content": WELCOME,
    }  # fmt: skip
    async with _in_words(Code.DATABASE_ERROR):
        await conn.execute(_ASSIGN, where)
    async with _in_words(Code.CHAT_SESSION_ERROR):
        created, locale = await (await conn.execute(_OPEN_CHAT, where)).fetchone()
    async with _in_words(Code.DATABASE_ERROR):
        await conn.execute(_WELCOME, where)
        event = await publish(conn, "advisor.workspace_ready", match.id, workspaceStatus="ready")
    return Opened(event, created, locale)


@asynccontextmanager
async def _in_words(code: Code) -> AsyncIterator[None]:
    """Name what went wrong; the SQLSTATE goes with it, because that decides whether it is tried again."""
    try:
        yield
    except Exception as error:
        sqlstate = getattr(error, "sqlstate", None)
        is_gone = sqlstate == ADVISOR_GONE
        named = Code.ADVISOR_NOT_FOUND if is_gone and code is Code.DATABASE_ERROR else code
        trouble = Trouble(named, str(error), recoverable=not is_gone)
        trouble.sqlstate = sqlstate
        raise trouble from error


_WAS_ROLLED_BACK = "select exists (select from workspace_access.interventions i where i.job_id = %s)"
_ROLL_BACK = """
update workspace_access.matches
   set status = coalesce(previous_status, 'matched')
 where id = %s and status = 'finalized'
returning status
"""
_INTERVENE = """
insert into workspace_access.interventions (job_id, match_id, kind, reason, score, attempts)
values (%s, %s, 'workspace_provisioning_failure', %s, %s, %s)
"""


async def roll_back(conn: Any, match: Match, job_id: UUID, reason: str, attempts: int) -> Status | None:
    """Return a match to exactly what it was before it was finalized; None when this job's rollback has nothing to do any more."""
    row = await (await conn.execute(_WAS_ROLLED_BACK, (job_id,))).fetchone()
    # The match may be finalized anew since this job's rollback, and an operator may have given access after the job failed.
    if row[0] or match.status is not Status.FINALIZED or match.has_access:
        return None
    returned = await (await conn.execute(_ROLL_BACK, (match.id,))).fetchone()
    await conn.execute(_INTERVENE, (job_id, match.id, reason, match.score, attempts))
    return Status(returned[0])


# -- live events -----------------------------------------------------------------------------------------------------------

# Of an advisor, what everybody in the project may know; mail address and phone number are not among it.
_NUMBERED = """
update workspace_access.projects p
   set last_event = p.last_event + 1
  from workspace_access.matches m
 where m.id = %s and p.id = m.project_id
returning p.last_event, p.id::text, m.advisor_id::text, to_jsonb(holdfast.clock()),
          (select jsonb_build_object('id', a.id, 'name', a.name, 'avatar', a.avatar, 'skills', a.skills, 'rating', a.rating)
             from workspace_access.advisors a where a.id = m.advisor_id)
"""


class Event(NamedTuple):
    """A live event that was published, as the log says it once it is committed."""

    seq: int
    kind: str
    project_id: str


async def publish(conn: Any, kind: str, match_id: UUID, **more: object) -> Event:
    """Publish a live event in the caller's transaction, under the project's next number."""
    row = await (await conn.execute(_NUMBERED, (match_id,))).fetchone()
    seq, project, advisor, timestamp, card = row
    data = {
        "seq": seq, "matchId": str(match_id), "advisorId": advisor, "projectId": project, "timestamp": timestamp,
        "userId": "system", **({"advisor": card} if card else {}), **more,
    }  # fmt: skip
    await app.apublish(channel(project), kind, data, conn=conn)
    return Event(seq, kind, project)


def channel(project_id: UUID | str) -> str:
    """Name the channel of a project."""
    return f"chat:{project_id}"
