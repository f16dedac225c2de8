"""The tasks: open a workspace, take the match back when that fails for good, and write to people."""

import logging
import time
from datetime import timedelta
from typing import Any
from uuid import UUID

from apps.workspace_access import logs, matches, workspace
from apps.workspace_access.app import MAIL, app, settings
from apps.workspace_access.events import Event, publish
from apps.workspace_access.logs import tell
from apps.workspace_access.matches import Match, Side, Status
from apps.workspace_access.trouble import Code, Trouble
from apps.workspace_access.workspace import ADVISOR_GONE, Opened
from holdfast import Cancel, Context, Delays, Rules

__all__ = ["app"]  # what workers are started with

ALERT = "A workspace could not be opened"


def is_final(error: BaseException) -> bool:
    """Whether trying again cannot help."""
    return isinstance(error, Trouble) and not error.recoverable


async def roll_back(ctx: Context, match_id: UUID, project_id: UUID) -> None:
    """Take a match back after its last failure, with all who must know, in one transaction. Repeated, it changes nothing."""
    failed = ctx.compensates or ctx.job_id
    errors = [attempt.error["message"] for attempt in await app.aattempts(failed) if attempt.error]
    async with app.atransaction() as conn:
        try:
            match = await matches.locked(conn, match_id)
        except Trouble:
            return  # gone with its project
        returned = await workspace.roll_back(conn, match, failed, errors[-1], len(errors))
        if returned is None:
            return
        told = f"Match {match_id} of project {project_id} is {returned} again after {len(errors)} attempts."
        await app.anotify(MAIL, ALERT, f"{told}\n{errors[-1]}", priority="high", conn=conn)
        await write.using(conn=conn, subject=f"match:{match_id}").aenqueue(
            "rolled_back", match.owner_id, match_id
        )
    tell(
        "rolled back", logging.ERROR, matchId=str(match_id), attempts=len(errors), errors=errors, previousStatus=returned,
    )  # fmt: skip


@app.task(
    name=logs.PROVISIONING,
    unique=["match_id"],
    retries=settings.retries,
    backoff=Delays([1, 5, 25], jitter=True),
    errors=Rules(permanent=(ADVISOR_GONE, is_final), recoverable=(Exception,)),
    compensate=roll_back,
    timeout=timedelta(seconds=30),
    retention=timedelta(days=90),
    keep_failed=True,
    flag="ADVISOR_AUTO_PROVISION",
    rollout_by="project_id",
)
async def provision_workspace(ctx: Context, match_id: UUID, project_id: UUID) -> None:  # noqa: ARG001 - rolled out by it
    """Open the workspace; its rows, its event, the e-mail's job and COMPLETED commit together, or none of them does."""
    began = time.monotonic()
    await tell_of_crashes(ctx)
    async with ctx.transaction() as conn:
        match = await matches.locked(conn, match_id, otherwise=Code.PROJECT_NOT_FOUND)
        if match.status is not Status.FINALIZED:
            raise Cancel("the match is no longer finalized")
        opened = await let_in(conn, match)
    if opened is None:
        return
    tell(
        "provisioned", matchId=str(match_id), duration_ms=round((time.monotonic() - began) * 1000, 1),
        chatSessionCreated=opened.chat_session_created, locale=opened.locale,
    )  # fmt: skip
    opened.event.tell()


async def tell_of_crashes(ctx: Context) -> None:
    """Say who held this job when it was taken back from a worker that had died, before it goes on here."""
    if ctx.attempt == ctx.retry_count + 1:
        return
    holders = [one.worker for one in await app.aattempts(ctx.job_id) if one.outcome == "crashed"]
    if holders:
        tell("locks reaped", logging.WARNING, count=len(holders), jobs=[str(ctx.job_id)], holder=holders[-1])


async def let_in(conn: Any, match: Match) -> Opened | None:
    """Open a workspace and have the advisor told; None when that was done before."""
    opened = await workspace.open_workspace(conn, match)
    if opened is not None:
        welcome = write.using(conn=conn, subject=f"match:{match.id}")
        await welcome.aenqueue("welcome", match.advisor_id, match.id)
    return opened


# -- what people and products do -------------------------------------------------------------------------------------------

_QUEUED = "update workspace_access.matches set job_id = %s where id = %s"


async def decide(
    conn: Any, match: Match, side: Side, by: str, *, approved: bool, reason: str | None = None
) -> tuple[Status, Event | None]:
    """Take a decision; what finalizes the match also queues its job. Gives where the match is, and the event to tell of."""
    status = await matches.decide(conn, match, side, approved=approved, reason=reason)
    if status is match.status or status is not Status.FINALIZED:
        return status, None
    queue = provision_workspace.using(conn=conn, subject=f"match:{match.id}", requested_by=by)
    handle = await queue.aenqueue(match.id, match.project_id)
    await conn.execute(_QUEUED, (handle.id, match.id))
    return status, await publish(conn, "advisor.finalized", match.id, matchScore=match.score)


async def propose(project_id: UUID, advisor_id: UUID, score: float) -> UUID:
    """Match an advisor to a project; whatever finds advisors calls this."""
    async with app.atransaction() as conn:
        match_id, event = await matches.propose(conn, project_id, advisor_id, score)
    event.tell()
    return match_id


async def leave(match_id: UUID) -> None:
    """Take an advisor out of the workspace again."""
    async with app.atransaction() as conn:
        event = await matches.leave(conn, await matches.locked(conn, match_id))
    event.tell()


# -- people ----------------------------------------------------------------------------------------------------------------

LETTERS = {
    "welcome": ("Your workspace is ready", "You have joined the workspace of match {}."),
    "rolled_back": (
        "Your advisor could not join yet",
        "We could not open the workspace of match {} and are looking at it. You can finalize the match again at any time.",
    ),
}
_ADDRESS = """
select a.email from workspace_access.advisors a where a.id = %(id)s
union all
select u.email from workspace_access.users u where u.id = %(id)s
"""


@app.task(retention=timedelta(days=90))
async def write(ctx: Context, letter: str, person_id: UUID, match_id: UUID) -> None:
    """Put a letter into the outbox: a job of its own, so that a wrong address keeps nobody out of a workspace."""
    subject, text = LETTERS[letter]
    async with ctx.transaction() as conn:
        row = await (await conn.execute(_ADDRESS, {"id": person_id})).fetchone()
        if row is None:
            raise Cancel("there is nobody to write to any more")
        await app.anotify(MAIL, subject, text.format(match_id), to=row[0], conn=conn)
