"""The runner: gives claimed jobs a slot, runs them, and hands their outcomes to the finisher."""

import asyncio
import contextvars
import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from uuid import UUID

from holdfast.domain.job import ClaimedJob
from holdfast.domain.outcome import Completed, Lost, Outcome, Recorded, Released, settlement
from holdfast.domain.states import Status
from holdfast.runtime import tracing
from holdfast.runtime.attempt import Attempt
from holdfast.runtime.finisher import Finisher
from holdfast.runtime.lane import Lane
from holdfast.runtime.logs import events
from holdfast.runtime.processes import Processes
from holdfast.runtime.registry import AnyTask
from holdfast.runtime.surrounding import Hook
from holdfast.runtime.threads import Threads
from holdfast.store.claim import Fence
from holdfast.store.finish import Settled


class Runner:
    """Everything that is claimed and not yet recorded, and the slots it runs in."""

    def __init__(
        self,
        tasks: dict[str, AnyTask],
        lanes: list[Lane],
        finisher: Finisher,
        processes: Processes,
        concurrency: int,
        hooks: Sequence[Hook],
    ) -> None:
        self._tasks = tasks
        self._lanes = lanes
        self._finisher = finisher
        self._processes = processes
        self._concurrency = concurrency
        self._threads = Threads()
        self._attempts: set[Attempt] = set()
        self._running = 0
        self._turned_away_from: set[Attempt] = set()
        self._hooks = hooks
        self._is_watched = self._asks_whether_watched()
        self.ended: Counter[str] = Counter()
        # Every attempt begins with what was set before the first: nothing leaks from one task into another.
        self._context = contextvars.copy_context()

    def take(self, lane: Lane, jobs: Iterable[ClaimedJob]) -> None:
        """Take what a lane claimed; it runs as slots become free."""
        lane.waiting.extend(jobs)
        self._is_watched = self._asks_whether_watched()
        lane.started_at = time.monotonic()
        self._start_waiting(lane)

    def _asks_whether_watched(self) -> bool:
        # Once a claim, and not once a job: the answer costs as much as a tenth of a short one.
        return bool(self._hooks) or tracing.is_on()

    def take_alone(self, lane: Lane, job: ClaimedJob) -> None:
        """Take a suspect: it runs at once, in a process of its own."""
        self._start(Attempt(job, self._tasks[job.task], lane, alone=True))

    def _start_waiting(self, lane: Lane) -> None:
        waiting = lane.waiting
        while waiting and lane.running < lane.slots and self._running < self._concurrency:
            job = waiting.popleft()
            self._start(Attempt(job, self._tasks[job.task], lane, alone=False))

    def _start(self, attempt: Attempt) -> None:
        self._attempts.add(attempt)
        attempt.lane.running += 1
        self._running += 1
        attempt.lane.started_at = attempt.started
        context = self._context.copy()
        attempt.runs_in = asyncio.get_running_loop().create_task(self._run(attempt), context=context)

    async def _run(self, attempt: Attempt) -> None:
        if events.isEnabledFor(logging.INFO):
            events.info("job:processing", extra=_facts(attempt.job))
        outcome = await (
            attempt.run_watched(self._threads, self._processes, self._hooks)
            if self._is_watched
            else attempt.run(self._threads, self._processes)
        )
        lane = attempt.lane
        lane.running -= 1
        self._running -= 1
        lane.finishing += 1
        self._hand_over(attempt, outcome)
        if len(self._lanes) == 1:
            self._start_waiting(lane)
        else:
            self._start_in_turn()

    def _start_in_turn(self) -> None:
        """One job of each lane, again and again: a busy lane must not keep the slots that all share."""
        started = True
        while started and self._running < self._concurrency:
            started = False
            self._lanes.append(self._lanes.pop(0))
            for lane in self._lanes:
                if lane.waiting and lane.running < lane.slots and self._running < self._concurrency:
                    job = lane.waiting.popleft()
                    self._start(Attempt(job, self._tasks[job.task], lane, alone=False))
                    started = True

    def _hand_over(self, attempt: Attempt, outcome: Outcome) -> None:
        if isinstance(outcome, Completed):
            self._finisher.complete(attempt, outcome.result)
        elif isinstance(outcome, Lost):
            self._acknowledge(attempt)
            self.recorded(attempt, None)
        elif isinstance(outcome, Recorded):
            self.recorded(attempt, Settled(attempt.job.id, outcome.status, recorded=True))
        else:
            attempt.settlement = settlement(outcome)
            self._finisher.settle(attempt, attempt.settlement)

    def _acknowledge(self, attempt: Attempt) -> None:
        self._turned_away_from.add(attempt)
        attempt.when_stopped(lambda: self._stopped(attempt))

    def _stopped(self, attempt: Attempt) -> None:
        self._turned_away_from.discard(attempt)
        self._finisher.acknowledge(attempt.job.id)

    def recorded(self, attempt: Attempt, settled: Settled | None) -> None:
        """Forget an attempt whose outcome the database has, or has refused."""
        self._attempts.discard(attempt)
        attempt.lane.finishing -= 1
        attempt.lane.make_room()
        if attempt.runs_in is not None:
            self.ended[_end(attempt, settled)] += 1
        if attempt.runs_on or attempt.thread_goes_on or (settled is not None and not settled.recorded):
            self._acknowledge(attempt)
        if settled is not None and not settled.recorded:
            events.warning("job:lease_lost", extra={**_facts(attempt.job), "status": settled.status})
        elif events.isEnabledFor(logging.INFO) and not attempt.lost:
            _report(attempt, settled)

    # -- what the heartbeat, the log saver, cancels and the drain need ----------------------------------------------------

    def under_way(self) -> list[Attempt]:
        """Give the attempts that have not come to an outcome yet."""
        return [one for one in self._attempts if one.runs_in is not None and not one.runs_in.done()]

    @property
    def runs_on(self) -> bool:
        """Whether something still runs here whose job is no longer ours; the books show nothing of it."""
        return bool(self._turned_away_from) or any(one.goes_on_unseen for one in self._attempts)

    @property
    def held(self) -> int:
        """Everything claimed and not yet recorded."""
        return len(self._attempts) + sum(len(lane.waiting) for lane in self._lanes)

    async def until_written(self) -> None:
        """Wait until the database knows all that attempts have come to."""
        await self._finisher.idle()

    def fences(self, older_than: float) -> list[tuple[UUID, UUID]]:
        """Name the attempts that have been running for a while; called from the heartbeat's thread."""
        started_before = time.monotonic() - older_than
        # copy() holds the interpreter's lock throughout, where a loop over the set would not.
        held = [one.job for one in self._attempts.copy() if one.started < started_before]
        held += [job for lane in self._lanes for job in lane.waiting.copy()]
        return [(job.id, job.claim_id) for job in sorted(held, key=lambda job: job.attempt)]

    def give_up(self, fences: Iterable[Fence]) -> None:
        """End attempts whose jobs are lost, and forget those that have not started."""
        wanted = set(fences)
        for attempt in self._attempts.copy():
            if (attempt.job.id, attempt.job.claim_id) in wanted:
                attempt.give_up()
        for lane in self._lanes:
            kept = [job for job in lane.waiting if (job.id, job.claim_id) not in wanted]
            if len(kept) < len(lane.waiting):
                for job in lane.waiting:
                    if (job.id, job.claim_id) in wanted:
                        self._finisher.acknowledge(job.id)
                lane.waiting.clear()
                lane.waiting.extend(kept)
                lane.make_room()

    def give_back_stale(self, seconds: float) -> None:
        """Release what waits in lanes that have started nothing for a while."""
        now = time.monotonic()
        for lane in self._lanes:
            if lane.waiting and now - lane.started_at > seconds:
                waiting = list(lane.waiting)
                lane.waiting.clear()
                self.give_back(lane, waiting, "released: claimed ahead, and did not get its turn")

    def give_up_all(self) -> None:
        """End all attempts and forget what waits: everything here belongs to others now."""
        for lane in self._lanes:
            lane.waiting.clear()
            lane.make_room()  # it may have held nothing else, and wait for somebody to say so
        for attempt in self._attempts.copy():
            attempt.give_up()

    def release_waiting(self, reason: str) -> None:
        """Give back what has not started."""
        for lane in self._lanes:
            waiting = list(lane.waiting)
            lane.waiting.clear()
            self.give_back(lane, waiting, reason)

    def give_back(self, lane: Lane, jobs: Iterable[ClaimedJob], reason: str) -> None:
        """Release claimed jobs that do not run."""
        for job in jobs:
            attempt = Attempt(job, self._tasks[job.task], lane, alone=False)
            self._attempts.add(attempt)
            lane.finishing += 1
            self._hand_over(attempt, Released(reason))

    def release_running(self, reason: str) -> None:
        """End what runs and give it back."""
        for attempt in self._attempts.copy():
            attempt.release(reason)

    async def wait_until_done(self, seconds: float) -> None:
        """Wait for what runs, but not for ever."""
        running = [attempt.runs_in for attempt in self._attempts if attempt.runs_in is not None]
        if running:
            await asyncio.wait(running, timeout=seconds)

    def close(self) -> None:
        """Let go of the threads."""
        self._threads.close()


def _facts(job: ClaimedJob) -> dict[str, object]:
    return {"job_id": str(job.id), "task": job.task, "attempt": job.attempt, "subject": job.subject}


def _end(attempt: Attempt, settled: Settled | None) -> str:
    if attempt.lost or (settled is not None and not settled.recorded):
        return "lost"
    if settled is not None and attempt.is_released:
        return "released"
    return "completed" if settled is None else str(settled.status).lower()


def _report(attempt: Attempt, settled: Settled | None) -> None:
    event = "job:completed" if settled is None else f"job:{str(settled.status).lower()}"
    duration = round((time.monotonic() - attempt.started) * 1000, 1)
    events.info(event, extra={**_facts(attempt.job), "duration_ms": duration, **_failure(attempt, settled)})


def _failure(attempt: Attempt, settled: Settled | None) -> dict[str, object]:
    error = attempt.settlement.get("error")
    if error is None:
        return {}
    told: dict[str, object] = {"error": f"{error['type']}: {error['message']}"[:500]}
    if settled is None or settled.status != Status.RETRY:
        return told
    return {**told, "max_retries": attempt.job.max_retries, "retry_in": attempt.settlement.get("delay")}
