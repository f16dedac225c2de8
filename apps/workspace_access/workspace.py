"""The workspace: what lets an advisor in, and what takes the match back. Every function works in its caller's transaction."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from uuid import UUID

from apps.workspace_access.events import Event, publish
from apps.workspace_access.matches import Match, Status
from apps.workspace_access.trouble import Code, Trouble

WELCOME = "Advisor has joined the workspace and is ready to help!"
ADVISOR_GONE = "23503"


class Opened(NamedTuple):
    """What opening a workspace did."""

    event: Event
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
    """Give the advisor access; None when it is there."""
    if match.has_access:
        return None
    told = {
        "project": match.project_id, "advisor": match.advisor_id, "owner": match.owner_id,
        "match": match.id, "content": WELCOME,
    }  # fmt: skip
    async with _named(Code.DATABASE_ERROR):
        await conn.execute(_ASSIGN, told)
    async with _named(Code.CHAT_SESSION_ERROR):
        created, locale = await (await conn.execute(_OPEN_CHAT, told)).fetchone()
    async with _named(Code.DATABASE_ERROR):
        await conn.execute(_WELCOME, told)
        event = await publish(conn, "advisor.workspace_ready", match.id, workspaceStatus="ready")
    return Opened(event, created, locale)


@asynccontextmanager
async def _named(code: Code) -> AsyncIterator[None]:
    """Name what went wrong; the SQLSTATE goes with it, because that decides whether it is tried again."""
    try:
        yield
    except Exception as error:
        sqlstate = getattr(error, "sqlstate", None)
        is_gone = sqlstate == ADVISOR_GONE
        if is_gone and code is Code.DATABASE_ERROR:
            code = Code.ADVISOR_NOT_FOUND
        raise Trouble(code, str(error), recoverable=not is_gone, sqlstate=sqlstate) from error


_WAS_ROLLED_BACK = "select from workspace_access.interventions i where i.job_id = %s"
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
    was_rolled_back = (await conn.execute(_WAS_ROLLED_BACK, (job_id,))).rowcount
    # The match may be finalized anew since this job's rollback, and an operator may have given access after the job failed.
    if was_rolled_back or match.status is not Status.FINALIZED or match.has_access:
        return None
    returned = await (await conn.execute(_ROLL_BACK, (match.id,))).fetchone()
    await conn.execute(_INTERVENE, (job_id, match.id, reason, match.score, attempts))
    return Status(returned[0])
