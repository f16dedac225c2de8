"""The measurements: each makes a fresh database, starts children, and returns what was seen from outside."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.children import Child, children
from benchmarks.server import Server
from benchmarks.systems import RAW, Observer, System

POLL = 0.01  # seconds between two looks of the observer
LONGEST_DRAIN = 900  # seconds
# Sixteen connections as four processes of four threads, so that no interpreter's lock is what is measured.
ENQUEUERS = 4
THREADS = 4
PAUSE = 25  # milliseconds between two single enqueues

Sample = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Sizes:
    """How many jobs each case takes."""

    drain: int = 50_000
    slow: int = 3_000
    one: int = 5_000
    seconds_of_16: float = 2.0
    backlog_of_16: int = 60_000  # more than a worker drains in that time
    latency: int = 200
    finished: int = 1_000_000
    pinned: int = 200_000
    mixed: int = 20_000
    mixed_runs: int = 10
    memory: int = 1_000_000
    fair: int = 100_000
    late: int = 40

    @classmethod
    def scaled(cls, drain: int) -> "Sizes":
        """Return sizes in the same proportions around another drain, for trying the harness out."""
        full = cls()
        share = drain / full.drain
        return cls(
            drain=drain,
            slow=min(full.slow, drain),
            one=max(100, int(full.one * share)),
            seconds_of_16=max(0.3, full.seconds_of_16 * share),
            backlog_of_16=max(1000, int(full.backlog_of_16 * share)),
            latency=max(20, min(full.latency, int(full.latency * share))),
            finished=max(1000, int(full.finished * share)),
            pinned=max(1000, int(full.pinned * share)),
            mixed=max(1000, int(full.mixed * share)),
            memory=max(1000, int(full.memory * share)),
            fair=max(1000, int(full.fair * share)),
            late=max(5, min(full.late, int(full.late * share))),
        )

    def for_drain_of(self, system: System) -> int:
        """Return fewer jobs for a peer that would take minutes."""
        return self.slow if system.is_slow else self.drain


class NeverFinished(Exception):
    """A drain did not end in time, or ended with jobs left over."""


class Watch:
    """The outside observer: asks the database, never the worker."""

    def __init__(self, server: Server, database: str, observer: Observer) -> None:
        self._connection = server.connect(database)
        # On a table whose rows are nearly all done a sequential scan would be a load of its own.
        self._connection.execute("set enable_seqscan = off")
        self._connection.execute("set enable_bitmapscan = off")
        self._observer = observer

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def newest(self) -> object:
        """Return the id of the job that will be done about last."""
        return self._ask(self._observer.newest)

    def wait_until_done(
        self, newest: object, workers: list[Child], every_second: Callable[[], None] | None
    ) -> None:
        """Look every 10 ms, at one row until that is done, then at all."""
        started = time.monotonic()
        seconds_seen = 0
        newest_is_done = False
        while True:
            newest_is_done = newest_is_done or bool(self._ask(self._observer.newest_is_done, newest))
            if newest_is_done and self._ask(self._observer.all_are_done):
                return
            elapsed = time.monotonic() - started
            if elapsed > LONGEST_DRAIN or not all(worker.is_alive() for worker in workers):
                raise NeverFinished(f"after {elapsed:.0f} s {self.unfinished()} jobs are unfinished")
            if every_second is not None and elapsed >= seconds_seen:
                seconds_seen += 1
                every_second()
            time.sleep(POLL)

    def unfinished(self) -> int:
        """Count, after the clock has stopped, what should be nothing."""
        return int(self._ask(self._observer.unfinished))

    def _ask(self, question: Any, *answers: object) -> Any:
        row = self._connection.execute(question, answers).fetchone()
        return None if row is None else row[0]


@contextlib.contextmanager
def watching(server: Server, database: str, system: System) -> Iterator[Watch]:
    """Connect an observer for as long as it is needed."""
    watch = Watch(server, database, system.observer)
    try:
        yield watch
    finally:
        watch.close()


@contextlib.contextmanager
def fresh_database(server: Server, system: System) -> Iterator[str]:
    """Make a database with the system's schema in it."""
    with server.database() as database:
        with children(system.command(), server.url(database)) as [installer]:
            installer.do("install")
        yield database


@contextlib.contextmanager
def warm_workers(
    server: Server, database: str, system: System, count: int, setting: str = ""
) -> Iterator[list[Child]]:
    """Start worker processes and have each work off a warm-up job; they wait for `go`."""
    with children(system.command(setting or None), server.url(database), count) as workers:
        for worker in workers:
            worker.do("warm")
        yield workers


def release(workers: list[Child]) -> None:
    """Let all workers go together."""
    for worker in workers:
        worker.say("go")


def cpu_seconds(workers: list[Child]) -> float:
    """Add up the CPU seconds of the worker processes."""
    return sum(float(worker.do("cpu")) for worker in workers)


def drain_in(
    server: Server,
    database: str,
    system: System,
    *,
    jobs: int,
    workers: int = 1,
    with_memory: bool = False,
    setting: str = "",
) -> Sample:
    """Load the jobs while the warm workers wait, release them, and time it until the last commit is seen."""
    memory: list[float] = []
    with (
        warm_workers(server, database, system, workers, setting) as crew,
        children(system.command(), server.url(database)) as [client],
        watching(server, database, system) as watch,
    ):
        fill_seconds = client.do("fill", jobs=jobs)
        newest = watch.newest()
        server.settle()
        cpu_before = cpu_seconds(crew)
        started = time.perf_counter()
        release(crew)
        watch.wait_until_done(
            newest, crew, (lambda: memory.append(crew[0].memory())) if with_memory else None
        )
        seconds = time.perf_counter() - started
        for worker in crew:
            worker.answer()
        cpu = cpu_seconds(crew) - cpu_before
        if (left := watch.unfinished()) > 0:
            raise NeverFinished(f"{left} jobs of {system.title} are unfinished after the drain")
    sample: Sample = {
        "jobs": jobs,
        "seconds": seconds,
        "workers": workers,
        "fill_seconds": fill_seconds,
        "client_cpu_seconds": cpu,
    }
    return sample | ({"rss_mb": memory} if with_memory else {})


def drain(server: Server, system: System, sizes: Sizes, workers: int) -> Sample:
    """Drain a fresh database with one or two worker processes."""
    with fresh_database(server, system) as database:
        return drain_in(server, database, system, jobs=sizes.for_drain_of(system), workers=workers)


def enqueue_many(server: Server, system: System, sizes: Sizes) -> Sample:
    """Enqueue in batches of 1,000 on one connection, with no worker attached."""
    jobs = sizes.for_drain_of(system)
    with (
        fresh_database(server, system) as database,
        children(system.command(), server.url(database)) as [client],
    ):
        client.do("fill", jobs=1000)
        server.settle()
        return {"jobs": jobs, "seconds": client.do("fill", jobs=jobs)}


def enqueue_one(server: Server, system: System, sizes: Sizes) -> Sample:
    """Enqueue one by one on one connection, with no worker attached."""
    with (
        fresh_database(server, system) as database,
        children(system.command(), server.url(database)) as [client],
    ):
        client.do("enqueue_one_by_one", jobs=20)
        server.settle()
        jobs = min(sizes.one, sizes.slow) if system.is_slow else sizes.one
        return {"jobs": jobs, "seconds": client.do("enqueue_one_by_one", jobs=jobs)}


def enqueue_16(server: Server, system: System, sizes: Sizes, worker_is: str, waking: str) -> Sample:
    """Enqueue one by one on sixteen connections with a worker attached.

    `draining`: it works through a backlog all the while, the same with and without waking.
    `following`: its queue is empty but for what arrives; without waking it sleeps, so that pair also measures its work.
    `idle`: it serves another queue.
    """
    setting = "elsewhere" if worker_is == "idle" else ""
    with (
        fresh_database(server, system) as database,
        warm_workers(server, database, system, 1, setting) as crew,
        children(system.command(waking), server.url(database), ENQUEUERS) as enqueuers,
        watching(server, database, system) as watch,
    ):
        for enqueuer in enqueuers:
            enqueuer.do("open_threads", threads=THREADS)
        if worker_is == "draining":
            enqueuers[0].do("fill", jobs=sizes.backlog_of_16)
        server.settle()
        release(crew)
        crew[0].answer()
        started = time.perf_counter()
        for enqueuer in enqueuers:
            enqueuer.say("enqueue_in_threads", seconds=sizes.seconds_of_16)
        jobs = sum(int(enqueuer.answer()) for enqueuer in enqueuers)
        seconds = time.perf_counter() - started
        variant = f"{worker_is}, {waking}"
        return {
            "jobs": jobs,
            "seconds": seconds,
            "variant": variant,
            "unfinished_at_the_end": watch.unfinished(),
        }


def latency(server: Server, system: System, sizes: Sizes) -> Sample:
    """Enqueue single jobs 25 ms apart on an idle system; from before the call to the start of the job."""
    with (
        fresh_database(server, system) as database,
        warm_workers(server, database, system, 1) as crew,
        children(system.command("waking" if system is RAW else None), server.url(database)) as [client],
    ):
        release(crew)
        crew[0].answer()
        client.do("enqueue_apart", jobs=10, milliseconds=PAUSE)
        warm_ups = len(_wait_for_starts(crew[0], 10))
        before = client.do("enqueue_apart", jobs=sizes.latency, milliseconds=PAUSE)
        started = dict(_wait_for_starts(crew[0], warm_ups + sizes.latency)[warm_ups:])
        return {
            "jobs": sizes.latency,
            "latencies_ms": [round((started[number] - moment) / 1e6, 3) for number, moment in before],
        }


def _wait_for_starts(worker: Child, count: int, pause: float = 0.1) -> list[tuple[int, int]]:
    deadline = time.monotonic() + 60
    while len(starts := worker.do("started")) < count:
        if time.monotonic() > deadline:
            raise NeverFinished(f"{len(starts)} of {count} jobs started")
        time.sleep(pause)
    return [(number, moment) for number, moment in starts]


def drain_with_finished(server: Server, system: System, sizes: Sizes, template: str | None) -> Sample:
    """Drain an empty table, or one that holds a million finished jobs."""
    if template is None:
        with fresh_database(server, system) as database:
            return drain_in(server, database, system, jobs=sizes.drain) | {"variant": "empty"}
    with server.database(template) as database:
        return drain_in(server, database, system, jobs=sizes.drain) | {
            "variant": "finished",
            "finished": sizes.finished,
        }


@contextlib.contextmanager
def database_with_finished(server: Server, system: System, sizes: Sizes) -> Iterator[str]:
    """Make the database that the drains among finished jobs are copied from."""
    with fresh_database(server, system) as database:
        with children(system.command(), server.url(database)) as [client]:
            client.do("insert_finished", jobs=sizes.finished)
        yield database


def drain_pinned(server: Server, system: System, sizes: Sizes, is_pinned: bool) -> Sample:
    """Drain while a REPEATABLE READ transaction from before the first job is held open, or without one."""
    with (
        fresh_database(server, system) as database,
        server.connect(database) as pin,
        server.connect(database) as asking,
    ):
        pin.autocommit = False
        if is_pinned:
            pin.execute("set transaction isolation level repeatable read")
            pin.execute("select count(*) from holdfast.job")
        sample = drain_in(server, database, system, jobs=sizes.pinned)
        if not is_pinned:
            return sample | {"variant": "free"}
        return sample | {"variant": "pinned", "dead_rows": _dead_rows(asking, sizes.pinned)}


def _dead_rows(asking: Any, expected: int) -> int:
    """Ask until the statistics, which backends report with a delay, have arrived."""
    deadline = time.monotonic() + 15
    while True:
        row = asking.execute(
            "select n_dead_tup from pg_stat_user_tables where relid = 'holdfast.job'::regclass"
        ).fetchone()
        dead = int(row[0])
        if dead >= expected or time.monotonic() > deadline:
            return dead
        time.sleep(0.5)


def drain_projected(server: Server, system: System, sizes: Sizes, is_projected: bool) -> Sample:
    """Drain while the worker also projects, as it does by default, or without."""
    variant = "projected" if is_projected else "unprojected"
    with fresh_database(server, system) as database:
        setting = "" if is_projected else variant
        return drain_in(server, database, system, jobs=sizes.drain, setting=setting) | {"variant": variant}


def mixed(server: Server, system: System, sizes: Sizes) -> Sample:
    """Enqueue and drain at the same time, the worker having begun on an empty table."""
    with (
        fresh_database(server, system) as database,
        warm_workers(server, database, system, 1) as crew,
        children(system.command(), server.url(database)) as [client],
        watching(server, database, system) as watch,
    ):
        server.settle()
        release(crew)
        crew[0].answer()
        started = time.perf_counter()
        fill_seconds = client.do("fill", jobs=sizes.mixed)
        watch.wait_until_done(watch.newest(), crew, None)
        seconds = time.perf_counter() - started
        return {"jobs": sizes.mixed, "seconds": seconds, "fill_seconds": fill_seconds}


def memory(server: Server, system: System, sizes: Sizes) -> Sample:
    """Drain a million jobs and note the worker's resident memory every second."""
    with fresh_database(server, system) as database:
        return drain_in(server, database, system, jobs=sizes.memory, with_memory=True)


def fairness(server: Server, system: System, sizes: Sizes, tenants: int) -> Sample:
    """Drain a backlog of that many tenants while another tenant enqueues single jobs; 0: nobody has a tenant, nobody is late."""
    with (
        fresh_database(server, system) as database,
        warm_workers(server, database, system, 1) as crew,
        children(system.command(), server.url(database)) as [client],
        watching(server, database, system) as watch,
    ):
        client.do("fill_tenants", jobs=sizes.fair, tenants=tenants)
        newest = watch.newest()
        server.settle()
        started = time.perf_counter()
        release(crew)
        crew[0].answer()
        late = [_wait_of_one(client, crew[0], number) for number in range(sizes.late if tenants else 0)]
        behind = watch.unfinished()
        watch.wait_until_done(newest, crew, None)
        seconds = time.perf_counter() - started
        sample: Sample = {"jobs": sizes.fair, "seconds": seconds, "variant": f"{tenants} tenants"}
        return sample | ({"late_ms": late, "unfinished_after_the_last": behind} if late else {})


def _wait_of_one(client: Child, worker: Child, number: int) -> float:
    """Enqueue one job of the late tenant; return the milliseconds until it starts."""
    moment = int(client.do("enqueue_late", number=number))
    started = dict(_wait_for_starts(worker, number + 1, pause=0.01))
    return round((started[number] - moment) / 1e6, 3)
