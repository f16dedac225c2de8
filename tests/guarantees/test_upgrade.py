"""An upgrade is no moment: workers and producers of the release before go on working on this one's schema, beside this one's."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from guarantees import both_releases as tasks
from guarantees.conftest import ALONE, LONG_LEASE, Stage
from guarantees.waiting import until
from guarantees.workers import TESTS, Launcher, WorkerProcess
from holdfast import Holdfast
from holdfast.domain.audit_guards import judge_guards
from holdfast.store.call import perform_sync
from holdfast.store.connection import Database
from holdfast.store.guards import guards, released_guards
from holdfast.store.migrate import migrate
from holdfast.testing import ScratchDatabase
from world.previous import previous_source

APP = tasks.__name__
BOTH = ("previous", "this")
# Both keep house here, as they do in a deployment.
WHOLE = dict.fromkeys(ALONE, True)


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of the release before this one."""
    source, why_not = previous_source(tmp_path_factory.mktemp("source"))
    if source is None:
        pytest.skip(f"NOT RUN: {why_not}")
    return source


@pytest.fixture(scope="module")
def launchers(previous: Path) -> Iterator[dict[str, Launcher]]:
    """The parents of workers of both releases."""
    launchers = {"previous": Launcher(APP, source=previous), "this": Launcher(APP)}
    yield launchers
    for launcher in launchers.values():
        launcher.close()


@pytest.fixture
def app(holdfast_db: ScratchDatabase, stage: Stage) -> Iterator[Holdfast]:
    stage.owner.execute("create table public.ledger (entry text); grant all on public.ledger to public")
    holdfast_db.use(tasks.app)
    yield tasks.app
    tasks.app.close()


_MIGRATE = """
import sys
from holdfast.store.connection import Database
from holdfast.store.migrate import migrate
migrate(Database(sys.argv[1], "upgrade"))
"""


def start(stage: Stage, launcher: Launcher, **options: object) -> WorkerProcess:
    told = {**WHOLE, "lease": LONG_LEASE, **options}
    worker = WorkerProcess(
        launcher, stage.folder, len(stage.workers), told, {"HOLDFAST_DATABASE_URL": stage.database.url}
    )
    stage.workers.append(worker)
    return worker.until_ready()


def drain(worker: WorkerProcess) -> None:
    """Tell a worker to end, as a deployment does."""
    worker.signal(signal.SIGTERM)
    assert worker.until_gone() == 0


def answer_everybody(stage: Stage, app: Holdfast, *queues: str) -> None:
    """Give what the jobs of these queues wait for."""
    for queue in queues:
        app.emit(f"go {queue}", "gone")
    until(
        lambda: f"all have asked\n{stage.told}",
        lambda: stage.value("select count(*) from holdfast.approval") == len(queues),
    )
    stage.rows("select holdfast.decide(a.id, 'ben', 'approve') from holdfast.approval a")


def results(stage: Stage, queue: str) -> list[tuple[Any, ...]]:
    return stage.rows(
        "select task::text, result #>> '{}' from holdfast.job where queue = %s and parent_id is null order by 1",
        queue,
    )


def both_share(stage: Stage, app: Holdfast) -> bool:
    """Add to a queue that both serve, and look whether each has ended some of it."""
    app.enqueue_many([tasks.plain.using(queue="shared").job(n) for n in range(10)])
    return len(set(results(stage, "shared")) - {("plain", None)}) == len(BOTH)


def done_by(source: Path) -> list[tuple[str, str]]:
    """What jobs of every kind come to in a worker of this source."""
    own = str(source / "holdfast")
    come_to = {"asks": f"ben: {own}", "family": f"{own} {own} {own}"}
    return [(task, come_to.get(task, own)) for task in sorted(job.task for job in tasks.of_every_kind("any"))]


def test_workers_of_two_releases_drain_jobs_of_every_kind_beside_each_other(
    stage: Stage, app: Holdfast, launchers: dict[str, Launcher], previous: Path
) -> None:
    workers = [start(stage, launchers[release], queues={release: 4, "shared": 2}) for release in BOTH]
    jobs = [job for queue in BOTH for job in tasks.of_every_kind(queue)]

    app.enqueue_many(jobs)
    answer_everybody(stage, app, *BOTH)
    until(lambda: f"both have had a part of one queue\n{stage.told}", lambda: both_share(stage, app))
    until(
        lambda: f"all have ended: {stage.counts()}\n{stage.told}",
        lambda: stage.value("select count(*) from holdfast.job where finished_at is null") == 0,
    )

    assert stage.counts().keys() == {"COMPLETED"}
    assert results(stage, "previous") == done_by(previous)
    assert results(stage, "this") == done_by(Path(tasks.SOURCE).parent)
    for worker in workers:
        drain(worker)
    stage.audit()


@pytest.mark.parametrize(("first", "second"), [BOTH, BOTH[::-1]], ids=["upgraded", "taken back"])
def test_what_a_worker_of_one_release_has_begun_one_of_the_other_ends(
    stage: Stage, app: Holdfast, launchers: dict[str, Launcher], first: str, second: str
) -> None:
    half_done = {"again": "RETRY", "stepped": "WAITING", "asleep": "WAITING", "asks": "WAITING_FOR_APPROVAL"}
    begins = start(stage, launchers[first])
    app.enqueue_many([job for job in tasks.of_every_kind("default", tasks.HOUR) if job.task in half_done])
    until(
        lambda: f"all have begun\n{stage.told}",
        lambda: dict(stage.rows("select task::text, status::text from holdfast.job")) == half_done,
    )
    drain(begins)
    stage.database.clock.advance(tasks.HOUR)

    ends = start(stage, launchers[second])
    answer_everybody(stage, app, "default")
    stage.until_counts(COMPLETED=len(half_done))

    assert stage.rows("select entry from public.ledger order by 1") == [("first default",), ("gone default",)]
    assert set(
        stage.rows(
            "select h.actor from holdfast.job_history h join holdfast.job j on j.id = h.job_id"
            " where h.from_status = 'RUNNING' and h.seq = j.seq"
        )
    ) == {(name,) for name in stage.names(ends)}
    stage.audit()


@pytest.mark.new_database
def test_nothing_of_the_previous_release_is_left_in_the_schema(
    holdfast_db: ScratchDatabase, owner: psycopg.Connection, previous: Path
) -> None:
    owner.execute("drop schema holdfast cascade")
    told = subprocess.run(
        [sys.executable, "-c", _MIGRATE, holdfast_db.owner_url],
        env={**os.environ, "PYTHONPATH": str(previous)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr

    migrate(Database(holdfast_db.owner_url, "upgrade"))

    found = perform_sync(owner, guards())
    assert list(judge_guards(released_guards(), found)) == []


def test_a_producer_of_the_previous_release_enqueues_for_workers_of_this_one(
    stage: Stage, app: Holdfast, launchers: dict[str, Launcher], previous: Path
) -> None:
    start(stage, launchers["this"])

    produced = subprocess.run(
        [sys.executable, "-m", APP, "default"],
        env={
            **os.environ,
            "HOLDFAST_DATABASE_URL": stage.database.url,
            "PYTHONPATH": os.pathsep.join([str(previous), str(TESTS)]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert produced.returncode == 0, produced.stderr
    told = json.loads(produced.stdout)
    answer_everybody(stage, app, "default")
    stage.until_counts(COMPLETED=len(told["jobs"]) + 2)  # a family's children

    assert told["source"] == str(previous / "holdfast")
    born = stage.rows("select id::text from holdfast.job where parent_id is null order by id")
    assert born == [(job,) for job in sorted(told["jobs"])]
    stage.audit()
