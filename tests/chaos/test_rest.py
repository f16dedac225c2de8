"""Each sentence of the verdict can be said, about a server to which just that was done."""

import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from chaos import rest
from chaos.judge import Finding
from chaos.world import Plan, World, made_world
from guarantees.waiting import until

PATIENCE = 120.0
PAGE = 8192


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world without workers, in which customers have asked for something, and ask no more."""
    with made_world(
        Plan(seed=1, rate=20, workers=0, standstill=0.3), tmp_path_factory.mktemp("rest")
    ) as made:
        until("somebody has asked", lambda: made.value(rest.LEFT), PATIENCE)
        made.tell_customers("stop")
        yield made
        assert made.customers is not None
        made.customers.kill()
        made.customers.communicate()  # closes what leads to them


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROJECTED_WITHIN", "FORGOTTEN"):
        monkeypatch.setattr(rest, name, 0.3)


def rules(found: list[Finding]) -> set[str]:
    return {finding.rule for finding in found}


def project_all(world: World) -> None:
    def is_projected() -> bool:
        world.execute("select holdfast.project()")
        return not world.value("select holdfast.has_unprojected()")

    until("everything is projected", is_projected, PATIENCE)


def test_jobs_that_nobody_ends_are_not_at_rest(world: World) -> None:
    assert rules(rest._drained(world)) == {"not at rest"}


def test_what_nobody_projects_is_found(world: World) -> None:
    project_all(world)
    world.enqueue(world.value("select task from holdfast.job where task <> 'at_desk' limit 1"), {"room": 1})

    assert rules(rest._projected(world)) == {"not projected"}


@pytest.mark.parametrize("retention", [None, 60.0])
def test_what_is_projected_wrongly_is_found_in_a_soak_too(
    world: World, monkeypatch: pytest.MonkeyPatch, retention: float | None
) -> None:
    monkeypatch.setattr(world, "plan", Plan(seed=1, rate=20, retention=retention))
    project_all(world)
    assert rest._projected(world) == []

    world.execute("update holdfast.tally set entered = entered + 1")

    assert rules(rest._projected(world)) == {"the projection is not the history"}
    world.execute("update holdfast.tally set entered = entered - 1")


def test_a_transaction_that_is_left_open_is_found(world: World) -> None:
    with psycopg.connect(world.address()) as forgotten:
        forgotten.execute("select")

        assert rules(rest._left_open(world)) == {"left open"}


def test_a_worker_that_does_not_end_as_told_is_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "plan", Plan(seed=1, rate=20, workers=1))
    world.seat()
    try:
        worker = world.seats[0].worker.until_ready(PATIENCE)
        worker.freeze()  # it hears nothing
        threading.Timer(0.5, worker.signal, [signal.SIGKILL]).start()

        assert rules(rest._ended(world)) == {"a worker did not end as told"}
    finally:
        world.seats.clear()


def test_what_the_auditor_says_and_what_is_not_as_released_is_found(world: World) -> None:
    with psycopg.connect(world.owner_url) as connection, connection.transaction(force_rollback=True):
        connection.execute("alter table holdfast.job disable trigger user")
        connection.execute("update holdfast.job set attempt = 7")

        found = rules(rest.audited(connection))

    assert rest.UNGUARDED in found
    assert any(rule.startswith("auditor: ") for rule in found)


def test_what_a_guard_refused_is_found(world: World) -> None:
    world.execute("select holdfast.count_refusal()")

    assert any("guards of the tables refused a write" in rule for rule in rules(rest.audited(world.owner)))


def test_a_session_that_is_left_behind_is_found(world: World) -> None:
    with psycopg.connect(world.address()):
        assert "a session was left behind" in rules(rest.clean(world.cluster, world.owner))


def stop(world: World) -> None:
    world.owner.close()
    world.cluster.stop(signal.SIGINT)


def test_a_prepared_transaction_that_is_left_is_found(world: World) -> None:
    world.execute("alter system set max_prepared_transactions = 1")
    stop(world)
    world.cluster.start()
    with psycopg.connect(world.owner_url) as connection:
        connection.execute("create table chaos.promised ()")
        connection.execute("prepare transaction 'promised'")

    assert "a prepared transaction was left" in rules(rest.clean(world.cluster, world.owner))
    world.execute("rollback prepared 'promised'")


def test_a_page_that_is_not_as_it_was_written_is_found(world: World) -> None:
    world.execute("create table chaos.torn as select n from generate_series(1, 1000) as n")
    file = Path(world.value("show data_directory"), world.value("select pg_relation_filepath('chaos.torn')"))
    stop(world)
    torn = bytearray(file.read_bytes())
    torn[PAGE - 500 : PAGE] = random.Random(1).randbytes(500)
    file.write_bytes(torn)
    world.cluster.start()

    found = rules(rest.clean(world.cluster, world.owner))
    world.execute("drop table chaos.torn")

    program = world.cluster.program("pg_amcheck")
    if program is None:
        pytest.skip("NOT RUN: pg_amcheck is not among the server's programs")
    assert "pg_amcheck" in found
    assert "a checksum did not fit" in rules(rest.clean(world.cluster, world.owner))
