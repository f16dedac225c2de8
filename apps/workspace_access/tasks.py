"""The tasks: open a workspace, take the match back when that fails for good, and write to people."""

import logging
import time
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from apps.workspace_access import logs, matches
from apps.workspace_access.app import MAIL, app, settings
from apps.workspace_access.logs import tell
from apps.workspace_access.matches import ADVISOR_GONE, Code, Event, Match, Side, Status, Trouble
from holdfast import Cancel, Context, Delays, Rules

__all__ = ["app"]  # what workers are started with

ALERT = "A workspace could not be opened"


def is_final(error: BaseException) -> bool:
    """Whether trying again cannot help."""
    return isinstance(error, Trouble) and not error.recoverable


async def roll_back(ctx: Context, match_id: UUID, project_id: UUID) -> None:
    """Take a match back after its last failure, with all who must know, in one transaction. Repeated, it changes nothing."""
    failed = ctx.compensates or ctx.job_id
    attempts = await attempts_of(failed)
    reason = attempts[-1].error if attempts else "unknown"
    async with app.atransaction() as conn:
        match = await matches.locked(conn, match_id)
        returned = match and await matches.roll_back(conn, match, failed, reason, len(attempts))
        if match is None or returned is None:
            return
        told = f"Match {match_id} of project {project_id} is {returned} again after {len(attempts)} attempts."
        await app.anotify(MAIL, ALERT, f"{told}\n{reason}", priority="high", conn=conn)
        await write.using(conn=conn, subject=f"match:{match_id}").aenqueue(
            "rolled_back", match.owner_id, match_id
        )
    tell(
        "rolled back", logging.ERROR, matchId=str(match_id), attempts=len(attempts),
        errors=[attempt.error for attempt in attempts], previousStatus=returned,
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
        match = await found(conn, match_id)
        if match.status is not Status.FINALIZED:
            raise Cancel("the match is no longer finalized")
        opened = await open_workspace(conn, match)
    if opened is not None:
        tell_of_opening(opened, match_id, time.monotonic() - began)


async def found(conn: Any, match_id: UUID) -> Match:
    """Find the match of a job; it goes with its project."""
    match = await matches.locked(conn, match_id)
    if match is None:
        raise Trouble(Code.PROJECT_NOT_FOUND, "the project is gone, and its match with it")
    return match


async def open_workspace(conn: Any, match: Match) -> matches.Opened | None:
    """Open a workspace and have the advisor told; None when that was done before."""
    opened = await matches.open_workspace(conn, match)
    if opened is not None:
        welcome = write.using(conn=conn, subject=f"match:{match.id}")
        await welcome.aenqueue("welcome", match.advisor_id, match.id)
    return opened


async def decide(
    conn: Any, match: Match, side: Side, requested_by: str, *, approved: bool, reason: str | None = None
) -> tuple[Status, Event | None]:
    """Take a decision; what finalizes the match also queues its job. Gives where the match is, and the event to tell of."""
    status = matches.decided(match, side, approved=approved)
    if status is None:
        return match.status, None
    await matches.decide(conn, match, side, status, reason)
    return status, await finalize(conn, match, requested_by) if status is Status.FINALIZED else None


_QUEUED = "update workspace_access.matches set job_id = %s where id = %s"


async def finalize(conn: Any, match: Match, requested_by: str) -> Event:
    """Queue what a match that has just been finalized needs, in the transaction that finalized it."""
    queue = provision_workspace.using(conn=conn, subject=f"match:{match.id}", requested_by=requested_by)
    handle = await queue.aenqueue(match.id, match.project_id)
    await conn.execute(_QUEUED, (handle.id, match.id))
    return await matches.publish(conn, "advisor.finalized", match.id, matchScore=match.score)


async def propose(project_id: UUID, advisor_id: UUID, score: float) -> UUID:
    """Match an advisor to a project; whatever finds advisors calls this."""
    async with app.atransaction() as conn:
        match_id, event = await matches.propose(conn, project_id, advisor_id, score)
    tell_of_event(event)
    return match_id


async def leave(match_id: UUID) -> None:
    """Take an advisor out of the workspace again."""
    async with app.atransaction() as conn:
        event = await matches.leave(conn, await found(conn, match_id))
    tell_of_event(event)


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


# -- what became of a job --------------------------------------------------------------------------------------------------


class Attempt(NamedTuple):
    """An attempt that failed."""

    attempt: int
    error: str
    recoverable: bool
    at: Any
    worker: str
    outcome: str


_ATTEMPTS = """
select a.attempt, coalesce(a.error ->> 'message', a.outcome), coalesce((a.error ->> 'recoverable')::boolean, true), a.at, a.worker, a.outcome
  from holdfast.attempt a
 where a.job_id = %s and a.error is not null
 order by a.attempt
"""


async def attempts_of(job_id: UUID) -> list[Attempt]:
    """Read every failed attempt of a job, in a transaction of its own: it sees the engine's rows, and nothing of ours."""
    async with app.atransaction() as conn:
        await conn.execute("select holdfast.enter('*')")
        return [Attempt(*row) for row in await (await conn.execute(_ATTEMPTS, (job_id,))).fetchall()]


async def tell_of_crashes(ctx: Context) -> None:
    """Say who held this job when it was taken back from a worker that had died, before it goes on here."""
    if ctx.attempt == ctx.retry_count + 1:
        return
    crashed = [attempt for attempt in await attempts_of(ctx.job_id) if attempt.outcome == "crashed"]
    if crashed:
        tell(
            "locks reaped", logging.WARNING, count=len(crashed), jobs=[str(ctx.job_id)], holder=crashed[-1].worker
        )  # fmt: skip


def tell_of_opening(opened: matches.Opened, match_id: UUID, seconds: float) -> None:
    """Say that a workspace is open."""
    tell(
        "provisioned", matchId=str(match_id), duration_ms=round(seconds * 1000, 1),
        chatSessionCreated=opened.chat_session_created, locale=opened.locale,
    )  # fmt: skip
    tell_of_event(opened.event)


def tell_of_event(event: Event) -> None:
    """Say that an event is committed."""
    tell("event published", seq=event.seq, kind=event.kind, projectId=event.project_id)
