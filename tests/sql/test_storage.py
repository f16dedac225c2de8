"""What the jobs of tenants take: measured by upkeep, a bounded part of very many jobs, for everybody who may see it."""

import secrets

import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from sql.support import Machine, Row

LARGE = {"text": "x" * 20, "number": 7}


@pytest.fixture
def jobs(machine: Machine) -> None:
    """Give one tenant three jobs, another one, and nobody two."""
    for tenant, times in (("acme", 3), ("globex", 1), (None, 2)):
        for _ in range(times):
            machine.job_in(Status.COMPLETED, payload=LARGE, tenant=tenant)


def measured(machine: Machine, blocks: int = 2000) -> dict[str | None, Row]:
    machine.run("select holdfast.measure_storage(%s)", blocks)
    return {row["tenant"]: row for row in machine.rows("select * from holdfast.storage")}


def test_the_jobs_of_each_tenant_are_measured_whole(machine: Machine, jobs: None) -> None:
    found = measured(machine)

    assert {tenant: row["jobs"] for tenant, row in found.items()} == {"acme": 3, "globex": 1, None: 2}
    stored = machine.value("select sum(pg_column_size(payload)) from holdfast.job where tenant = 'acme'")
    assert found["acme"]["payload_bytes"] == stored
    assert found["acme"]["history_bytes"] == 3 * found["globex"]["history_bytes"] > 3 * 300
    assert found["acme"]["share"] == 1


def test_everything_that_belongs_to_a_job_is_history(machine: Machine, jobs: None) -> None:
    before = measured(machine)["globex"]["history_bytes"]
    job = machine.value("select id from holdfast.job where tenant = 'globex'")
    text = Jsonb(secrets.token_urlsafe(2000))
    machine.run("insert into holdfast.attempt values (%s, 1, 'w', 'failed', null, %s)", job, text)
    machine.run("insert into holdfast.log_part values (%s, 2, 0, default, 'w', %s)", job, text)
    machine.run(
        "insert into holdfast.step values (%s, 's', 'step', null, 1, 1, false, now(), now(), %s)", job, text
    )

    machine.advance(301)

    assert measured(machine)["globex"]["history_bytes"] > before + 3 * 1000


def test_results_and_errors_are_told_apart_from_payloads(machine: Machine) -> None:
    machine.job_in(Status.FAILED, payload=LARGE, tenant="acme")

    row = measured(machine)["acme"]

    assert row["result_bytes"] == machine.value("select pg_column_size(error) from holdfast.job")
    assert row["payload_bytes"] == machine.value("select pg_column_size(payload) from holdfast.job")


def test_of_very_many_jobs_a_part_is_looked_at(machine: Machine) -> None:
    machine.enqueue_many([{"task": "t", "tenant": "acme", "payload": LARGE} for _ in range(3000)])
    blocks = machine.value("select pg_relation_size('holdfast.job') / current_setting('block_size')::int")

    row = measured(machine, blocks // 2)["acme"]

    assert 0.4 < row["share"] < 0.6
    assert 1000 < row["jobs"] < 6000


def test_nobody_measures_again_within_five_minutes(machine: Machine, jobs: None) -> None:
    measured(machine)
    machine.job_in(Status.COMPLETED, tenant="new")

    assert "new" not in measured(machine)
    machine.advance(301)
    assert "new" in measured(machine)


def test_who_has_no_jobs_any_more_is_forgotten(machine: Machine, jobs: None) -> None:
    machine.run("insert into holdfast.storage values ('gone', 1, 1, 1, 1, 1, 1, now() - interval '1 day')")

    assert "gone" not in measured(machine)


def test_upkeep_measures(machine: Machine, jobs: None) -> None:
    machine.run("select * from holdfast.upkeep()")

    assert machine.count("holdfast.storage") == 3
