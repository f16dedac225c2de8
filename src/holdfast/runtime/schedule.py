"""The scheduler: every worker computes the times of what is due; the database lets each time fire once."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

from holdfast.domain.errors import HoldfastError
from holdfast.domain.schedule import plan
from holdfast.runtime import failpoints
from holdfast.runtime.logs import events
from holdfast.runtime.threads import in_own_thread
from holdfast.store import schedule as store
from holdfast.store.call import Call

BATCH = 100
# What a worker does before it starts to serve: enough for any usual absence, and the rest beside its work.
PASSES_AT_START = 50
# A schedule that cannot be computed or fired is left alone this long; the others go on.
BROKEN_SECONDS = 60.0
SHORTEST_PAUSE = 0.005

Insist = Callable[[Callable[[], Call[Any]]], Awaitable[Any]]


class Scheduler:
    """Fires what is due, as often as the database says that something is."""

    def __init__(self, declared: Mapping[str, dict[str, Any]], insist: Insist, poll: float) -> None:
        self._declared = declared
        self._insist = insist
        self._poll = poll
        self._broken: dict[str, float] = {}

    async def register(self, worker_id: UUID) -> None:
        """Tell the database what this code declares."""
        definitions = list(self._declared.values())
        try:
            taken = await self._insist(lambda: store.register_schedules(worker_id, definitions))
        except HoldfastError as error:
            events.error("schedule:refused", extra={"error": str(error)})
            return
        for name in taken:
            events.error(
                "schedule:name_taken",
                extra={"schedule": name, "why": "a schedule made at run time has this name: rename either"},
            )

    async def catch_up(self) -> None:
        """Fire what became due while nobody was there, as far as a few passes go."""
        for _ in range(PASSES_AT_START):
            if await self._pass() > 0:
                return

    async def run(self) -> None:
        """Fire schedules as their times come, until cancelled."""
        while True:
            pause = await self._pass()
            await asyncio.sleep(pause)

    async def _pass(self) -> float:
        """Go through what is due once; answers how long to rest."""
        now = time.monotonic()
        self._broken = {name: until for name, until in self._broken.items() if until > now}
        try:
            found = await self._insist(lambda: store.due_schedules(BATCH, list(self._broken)))
        except HoldfastError as error:
            events.error("schedule:refused", extra={"error": str(error)})
            return BROKEN_SECONDS
        for row in found.schedules:
            await self._settle(row)
        if found.schedules:
            return 0.0
        return min(self._poll if found.next_in is None else max(found.next_in, SHORTEST_PAUSE), self._poll)

    async def _settle(self, row: dict[str, Any]) -> None:
        try:
            due = store.read_due(row)
            # In a thread: the times of a long absence take a while to count. Of its own: tasks may hold all that asyncio has.
            decided = await in_own_thread(plan, due)
            failpoints.reach("schedule_due")
            fired = await self._insist(lambda: store.fire_schedule(due, decided))
        except HoldfastError as error:
            self._broken[row["name"]] = time.monotonic() + BROKEN_SECONDS
            events.error("schedule:refused", extra={"schedule": row["name"], "error": str(error)})
            return
        if fired or (fired is not None and decided.missed):
            failpoints.reach("schedule_fired")
            events.info(
                "schedule:fired",
                extra={"schedule": due.name, "count": fired, "missed": len(decided.missed)},
            )
