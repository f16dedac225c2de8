"""Holdfast in a Django project: jobs in the ORM's transactions, workers that use the ORM, settings that are wrong."""

import threading
import unittest
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command

from api.doors import job_ids, pointed
from holdfast import BadInput, Holdfast, Status
from holdfast.testing import ScratchDatabase, TestServer
from world.draining import drain
from world.hosts import set_up_django


def orders() -> Any:
    from world.shop.models import Order

    return Order.objects


def test_a_row_and_its_job_commit_together_and_go_together(shop: Any, holdfast_db: ScratchDatabase) -> None:
    from django.db import connection, transaction

    with transaction.atomic():
        order = orders().create()
        handle = shop.ship.using(conn=connection).enqueue(order.id)
        unseen = job_ids(holdfast_db.owner_url)
    with suppress(LookupError), transaction.atomic():
        shop.ship.using(conn=connection).enqueue(orders().create().id)
        raise LookupError

    assert unseen == []
    assert job_ids(holdfast_db.owner_url) == [handle.id]
    assert orders().count() == 1


def test_a_savepoint_takes_its_jobs_with_it_and_no_others(shop: Any, holdfast_db: ScratchDatabase) -> None:
    from django.db import connection, transaction

    with transaction.atomic():
        kept = shop.ship.using(conn=connection).enqueue(1)
        with suppress(LookupError), transaction.atomic():
            shop.ship.using(conn=connection).enqueue(2)
            raise LookupError
        later = shop.ship.using(conn=connection).enqueue(3)

    assert job_ids(holdfast_db.owner_url) == [kept.id, later.id]


def test_outside_of_atomic_a_job_is_there_at_once(shop: Any, holdfast_db: ScratchDatabase) -> None:
    from django.db import connection

    handle = shop.ship.using(conn=connection).enqueue(1)

    assert connection.get_autocommit()
    assert job_ids(holdfast_db.owner_url) == [handle.id]


@pytest.fixture
def archive(shop: Any, holdfast_server: TestServer, settings: Any) -> Iterator[ScratchDatabase]:
    """Let the jobs live in Django's second database."""
    with holdfast_server.database() as other, pointed("archive", other.owner_url):
        settings({"APP": "world.shop.jobs:app", "DATABASE": "archive"})
        yield other
        shop.app.close()


@pytest.fixture
def project() -> None:
    """Have Django set up; no database is asked for anything."""
    set_up_django()


@pytest.fixture
def settings() -> Iterator[Any]:
    """Set HOLDFAST, until the test ends."""
    from django.test import override_settings

    with ExitStack() as changed:
        yield lambda told: changed.enter_context(override_settings(HOLDFAST=told))


def test_jobs_can_live_in_another_of_djangos_databases(
    shop: Any, archive: ScratchDatabase, holdfast_db: ScratchDatabase
) -> None:
    from django.db import connections, transaction

    from world.shop.tasks import pack

    with transaction.atomic(using="archive"):
        shop.ship.using(conn=connections["archive"]).enqueue(1)
    with suppress(LookupError), transaction.atomic(using="archive"):
        shop.ship.using(conn=connections["archive"]).enqueue(2)
        raise LookupError
    shop.ship.enqueue(3)
    pack.enqueue(4)

    assert [job.task for job in archive.jobs()] == ["ship", "ship", "world.shop.tasks.pack"]
    assert job_ids(holdfast_db.owner_url) == []


def test_a_database_that_is_not_postgresql_is_named(shop: Any) -> None:
    from django.db import connections

    with pytest.raises(BadInput, match="Django's connection to sqlite; jobs live in PostgreSQL"):
        shop.ship.using(conn=connections["file"]).enqueue(1)


# -- workers ---------------------------------------------------------------------------------------------------------------


def test_tasks_use_the_orm_in_threads_and_on_the_loop(shop: Any, shop_app: Holdfast) -> None:
    ids = [orders().create().id for _ in range(2)]
    handles = [task.enqueue(order) for task, order in zip((shop.ship, shop.bill), ids, strict=True)]

    drain(shop_app)

    assert [handle.status() for handle in handles] == [Status.COMPLETED] * 2
    assert [orders().get(id=order).note for order in ids] == ["shipped", "billed by attempt 1"]


@pytest.mark.new_database
def test_a_connection_is_closed_after_its_task_as_after_a_request(
    shop: Any, shop_app: Holdfast, owner: psycopg.Connection
) -> None:
    served_by = shop.ship.enqueue(1)

    drain(shop_app)

    alive = owner.execute(
        "select count(*) from pg_stat_activity where pid = %s", [served_by.result()]
    ).fetchone()
    assert alive == (0,)


@pytest.fixture
def lasting_connections(shop: Any) -> Iterator[None]:
    """Let Django keep its connections for ever, as projects do that care for speed."""
    from django.db import connections

    told = connections["default"].settings_dict
    told["CONN_MAX_AGE"] = None
    yield
    told["CONN_MAX_AGE"] = 0


def test_a_connection_that_broke_fails_one_task_and_not_the_next(
    shop: Any, lasting_connections: None, owner: psycopg.Connection
) -> None:
    from holdfast.contrib.django.project import with_fresh_connections

    look = with_fresh_connections(shop.server_process)

    def break_it() -> None:
        owner.execute("select pg_terminate_backend(%s, 5000)", [shop.server_process()])
        shop.server_process()

    first = look()
    with pytest.raises(Exception, match="terminating connection"):
        with_fresh_connections(break_it)()

    assert look() != first


def test_the_same_holds_for_connections_of_async_tasks(
    shop: Any, lasting_connections: None, owner: psycopg.Connection
) -> None:
    from asgiref.sync import async_to_sync, sync_to_async

    from holdfast.contrib.django.project import with_fresh_connections

    @with_fresh_connections
    async def look() -> int:
        return int(await sync_to_async(shop.server_process)())

    @with_fresh_connections
    async def break_it() -> None:
        owner.execute("select pg_terminate_backend(%s, 5000)", [await sync_to_async(shop.server_process)()])
        await orders().acount()

    first = async_to_sync(look)()
    with pytest.raises(Exception, match="terminating connection"):
        async_to_sync(break_it)()

    assert async_to_sync(look)() != first


def test_in_a_test_case_of_django_jobs_go_with_its_transaction(
    shop: Any, holdfast_db: ScratchDatabase
) -> None:
    from django.db import connection
    from django.test import TestCase

    from world.shop.tasks import pack

    class OrdersTest(TestCase):  # type: ignore[misc] # Django says nothing about its types
        def test_enqueue(self) -> None:
            order = orders().create()
            shop.ship.using(conn=connection).enqueue(order.id)
            result = pack.enqueue(order.id)
            result.refresh()
            assert result.status == "READY"

    ran = unittest.TestResult()
    unittest.TestSuite([OrdersTest("test_enqueue")]).run(ran)

    assert (ran.testsRun, ran.errors, ran.failures) == (1, [], [])
    assert job_ids(holdfast_db.owner_url) == []
    assert orders().count() == 0


# -- settings and commands --------------------------------------------------------------------------------------------------


def test_the_command_runs_with_the_projects_app(
    shop: Any, shop_app: Holdfast, capfd: pytest.CaptureFixture[str]
) -> None:
    handle = shop.ship.enqueue(orders().create().id)

    call_command("holdfast", "worker", "--until-idle", "--log-level", "error")
    call_command("holdfast", "job", "list", "-o", "id")

    assert handle.status() is Status.COMPLETED
    assert capfd.readouterr().out.strip() == str(handle.id)


def test_the_command_leaves_a_program_that_called_it_alone(shop: Any) -> None:
    """Whoever calls it may have threads of its own, as Django's async side has."""
    done = threading.Event()
    theirs = threading.Thread(target=done.wait)
    theirs.start()
    try:
        call_command("holdfast", "worker", "--until-idle", "--log-level", "error")
    finally:
        done.set()
        theirs.join()


def test_what_the_command_refuses_is_a_command_error(shop: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("holdfast", "worker", "--queues", "a:b")

    assert refused.value.returncode == 2
    assert "is not NAME or NAME:SLOTS" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("told", "problem", "number"),
    [
        ("shop.jobs:app", "HOLDFAST is a str: write a dictionary", 1),
        ({"APPS": "shop.jobs:app"}, "HOLDFAST has 'APPS', which is no setting", 1),
        ({"MIGRATE": "no"}, "HOLDFAST['MIGRATE'] is 'no': it takes a bool", 1),
        ({"DATABASE": "elsewhere"}, "names 'elsewhere', which DATABASES does not have", 2),
        ({"DATABASE": "file"}, "DATABASES['file'] is sqlite; jobs live in PostgreSQL", 3),
    ],
)
def test_wrong_settings_are_told_by_the_system_checks(
    project: None, settings: Any, told: Any, problem: str, number: int
) -> None:
    from django.core.checks import run_checks

    settings(told)

    (error,) = run_checks(tags=["holdfast"])
    assert problem in error.msg
    assert error.id == f"holdfast.E00{number}"


def test_a_database_that_the_orm_would_not_use_is_not_started(project: None) -> None:
    with pytest.raises(CommandError, match=r"run manage\.py holdfast up"):
        call_command("holdfast", "dev")


def test_the_commands_refuse_wrong_settings(project: None, settings: Any) -> None:
    settings({"DATABASE": "file"})

    with pytest.raises(CommandError, match=r"holdfast\.E003"):
        call_command("holdfast", "worker")


def test_a_backend_says_what_it_does_not_know(project: None) -> None:
    from holdfast.contrib.django import HoldfastBackend

    backend = HoldfastBackend("odd", {"OPTIONS": {"RETRIES": "many", "SPEED": 9}})

    (error,) = backend.check()
    assert error.id == "holdfast.E006"
