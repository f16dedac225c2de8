"""The operator's command: gives access for finalized matches that lack it, at once and whatever the switch says; audited.

    python -m apps.workspace_access.grant --by ann@example.com --reason "ticket 42"
    python -m apps.workspace_access.grant --by ann@example.com --reason "ticket 42" --match 3f0c8f0e-…

With --match a match that was rolled back is finalized again: that queues a new job.
"""

import argparse
import asyncio
import sys
from typing import Any
from uuid import UUID

from apps.workspace_access import matches, tasks
from apps.workspace_access.app import app
from apps.workspace_access.events import Event
from apps.workspace_access.logs import tell
from apps.workspace_access.matches import Match, Status
from apps.workspace_access.trouble import Code, Trouble

_LACKING = "select l.match_id from workspace_access.lacking_access l order by l.match_id"
_AUDIT = """
insert into workspace_access.grants (match_id, granted_by, reason, outcome) values (%s, %s, %s, %s)
"""


async def grant(by: str, reason: str, match_id: UUID | None = None) -> dict[UUID, str]:
    """Give access; answers what became of every match: granted, queued, or the code of what went wrong."""
    async with app.atransaction() as conn:
        rows = await (await conn.execute(_LACKING)).fetchall()
    wanted = [row[0] for row in rows] if match_id is None else [match_id]
    return {each: await _grant(each, by, reason) for each in wanted}


async def _grant(match_id: UUID, by: str, reason: str) -> str:
    try:
        async with app.atransaction() as conn:
            outcome, event = await _given(conn, await matches.locked(conn, match_id), by)
            await conn.execute(_AUDIT, (match_id, by, reason, outcome))
    except Trouble as trouble:
        return trouble.code
    tell("granted", matchId=str(match_id), by=by, outcome=outcome)
    event.tell()
    return outcome


async def _given(conn: Any, match: Match, by: str) -> tuple[str, Event]:
    if match.status is Status.FINALIZED:
        opened = await tasks.let_in(conn, match)
        if opened is None:
            raise Trouble(Code.ALREADY_PROVISIONED)
        return "granted", opened.event
    if match.job_id is None:
        raise Trouble(Code.MATCH_CLOSED, "nobody has finalized this match before")
    _, event = await tasks.decide(conn, match, "owner", by, approved=True)
    if event is None:
        raise Trouble(Code.MATCH_CLOSED)
    return "queued", event


def main() -> int:
    """Run it; ends with 1 when a match could not be helped."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--by", required=True, help="who you are; kept with the grant")
    parser.add_argument("--reason", required=True, help="why; kept with the grant")
    parser.add_argument("--match", type=UUID, help="only this one")
    given = parser.parse_args()
    outcomes = asyncio.run(_run(given.by, given.reason, given.match))
    for match_id, outcome in outcomes.items():
        sys.stdout.write(f"{match_id} {outcome}\n")
    return 0 if all(outcome in {"granted", "queued"} for outcome in outcomes.values()) else 1


async def _run(by: str, reason: str, match_id: UUID | None) -> dict[UUID, str]:
    try:
        return await grant(by, reason, match_id)
    finally:
        await app.aclose()


if __name__ == "__main__":
    sys.exit(main())
