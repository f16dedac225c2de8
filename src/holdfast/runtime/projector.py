"""The projector's loop: every worker tries to be it; the database lets one at a time."""

import asyncio
import time
from contextlib import suppress

from holdfast.domain.errors import DatabaseUnavailable, HoldfastError
from holdfast.runtime import chance, failpoints
from holdfast.runtime.logs import events
from holdfast.runtime.outage import Outage
from holdfast.store.connection import AsyncSession, Database
from holdfast.store.project import Projected, project

SLICE = 10_000
BUSY_PAUSE = 0.1
# Jobs go first: of one core's time the projector takes at most a fifth. In a faster drain than that allows it falls behind, and catches up.
REST = 4.0
IDLE_PAUSE = 1.0
# After an answer that is no outage: somebody has to mend something, and the jobs go on meanwhile.
REFUSED_PAUSE = 5.0


class Projector:
    """Turns what was committed into events, statistics and usage, a pass at a time."""

    def __init__(self, database: Database) -> None:
        # A slice holds at least one transaction, and that may have made a million jobs.
        self._session = AsyncSession(database, "holdfast project", deadline=600.0)
        self._outage = Outage("project")
        self._pause = BUSY_PAUSE

    async def run(self) -> None:
        """Project until cancelled: slice after slice while there is a backlog, less and less often while there is nothing."""
        while True:
            began = time.monotonic()
            try:
                done = await self._session.perform(project(SLICE))
            except DatabaseUnavailable as error:
                await asyncio.sleep(self._outage.failed(error))
            except HoldfastError as error:
                events.error("project:refused", extra={"error": str(error)})
                await asyncio.sleep(REFUSED_PAUSE)
            else:
                self._outage.ended()
                if done.rows:
                    failpoints.reach("projected")
                await asyncio.sleep(max(self._pause_after(done), REST * (time.monotonic() - began)))

    async def finish(self) -> None:
        """Project what is there, for whoever reads right after the last job; another projector's work is left to it."""
        with suppress(HoldfastError):
            while (done := await self._session.perform(project(SLICE))).more or done.rows:
                pass

    def _pause_after(self, done: Projected) -> float:
        if done.more:
            return 0.0
        if done.rows:
            self._pause = BUSY_PAUSE
        else:
            self._pause = min(self._pause * 1.5, IDLE_PAUSE)
        return self._pause * chance.between(0.8, 1.2)

    async def close(self) -> None:
        """Hang up."""
        await self._session.close()
