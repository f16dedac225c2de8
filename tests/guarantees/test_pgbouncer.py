"""Works through PgBouncer in transaction mode: no state of a session is needed on the main path."""

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.waiting import until
from holdfast import Holdfast
from holdfast.domain.search import parse
from holdfast.store.connection import Database
from holdfast.store.search import find_jobs

SETTINGS = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = plain
auth_file = {users}
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
ignore_startup_parameters = extra_float_digits
"""


@pytest.fixture
def pooled(stage: Stage, tmp_path: Path) -> Iterator[str]:
    """The test's database behind a pooler with three connections."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("NOT RUN: pgbouncer is not installed here (apt-get install pgbouncer)")
    parts = conninfo.conninfo_to_dict(stage.database.url)
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen = free.getsockname()[1]
    folder = Path("/var/tmp") if os.geteuid() == 0 else tmp_path
    users, settings = folder / f"holdfast-pgbouncer-{listen}.txt", folder / f"holdfast-pgbouncer-{listen}.ini"
    users.write_text(f'"{parts["user"]}" "{parts["password"]}"\n')
    settings.write_text(SETTINGS.format(host=parts["host"], port=parts["port"], listen=listen, users=users))
    account = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
    process = subprocess.Popen(
        [program, settings], user=account, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = conninfo.make_conninfo(stage.database.url, host="127.0.0.1", port=listen)
    try:
        until("the pooler answers", lambda: _answers(url))
        yield url
    finally:
        process.terminate()
        process.wait(10)
        users.unlink()
        settings.unlink()


def _answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=2):
            return True
    except psycopg.OperationalError:
        return False


def test_hundreds_of_jobs_go_through_a_transaction_pooler(stage: Stage, shop: Holdfast, pooled: str) -> None:
    shop.connect_to(Database(pooled, "test", prepare=False))
    workers = [
        stage.worker(
            url=pooled, env={"HOLDFAST_PREPARED_STATEMENTS": "off"}, lease=5.0, poll=0.2, concurrency=20
        )
        for _ in range(2)
    ]

    handles = shop.enqueue_many([tasks.note.job(n) for n in range(1500)])
    singles = [tasks.fail_once.enqueue() for _ in range(20)]
    stage.until_counts(COMPLETED=len(handles) + len(singles), within=60)

    assert all(worker.lives for worker in workers)
    assert [worker.events("heartbeat:refused") for worker in workers] == [[], []]
    assert stage.value("select max(attempt) from holdfast.job where task = 'note'") == 1
    shop.close()
    stage.audit()


def test_nobody_behind_a_pooler_sees_whom_another_entered_for(shop: Holdfast, pooled: str) -> None:
    shop.connect_to(Database(pooled, "test", prepare=False))
    jobs = [tasks.note.using(tenant=tenant).enqueue(1) for tenant in ("acme", "globex")]

    for _ in range(6):  # more often than the pooler has connections
        assert len(shop.link.perform(find_jobs(parse(""))).jobs) == len(jobs)
        with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as connection:
            assert connection.execute("select count(*) from holdfast.job").fetchone() == (0,)
            with connection.transaction():
                connection.execute("select holdfast.enter('acme')")
                assert connection.execute("select tenant from holdfast.job").fetchall() == [("acme",)]
            assert connection.execute("select count(*) from holdfast.job").fetchone() == (0,)
    shop.close()


def test_a_pooled_worker_cancels_by_its_heartbeat_though_it_hears_no_notification(
    stage: Stage, shop: Holdfast, pooled: str
) -> None:
    stage.worker(url=pooled, env={"HOLDFAST_PREPARED_STATEMENTS": "off"}, lease=2.0, poll=0.2)
    job = tasks.hold.enqueue("it")
    stage.until_started(job.id)

    shop.cancel(job.id)

    until("the task is cancelled", lambda: stage.ledger("cancelled", job.id))
    stage.audit()
