"""The systems under measurement: how each is started, with which settings, and how an outsider sees that its jobs are done."""

import dataclasses
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path
from typing import LiteralString

from benchmarks import environments

SLOW_JOBS = 3000


@dataclasses.dataclass(frozen=True, slots=True)
class Observer:
    """What the driver asks the database: first cheaply about the newest job, then, once that is done, about all."""

    newest: LiteralString
    newest_is_done: LiteralString
    all_are_done: LiteralString
    unfinished: LiteralString


@dataclasses.dataclass(frozen=True, slots=True)
class System:
    """One system with one way of running it."""

    name: str
    title: str
    settings: str
    keeps: str
    observer: Observer
    setting: str = "default"
    module: str = ""
    environment: str = ""
    script: str = ""
    packages: tuple[str, ...] = ()
    is_slow: bool = False

    def command(self, setting: str | None = None) -> list[str]:
        """Return the child's command line, without the database's address."""
        chosen = setting or self.setting
        if self.script:
            return ["node", str(environments.node_folder() / self.script), "{url}", chosen]
        python = environments.python_of(self.environment) if self.environment else Path(sys.executable)
        return [str(python), "-m", self.module, "{url}", chosen]

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages that matter, from the environment they are measured in."""
        if self.script:
            modules = environments.node_folder() / "node_modules"
            manifests = {name: modules / name / "package.json" for name in self.packages}
            return {
                name: json.loads(path.read_text(encoding="utf-8"))["version"]
                for name, path in manifests.items()
            }
        if not self.environment:
            return {name: importlib.metadata.version(name) for name in self.packages}
        asked = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
        command = [str(environments.python_of(self.environment)), "-c", asked, *self.packages]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        versions: dict[str, str] = json.loads(answer)
        return versions


RAW = System(
    name="raw",
    title="raw SQL (the limit)",
    settings="psycopg 3, one connection, binary; claims and completions of 500 in two commits; history in a CTE; inserts of 1,000",
    keeps="every job, one history row a transition",
    module="benchmarks.raw",
    packages=("psycopg", "psycopg-binary"),
    observer=Observer(
        newest="select id from raw.job order by id desc limit 1",
        newest_is_done="select status = 'COMPLETED' from raw.job where id = %s",
        # One connection works in order: nothing in line and the newest done means that all are.
        all_are_done="select not exists (select from raw.job where queue = 'default' and claim_order is not null)",
        unfinished="select count(*) from raw.job where status <> 'COMPLETED'",
    ),
)

HOLDFAST = System(
    name="holdfast",
    title="Holdfast",
    settings="defaults; enqueue_many of 1,000",
    keeps="every job, one history row a transition",
    module="benchmarks.ours",
    packages=("holdfast", "psycopg", "psycopg-binary", "uvloop"),
    observer=Observer(
        newest="select id from holdfast.job order by id desc limit 1",
        newest_is_done="select finished_at is not null from holdfast.job where id = %s",
        all_are_done="""
            select not exists (select from holdfast.job where claim_order is not null and not suspect)
               and not exists (select from holdfast.job where holder is not null)""",
        unfinished="select count(*) from holdfast.job where status <> 'COMPLETED'",
    ),
)

_PGQUEUER = Observer(
    newest="select id from pgqueuer order by id desc limit 1",
    newest_is_done="select not exists (select from pgqueuer where id = %s)",
    all_are_done="select not exists (select from pgqueuer)",
    unfinished="select count(*) from pgqueuer",
)

PGQUEUER_BEST = System(
    name="pgqueuer_best",
    title="PgQueuer, its best",
    settings="uvloop, asyncpg pool of 10, run(batch_size=500); enqueue arrays of 1,000",
    keeps="no jobs, a log row a transition",
    setting="best",
    module="benchmarks.peers.pgqueuer_bench",
    environment="pgqueuer",
    packages=("pgqueuer", "asyncpg", "uvloop"),
    observer=_PGQUEUER,
)

PGQUEUER_DEFAULT = dataclasses.replace(
    PGQUEUER_BEST,
    name="pgqueuer_default",
    title="PgQueuer, defaults",
    settings="uvloop, one asyncpg connection, run() with batches of 10",
    setting="default",
)

PROCRASTINATE = System(
    name="procrastinate",
    title="Procrastinate, tuned",
    settings="uvloop, psycopg pool of up to 32, run_worker_async(concurrency=30); batch_defer_async of 1,000",
    keeps="every job, an event a transition",
    module="benchmarks.peers.procrastinate_bench",
    environment="procrastinate",
    packages=("procrastinate", "psycopg", "psycopg-binary", "uvloop"),
    is_slow=True,
    observer=Observer(
        newest="select id from procrastinate_jobs order by id desc limit 1",
        newest_is_done="select status = 'succeeded' from procrastinate_jobs where id = %s",
        all_are_done="select not exists (select from procrastinate_jobs where status in ('todo', 'doing'))",
        unfinished="select count(*) from procrastinate_jobs where status <> 'succeeded'",
    ),
)

GRAPHILE = System(
    name="graphile_best",
    title="Graphile Worker, tuned",
    settings="concurrentJobs 24, pool of 10, localQueue 500, completeJobBatchDelay 0, failJobBatchDelay 0; addJobs of 1,000",
    keeps="no jobs, no history",
    script="graphile.mjs",
    packages=("graphile-worker", "pg"),
    observer=Observer(
        newest="select id from graphile_worker._private_jobs order by id desc limit 1",
        newest_is_done="select not exists (select from graphile_worker._private_jobs where id = %s)",
        all_are_done="select not exists (select from graphile_worker._private_jobs)",
        unfinished="select count(*) from graphile_worker._private_jobs",
    ),
)

PGBOSS = System(
    name="pgboss_best",
    title="pg-boss, tuned",
    settings="batchSize 1000, pollingIntervalSeconds 0.5, burstWhenBatchFull, useListenNotify; insert of 1,000",
    keeps="jobs for a while, no history",
    script="pgboss.mjs",
    packages=("pg-boss", "pg"),
    observer=Observer(
        newest="select id from pgboss.job where name = 'noop' order by created_on desc, id desc limit 1",
        newest_is_done="select state = 'completed' from pgboss.job where name = 'noop' and id = %s",
        all_are_done="select not exists (select from pgboss.job where name = 'noop' and state < 'completed')",
        unfinished="select count(*) from pgboss.job where name = 'noop' and state <> 'completed'",
    ),
)

ALL = (RAW, HOLDFAST, PGQUEUER_BEST, PGQUEUER_DEFAULT, PROCRASTINATE, GRAPHILE, PGBOSS)
