"""The finisher: outcomes wait here while one batch is under way, so that finishing is immediate when idle and batched under load."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from holdfast.domain.errors import BadInput, Busy, DatabaseUnavailable, HoldfastError
from holdfast.runtime import failpoints
from holdfast.runtime.attempt import Attempt
from holdfast.runtime.logs import as_json
from holdfast.runtime.outage import Outage
from holdfast.store.call import Call
from holdfast.store.connection import AsyncSession
from holdfast.store.finish import Settled, complete, settle
from holdfast.store.steps import acknowledge_stop

T = TypeVar("T")

BATCH = 500


class Finisher:
    """Writes outcomes, and repeats a batch until the database has answered: a repeat by the same attempt is a success."""

    def __init__(self, session: AsyncSession, worker_id: Callable[[], UUID]) -> None:
        self._session = session
        self._worker_id = worker_id
        self._completed: deque[tuple[Attempt, str | None]] = deque()
        self._settled: deque[tuple[Attempt, dict[str, Any]]] = deque()
        self._stopped: list[UUID] = []
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
        told = {"logs": attempt.context.log_lines or None, "runs_on": attempt.runs_on}
        self._settled.append((attempt, {**settlement, **fence, **told}))
        self._work.set()

    def acknowledge(self, job_id: UUID) -> None:
        """Take the word that an attempt which had lost its job has stopped: what undoes it may begin."""
        self._stopped.append(job_id)
        self._work.set()

    async def idle(self) -> None:
        """Wait until everything taken so far is written."""
        while self._completed or self._settled or self._stopped or not self._idle.is_set():
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
                while self._completed or self._settled or self._stopped:
                    await self._gather()
                    await self._write_completed(on_recorded)
                    await self._write_settled(on_recorded)
                    await self._write_stopped()
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
        lost, refused = await self._write(batch, self._complete)
        for attempt, result in batch:
            self._completed.popleft()
            refusal = refused.get(attempt) if refused else None
            if isinstance(refusal, Busy):
                self._completed.append((attempt, result))
            elif refusal is not None:
                self.settle(attempt, _cannot_be_stored(refusal))
            else:
                on_recorded(attempt, lost.get(attempt.job.id) if lost else None)

    def _complete(self, batch: Sequence[tuple[Attempt, str | None]]) -> Call[list[Settled]]:
        return complete(
            self._worker_id(),
            [(attempt.job, result, as_json(attempt.context.log_lines)) for attempt, result in batch],
        )

    async def _write_settled(self, on_recorded: Callable[[Attempt, Settled | None], None]) -> None:
        batch = list(islice(self._settled, BATCH))
        if not batch:
            return
        failpoints.reach("ran")
        settled, refused = await self._write(batch, self._settle)
        for attempt, told in batch:
            self._settled.popleft()
            refusal = refused.get(attempt)
            if isinstance(refusal, Busy):
                self._settled.append((attempt, told))
            elif refusal is not None:
                attempt.context.log_lines = None
                self.settle(attempt, _cannot_be_stored(refusal))
            else:
                on_recorded(attempt, settled.get(attempt.job.id))

    def _settle(self, batch: Sequence[tuple[Attempt, dict[str, Any]]]) -> Call[list[Settled]]:
        return settle(self._worker_id(), [told for _, told in batch])

    async def _write_stopped(self) -> None:
        stopped, self._stopped = self._stopped, []
        if stopped:
            with suppress(HoldfastError):  # the sweeper lets a compensation go that waits for too long
                await self._session.perform(acknowledge_stop(self._worker_id(), stopped))

    async def _write(
        self,
        batch: Sequence[tuple[Attempt, T]],
        make: Callable[[Sequence[tuple[Attempt, T]]], Call[list[Settled]]],
    ) -> tuple[dict[UUID, Settled], dict[Attempt, BadInput | Busy]]:
        """Write a batch; when the database cannot store or lock something in it, one by one, to find out whose it is."""
        try:
            return {one.job_id: one for one in await self._insist(lambda: make(batch))}, {}
        except (BadInput, Busy) as error:
            if len(batch) == 1:
                return {}, {batch[0][0]: error}
        answers: dict[UUID, Settled] = {}
        refused: dict[Attempt, BadInput | Busy] = {}
        for one in batch:
            answer, refusal = await self._write([one], make)
            answers.update(answer)
            refused.update(refusal)
        return answers, refused

    async def _insist(self, make: Callable[[], Call[list[Settled]]]) -> list[Settled]:
        while True:
            try:
                answer = await self._session.perform(make())
            except Busy:
                raise
            except DatabaseUnavailable as error:
                await asyncio.sleep(self._outage.failed(error))
            else:
                self._outage.ended()
                failpoints.reach("finished")
                return answer


def _cannot_be_stored(error: BadInput) -> dict[str, Any]:
    """Fail an attempt whose own outcome the database refuses, with words that it does not."""
    told = {
        "type": "OutcomeRefused",
        "kind": "application",
        "recoverable": False,
        "message": ascii(str(error))[:500],
    }
    return {
        "outcome": "failed",
        "error": told,
        "recoverable": False,
        "delay": 0.0,
        "reason": "its outcome cannot be stored",
    }
