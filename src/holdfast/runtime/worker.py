"""The worker: claims, runs and finishes jobs until it is told to stop, whatever the database does meanwhile."""

import asyncio
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import nullcontext, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import holdfast.store.claim as claims
from holdfast.domain.errors import DatabaseUnavailable, HoldfastError
from holdfast.domain.job import ClaimedJob
from holdfast.domain.limits import has_gates
from holdfast.runtime.claimer import Claimer
from holdfast.runtime.dispatcher import Dispatcher
from holdfast.runtime.failpoints import SimulatedCrash
from holdfast.runtime.finisher import Finisher
from holdfast.runtime.garbage import collected_rarely
from holdfast.runtime.heartbeat import Heartbeat
from holdfast.runtime.identity import Identity, refuse_unfit, slots_of
from holdfast.runtime.idle import until_idle
from holdfast.runtime.lane import Lane, Places
from holdfast.runtime.log_saver import LogSaver
from holdfast.runtime.logs import capture, events, logged_as
from holdfast.runtime.loop import Beside, cancelled, dump_stacks, tell, unless, until_one_ends
from holdfast.runtime.runner import Runner
from holdfast.runtime.schedule import Scheduler
from holdfast.runtime.sweeper import Sweeper, upkeep_every
from holdfast.runtime.threads import in_own_thread
from holdfast.runtime.wakeup import Wakeup
from holdfast.runtime.watch import Watch
from holdfast.runtime.wishes import Wishes
from holdfast.store.connection import AsyncSession
from holdfast.store.enqueue import register_tasks

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

DEFAULT_CONCURRENCY = 50
DEFAULT_LEASE = 30.0
DEFAULT_POLL = 1.0
DEFAULT_DRAIN = 25.0
# What was claimed ahead and has not started for this long goes back to the line.
STALE_SECONDS = 2.0

FORCED = 130


class Worker:
    """One process' worker: its lanes, its loops and its end."""

    def __init__(
        self,
        app: "Holdfast",
        *,
        queues: dict[str, int] | None = None,
        concurrency: int = DEFAULT_CONCURRENCY,
        processes: int | None = None,
        lease: float = DEFAULT_LEASE,
        poll: float = DEFAULT_POLL,
        drain_timeout: float = DEFAULT_DRAIN,
        until_idle: bool = False,
        most_jobs: int | None = None,
        handle_signals: bool = True,
        projector: bool = True,
        upkeep: bool = True,
        apart: bool = True,
        on_ready: Callable[[Identity], None] | None = None,
    ) -> None:
        refuse_unfit({**app.tasks, **app.alerts.tasks})
        self._app = app
        self._database = app.link.database
        self._concurrency = concurrency
        self._poll = poll
        self._drain_timeout = drain_timeout
        self._until_idle = until_idle
        self._handles_signals = handle_signals
        self._projects = projector
        self._keeps_up = upkeep
        self._on_ready = on_ready
        self._stopping = asyncio.Event()
        self._beside = Beside(self._failed_beside)
        self._wishes = Wishes(self._stopping, self.stop, self._about)
        self._forced = asyncio.Event()
        self._child_limit = processes or max(os.cpu_count() or 1, 1)
        self._claiming = AsyncSession(self._database, "holdfast claim")
        # Apart from each other, so that a sweep that waits for somebody's lock holds up no claim and no outcome. Each session prepares
        # anew what it calls: a worker with a short life has one for all three.
        self._finishing, sweeping = (
            (
                AsyncSession(self._database, "holdfast finish", deadline=30.0),
                AsyncSession(self._database, "holdfast sweep", deadline=60.0),
            )
            if apart
            else (self._claiming, self._claiming)
        )
        self._identity = Identity(
            slots_of(app.all_tasks.values(), queues, concurrency, app.queues),
            tuple(sorted(app.all_tasks)),
            lease,
        )
        self._finisher = Finisher(self._finishing, lambda: self._identity.id)
        self._processes = app.child_processes(self._child_limit + 1)
        self._lanes = self._make_lanes()
        self._suspects = Lane("suspects", [], 1, self._claim_suspect, looks_ahead=False, poll_seconds=poll)
        self._runner = Runner(
            app.all_tasks, self._lanes, self._finisher, self._processes, concurrency, app.hooks
        )
        self._log_saver = LogSaver(app.link, lambda: self._identity.id, self._runner.under_way)
        self._sweeper = Sweeper(
            self._database,
            sweeping,
            lease,
            poll,
            upkeep_every(task.settings.retention for task in app.all_tasks.values()),
            self._wake_lanes,
            self._give_back_late,
        )
        self._scheduler = Scheduler(app.declarations.by_name, self._sweeper.insist, poll)
        self._dispatcher = Dispatcher(app, self._database, lambda: self._identity.id, poll)
        self._wakeup = Wakeup(self._database, self._wake, self._ask_about, self._dispatcher.kick)
        self._heartbeat: Heartbeat | None = None
        self._rebirth = asyncio.Lock()
        self._claimer = Claimer(
            self._claiming, lambda: self._identity.id, self._be_reborn, self._sweeper.doubt, most_jobs
        )
        self._watch = Watch(
            lambda: self._identity.id,
            self._wishes,
            self._claimer,
            self._wakeup,
            self._runner,
            self._look_at_gates,
        )

    @property
    def ended(self) -> Counter[str]:
        """How the attempts that ran here have ended: by the status they led to, or as released or lost."""
        return self._runner.ended

    def _make_lanes(self) -> list[Lane]:
        """Make a lane per queue for what runs here, and one for what runs in child processes: those share the children."""
        here = sorted(
            name for name, task in self._app.all_tasks.items() if task.settings.executor != "process"
        )
        apart = sorted(set(self._app.all_tasks) - set(here))
        queues = self._identity.queues.items()
        lanes = [self._lane(queue, here, slots, looks_ahead=True) for queue, slots in queues if here]
        most = min(self._child_limit, self._concurrency)
        children = Places(most)  # a deadline counts from the claim, and not from when there is a child
        return lanes + [
            self._lane(queue, apart, min(slots, most), looks_ahead=False, places=children)
            for queue, slots in queues
            if apart
        ]

    def _lane(
        self, queue: str, tasks: list[str], slots: int, *, looks_ahead: bool, places: Places | None = None
    ) -> Lane:
        async def claim(limit: int, after: datetime | None) -> list[ClaimedJob]:
            return await self._claimer.claim(
                limit, lambda me, claim_id, most: claims.claim(me, claim_id, queue, tasks, most, after)
            )

        return Lane(
            queue, tasks, slots, claim, looks_ahead=looks_ahead, poll_seconds=self._poll, places=places
        )

    # -- life ------------------------------------------------------------------------------------------------------------

    async def run(self) -> int:
        """Work until told to stop; answers the process' exit code."""
        rarely = collected_rarely() if self._handles_signals else nullcontext()
        with rarely, logged_as(lambda: self._identity.name):
            return await self._work()

    async def _work(self) -> int:
        capture()
        self._listen_to_signals()
        loops: list[asyncio.Task[None]] = []
        finishing = asyncio.create_task(self._finisher.run(self._runner.recorded))
        try:
            if await self._introduce():
                loops += [asyncio.create_task(loop) for loop in self._loops()]
                self._beside.run(
                    self._log_saver.run()
                )  # until the last attempt has ended: a drain can take long
                if self._on_ready is not None:
                    self._on_ready(self._identity)
                await self._until_stopped(loops, finishing)
        except SimulatedCrash:
            await self._crash(loops, finishing)
            raise
        except BaseException:
            await self._end(loops, finishing)
            raise
        await self._end(loops, finishing)
        return FORCED if self._forced.is_set() else 0

    async def _introduce(self) -> bool:
        """Say who is there and what it can do; not when it is told to stop first: a database that is away must not outlast that."""
        definitions = self._app.definitions(self._app.all_tasks)
        if not await unless(self._stopping, self._sweeper.insist(lambda: register_tasks(definitions))):
            return False
        await self._register()
        await self._sweeper.register_alerts(self._app.alerts.registration())
        await self._sweeper.sweep()
        await self._scheduler.catch_up()
        if not self._app.is_locatable:
            events.warning(
                "worker:cannot_run_alone",
                extra={"why": "the app is no module's attribute; suspects wait for another worker"},
            )
        events.info(
            "worker:started",
            extra={
                "worker": self._identity.name,
                "queues": self._identity.queues,
                "concurrency": self._concurrency,
            },
        )
        return True

    async def _register(self) -> None:
        await self._sweeper.insist(self._identity.registration)
        await self._scheduler.register(self._identity.id)
        loop = asyncio.get_running_loop()
        lease, me = self._identity.lease, self._identity.id
        self._heartbeat = Heartbeat(
            self._database,
            self._identity,
            lambda: self._runner.fences(older_than=lease / Heartbeat.BEATS_PER_LEASE),
            lambda lost: tell(loop, self._runner.give_up, lost),
            lambda: tell(loop, self._died_in_the_books, me),
            lambda wish: tell(loop, self._wishes.obey, wish),
        )
        self._heartbeat.start()

    def _loops(self) -> list[Coroutine[Any, Any, None]]:
        loops = [self._watch.over(lane) for lane in self._lanes]
        loops += [self._wakeup.run(), self._tidy_lanes(), self._scheduler.run()]
        if self._projects:
            loops.append(self._sweeper.projector.run())
        if self._keeps_up:
            loops.append(self._sweeper.keep_up())
        loops += [self._sweeper.admit_when_due(), self._sweeper.sweep_now_and_then()]
        loops += [self._dispatcher.run()] if self._app.executors else []
        return loops + ([self._watch.over_suspects(self._suspects)] if self._app.is_locatable else [])

    async def _until_stopped(self, loops: list[asyncio.Task[None]], finishing: asyncio.Task[None]) -> None:
        waits: list[asyncio.Task[Any]] = [asyncio.create_task(self._stopping.wait())]
        if self._until_idle:
            idle = until_idle(self._runner, self._every_lane(), self._sweeper, self._dispatcher)
            waits.append(asyncio.create_task(idle))
        try:
            await until_one_ends([*waits, *loops, finishing])
        finally:
            await cancelled(waits)

    def _listen_to_signals(self) -> None:
        if not self._handles_signals or threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGUSR1, self._wishes.be_quiet)
        loop.add_signal_handler(signal.SIGUSR2, dump_stacks)

    def _about(self) -> dict[str, Any]:
        return {"worker": self._identity.name, "held": self._runner.held}

    async def told_to_stop(self) -> None:
        """Wait until somebody has told this worker to stop."""
        await self._stopping.wait()

    def stop(self) -> None:
        """Drain; asked a second time, end at once."""
        if self._stopping.is_set():
            self._forced.set()
        else:
            events.info("worker:draining", extra=self._about())
        self._stopping.set()

    async def _crash(self, loops: list[asyncio.Task[None]], finishing: asyncio.Task[None]) -> None:
        """Stop as a killed process stops: nothing is given back, nothing is said. For tests."""
        self._stopping.set()
        self._runner.give_up_all()
        await self._close([*loops, finishing])

    async def _end(self, loops: list[asyncio.Task[None]], finishing: asyncio.Task[None]) -> None:
        self._stopping.set()
        await self._dispatcher.finish()
        await cancelled(loops)
        await self._drain()
        if self._until_idle and self._projects:
            await self._sweeper.projector.finish()
        await self._close([finishing])
        events.info("worker:stopped", extra={"worker": self._identity.name})

    async def _close(self, tasks: list[asyncio.Task[None]]) -> None:
        await cancelled([*tasks, *self._beside.tasks])
        if self._heartbeat is not None:
            await in_own_thread(self._heartbeat.stop)
        await self._processes.close()
        self._runner.close()
        for session in (self._claiming, self._finishing, self._sweeper, self._dispatcher):
            await session.close()
        await self._app.link.aclose()  # what contexts of this loop have used

    async def _drain(self) -> None:
        self._runner.release_waiting("released: its worker stops")
        patience = asyncio.create_task(self._runner.wait_until_done(self._drain_timeout))
        forced = asyncio.create_task(self._forced.wait())
        await asyncio.wait([patience, forced], return_when=asyncio.FIRST_COMPLETED)
        for wait in (patience, forced):
            wait.cancel()
        self._runner.release_running("released: its worker stops")
        await self._runner.wait_until_done(1.0)
        with suppress(TimeoutError):
            async with asyncio.timeout(5.0):
                await self._finisher.idle()
        # What is still in the books as ours goes back with the goodbye.
        with suppress(TimeoutError, HoldfastError):
            async with asyncio.timeout(5.0):
                await self._claiming.perform(claims.retire_worker(self._identity.id), deadline=4.0)

    # -- claims ----------------------------------------------------------------------------------------------------------

    def _every_lane(self) -> list[Lane]:
        return [*self._lanes, self._suspects] if self._app.is_locatable else self._lanes

    async def _claim_suspect(self, _limit: int, _after: datetime | None) -> list[ClaimedJob]:
        queues, tasks = list(self._identity.queues), sorted(self._app.all_tasks)
        return await self._claimer.claim(
            1,
            lambda me, claim_id, _most: claims.claim_suspect(
                me, claim_id, queues, tasks, runs_on=self._runner.runs_on
            ),
        )

    def _died_in_the_books(self, dead: UUID) -> None:
        self._beside.run(self._be_reborn(dead))

    def _ask_about(self, job_id: UUID) -> None:
        """Somebody says that a job was cancelled. Anybody can say so: what counts is what the database answers."""
        fences = [fence for fence in self._runner.fences(older_than=0.0) if fence[0] == job_id]
        if fences:
            self._beside.run(self._give_up_if_lost(fences))

    async def _give_up_if_lost(self, fences: list[claims.Fence]) -> None:
        with suppress(DatabaseUnavailable):  # the next heartbeat asks again
            beat = await self._claiming.perform(claims.beat(self._identity.id, fences))
            self._runner.give_up(beat.lost)

    def _failed_beside(self, error: BaseException) -> None:
        events.error("worker:failed", exc_info=error)
        self.stop()

    async def _be_reborn(self, dead: UUID) -> None:
        """Another process found us silent: our jobs are others' now, and so we start again under a new name."""
        async with self._rebirth:
            if self._identity.id != dead or self._stopping.is_set():
                return
            events.error("worker:declared_dead", extra=self._about())
            self._runner.give_up_all()
            if self._heartbeat is not None:
                await in_own_thread(self._heartbeat.stop)
            self._identity = self._identity.reborn()
            await self._register()
            self._wishes.forget()
            self._wake()

    async def _tidy_lanes(self) -> None:
        """Give back what was claimed ahead and does not get its turn: others may be idle."""
        while True:
            await asyncio.sleep(STALE_SECONDS / 2)
            self._runner.give_back_stale(STALE_SECONDS)

    def _give_back_late(self, jobs: list[ClaimedJob]) -> None:
        self._runner.give_back(self._lanes[0], jobs, "released: its claim came late")

    def _wake(self, queue: str | None = None) -> None:
        self._look_at_gates()
        self._wake_lanes(queue)

    def _look_at_gates(self) -> None:
        if any(has_gates(task.settings.options) for task in self._app.tasks.values()):
            self._sweeper.wake()

    def _wake_lanes(self, queue: str | None = None) -> None:
        for lane in self._lanes:
            if queue is None or lane.queue == queue:
                lane.wake()
        self._suspects.wake()
