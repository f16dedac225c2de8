"""The finisher: outcomes wait here while one batch is under way, so that finishing is immediate when idle and batched under load."""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any
from uuid import UUID

from holdfast.domain.errors import DatabaseUnavailable
from holdfast.domain.job import ClaimedJob
from holdfast.runtime import failpoints
from holdfast.runtime.logs import events
from holdfast.runtime.outage import Outage
from holdfast.store.call import Call
from holdfast.store.connection import AsyncSession
from holdfast.store.finish import Completion, Settled, complete, settle

BATCH = 500


class Finisher:
    """Writes outcomes, and repeats a batch until the database has answered: a repeat by the same attempt is a success."""

    def __init__(self, session: AsyncSession, worker_id: Callable[[], UUID], on_recorded: Callable[[ClaimedJob, Settled | None], None]) -> None:
        self._session = session
        self._worker_id = worker_id
        self._on_recorded = on_recorded
        self._completions: deque[Completion] = deque()
        self._settlements: deque[tuple[ClaimedJob, dict[str, Any]]] = deque()
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._outage = Outage("finish")

    def complete(self, completion: Completion) -> None:
        """Take a completion."""
        self._completions.append(completion)
        self._work.set()

    def settle(self, job: ClaimedJob, settlement: dict[str, Any]) -> None:
        """Take another outcome."""
        fence = {"id": str(job.id), "attempt": job.attempt, "claim_id": str(job.claim_id)}
        self._settlements.append((job, {**settlement, **fence}))
        self._work.set()

    async def idle(self) -> None:
        """Wait until everything taken so far is written."""
        await asyncio.sleep(0)
        while self._completions or self._settlements or not self._idle.is_set():
            self._work.set()
            await self._idle.wait()
            await asyncio.sleep(0)

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._work.wait()
            self._work.clear()
            self._idle.clear()
            try:
                while self._completions or self._settlements:
                    await self._write_completions()
                    await self._write_settlements()
            finally:
                self._idle.set()

    async def _write_completions(self) -> None:
        batch = list(islice(self._completions, BATCH))
        if not batch:
            return
        failpoints.reach("ran")
        lost = {one.job_id: one for one in await self._insist(lambda: complete(self._worker_id(), batch))}
        for completion in batch:
            self._completions.popleft()
            self._on_recorded(completion.job, lost.get(completion.job.id) if lost else None)

    async def _write_settlements(self) -> None:
        batch = list(islice(self._settlements, BATCH))
        if not batch:
            return
        failpoints.reach("ran")
        answers = await self._insist(lambda: settle(self._worker_id(), [told for _, told in batch]))
        settled = {one.job_id: one for one in answers}
        for job, _ in batch:
            self._settlements.popleft()
            self._on_recorded(job, settled.get(job.id))

    async def _insist(self, make: Callable[[], Call[list[Settled]]]) -> list[Settled]:
        while True:
            try:
                answer = await self._session.perform(make())
            except DatabaseUnavailable as error:
                await asyncio.sleep(self._outage.failed(error))
            else:
                self._outage.ended()
                failpoints.reach("finished")
                return answer


def report_loss(job: ClaimedJob, settled: Settled) -> None:
    """Say that an attempt's outcome was thrown away."""
    events.warning(
        "job:lease_lost",
        extra={"job_id": str(job.id), "attempt": job.attempt, "task": job.task, "status": settled.status},
    )
