"""holdfast.testing, as somebody uses it who tests jobs of their own."""

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import get_args
from uuid import uuid4

import psycopg
import pytest

from holdfast import BadInput, Configuration, Holdfast, Status
from holdfast.runtime import failpoints
from holdfast.runtime.failpoints import SimulatedCrash, WorkerPoint
from holdfast.runtime.registry import AnyTask
from holdfast.store import databases
from holdfast.testing import ScratchDatabase, TestServer, adrain, crash_at, drain


@pytest.fixture
def mail(app: Holdfast) -> AnyTask:
    @app.task()
    async def mail(to: str, cents: Decimal = Decimal(0)) -> str:
        return f"sent to {to}"

    return mail


def test_drain_runs_what_is_due_and_leaves_the_rest(
    app: Holdfast, mail: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    now, later = mail.enqueue("a"), mail.using(run_in=timedelta(hours=1)).enqueue("b")

    drain(app)

    assert (now.status(), later.status()) == (Status.COMPLETED, Status.PENDING)
    assert [job.id for job in holdfast_db.jobs(status="PENDING")] == [later.id]


def test_drain_leaves_upkeep_to_workers_that_stay(
    app: Holdfast, mail: AnyTask, holdfast_db: ScratchDatabase, owner: psycopg.Connection
) -> None:
    months = "select count(*) from pg_inherits where inhparent = 'holdfast.job_history'::regclass"
    before = owner.execute(months).fetchone()
    holdfast_db.clock.advance(timedelta(days=400))
    mail.enqueue("a")

    drain(app)
    after_drain = owner.execute(months).fetchone()
    owner.execute("select holdfast.upkeep()")

    assert after_drain == before
    assert owner.execute(months).fetchone() != before


def test_advancing_the_clock_makes_the_rest_due(
    app: Holdfast, mail: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    later = mail.using(run_in=timedelta(hours=1)).enqueue("b")

    holdfast_db.clock.advance(timedelta(minutes=59))
    drain(app)
    early = later.status()
    holdfast_db.clock.advance(61)
    drain(app)

    assert early is Status.PENDING
    assert later.result() == "sent to b"


async def test_inside_a_loop_drain_is_awaited(app: Holdfast, mail: AnyTask) -> None:
    handle = await mail.aenqueue("a")

    with pytest.raises(RuntimeError, match="use `await adrain"):
        drain(app)
    await adrain(app)

    assert await handle.result() == "sent to a"
    await app.aclose()


def test_assert_enqueued_finds_the_one_job_by_some_of_its_arguments(
    mail: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    mail.enqueue("a", Decimal("1.50"))
    handle = mail.enqueue("b", Decimal("2.50"))

    assert holdfast_db.assert_enqueued(mail, to="b").id == handle.id
    assert holdfast_db.assert_enqueued("mail", cents=Decimal("2.50")).id == handle.id


def test_assert_enqueued_says_what_is_there_instead(mail: AnyTask, holdfast_db: ScratchDatabase) -> None:
    with pytest.raises(AssertionError) as none:
        holdfast_db.assert_enqueued(mail, to="b")
    mail.enqueue("a")
    mail.enqueue("a")
    with pytest.raises(AssertionError) as two:
        holdfast_db.assert_enqueued(mail, to="a")

    assert (
        str(none.value)
        == "no job of task mail with {'to': 'b'}, where exactly one was expected; jobs of this task: none"
    )
    assert str(two.value) == (
        "2 jobs of task mail with {'to': 'a'}, where exactly one was expected; jobs of this task:"
        "\n  PENDING {'to': 'a'}\n  PENDING {'to': 'a'}"
    )


@pytest.mark.parametrize("point", get_args(WorkerPoint))
def test_a_worker_crashes_at_each_point_once(app: Holdfast, mail: AnyTask, point: WorkerPoint) -> None:
    handle = mail.enqueue("a")

    with crash_at(point):
        drain(app)

    assert handle.status() is (Status.COMPLETED if point == "finished" else Status.RUNNING)
    drain(app)  # the next worker does not crash


def test_a_crash_that_never_came_fails_the_test(app: Holdfast, mail: AnyTask) -> None:
    with pytest.raises(AssertionError, match="no worker reached the crash point 'ran'"), crash_at("ran"):
        drain(app)


def test_nobody_is_made_to_crash_who_is_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_TESTING", raising=False)
    monkeypatch.setenv("HOLDFAST_CRASH_AT", "claimed")

    with pytest.raises(Configuration, match="set HOLDFAST_TESTING=1"):
        failpoints.arm("claimed")
    failpoints.arm_from_environment()

    assert failpoints._armed is None


def test_a_point_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Configuration, match="'lunch' is no crash point; there are"), crash_at("lunch"):  # type: ignore[arg-type]
        pass


def test_what_a_crashed_worker_was_connecting_is_let_go_at_once() -> None:
    class Connection:
        broken_by: BaseException | None = None

    connections: list[weakref.ref[Connection]] = []

    def work() -> None:
        connection = Connection()
        connections.append(weakref.ref(connection))
        try:
            failpoints.reach("claimed")
        except SimulatedCrash as crash:
            connection.broken_by = crash
            raise

    with collected_never():
        with crash_at("claimed"):
            work()

        assert [one() for one in connections] == [None]


@contextmanager
def collected_never() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("before", [None, "0"])
def test_crash_at_leaves_the_environment_as_it_was(
    app: Holdfast, mail: AnyTask, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    monkeypatch.delenv("HOLDFAST_TESTING", raising=False)
    if before is not None:
        monkeypatch.setenv("HOLDFAST_TESTING", before)
    mail.enqueue("a")

    with crash_at("claimed"):
        drain(app)

    assert os.environ.get("HOLDFAST_TESTING") == before


@pytest.mark.new_database
def test_an_app_moved_to_another_database_leaves_no_connection_behind(
    app: Holdfast, mail: AnyTask, holdfast_server: TestServer, owner: psycopg.Connection
) -> None:
    mail.enqueue("a")

    with holdfast_server.database() as other:
        other.use(app)
        mail.enqueue("b")
        assert len(other.jobs()) == 1

    left = "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'holdfast'"
    assert owner.execute(left).fetchone() == (0,)


def test_the_clock_of_a_database_that_is_not_for_tests_cannot_be_moved(holdfast_server: TestServer) -> None:
    with pytest.raises(BadInput, match="is not moved: only databases called holdfast_test_… are for tests"):
        databases.move_clock(holdfast_server.admin_url, 60)


def test_the_clock_cannot_be_moved_by_an_application(
    holdfast_db: ScratchDatabase, login: psycopg.Connection
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        login.execute(
            "create or replace function holdfast.clock() returns timestamptz language sql return now()"
        )


PROJECT = """
from pathlib import Path
from uuid import UUID

from holdfast import Holdfast
from holdfast.testing import ScratchDatabase, drain

app = Holdfast()


@app.task()
def charge(order: UUID) -> str:
    return str(order)


def test_one(holdfast_db: ScratchDatabase) -> None:
    holdfast_db.use(app)
    handle = charge.enqueue(UUID(int=7))
    drain(app)
    assert handle.result() == str(UUID(int=7))
    with Path("databases").open("a") as file:
        print(holdfast_db.url, file=file)


def test_another_sees_nothing_of_it(holdfast_db: ScratchDatabase) -> None:
    holdfast_db.use(app)
    assert holdfast_db.jobs() == []
    charge.enqueue(UUID(int=8))
    holdfast_db.assert_enqueued(charge, order=UUID(int=8))
"""


def run_project(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_shop.py").write_text(PROJECT)
    kept = {
        name: value
        for name, value in os.environ.items()
        if "DATABASE_URL" not in name and not name.startswith("PG")
    }
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-W",
            "error",
            "-p",
            "holdfast.testing.plugin",
            "-p",
            "no:cacheprovider",
        ],
        cwd=folder,
        env={**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment},
        check=False,
        capture_output=True,
        text=True,
    )


def on_server(admin_url: str) -> tuple[set[str], set[str]]:
    with psycopg.connect(admin_url) as conn:
        found = {name for (name,) in conn.execute("select datname from pg_database")}
        return found, {name for (name,) in conn.execute("select rolname from pg_roles")}


def test_a_project_of_ones_own_needs_the_plugin_only(tmp_path: Path) -> None:
    said = run_project(tmp_path)

    assert "2 passed" in said.stdout, said.stdout + said.stderr


def test_on_a_named_server_only_test_databases_come_and_go(
    tmp_path: Path, holdfast_server: TestServer
) -> None:
    before = on_server(holdfast_server.admin_url)

    said = run_project(tmp_path, DATABASE_URL=holdfast_server.admin_url)

    assert "2 passed" in said.stdout, said.stdout + said.stderr
    assert on_server(holdfast_server.admin_url) == before
    (url,) = (tmp_path / "databases").read_text().splitlines()
    used = psycopg.conninfo.conninfo_to_dict(url)
    assert str(used["dbname"]).startswith("holdfast_test_")
    assert str(used["user"]).startswith("holdfast_test_")
    assert used["port"] == psycopg.conninfo.conninfo_to_dict(holdfast_server.admin_url)["port"]


def test_a_login_that_may_create_databases_but_no_roles_is_enough(
    tmp_path: Path, holdfast_server: TestServer
) -> None:
    name = f"holdfast_test_{uuid4().hex[:8]}"
    with psycopg.connect(holdfast_server.admin_url, autocommit=True) as admin:
        admin.execute(f"create role {name} login createdb password 'x'")
        try:
            said = run_project(
                tmp_path, DATABASE_URL=databases.url_of(holdfast_server.admin_url, user=name, password="x")
            )
        finally:
            admin.execute(f"drop role {name}")

    assert "2 passed" in said.stdout, said.stdout + said.stderr
