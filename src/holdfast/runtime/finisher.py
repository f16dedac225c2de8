"""The finisher: outcomes wait here while one batch is under way, so that finishing is immediate when idle and batched under load."""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any
from uuid import UUID

from holdfast.domain.errors import DatabaseUnavailable
from holdfast.runtime import failpoints
from holdfast.runtime.attempt import Attempt
from holdfast.runtime.logs import as_json
from holdfast.runtime.outage import Outage
from holdfast.store.call import Call
from holdfast.store.connection import AsyncSession
from holdfast.store.finish import Settled, complete, settle

BATCH = 500


class Finisher:
    """Writes outcomes, and repeats a batch until the database has answered: a repeat by the same attempt is a success."""

    def __init__(self, session: AsyncSession, worker_id: Callable[[], UUID]) -> None:
        self._session = session
        self._worker_id = worker_id
        self._completed: deque[tuple[Attempt, str | None]] = deque()
        self._settled: deque[tuple[Attempt, dict[str, Any]]] = deque()
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._outage = Outage("finish")

    def complete(self, attempt: Attempt, result: str | None) -> None:
        """Take a completion."""
        self._completed.append((attempt, result))
        self._work.set()

    def settle(self, attempt: Attempt, settlement: dict[str, Any]) -> None:
        """Take another outcome."""
        job = attempt.job
        fence = {"id": str(job.id), "attempt": job.attempt, "claim_id": str(job.claim_id)}
        self._settled.append((attempt, {**settlement, **fence, "logs": attempt.context.log_lines}))
        self._work.set()

    async def idle(self) -> None:
        """Wait until everything taken so far is written."""
        while self._completed or self._settled or not self._idle.is_set():
            self._work.set()
            await asyncio.sleep(0)
            await self._idle.wait()

    async def run(self, on_recorded: Callable[[Attempt, Settled | None], None]) -> None:
        """Write until cancelled; tells of each attempt whether the database has its outcome, or has refused it."""
        while True:
            await self._work.wait()
            self._work.clear()
            self._idle.clear()
            try:
                while self._completed or self._settled:
                    await self._gather()
                    await self._write_completed(on_recorded)
                    await self._write_settled(on_recorded)
            finally:
                self._idle.set()

    async def _gather(self) -> None:
        """Let the loop turn while every turn brings more: short jobs end together and are written together."""
        before = 0
        while before < len(self._completed) < BATCH:
            before = len(self._completed)
            await asyncio.sleep(0)

    async def _write_completed(self, on_recorded: Callable[[Attempt, Settled | None], None]) -> None:
        batch = list(islice(self._completed, BATCH))
        if not batch:
            return
        failpoints.reach("ran")
        completions = [(attempt.job, result, as_json(attempt.context.log_lines)) for attempt, result in batch]
        lost = {one.job_id: one for one in await self._insist(lambda: complete(self._worker_id(), completions))}
        for attempt, _ in batch:
            self._completed.popleft()
            on_recorded(attempt, lost.get(attempt.job.id) if lost else None)

    async def _write_settled(self, on_recorded: Callable[[Attempt, Settled | None], None]) -> None:
        batch = list(islice(self._settled, BATCH))
        if not batch:
            return
        failpoints.reach("ran")
        answers = await self._insist(lambda: settle(self._worker_id(), [told for _, told in batch]))
        settled = {one.job_id: one for one in answers}
        for attempt, _ in batch:
            self._settled.popleft()
            on_recorded(attempt, settled.get(attempt.job.id))

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
