"""Strikes on workers: killed, frozen, blocked, poisoned, drained, with a wrong clock, of another release, behind a pooler."""

import random
import signal
import time
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import ClassVar

from chaos.strikes.strike import ALONE, BUSY_WITHIN, PATIENCE, Landed, Strike, bring_work, until_busy, wait
from chaos.world import DRAIN_TIMEOUT, Seat, World, until_world
from guarantees.workers import WorkerProcess
from world import pooler
from world.previous import previous_commit, previous_source

FAKETIME = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib*/faketime/libfaketimeMT.so.1")
NOBODY = "there is no worker that may be struck"


class KillWorker(Strike):
    """kill -9, as a machine that loses its power; landed when a job ran in it."""

    name = "kill_worker"
    weight: ClassVar[int] = 6

    def missing(self, world: World) -> str | None:
        return _too_few(world, 1)

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        killed: list[tuple[Seat, float, dict[str, int]]] = []
        wait(chance.uniform(0.0, 0.5))
        try:
            for _ in range(min(world.plan.at_once, len(world.unlucky))):
                seat, held = _caught(world, chance, besides=[one for one, _, _ in killed])
                killed.append((seat, time.time(), held))
                seat.worker.kill()
        finally:
            for seat, _, _ in killed:
                world.replace(seat)
        for _, at, held in killed:
            yield Landed(len(held), f"it held {len(held)} jobs", list(held), at)


class FreezeWorker(Strike):
    """SIGSTOP for longer than its lease, then SIGCONT: a zombie; landed when its jobs were another's by then.

    With its processes, as a host that stops, or without them: then a suspect in one runs on.
    """

    name = "freeze_worker"
    weight: ClassVar[int] = 4

    def missing(self, world: World) -> str | None:
        return _too_few(world, 2)

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        frozen: list[tuple[Seat, float, dict[str, int]]] = []
        # Otherwise they wake into the middle of it. Drawn first: how much chance the rest takes depends on time.
        until_lost, whole = chance.random() < 0.7, chance.random() < 0.5
        try:
            for _ in range(
                min(world.plan.at_once, len(world.unlucky), len(world.seats) - 1)
            ):  # somebody has to notice
                seat, held = _caught(world, chance, besides=[one for one, _, _ in frozen], whole=whole)
                frozen.append((seat, time.time(), held))
            self._until_dead(world, [seat for seat, _, _ in frozen])
            held = {job: attempt for _, _, jobs in frozen for job, attempt in jobs.items()}
            if until_lost:
                theirs = [jobs.keys() for _, _, jobs in frozen if jobs]
                until_world("each has lost a job to another", lambda: _gone_on(world, held, theirs))
            taken = _taken(world, held)
        finally:
            for seat, _, _ in frozen:
                seat.worker.thaw()
        wait(chance.uniform(0.2, 1.0))
        for _, at, jobs in frozen:
            lost = len(taken & jobs.keys())
            yield Landed(lost, f"{lost} of its {len(jobs)} jobs were another's when it woke", list(jobs), at)

    @staticmethod
    def _until_dead(world: World, seats: list[Seat]) -> None:
        them = [world.identity(seat.worker) for seat in seats]
        until_world(
            "the frozen workers are declared dead",
            lambda: world.value(
                "select bool_and(died_at is not null) from holdfast.worker where id = any(%s)", them
            ),
        )


def _taken(world: World, held: dict[str, int]) -> set[str]:
    """Find those that another attempt has, or has had."""
    found = world.rows("select id::text, attempt from holdfast.job where id = any(%s::uuid[])", list(held))
    return {job for job, attempt in found if attempt > held[job]}


def _gone_on(world: World, held: dict[str, int], theirs: Sequence[AbstractSet[str]]) -> bool:
    """Say whether a job of each has another attempt, or all of them have ended, as one that was cancelled meanwhile has."""
    ended = world.rows(
        "select id::text from holdfast.job where id = any(%s::uuid[]) and finished_at is not null", list(held)
    )
    over, taken = {job for (job,) in ended}, _taken(world, held)
    return all(taken & jobs or jobs <= over for jobs in theirs)


class BlockLoop(Strike):
    """A task that blocks its worker's event loop for longer than the lease; landed when it was not taken for dead."""

    name = "block_loop"

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        seconds = world.plan.lease * chance.uniform(1.1, 1.5)
        job = world.enqueue("blocks", {"seconds": seconds})
        until_world(
            "the block has ended",
            lambda: world.value("select finished_at is not null from holdfast.job where id = %s", job),
        )
        attempt = world.value("select attempt from holdfast.job where id = %s", job)
        assert attempt == 1, f"a worker whose loop was blocked for {seconds:.1f} s was taken for dead"
        yield Landed(1, f"{seconds:.1f} s")


class PoisonPill(Strike):
    """A task that kills whatever process it runs in: it must end FAILED, and nobody with it."""

    name = "poison_pill"
    quick: ClassVar[bool] = False

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        wait(chance.uniform(0.0, 0.5))
        job = world.enqueue("pill", {})

        def ended() -> bool:
            world.replace_ended()
            return bool(world.value("select finished_at is not null from holdfast.job where id = %s", job))

        until_world("the pill has ended", ended, 120)
        attempt = world.value("select attempt from holdfast.job where id = %s", job)
        yield Landed(1, f"stopped after {attempt} attempts")


class DrainWorker(Strike):
    """SIGTERM under load, as a deployment does, also of who has a job that outlasts its patience; landed when a job ran in it."""

    name = "drain_worker"

    def missing(self, world: World) -> str | None:
        return _too_few(world, 1)

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        for _ in world.seats:
            world.enqueue("plain", {"seconds": DRAIN_TIMEOUT + 1})
        seat, held = _caught(world, chance)
        at = time.time()
        try:
            seat.worker.signal(signal.SIGTERM)
            seat.worker.thaw()
            code = seat.worker.until_gone(PATIENCE)
        finally:
            seat.worker.clean_up()
            world.replace(seat)
        assert code == 0, f"a worker that was told to end did so with {code}"
        yield Landed(len(held), f"it held {len(held)} jobs", at=at, kept=list(held))


class WrongClock(Strike):
    """A worker whose clock is up to an hour off, and jumps meanwhile; landed when it ended jobs."""

    name = "wrong_clock"

    def missing(self, world: World) -> str | None:
        del world
        return None if _faketime() else "libfaketime is not installed here (apt-get install libfaketime)"

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        # A minute is little, an hour is what a broken machine has; the jumps come under its feet.
        offset, wrong = world.folder / "clock", chance.choice((-1, 1)) * chance.randrange(60, 3600)
        offset.write_text(f"{wrong:+}\n")
        environment = {
            "LD_PRELOAD": str(_faketime()),
            "FAKETIME_TIMESTAMP_FILE": str(offset),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }
        launcher = world.launcher("wrong clock", environment)
        seat = chance.choice(world.seats)
        worker = world.start_worker(seat.proxy.url, launcher).until_ready(PATIENCE)
        told = world.value(
            "select extract(epoch from clock_skew)::float8 from holdfast.worker where id = %s",
            world.identity(worker),
        )
        assert abs(told - wrong) < 30, f"its clock was to be {wrong} s off, and was {told:.0f} s off"
        for _ in range(2):
            wait(chance.uniform(1.5, 2.5))
            offset.write_text(f"{chance.choice('+-')}{chance.randrange(1, 3600)}\n")
        wait(chance.uniform(1.5, 2.5))
        yield _guest_left(world, worker)


class TwoReleases(Strike):
    """A worker of an earlier release beside those of this one, on this one's schema; landed when it ended jobs."""

    name = "two_releases"

    def missing(self, world: World) -> str | None:
        return previous_source(world.folder)[1]

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        source, _ = previous_source(world.folder)
        launcher = world.launcher("previous release", source=source)
        worker = world.start_worker(chance.choice(world.seats).proxy.url, launcher).until_ready(PATIENCE)
        wait(chance.uniform(1.5, 3.0))
        landed = _guest_left(world, worker)
        landed.said += f", of {previous_commit()}"
        yield landed


class BehindPooler(Strike):
    """A worker behind PgBouncer in transaction mode, whose sessions are nobody's own; landed when it ended jobs."""

    name = "behind_pooler"

    def missing(self, world: World) -> str | None:
        del world
        return (
            None if pooler.find_program() else "pgbouncer is not installed here (apt-get install pgbouncer)"
        )

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        with pooler.pooled(chance.choice(world.seats).proxy.url, world.folder) as url:
            worker = world.start_worker(url, environment={"HOLDFAST_PREPARED_STATEMENTS": "off"}).until_ready(
                PATIENCE
            )
            wait(chance.uniform(3.0, 5.0))
            yield _guest_left(world, worker)


def _guest_left(world: World, worker: WorkerProcess) -> Landed:
    """See a guest off, and count what it has ended."""
    worker.signal(signal.SIGTERM)
    code = worker.until_gone(PATIENCE)
    assert code == 0, f"a guest that was told to end did so with {code}"
    ended = world.value(
        "select count(*) from holdfast.job_history h join holdfast.worker w on w.name = h.actor"
        " where w.pid = %s and h.from_status = 'RUNNING'",
        worker.pid,
    )
    return Landed(int(ended), f"it ended {ended} attempts")


def _too_few(world: World, seats: int) -> str | None:
    """Say what is missing where nobody may be struck, or nobody would be left to notice."""
    return None if world.unlucky and len(world.seats) >= seats else ALONE if seats > 1 else NOBODY


def _caught(
    world: World, chance: random.Random, besides: Sequence[Seat] = (), *, whole: bool = False
) -> tuple[Seat, dict[str, int]]:
    """Freeze a worker in which a job runs: what it holds is known then, and not guessed."""
    deadline = time.monotonic() + BUSY_WITHIN
    has_missed = False
    while True:
        seat = _busy(world, chance, besides)
        try:
            seat.worker.freeze(whole=whole)
            held = world.attempts_in(seat.worker)
        except BaseException:
            seat.worker.thaw()
            raise
        if held or time.monotonic() > deadline:
            return seat, held
        seat.worker.thaw()  # its job had ended meanwhile
        if not has_missed:
            bring_work(world)
        has_missed = True


def _busy(world: World, chance: random.Random, besides: Sequence[Seat] = ()) -> Seat:
    """Pick a worker in which a job runs."""
    others = [seat for seat in world.unlucky if seat not in besides]

    def at_work() -> Seat | None:
        shuffled = chance.sample(others, len(others))
        return next((seat for seat in shuffled if world.attempts_in(seat.worker)), None)

    found: Seat | None = until_busy(world, at_work)
    return found or others[0]


def _faketime() -> Path | None:
    for pattern in FAKETIME:
        for found in Path("/").glob(pattern.lstrip("/")):
            return found
    return None
