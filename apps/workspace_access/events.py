"""Live events of a project: numbered without a gap, in its own channel, and without what is private."""

from typing import Any, NamedTuple
from uuid import UUID

from apps.workspace_access.app import app
from apps.workspace_access.logs import tell

# Whoever takes a number holds the project's row until it commits: numbers become visible in their order.
# Of an advisor, what everybody in the project may know; mail address and phone number are not among it.
_NUMBERED = """
update workspace_access.projects p
   set last_event = p.last_event + 1
  from workspace_access.matches m
 where m.id = %s and p.id = m.project_id
returning p.last_event, p.id::text, m.advisor_id::text, to_jsonb(holdfast.clock()),
          (select to_jsonb(c) from workspace_access.advisor_cards c where c.id = m.advisor_id)
"""


class Event(NamedTuple):
    """A live event that was published."""

    seq: int
    kind: str
    project_id: str

    def tell(self) -> None:
        """Write it into the log, once it is committed."""
        tell("event published", seq=self.seq, kind=self.kind, projectId=self.project_id)


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
