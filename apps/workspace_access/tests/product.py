"""The product in a test's own database, with people in it, and a way to make its database fail for real."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx

from apps._stage import until
from apps.workspace_access import story
from apps.workspace_access.app import app
from apps.workspace_access.story import Given
from apps.workspace_access.web import PREFIX, web
from holdfast import Status
from holdfast.testing import ScratchDatabase, adrain

LIVE = [status for status in Status if not status.is_terminal]

_FAILING = """
create sequence if not exists workspace_access.failures;
create or replace function workspace_access.fail() returns trigger language plpgsql as $$
begin
  if nextval('workspace_access.failures') <= {times} then   -- a sequence remembers, also what is rolled back
    raise exception 'told to fail' using errcode = '{sqlstate}';
  end if;
  return new;
end $$;
create or replace trigger fail before insert or update on workspace_access.{table}
for each row execute function workspace_access.fail();
"""


class Product:
    """What tests do with the product."""

    def __init__(self, database: ScratchDatabase) -> None:
        self.database = database
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(web), base_url="http://product")

    # -- rows --------------------------------------------------------------------------------------------------------------

    async def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Ask the database, or tell it."""
        async with app.atransaction() as conn:
            cursor = await conn.execute(query, values)
            return list(await cursor.fetchall()) if cursor.description else []

    async def engine(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Ask for rows of the engine's own."""
        async with app.atransaction() as conn:
            await conn.execute("select holdfast.enter('*')")
            return list(await (await conn.execute(query, values)).fetchall())

    async def one(self, query: str, *values: Any) -> Any:
        """Ask for one value."""
        return (await self.rows(query, *values))[0][0]

    async def script(self, text: str) -> None:
        """Run statements without values."""
        async with app.atransaction() as conn:
            await conn.execute(text)

    async def user(self, locale: str | None = "en") -> UUID:
        """Make a client."""
        return await story.user(locale)

    async def matched(
        self, *, locale: str | None = "en", name: str = "Ada", project: UUID | None = None
    ) -> Given:
        """Make a match, and everybody in it."""
        return await story.matched(locale, name, project)

    # -- what people do ----------------------------------------------------------------------------------------------------

    async def finalize(
        self, given: Given, decision: str = "approved", *, by: UUID | None = None, key: str | None = None
    ) -> httpx.Response:
        """Let the owner decide."""
        headers = {"x-user-id": str(by or given.owner), **({"idempotency-key": key} if key else {})}
        return await self.http.post(
            f"{given.path}/finalize-match", json={"decision": decision}, headers=headers
        )

    async def decide(
        self,
        given: Given,
        side: str,
        decision: str = "approved",
        *,
        by: UUID | None = None,
        reason: str | None = None,
    ) -> httpx.Response:
        """Let a party decide."""
        who = by or (given.owner if side == "client" else given.advisor)
        return await self.http.post(
            f"{PREFIX}/matches/{given.match}/{side}-decision",
            json={"decision": decision, "reason": reason},
            headers={"x-user-id": str(who)},
        )

    async def finalized(self, **options: Any) -> Given:
        """Make a match and let its owner finalize it."""
        given = await self.matched(**options)
        assert (await self.finalize(given)).status_code == 201
        return given

    async def active_match(self, given: Given) -> dict[str, Any]:
        """Look at a project's match."""
        answer: dict[str, Any] = (await self.http.get(f"{given.path}/active-match")).json()
        return answer

    # -- what time and workers do ------------------------------------------------------------------------------------------

    async def work(self, *, projector: bool = False) -> None:
        """Let a worker do what can be done now, with events and statistics where a test reads them."""
        await adrain(app, projector=projector)

    async def until(self, query: str) -> None:
        """Wait until the engine has such a row."""
        await until(query, lambda: self.engine(query))

    async def settle(self, *, projector: bool = False) -> None:
        """Let workers and time go on until the product's jobs have ended."""
        for _ in range(20):
            await self.work(projector=projector)
            if not any(job.status in LIVE for job in self.database.jobs() if job.task in app.tasks):
                return
            self.database.clock.advance(timedelta(seconds=30))
        raise AssertionError("the jobs do not end")

    async def fail(self, sqlstate: str, times: int = 1000, table: str = "project_advisors") -> None:
        """Let the database fail so many times when a table is written."""
        await self.script(_FAILING.format(sqlstate=sqlstate, times=times, table=table))

    async def mend(self, table: str = "project_advisors") -> None:
        """Let it fail no more."""
        await self.script(f"drop trigger fail on workspace_access.{table}")

    async def status(self, given: Given) -> str:
        """Look where a match is."""
        return str(await self.one("select status from workspace_access.matches where id = %s", given.match))

    async def has_access(self, given: Given) -> bool:
        """Look whether the advisor is in."""
        query = "select count(*) = 1 from workspace_access.access where project_id = %s and advisor_id = %s"
        return bool(await self.one(query, given.project, given.advisor))

    async def lacking(self) -> int:
        """Count what must not be once all has settled: finalized matches without access."""
        return int(await self.one("select count(*) from workspace_access.lacking_access"))
