"""What is struck: a server, workers and customers, each behind a proxy of its own, and the files in which they write down what they did."""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg

from chaos.app import KEEP_REMOVED, POLL_SECONDS, SCHEMA
from chaos.cluster import PATIENCE, Cluster, make_cluster
from chaos.without import Without
from guarantees.proxy import Proxy, proxied
from guarantees.waiting import until
from guarantees.workers import TESTS, Launcher, WorkerProcess
from holdfast.embedded.account import ROOT
from holdfast.embedded.throwaway import RAM_DISK, place_on_disk
from holdfast.runtime.alerts import OWN_QUEUE
from holdfast.store import databases
from holdfast.store.connection import Database
from holdfast.store.ids import new_id
from holdfast.store.migrate import migrate

PREFIX = "holdfast-chaos-"
DISK = 8 << 30  # in memory, and only as much of it as is used
DATABASE = "chaos"
ALL_GUARDS = Without()
ANSWERS_WITHIN = 30.0
STANDSTILL = 120.0
DRAIN_TIMEOUT = 5.0
# What strikes set of the applications' sessions, and whoever was to let it go did not.
LEFT_SET = "select setconfig::text from pg_db_role_setting where setrole = 'chaos_app'::regrole and setconfig::text like '%timeout%'"


@dataclass(frozen=True)
class Plan:
    """How large a world is."""

    seed: int
    rate: float
    workers: int = 3
    lease: float = 3.0
    at_once: int = 1  # how many workers, or operations, one strike hits
    operations: Sequence[str] = ()  # what is cut; everything that can be unless told
    subjects: float = 1.0  # the share of jobs whose events somebody follows
    retention: float | None = None
    spared: int = 0  # workers whom no strike ends: what they gather, they keep
    postgres: int | None = (
        None  # the server's version; otherwise the first that is found, which is the wheel's
    )

    standstill: float = STANDSTILL  # so long may nothing end when the load has stopped

    @property
    def concurrency(self) -> int:
        """How many jobs a worker runs at once: some take seconds, so that more have to run where more come in."""
        return max(10, math.ceil(self.rate * 0.3 / self.workers))


@dataclass
class Seat:
    """A worker's place: its proxy stays, the process in it may change."""

    proxy: Proxy
    worker: WorkerProcess
    queues: dict[str, int] | None = None  # which it serves; all of them unless told


@dataclass
class World:
    """Everything that strikes may touch."""

    plan: Plan
    folder: Path
    place: Path  # where servers live; a small disk of their own where that can be had
    has_own_disk: bool
    cluster: Cluster  # the primary
    stack: ExitStack
    login: str  # the applications' address, without host and port
    source: Path | None = None  # what workers and customers run where it is not the source as it is
    has_all_guards: bool = True
    seats: list[Seat] = field(default_factory=list)
    guests: int = 0
    clusters: list[Cluster] = field(default_factory=list)  # with those that follow, or followed, it
    customers: "subprocess.Popen[str] | None" = None
    customers_proxy: Proxy | None = None
    url: str = ""
    proxies: list[Proxy] = field(default_factory=list)  # of workers and customers
    _launchers: dict[str, Launcher] = field(default_factory=dict)
    _owner: psycopg.Connection[Any] | None = None

    # -- the database ----------------------------------------------------------------------------------------------------

    @property
    def owner_url(self) -> str:
        return databases.url_of(self.cluster.url, dbname=DATABASE)

    @property
    def owner(self) -> psycopg.Connection[Any]:
        """A connection of the schema's owner, past all proxies; made anew when the last was lost."""
        if self._owner is None or self._owner.closed or self._owner.broken:
            self._owner = psycopg.connect(self.owner_url, autocommit=True, connect_timeout=5)
        return self._owner

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self._asked(query, *parameters).fetchall()

    def execute(self, statement: str) -> None:
        """Have something done that may be done twice."""
        self._asked(statement)

    def _asked(self, query: str, *parameters: Any) -> psycopg.Cursor[Any]:
        for _ in range(5):
            with suppress(psycopg.OperationalError):
                return self.owner.execute(query.encode(), parameters or None)
            if self._owner is not None:
                self._owner.close()
            time.sleep(0.2)
        return self.owner.execute(query.encode(), parameters or None)

    def value(self, query: str, *parameters: Any) -> Any:
        return self.rows(query, *parameters)[0][0]

    def address(self) -> str:
        """Where applications would connect to without a proxy."""
        return databases.url_of(self.login, host="127.0.0.1", port=str(self.cluster.port))

    def proxy(self) -> Proxy:
        made = self.stack.enter_context(proxied(self.address()))
        self.proxies.append(made)
        return made

    def move_to(self, cluster: Cluster) -> None:
        """Lead everybody's new connections to another server; connections there are stay where they lead."""
        self.cluster = cluster
        if self._owner is not None:
            self._owner.close()
        for proxy in self.proxies:
            proxy.aim_at(self.address())

    def add_standby(self) -> Cluster:
        """Start a copy of the primary that follows it; it ends with the run, if not before."""
        made = self.cluster.standby(self.place / f"server-{time.monotonic_ns()}")
        self.clusters.append(made)
        made.start()
        return made

    def remove(self, cluster: Cluster) -> None:
        cluster.remove()
        self.clusters.remove(cluster)

    @property
    def turned_away(self) -> int:
        """How often workers and customers were told that the server has no connection left."""
        return sum(proxy.turned_away for proxy in self.proxies)

    def remove_clusters(self) -> None:
        """End whoever is the primary by now, and whoever followed it."""
        for cluster in self.clusters:
            cluster.remove()

    def resize_disk(self, size: int) -> None:
        """Give the servers' disk another size, at once: one that is not larger than what is on it is full."""
        command = ["mount", "-o", f"remount,size={size}", str(self.place)]
        subprocess.run(command, check=True, capture_output=True)

    # -- workers ---------------------------------------------------------------------------------------------------------

    def launcher(
        self, name: str = "", environment: dict[str, str] | None = None, source: Path | None = None
    ) -> Launcher:
        """Give the parent of workers of a kind, made when first asked for."""
        if name not in self._launchers:
            about = {"CHAOS_FOLDER": str(self.folder), "CHAOS_URL": self.url, **(environment or {})}
            if self.plan.retention is not None:
                about["CHAOS_RETENTION"] = str(self.plan.retention)
            self._launchers[name] = made = Launcher("chaos.app", about, source or self.source)
            self.stack.callback(made.close)
        return self._launchers[name]

    def start_worker(
        self,
        url: str,
        launcher: Launcher | None = None,
        environment: dict[str, str] | None = None,
        queues: dict[str, int] | None = None,
    ) -> WorkerProcess:
        self.guests += 1
        worker = WorkerProcess(
            launcher or self.launcher(),
            self.folder,
            self.guests,
            {
                "lease": self.plan.lease,
                "poll": POLL_SECONDS,
                "concurrency": self.plan.concurrency,
                "drain_timeout": DRAIN_TIMEOUT,
                "processes": 1,
                "queues": queues,
            },
            {"HOLDFAST_DATABASE_URL": url, **(environment or {})},
        )
        self.stack.callback(worker.clean_up)
        return worker

    def seat(self) -> None:
        """Add one more worker."""
        # Who is spared serves everything but pills, which end whoever takes one.
        queues = (
            {"default": self.plan.concurrency, OWN_QUEUE: 1} if len(self.seats) < self.plan.spared else None
        )
        proxy = self.proxy()
        self.seats.append(Seat(proxy, self.start_worker(proxy.url, queues=queues), queues))

    @property
    def unlucky(self) -> list[Seat]:
        """Those whom a strike may choose."""
        return self.seats[self.plan.spared :]

    def replace(self, seat: Seat) -> None:
        """Put a new worker where one has died."""
        seat.worker = self.start_worker(seat.proxy.url, queues=seat.queues)

    def heal(self) -> list[str]:
        """See that all is as it should be between two strikes; what had to be mended is told."""
        return [*self._heal_server(), *self._heal_settings(), *self._thaw_workers(), *self.replace_ended()]

    def _heal_server(self) -> Iterator[str]:
        if not self._answers():
            self.cluster.thaw()
            self.cluster.start()
            yield "PostgreSQL had to be started"

    def _answers(self) -> bool:
        """Whether the server is there; one that is busy is asked again."""
        deadline = time.monotonic() + ANSWERS_WITHIN
        while self.cluster.lives and time.monotonic() < deadline:
            if self.cluster.answers():
                return True
        return False

    def _heal_settings(self) -> Iterator[str]:
        for (setting,) in self.rows(LEFT_SET):
            self.execute(f"alter role chaos_app in database {DATABASE} reset statement_timeout")
            yield f"a setting was left: {setting}"
        if self.value("show synchronous_standby_names"):
            self.cluster.wait_for_no_standby()
            yield "commits waited for a standby"

    def _thaw_workers(self) -> Iterator[str]:
        for seat in self.seats:
            with suppress(psutil.NoSuchProcess):
                if seat.worker.lives and seat.worker.is_frozen:
                    seat.worker.thaw()
                    yield f"worker {seat.worker.pid} was left frozen"

    def replace_ended(self) -> list[str]:
        """Put new workers where some have ended, and tell which."""
        ended = [seat for seat in self.seats if not seat.worker.lives]
        told = [f"worker {seat.worker.pid} had ended" for seat in ended]
        for seat in ended:
            self.replace(seat)
        return told

    # -- customers -------------------------------------------------------------------------------------------------------

    def start_customers(self) -> None:
        self.customers_proxy = self.proxy()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HOLDFAST_", "DATABASE_URL", "PG"))}
        root = TESTS.parent
        environment = {
            **kept,
            "PYTHONPATH": os.pathsep.join(map(str, filter(None, (self.source, TESTS, root)))),
            "CHAOS_FOLDER": str(self.folder),
            "HOLDFAST_DATABASE_URL": self.customers_proxy.url,
        }
        if self.plan.retention is not None:
            environment["CHAOS_RETENTION"] = str(self.plan.retention)
        arguments = [str(self.plan.seed), str(self.plan.rate), str(self.plan.subjects)]
        log = self.stack.enter_context((self.folder / "customers.log").open("wb"))
        self.customers = subprocess.Popen(
            [sys.executable, "-m", "chaos.customers", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
        )
        self.stack.callback(self._end_customers)
        assert self.customers.stdout is not None
        self.url = self.customers.stdout.readline().strip()
        assert self.url, (self.folder / "customers.log").read_text()

    def tell_customers(self, word: str) -> None:
        assert self.customers is not None
        assert self.customers.stdin is not None
        self.customers.stdin.write(word + "\n")
        self.customers.stdin.flush()

    def end_customers(self, within: float) -> None:
        """Let them read to the end, and leave."""
        assert self.customers is not None
        self.tell_customers("end")
        self.customers.wait(within)

    def _end_customers(self) -> None:
        if self.customers is not None and self.customers.poll() is None:
            self.customers.kill()
            self.customers.wait()

    # -- what is there ---------------------------------------------------------------------------------------------------

    def enqueue(self, task: str, payload: dict[str, float]) -> str:
        """Enqueue a job of the nemesis, which no customer has asked for; once, however often it has to be asked for."""
        return str(
            self.value(
                "select holdfast.enqueue(%s, %s::jsonb, p_label => 'nemesis', p_id => %s)",
                task,
                json.dumps(payload),
                new_id(),
            )
        )

    def attempts_in(self, worker: WorkerProcess) -> dict[str, int]:
        """Give the jobs that the books say run in a worker, with their attempts."""
        return dict(
            self.rows(
                "select j.id::text, j.attempt from holdfast.job j join holdfast.worker w on w.id = j.holder"
                " where w.pid = %s and w.stopped_at is null and j.status = 'RUNNING'",
                worker.pid,
            )
        )

    def identity(self, worker: WorkerProcess) -> Any:
        """Say who a process is in the books now: one that was declared dead goes on under a new name."""
        return self.value(
            "select id from holdfast.worker where pid = %s order by died_at is not null, started_at desc limit 1",
            worker.pid,
        )

    def memory(self) -> list[int]:
        """The resident memory, in bytes, of workers that live as long as the run, or of all where none is spared."""
        found = []
        for seat in self.seats[: self.plan.spared] or self.seats:
            with suppress(psutil.NoSuchProcess):
                found.append(int(psutil.Process(seat.worker.pid).memory_info().rss))
        return found


@contextmanager
def made_world(plan: Plan, folder: Path, without: Without = ALL_GUARDS) -> Iterator[World]:
    """Make everything, and remove it afterwards, whatever became of it."""
    remove_left_overs()
    with ExitStack() as stack:
        place, has_own_disk = _place(stack)
        cluster = make_cluster(place, folder / "first.log", plan.postgres)
        stack.callback(cluster.remove)
        source = without.patched_source(folder / "sabotaged")
        login = _prepare(cluster, without, source)
        world = World(
            plan, folder, place, has_own_disk, cluster, stack, login, source, has_all_guards=not without.files
        )
        world.clusters.append(cluster)
        # After all that use them: by then somebody else may be the primary.
        stack.callback(world.remove_clusters)
        world.start_customers()
        for _ in range(plan.workers):
            world.seat()
        for seat in world.seats:
            seat.worker.until_ready(PATIENCE)
        yield world
        if world._owner is not None:
            world._owner.close()


def _prepare(cluster: Cluster, without: Without, source: Path | None) -> str:
    """Make the database as an application finds it, but for the guards that were taken out of it."""
    owner_url = databases.create_database(cluster.url, DATABASE)
    migrate(Database(owner_url, "chaos"))
    login = databases.create_login(owner_url, "chaos_app", "chaos")
    databases.create_schema(owner_url, "chaos", login)
    with psycopg.connect(login) as connection:
        connection.execute(SCHEMA)
    with psycopg.connect(owner_url) as connection:
        connection.execute(KEEP_REMOVED)
    without.apply_to(owner_url, source)
    return login


def _place(stack: ExitStack) -> tuple[Path, bool]:
    """Make the folder for servers: a disk of its own, which can be full, where the system lets us."""
    parent = RAM_DISK if RAM_DISK.exists() else place_on_disk()
    place = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent)).resolve()
    stack.callback(shutil.rmtree, place, ignore_errors=True)
    if os.geteuid() != ROOT or _mount(place):
        return place, False
    stack.callback(_unmount, place)
    return place, True


def _mount(place: Path) -> bool:
    """Mount a small disk in memory; True when that failed."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0700", "none", str(place)]
    return subprocess.run(command, check=False, capture_output=True).returncode != 0


def _unmount(place: Path) -> None:
    subprocess.run(["umount", "-l", str(place)], check=False, capture_output=True)


def remove_left_overs() -> None:
    """End and remove what runs that were killed have left behind."""
    for parent in {RAM_DISK, place_on_disk()}:
        for place in parent.glob(f"{PREFIX}*-*") if parent.exists() else ():
            pid = place.name.removeprefix(PREFIX).partition("-")[0]
            if pid.isdigit() and not psutil.pid_exists(int(pid)) and place.owner() == _me():
                for process in psutil.process_iter(["cmdline"]):
                    if any(part.startswith(f"{place}/") for part in process.info["cmdline"] or ()):
                        process.kill()
                _unmount(place)
                shutil.rmtree(place, ignore_errors=True)


def _me() -> str:
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def until_world(what: str, look: Any, within: float = PATIENCE) -> Any:
    """Wait for something that asks the database, which may be away meanwhile."""

    def patiently() -> Any:
        try:
            return look()
        except psycopg.Error:
            return None

    return until(what, patiently, within)
