"""A tick: a worker for a few seconds and so many jobs, for hosts where no process may stay; safe beside workers, for it is one."""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from holdfast.domain.errors import HoldfastError
from holdfast.runtime.identity import refuse_unfit
from holdfast.runtime.logs import events
from holdfast.runtime.loop import cancelled, run, tell
from holdfast.runtime.sweeper import UPKEEP_BATCH
from holdfast.runtime.worker import Worker
from holdfast.store import upkeep
from holdfast.store.alert import evaluate_alerts
from holdfast.store.overview import jobs_in_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.runtime.app import Holdfast

# Nobody needs to know more exactly: it is more than a tick does.
MOST_REMAINING = 1000


class Ticked(NamedTuple):
    """What a tick did: how many attempts ran and how they ended, and how many jobs are in line now (1,000 is: or more)."""

    ran: int
    completed: int
    failed: int
    retried: int
    remaining: int


class Ticker:
    """Runs ticks, one at a time. Each has a thread and a loop of its own: a task that blocks must not stop the host."""

    def __init__(self, app: "Holdfast", most_jobs: int, seconds: float) -> None:
        refuse_unfit(app.all_tasks)
        self._app = app
        self._most_jobs = most_jobs
        self._seconds = seconds
        self._stop: Callable[[], None] = _nothing

    async def tick(self) -> Ticked | None:
        """Work for a while; None when another tick of this process is under way."""
        if not self._app.ticking.acquire(blocking=False):
            return None
        working = asyncio.get_running_loop().run_in_executor(None, self._tick)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            self._stop()  # the host ends: what runs is finished or given back, as by any worker
            raise

    def _tick(self) -> Ticked:
        try:
            # First, so that what there is to tell is delivered by this tick and not by the next.
            self._app.link.perform(evaluate_alerts())
            ended = run(self._work())
            with suppress(HoldfastError):  # the next tick tries again
                self._app.link.perform_once(upkeep.keep_up(UPKEEP_BATCH))
            queues = sorted(
                {*self._app.queues, *(task.settings.queue for task in self._app.all_tasks.values())}
            )
            remaining = self._app.link.perform(jobs_in_line(queues, MOST_REMAINING))
        finally:
            self._app.ticking.release()
        ticked = Ticked(ended.total(), ended["completed"], ended["failed"], ended["retry"], remaining)
        events.info("tick", extra=ticked._asdict())
        return ticked

    async def _work(self) -> Counter[str]:
        """Claim for half of the time, and let what runs come to its end in the other half."""
        loop, half = asyncio.get_running_loop(), self._seconds / 2
        is_ready = asyncio.Event()
        worker = Worker(
            self._app,
            until_idle=True,
            most_jobs=self._most_jobs,
            drain_timeout=half,
            handle_signals=False,
            on_ready=lambda _identity: is_ready.set(),
        )
        self._stop = lambda: tell(loop, worker.stop)
        timer = asyncio.create_task(self._stop_in_time(worker, is_ready))
        try:
            await worker.run()
        finally:
            self._stop = _nothing
            await cancelled([timer])
        return worker.ended

    async def _stop_in_time(self, worker: Worker, is_ready: asyncio.Event) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds / 2):
                await is_ready.wait()
        await asyncio.sleep(self._seconds / 2)
        worker.stop()


def _nothing() -> None:
    """Stop nothing: there is no worker."""
