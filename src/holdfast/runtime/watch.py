"""The watch over a worker's lanes: look for jobs, linger where some were, ask to be woken where there are none."""

import time
from collections.abc import Callable
from uuid import UUID

import holdfast.store.claim as claims
from holdfast.runtime.claimer import Claimer
from holdfast.runtime.lane import Lane
from holdfast.runtime.runner import Runner
from holdfast.runtime.wakeup import Wakeup
from holdfast.runtime.wishes import Wishes

# A line that was busy a moment ago is looked at again and again before the worker asks to be woken.
LINGER_SECONDS = 0.02
LINGER_PAUSE = 0.003
# After this long without a pause the worker asks not to be woken: it looks anyway.
BUSY_SECONDS = 0.1


class Watch:
    """Brings jobs from lanes to the runner, each lane in a loop of its own."""

    def __init__(
        self,
        worker_id: Callable[[], UUID],
        wishes: Wishes,
        claimer: Claimer,
        wakeup: Wakeup,
        runner: Runner,
        look_at_gates: Callable[[], None],
    ) -> None:
        self._worker_id = worker_id
        self._wishes = wishes
        self._claimer = claimer
        self._wakeup = wakeup
        self._runner = runner
        self._look_at_gates = look_at_gates
        self._sleepers: set[Lane] = set()

    async def over(self, lane: Lane) -> None:
        """Take a lane's jobs as they come."""
        asleep_as: UUID | None = None  # who asked to be woken: a reborn worker has to ask again
        busy_since = last_job = time.monotonic()
        while True:
            await lane.until_room()
            # Asked last: who was full when it was told to be quiet claims no more either.
            await self._wishes.may_claim()
            jobs = await lane.next_jobs()
            now = time.monotonic()
            if jobs:
                self._runner.take(lane, jobs)
                last_job = now
                if asleep_as is not None and now - busy_since > BUSY_SECONDS:
                    await self._stay_awake(lane, asleep_as)
                    asleep_as = None
                continue
            if now - last_job < LINGER_SECONDS:
                await lane.rest(LINGER_PAUSE)
                continue
            me = self._worker_id()
            if (
                asleep_as != me
                and self._wakeup.is_listening.is_set()
                and await self._claimer.manages(claims.fall_asleep(me, [lane.queue]))
            ):
                asleep_as = me
                self._sleepers.add(lane)
                # Look once more: a commit may have come before the request to be woken, also of a job that is not in the line yet.
                self._look_at_gates()
                continue
            lane.is_dry.set()
            await lane.rest(lane.poll_pause)
            busy_since = time.monotonic()

    async def _stay_awake(self, lane: Lane, me: UUID) -> None:
        """Ask not to be woken, unless another lane of the queue still sleeps."""
        self._sleepers.discard(lane)
        if all(other.queue != lane.queue for other in self._sleepers):
            await self._claimer.manages(claims.stay_awake(me, [lane.queue]))

    async def over_suspects(self, lane: Lane) -> None:
        """Take them one at a time, alone: then a crash can be blamed on nobody else."""
        while True:
            await lane.until_room()
            await self._wishes.may_claim()
            for job in await lane.next_jobs():
                self._runner.take_alone(lane, job)
            if not lane.held:
                lane.is_dry.set()
                await lane.rest(lane.poll_pause)
