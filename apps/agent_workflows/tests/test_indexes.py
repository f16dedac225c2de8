"""The dashboard's queries and the claims use indexes."""

import json

import pytest

from apps.agent_workflows.app import app
from apps.agent_workflows.tasks import run_agent
from apps.agent_workflows.tests.plane import Plane


@pytest.fixture(scope="module")
def many(shared: Plane) -> None:
    """Make enough jobs for the planner to care."""
    app.enqueue_many(
        run_agent.using(subject=f"agent:a{n % 100}", tags=[f"t{n % 100}"]).job("scout", "draft")
        for n in range(5000)
    )
    with shared.owner.transaction() as connection:
        connection.execute("analyze holdfast.job")


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (
            "select id from holdfast.job where subject = 'agent:a7' order by id desc limit 50",
            "job_by_subject",
        ),
        (
            "select id from holdfast.job where status = 'CANCELLED' and status <> 'RUNNING' order by id desc limit 50",
            "job_by_status",
        ),
        ("""select id from holdfast.job where tags @> '["t7"]'""", "job_by_tag"),
        (
            "select id from holdfast.job where id >= holdfast.uuid_at(now() - interval '1 s') and id < holdfast.uuid_at(now())",
            "job_pkey",
        ),
    ],
)
def test_lists_use_an_index(shared: Plane, many: None, query: str, index: str) -> None:
    plan = json.dumps(shared.rows(f"explain (format json) {query}"), default=str)

    assert index in plan
    assert "Seq Scan" not in plan


def test_claims_use_an_index_that_holds_only_claimable_jobs(shared: Plane) -> None:
    ((definition,),) = shared.rows("select indexdef from pg_indexes where indexname = 'job_in_line'")

    assert "WHERE ((claim_order IS NOT NULL)" in definition
