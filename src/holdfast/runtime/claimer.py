"""One worker's claims: repeated until the database has answered, because what an unheard claim took is the worker's too."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import holdfast.store.claim as claims
from holdfast.domain.errors import DatabaseUnavailable, HoldfastError
from holdfast.domain.job import ClaimedJob
from holdfast.runtime import failpoints
from holdfast.runtime.logs import events
from holdfast.runtime.outage import Outage
from holdfast.runtime.sweeper import REFUSED_PAUSE
from holdfast.store.call import Call
from holdfast.store.connection import AsyncSession
from holdfast.store.errors import WorkerUnknown


class Claimer:
    """Claims jobs under a worker's name, and tells when that name counts for nothing any more."""

    def __init__(
        self,
        session: AsyncSession,
        worker_id: Callable[[], UUID],
        be_reborn: Callable[[UUID], Awaitable[None]],
        doubt: Callable[[UUID, UUID], None],
        most: int | None = None,
    ) -> None:
        self._session = session
        self._worker_id = worker_id
        self._be_reborn = be_reborn
        self._doubt = doubt
        self._left = math.inf if most is None else most

    async def claim(
        self, limit: int, make: Callable[[UUID, UUID, int], Call[list[ClaimedJob]]]
    ) -> list[ClaimedJob]:
        """Claim up to so many jobs with a claim id of their own; nothing when this worker has had all it may have."""
        asked = int(min(limit, self._left))
        if asked == 0:
            return []
        self._left -= asked  # before the answer: lanes claim at the same time
        jobs: list[ClaimedJob] = []
        try:
            jobs = await self._claim(asked, make)
        finally:
            self._left += asked - len(jobs)
        return jobs

    async def _claim(
        self, limit: int, make: Callable[[UUID, UUID, int], Call[list[ClaimedJob]]]
    ) -> list[ClaimedJob]:
        me, claim_id = self._worker_id(), uuid4()
        call = make(me, claim_id, limit)
        outage = Outage("claim")
        while True:
            try:
                jobs = await self._session.perform(call)
            except DatabaseUnavailable as error:
                # It may have committed: the claim id is ours, so what it took can be asked for.
                call = claims.recover_claim(me, claim_id)
                await asyncio.sleep(outage.failed(error))
            except WorkerUnknown:
                await self._be_reborn(me)
                return []
            except HoldfastError as error:
                # Something in the line cannot be claimed; whatever it is, the worker stays and says so.
                events.error("claim:refused", extra={"error": str(error)})
                await asyncio.sleep(REFUSED_PAUSE)
                return []
            else:
                if outage.ended() and not jobs:
                    self._doubt(claim_id, me)
                if jobs:
                    failpoints.reach("claimed")
                return jobs

    async def manages(self, call: Call[None]) -> bool:
        """Ask for something that is not worth insisting on; answers whether it was done."""
        try:
            await self._session.perform(call)
        except DatabaseUnavailable:
            return False
        return True
