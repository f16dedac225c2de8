"""A stage for the guarantee tests: a database, workers in processes of their own, a ledger, a way to let jobs go on."""

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from guarantees.audit import broken_rules
from guarantees.past import Past
from guarantees.proxy import Proxy, proxied
from guarantees.waiting import PATIENCE, until
from guarantees.workers import Launcher, WorkerProcess
from holdfast import Holdfast
from holdfast.testing import ScratchDatabase, TestServer
from sql.support import machine_on

Row = dict[str, Any]

# Nobody takes a slow worker for a dead one. Where a lease has to end, the clock is moved.
LONG_LEASE = 600.0
# What a test is not about costs a worker that lives for seconds half of its time; chaos has all of it at once.
ALONE: Row = {"projector": False, "upkeep": False}


class Stage:
    """Everything a guarantee test handles."""

    def __init__(self, launcher: Launcher, database: ScratchDatabase, folder: Path) -> None:
        self._launcher = launcher
        self.database = database
        self.folder = folder
        self.workers: list[WorkerProcess] = []
        self._owner: psycopg.Connection[Any] | None = None

    # -- workers -------------------------------------------------------------------------------------------------------

    def start_worker(
        self, *, url: str | None = None, env: dict[str, str] | None = None, **options: Any
    ) -> WorkerProcess:
        """Start a worker; not waited for."""
        environment = {"HOLDFAST_DATABASE_URL": url or self.database.url, **(env or {})}
        worker = WorkerProcess(
            self._launcher, self.folder, len(self.workers), {**ALONE, **options}, environment
        )
        self.workers.append(worker)
        return worker

    def worker(self, **options: Any) -> WorkerProcess:
        """Start a worker and wait until it works."""
        return self.start_worker(**options).until_ready()

    def kill_at(self, point: str, *, env: dict[str, str] | None = None, **options: Any) -> None:
        """Start a worker, and see it killed when it comes to this point; an AssertionError when it never does."""
        armed = {"HOLDFAST_TESTING": "1", "HOLDFAST_CRASH_AT": point, **(env or {})}
        worker = self.start_worker(env=armed, **{"lease": LONG_LEASE, **options})
        assert worker.until_gone() == -signal.SIGKILL

    def worker_after_kills(self, **options: Any) -> WorkerProcess:
        """Let the leases of the killed end, and start a worker that takes over what they held."""
        self.database.clock.advance(LONG_LEASE + 1)
        return self.worker(lease=LONG_LEASE, **options)

    # -- jobs ----------------------------------------------------------------------------------------------------------

    @property
    def owner(self) -> psycopg.Connection[Any]:
        """A connection of the schema's owner, made anew when the last one was lost."""
        if self._owner is None or self._owner.closed:
            self._owner = psycopg.connect(self.database.owner_url, autocommit=True)
        return self._owner

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        try:
            return self.owner.execute(query, parameters).fetchall()
        except psycopg.OperationalError:  # the server was restarted under it
            return self.owner.execute(query, parameters).fetchall()

    def listening(self) -> list[int]:
        """Give the sessions in which workers listen: one has them until it claims no more."""
        found = self.rows(
            "select pid from pg_stat_activity where datname = current_database() and application_name = 'holdfast listen'"
        )
        return [pid for (pid,) in found]

    def value(self, query: str, *parameters: Any) -> Any:
        return self.rows(query, *parameters)[0][0]

    def job(self, job_id: UUID) -> Row:
        cursor = self.owner.execute("select * from holdfast.job where id = %s", (job_id,))
        assert cursor.description is not None
        found = cursor.fetchone()
        assert found is not None, f"job {job_id} is lost"
        return dict(zip([column.name for column in cursor.description], found, strict=True))

    def names(self, worker: WorkerProcess) -> list[str]:
        """The identities that a worker process has had, oldest first."""
        return [
            name
            for (name,) in self.rows(
                "select name from holdfast.worker where pid = %s order by started_at", worker.pid
            )
        ]

    def status(self, job_id: UUID) -> str:
        return str(self.job(job_id)["status"])

    def until_status(self, job_id: UUID, *wanted: str, within: float = PATIENCE) -> Row:
        """Wait until the job is where it is wanted."""
        until(lambda: f"job {job_id} is {wanted}\n{self.told}", lambda: self.status(job_id) in wanted, within)
        return self.job(job_id)

    def counts(self) -> dict[str, int]:
        return dict(self.rows("select status::text, count(*) from holdfast.job group by 1"))

    def until_counts(self, within: float = PATIENCE, **wanted: int) -> None:
        until(
            lambda: f"jobs are {wanted}, not {self.counts()}\n{self.told}",
            lambda: self.counts() == wanted,
            within,
        )

    def until_done(self, least: int) -> None:
        """Wait until at least so many jobs are COMPLETED."""
        until(lambda: f"{least} are done\n{self.told}", lambda: self.counts().get("COMPLETED", 0) >= least)

    def moves(self, job_id: UUID) -> list[str]:
        """Its history as the statuses it went through."""
        return [
            s
            for (s,) in self.rows(
                "select to_status::text from holdfast.job_history where job_id = %s order by seq", job_id
            )
        ]

    # -- ledger --------------------------------------------------------------------------------------------------------

    def ledger(self, event: str | None = None, job_id: UUID | None = None) -> list[Row]:
        file = self.folder / "ledger"
        lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return [
            one
            for one in lines
            if event in {None, one["event"]} and (job_id is None or one["job"] == str(job_id))
        ]

    def until_started(self, job_id: UUID, attempt: int | None = None, within: float = PATIENCE) -> Row:
        """Wait until the ledger shows that an attempt has begun."""

        def look() -> list[Row]:
            return [one for one in self.ledger("start", job_id) if attempt in {None, one["attempt"]}]

        return until(lambda: f"attempt {attempt or 'any'} of {job_id} starts\n{self.told}", look, within)[0]

    def let_go(self, name: str, attempt: int | None = None) -> None:
        """Let the holding jobs of this name end, or one attempt of them."""
        (self.folder / (f"go-{name}" if attempt is None else f"go-{name}-{attempt}")).touch()

    def until_asleep(self) -> None:
        """Wait until an idle worker has asked to be woken for jobs like those of the tests: it asks for each queue by itself."""
        until(
            lambda: f"a worker sleeps\n{self.told}",
            lambda: self.value("select count(*) from holdfast.sleeper where queue = 'default'"),
        )

    # -- verdict -------------------------------------------------------------------------------------------------------

    @property
    def told(self) -> str:
        return "\n".join(f"-- {worker.log_file.name}\n{worker.tail}" for worker in self.workers)

    def audit(self) -> None:
        """Check what must always hold: legal, gapless histories; no attempt twice; no outcome twice."""
        assert broken_rules(self.owner) == []
        started = Counter((one["job"], one["attempt"]) for one in self.ledger("start"))
        assert [one for one, times in started.items() if times > 1] == []

    def close(self) -> None:
        for worker in self.workers:
            worker.clean_up()
        if self._owner is not None:
            self._owner.close()


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    """The parent of all workers of this run."""
    launcher = Launcher()
    yield launcher
    launcher.close()


@pytest.fixture(scope="module")
def past(holdfast_server: TestServer) -> Iterator[Past]:
    """A past with everything in it, of which each test takes back what it changes."""
    with holdfast_server.database() as database, machine_on(database.owner_url) as machine:
        yield Past(machine)


@pytest.fixture
def stage(launcher: Launcher, holdfast_db: ScratchDatabase, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(launcher, holdfast_db, tmp_path)
    yield stage
    stage.close()


@pytest.fixture
def shop(holdfast_db: ScratchDatabase) -> Iterator[Holdfast]:
    """The app that the workers run, to enqueue with."""
    from guarantees.shop import app

    holdfast_db.use(app)
    yield app
    app.close()


@pytest.fixture
def proxy(holdfast_db: ScratchDatabase) -> Iterator[Proxy]:
    """A proxy between whoever uses its url and the test's database."""
    with proxied(holdfast_db.url) as proxy:
        yield proxy
