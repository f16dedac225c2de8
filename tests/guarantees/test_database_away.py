"""The worker outlives its database: restarts, cut and silent connections, no connection to be had; and says so loudly."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.proxy import Proxy
from guarantees.waiting import until
from guarantees.workers import Launcher
from holdfast import Holdfast
from holdfast.embedded import EmbeddedServer, cluster
from holdfast.embedded.folder import Home
from holdfast.embedded.server import start_in
from holdfast.embedded.throwaway import PREFIX, choose_place
from holdfast.testing import TestServer


class RestartableServer:
    """A durable server of the tests' own that can be stopped and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server: EmbeddedServer | None = None
        self.start()

    def start(self) -> None:
        self._server = start_in(self._folder, binaries=None, settings={"max_connections": "40"}, durable=True)

    @property
    def server(self) -> EmbeddedServer:
        assert self._server is not None
        return self._server

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: fast, sessions are ended. SIGQUIT: immediate, as a crash; the next start recovers from the log."""
        home = Home(self.server.folder)
        running = cluster.running(home)
        assert running is not None
        os.kill(running.pid, how)
        until("the server has stopped", lambda: cluster.running(home) is None)
        self.server.stop()


@pytest.fixture(scope="module")
def restartable() -> Iterator[RestartableServer]:
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=choose_place())).resolve()
    server = RestartableServer(folder)
    yield server
    server.server.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def databases(restartable: RestartableServer) -> TestServer:
    return TestServer(restartable.server.url)


@pytest.fixture
def fragile(launcher: Launcher, databases: TestServer, tmp_path: Path) -> Iterator[Stage]:
    """A stage on the server that is restarted."""
    from guarantees.shop import app

    with databases.database() as database:
        database.use(app)
        stage = Stage(launcher, database, tmp_path)
        yield stage
        stage.close()
        app.close()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
def test_a_worker_outlives_a_database_restart_and_loses_nothing(
    fragile: Stage, restartable: RestartableServer, how: signal.Signals
) -> None:
    workers = [fragile.worker(lease=5.0), fragile.worker(lease=5.0)]
    handles = tasks.app.enqueue_many([tasks.nap.job(n) for n in range(800)])
    until("some are done", lambda: fragile.counts().get("COMPLETED", 0) > 50)
    restartable.stop(how)
    away_at = time.monotonic()
    spent = [worker.cpu_seconds() for worker in workers]
    for worker in workers:
        worker.until_event("database:unavailable")
    until("it was away for a while", lambda: time.monotonic() - away_at > 2.0)
    used = [worker.cpu_seconds() - before for worker, before in zip(workers, spent, strict=True)]
    away = time.monotonic() - away_at

    restartable.start()
    late = tasks.note.enqueue(1)
    fragile.until_counts(COMPLETED=len(handles) + 1, within=60)

    assert all(worker.lives for worker in workers)
    assert max(used) / away < 0.2
    assert fragile.status(late.id) == "COMPLETED"
    assert all(worker.events("database:back") for worker in workers)
    assert fragile.value("select max(retry_count) from holdfast.job") == 0
    fragile.audit()


def test_an_outage_longer_than_the_lease_takes_no_job_from_a_worker_that_lives(
    fragile: Stage, restartable: RestartableServer
) -> None:
    workers = [fragile.worker(lease=1.0), fragile.worker(lease=1.0)]
    job = tasks.hold.enqueue("it")
    fragile.until_started(job.id)

    restartable.stop()
    away_at = time.monotonic()
    until("it was away for longer than the lease", lambda: time.monotonic() - away_at > 2.0)
    restartable.start()
    until(
        "both are back",
        lambda: all(
            "heartbeat" in {one["what"] for one in worker.events("database:back")} for worker in workers
        ),
    )
    back_at = time.monotonic()
    until("everybody has swept", lambda: time.monotonic() - back_at > 2.0)
    fragile.let_go("it")

    assert fragile.until_status(job.id, "COMPLETED")["attempt"] == 1
    assert fragile.value("select count(*) from holdfast.worker where died_at is not null") == 0
    fragile.audit()


def test_a_worker_outlives_the_end_of_all_its_sessions_again_and_again(stage: Stage, shop: Holdfast) -> None:
    worker = stage.worker(lease=30.0)
    handles = shop.enqueue_many([tasks.nap.job(n) for n in range(600)])
    for strike in range(1, 6):
        stage.until_done(strike * 80)
        end_sessions(stage)
    stage.until_counts(COMPLETED=len(handles))

    assert worker.lives
    assert stage.value("select max(attempt) from holdfast.job") == 1
    assert len(stage.ledger("end")) == len(handles)
    stage.audit()


def end_sessions(stage: Stage) -> None:
    """Terminate every backend that serves a worker of this test."""
    stage.rows(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and application_name like 'holdfast %%'"
    )


def test_a_worker_whose_connections_fall_silent_makes_new_ones(
    stage: Stage, shop: Holdfast, proxy: Proxy
) -> None:
    worker = stage.worker(url=proxy.url, lease=3.0)
    job = tasks.hold.enqueue("it")
    stage.until_started(job.id)

    proxy.go_silent()
    worker.until_event("database:unavailable")
    proxy.speak_again()
    stage.let_go("it")
    after = tasks.note.enqueue(1)

    stage.until_status(after.id, "COMPLETED", within=60)
    stage.until_status(job.id, "COMPLETED", within=60)
    assert worker.lives
    stage.audit()


def test_a_worker_waits_while_no_connection_is_to_be_had(fragile: Stage) -> None:
    worker = fragile.worker(lease=5.0)
    fragile.until_asleep()
    with ExitStack() as crowd:
        _fill(crowd, fragile.database.owner_url)
        fragile.rows(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'holdfast %%'"
        )
        _fill(crowd, fragile.database.owner_url)
        worker.until_event("database:unavailable")
        job_id = fragile.value("select holdfast.enqueue('note', '{\"n\": 1}')")
        assert fragile.status(job_id) == "PENDING"

    fragile.until_status(job_id, "COMPLETED")

    assert worker.lives
    fragile.audit()


def _fill(crowd: ExitStack, url: str) -> None:
    """Take every connection that the server has to give."""
    try:
        while True:
            crowd.enter_context(psycopg.connect(url))
    except psycopg.OperationalError:
        return


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("idle_session_timeout = '100ms'", "idle-session timeout"),
        ("statement_timeout = '1ms'", "statement timeout"),
        ("default_transaction_read_only = on", "read-only transaction"),
    ],
    ids=["idle_session_timeout", "statement_timeout", "read_only"],
)
def test_a_worker_outlives_settings_that_end_its_statements(
    stage: Stage, shop: Holdfast, setting: str, said: str
) -> None:
    worker = stage.worker(lease=30.0)
    database = stage.value("select quote_ident(current_database())")
    stage.owner.execute(f"alter database {database} set {setting}".encode())
    end_sessions(stage)
    stage.owner.execute("set statement_timeout = 0")
    stage.rows("select holdfast.enqueue('note', '{\"n\": 1}') from generate_series(1, 200)")
    until(
        lambda: f"it has met the setting\n{stage.told}",
        lambda: not worker.lives or said in str(worker.events("database:unavailable")),
    )
    stage.owner.execute(f"alter database {database} reset all".encode())
    end_sessions(stage)

    assert worker.lives, worker.tail
    stage.until_counts(COMPLETED=200)
    stage.audit()
