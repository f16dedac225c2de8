"""Matches: where one is, and how a decision moves it. Every function works in its caller's transaction."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from apps.workspace_access.events import Event, publish
from apps.workspace_access.trouble import Code, Trouble

Side = Literal["owner", "client", "advisor"]


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
_PROJECT = "select p.id from workspace_access.projects p where p.id = %s"


async def locked(conn: Any, match_id: UUID, otherwise: Code = Code.MATCH_NOT_FOUND) -> Match:
    """Find a match, and let nobody else decide about it until this transaction ends."""
    return await _match(conn, _LOCK, match_id, otherwise)


async def newest(conn: Any, project_id: UUID) -> Match:
    """Find a project's match, and let nobody else decide about it until this transaction ends."""
    if await (await conn.execute(_PROJECT, (project_id,))).fetchone() is None:
        raise Trouble(Code.PROJECT_NOT_FOUND)
    return await _match(conn, _LOCK_NEWEST, project_id, Code.MATCH_NOT_FOUND)


async def _match(conn: Any, lock: str, wanted: UUID, otherwise: Code) -> Match:
    found = await (await conn.execute(lock, (wanted,))).fetchone()
    if found is None:
        raise Trouble(otherwise)
    row = await (await conn.execute(_MATCH, found)).fetchone()
    values = [*row]
    values[4] = Status(values[4])
    return Match(*values)


def decided(match: Match, side: Side, *, approved: bool) -> Status:
    """Say where a decision leads; one that was made before leads nowhere else."""
    if match.status is (Status.FINALIZED if approved else Status.DECLINED):
        return match.status
    if match.status is Status.FINALIZED and match.has_access:
        raise Trouble(Code.ALREADY_PROVISIONED)
    if match.status is not Status.FINALIZED and (match.status not in OPEN or match.has_expired):
        raise Trouble(Code.MATCH_CLOSED)
    if not approved:
        return Status.DECLINED
    match side:
        case "owner":
            return Status.FINALIZED
        case "client":
            return Status.FINALIZED if match.advisor_accepted else Status.CLIENT_APPROVED
        case "advisor":
            return Status.FINALIZED if match.client_approved else Status.ADVISOR_ACCEPTED


_DECIDE = """
update workspace_access.matches
   set status = %(status)s, decline_reason = %(reason)s,
       client_approved_at = case when %(side)s <> 'advisor' and %(approved)s then holdfast.clock() else client_approved_at end,
       advisor_accepted_at = case when %(side)s = 'advisor' and %(approved)s then holdfast.clock() else advisor_accepted_at end
 where id = %(match)s
"""


async def decide(conn: Any, match: Match, side: Side, *, approved: bool, reason: str | None = None) -> Status:
    """Move a match to where a decision leads."""
    status = decided(match, side, approved=approved)
    if status is not match.status:
        told = {"match": match.id, "status": status, "side": side, "approved": approved, "reason": reason}
        await conn.execute(_DECIDE, told)
    return status


_PROPOSE = """
insert into workspace_access.matches (project_id, advisor_id, score) values (%s, %s, %s) returning id
"""
_MATCHED = "update workspace_access.matches set status = 'matched' where id = %s"


async def propose(conn: Any, project_id: UUID, advisor_id: UUID, score: float) -> tuple[UUID, Event]:
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


async def leave(conn: Any, match: Match) -> Event:
    """Take an advisor out of the workspace."""
    where = (match.project_id, match.advisor_id)
    await conn.execute(_LEAVE, (match.id,))
    await conn.execute(_REMOVE, where)
    await conn.execute(_CLOSE, where)
    return await publish(conn, "advisor.left", match.id)
