"""The sweeper: what time does to jobs, done by every worker beside its own work; any number of processes may."""

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from uuid import UUID

import holdfast.store.claim as claims
from holdfast.domain.errors import DatabaseUnavailable, HoldfastError
from holdfast.domain.job import ClaimedJob
from holdfast.runtime import chance, failpoints
from holdfast.runtime.heartbeat import Heartbeat
from holdfast.runtime.logs import events
from holdfast.runtime.outage import Outage, insist
from holdfast.runtime.projector import Projector
from holdfast.store import alert, upkeep
from holdfast.store.call import Call
from holdfast.store.connection import AsyncSession, Database

ADMIT_BATCH = 1000
UPKEEP_EVERY = 600.0
# Another is at it, who may die before the end; or what a task keeps is to go as soon as that.
UPKEEP_AGAIN = 60.0
UPKEEP_BATCH = 5000
# How soon admission looks again after it let somebody in.
FOLLOWED_SECONDS = 0.05
# After an answer that is no outage: somebody has to mend something, and the jobs must go on meanwhile.
REFUSED_PAUSE = 5.0
# A statement whose connection was given up can still commit: when the network comes back, TCP delivers what it kept.
DOUBT_SECONDS = 900.0


def upkeep_every(retentions: Iterable[float | None]) -> float:
    """Say how often to look what may go: what is kept for a minute must not lie about for ten."""
    shortest = min((kept for kept in retentions if kept is not None), default=UPKEEP_EVERY)
    return min(max(shortest, UPKEEP_AGAIN), UPKEEP_EVERY)


class Sweeper:
    """Admits what is due, takes back what dead workers hold, keeps the tables in order."""

    def __init__(
        self,
        database: Database,
        session: AsyncSession,
        lease: float,
        poll: float,
        keep_up_every: float,
        wake_lanes: Callable[[], None],
        give_back: Callable[[list[ClaimedJob]], None],
    ) -> None:
        self._session = session
        self._rarely = AsyncSession(database, "holdfast upkeep", deadline=600.0)
        self.projector = Projector(database)
        self._lease = lease
        self._poll = poll
        self._keep_up_every = keep_up_every
        self._wake_lanes = wake_lanes
        self._woken = asyncio.Event()
        self._give_back = give_back
        self._cut_off_at = -math.inf
        self._doubtful: dict[UUID, tuple[UUID, float]] = {}

    async def insist(self, make: Callable[[], Call[Any]]) -> Any:
        """Perform a call however long the database is away."""
        return await insist(self._session, make, "upkeep", self._note_cut_off)

    def _note_cut_off(self) -> None:
        self._cut_off_at = time.monotonic()

    async def close(self) -> None:
        """Hang up."""
        await self._session.close()
        await self._rarely.close()
        await self.projector.close()

    def doubt(self, claim_id: UUID, worker_id: UUID) -> None:
        """Remember a claim that was given up; the server may commit it yet."""
        self._doubtful[claim_id] = (worker_id, time.monotonic() + DOUBT_SECONDS)

    def wake(self) -> None:
        """Look now who may enter the line: a job that has gates waits for us and not for a lane."""
        self._woken.set()

    async def admit_when_due(self) -> None:
        """Put jobs into the line as their time comes, until cancelled."""
        while True:
            self._woken.clear()
            admitted = await self._unless_refused(lambda: upkeep.admit_due(ADMIT_BATCH))
            if admitted is None:
                continue
            if admitted.entered:
                self._wake_lanes()
            if admitted.entered < ADMIT_BATCH:
                soonest = self._poll if admitted.next_in is None else admitted.next_in
                # Where some came in, others follow: a busy queue's enqueues wake nobody.
                most = min(self._poll, FOLLOWED_SECONDS) if admitted.entered else self._poll
                await self._rest(min(max(soonest, 0.005), most))

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()

    async def admit(self) -> int:
        """Put jobs into the line whose time has come; answers how many."""
        admitted = await self._unless_refused(lambda: upkeep.admit_due(ADMIT_BATCH))
        return 0 if admitted is None else admitted.entered

    async def sweep_now_and_then(self) -> None:
        """Look for the dead and the overdue, until cancelled."""
        while True:
            await asyncio.sleep(self._lease / Heartbeat.BEATS_PER_LEASE * chance.between(0.7, 1.3))
            await self.sweep()
            await self._evaluate_alerts()
            await self._give_back_doubtful()

    async def keep_up(self) -> None:
        """Make partitions, apply retention, forget workers, until cancelled."""
        outage = Outage("retention")
        while True:
            began = time.monotonic()
            pause = await self._kept_up(outage)
            # As much rest as work at least, for whoever else wants the server.
            await asyncio.sleep(max(pause, time.monotonic() - began))

    async def _kept_up(self, outage: Outage) -> float:
        """Do what there is to do of it, or a slice; answers when there is more to do."""
        try:
            # A connection of its own, for a while: retention may take minutes, and nothing else shall wait for it.
            kept = await self._rarely.perform(upkeep.keep_up(UPKEEP_BATCH))
        except DatabaseUnavailable as error:
            return outage.failed(error)  # what was under way was taken back, and is still to be done
        except HoldfastError as error:
            events.error("upkeep:refused", extra={"error": str(error)})
            return self._keep_up_every
        outage.ended()
        if any(kept):
            events.info("upkeep", extra=kept._asdict())
        if kept.more:
            return 0.0
        await self._rarely.close()
        return (UPKEEP_AGAIN if kept.more is None else self._keep_up_every) * chance.between(0.7, 1.3)

    async def sweep(self) -> None:
        """Take back what silent workers hold, unless the silence may be ours."""
        # Whoever was cut off with us looks dead now, and has a lease's time to say otherwise.
        if time.monotonic() - self._cut_off_at < self._lease:
            return
        try:
            swept = await self._session.perform(upkeep.sweep())
        except DatabaseUnavailable:
            self._cut_off_at = time.monotonic()
            return
        except HoldfastError as error:
            events.error("upkeep:refused", extra={"error": str(error)})
            return
        if any(swept):
            failpoints.reach("swept")
            events.warning("sweep", extra=swept._asdict())
            self._wake_lanes()

    async def register_alerts(self, registration: Call[list[str]]) -> None:
        """Say what the app watches, and to whom it is told."""
        for name in await self.insist(lambda: registration):
            events.warning(
                "alerts:taken",
                extra={"declared": name, "why": "another app had declared it; names are shared by all"},
            )

    async def _evaluate_alerts(self) -> None:
        """Look at the rules that time decides; one worker at a time does."""
        try:
            judged = await self._session.perform(alert.evaluate_alerts())
        except DatabaseUnavailable:
            self._cut_off_at = time.monotonic()
            return
        except HoldfastError as error:
            events.error("alerts:refused", extra={"error": str(error)})
            return
        if any(judged):
            failpoints.reach("judged")
            events.warning("alerts", extra=judged._asdict())

    async def _give_back_doubtful(self) -> None:
        """Look for claims that we gave up and the server committed later: nobody runs what they took."""
        for claim_id, (worker_id, until) in list(self._doubtful.items()):
            # Refused is not an answer: it is asked again with the next round.
            jobs = await self._unless_refused(lambda: claims.recover_claim(worker_id, claim_id))  # noqa: B023 - awaited here
            if jobs:
                events.warning("claim:late", extra={"count": len(jobs)})
                self._give_back(jobs)
            if jobs or time.monotonic() > until:
                del self._doubtful[claim_id]

    async def _unless_refused(self, make: Callable[[], Call[Any]]) -> Any:
        try:
            return await self.insist(make)
        except HoldfastError as error:
            events.error("upkeep:refused", extra={"error": str(error)})
            await asyncio.sleep(REFUSED_PAUSE)
            return None
