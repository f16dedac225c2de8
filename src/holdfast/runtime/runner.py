"""The runner: gives claimed jobs a slot, runs them, and hands their outcomes to the finisher."""

import asyncio
import logging
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias
from uuid import UUID

from holdfast.domain.job import ClaimedJob
from holdfast.domain.outcome import Completed, Lost, Outcome, Released, settlement
from holdfast.runtime.attempt import Attempt
from holdfast.runtime.finisher import Finisher, report_loss
from holdfast.runtime.lane import Lane
from holdfast.runtime.logs import as_json, events
from holdfast.runtime.processes import Processes
from holdfast.runtime.registry import AnyTask
from holdfast.store.finish import Completion, Settled

Fence: TypeAlias = tuple[UUID, int]


class Runner:
    """Everything that is claimed and not yet recorded, and the slots it runs in."""

    def __init__(self, tasks: dict[str, AnyTask], finisher: Finisher, processes: Processes, concurrency: int) -> None:
        self._tasks = tasks
        self._finisher = finisher
        self._processes = processes
        self._concurrency = concurrency
        # A thread that was told to end and does not, keeps its thread; a few more than slots keep the others going.
        self._threads = ThreadPoolExecutor(concurrency + 8, thread_name_prefix="holdfast-task")
        self._attempts: dict[Fence, tuple[Attempt, Lane]] = {}
        self._lanes: list[Lane] = []
        self._running = 0

    def take(self, lane: Lane, jobs: Iterable[ClaimedJob], *, alone: bool = False) -> None:
        """Take what a lane claimed; it runs as slots become free."""
        if lane not in self._lanes:
            self._lanes.append(lane)
        if alone:
            for job in jobs:
                self._start(lane, job, alone=True)
            return
        lane.waiting.extend(jobs)
        self._start_waiting(lane)

    def _start_waiting(self, lane: Lane) -> None:
        while lane.waiting and lane.running < lane.slots and self._running < self._concurrency:
            self._start(lane, lane.waiting.popleft(), alone=False)

    def _start(self, lane: Lane, job: ClaimedJob, *, alone: bool) -> None:
        attempt = Attempt(job, self._tasks[job.task], alone=alone)
        self._attempts[job.id, job.attempt] = (attempt, lane)
        lane.running += 1
        self._running += 1
        attempt.runs_in = asyncio.get_running_loop().create_task(self._run(lane, attempt))

    async def _run(self, lane: Lane, attempt: Attempt) -> None:
        if events.isEnabledFor(logging.INFO):
            events.info("job:processing", extra=_facts(attempt.job))
        outcome = await attempt.run(self._threads, self._processes)
        lane.running -= 1
        self._running -= 1
        lane.finishing += 1
        self._hand_over(attempt, outcome)
        self._start_waiting(lane)
        if self._running >= self._concurrency - 1:
            # A slot that all lanes share has become free.
            for other in self._lanes:
                self._start_waiting(other)

    def _hand_over(self, attempt: Attempt, outcome: Outcome) -> None:
        job = attempt.job
        if isinstance(outcome, Completed):
            self._finisher.complete(Completion(job, outcome.result, as_json(attempt.logs)))
        elif isinstance(outcome, Lost):
            self.recorded(job, None)
        else:
            self._finisher.settle(job, {**settlement(outcome), "logs": attempt.logs or None})

    def recorded(self, job: ClaimedJob, settled: Settled | None) -> None:
        """Forget an attempt whose outcome the database has, or has refused."""
        attempt, lane = self._attempts.pop((job.id, job.attempt))
        lane.finishing -= 1
        lane.make_room()
        if settled is not None and not settled.recorded:
            report_loss(job, settled)
        elif events.isEnabledFor(logging.INFO) and not attempt.lost:
            _report(attempt, settled)

    # -- what the heartbeat, cancels and the drain need -------------------------------------------------------------------

    @property
    def held(self) -> int:
        """Everything claimed and not yet recorded."""
        return len(self._attempts) + sum(len(lane.waiting) for lane in self._lanes)

    def fences(self, older_than: float) -> list[tuple[UUID, UUID]]:
        """Name the attempts that have been running for a while; called from the heartbeat's thread."""
        started_before = time.monotonic() - older_than
        held = list(self._attempts.values())
        return [(attempt.job.id, attempt.job.claim_id) for attempt, _ in held if attempt.started < started_before]

    def give_up(self, job_ids: Iterable[UUID] | None) -> None:
        """End attempts whose jobs are lost; None for all, with everything that waits."""
        wanted = None if job_ids is None else set(job_ids)
        for attempt, _ in list(self._attempts.values()):
            if wanted is None or attempt.job.id in wanted:
                attempt.give_up()
        if wanted is None:
            for lane in self._lanes:
                lane.waiting.clear()

    def release_waiting(self, reason: str) -> None:
        """Give back what has not started."""
        for lane in self._lanes:
            while lane.waiting:
                job = lane.waiting.popleft()
                attempt = Attempt(job, self._tasks[job.task], alone=False)
                self._attempts[job.id, job.attempt] = (attempt, lane)
                lane.finishing += 1
                self._hand_over(attempt, Released(reason))

    def release_running(self, reason: str) -> None:
        """End what runs and give it back."""
        for attempt, _ in list(self._attempts.values()):
            attempt.release(reason)

    async def wait_until_done(self, seconds: float) -> bool:
        """Wait for what runs; answers whether all of it ended."""
        running = [attempt.runs_in for attempt, _ in self._attempts.values() if attempt.runs_in is not None]
        if not running:
            return True
        _, pending = await asyncio.wait(running, timeout=seconds)
        return not pending

    def close(self) -> None:
        """Let go of the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _facts(job: ClaimedJob) -> dict[str, object]:
    return {"job_id": str(job.id), "task": job.task, "attempt": job.attempt, "subject": job.subject}


def _report(attempt: Attempt, settled: Settled | None) -> None:
    event = "job:completed" if settled is None else f"job:{str(settled.status).lower()}"
    duration = round((time.monotonic() - attempt.started) * 1000, 1)
    events.info(event, extra={**_facts(attempt.job), "duration_ms": duration})
