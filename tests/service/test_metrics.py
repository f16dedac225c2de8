"""What Prometheus reads: names that stay, numbers from the projector, and files made from the names."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from holdfast import Fail, Holdfast
from holdfast.domain.metrics import BOUNDS, METRICS
from holdfast.interfaces import monitoring
from holdfast.store.project import project
from holdfast.testing import ScratchDatabase, adrain
from service.asking import problem
from service.conftest import Calling
from sql.asking import asked
from sql.support import Machine

DEPLOY = Path(__file__).parents[2] / "deploy"


def read(text: str) -> dict[str, Any]:
    """Read the text as Prometheus' own client does."""
    return {family.name: family for family in text_string_to_metric_families(text)}


def value(families: dict[str, Any], family: str, name: str | None = None, **labels: str) -> float:
    found = [
        float(sample.value)
        for sample in families[family].samples
        if sample.name == (name or sample.name) and labels.items() <= sample.labels.items()
    ]
    assert len(found) == 1, (family, name, labels, found)
    return found[0]


async def scraped(calling: Calling) -> dict[str, Any]:
    async with calling("read") as client:
        answer = await client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return read(answer.text)


async def test_a_scrape_says_what_happened(
    calling: Calling, shop: Holdfast, owner: psycopg.Connection, holdfast_db: ScratchDatabase
) -> None:
    @shop.task(name='odd "name"\\\n')
    async def odd() -> None:
        raise Fail("no")

    await odd.aenqueue()
    await adrain(shop)
    await shop.tasks["greet"].aenqueue("second")
    machine = Machine(owner)
    machine.register("t")
    asked(machine)
    holdfast_db.clock.advance(100)
    shop.link.perform(project(10_000))

    told = await scraped(calling)

    assert value(told, "holdfast_jobs", "holdfast_jobs_total", state="COMPLETED", task="greet") == 1
    assert value(told, "holdfast_jobs", "holdfast_jobs_total", state="PENDING", task="greet") == 2
    assert value(told, "holdfast_jobs", "holdfast_jobs_total", state="FAILED", task='odd "name"\\\n') == 1
    assert value(told, "holdfast_jobs_present", state="PENDING", task="greet") == 1
    assert value(told, "holdfast_jobs_present", state="COMPLETED", task="greet") == 1
    assert 100 <= (value(told, "holdfast_queue_oldest_seconds", queue="default")) < 200
    assert value(told, "holdfast_approvals_pending") == 1
    assert value(told, "holdfast_workers") == 0
    assert value(told, "holdfast_refused_writes", "holdfast_refused_writes_total") == 0


async def test_what_a_guard_refused_is_told(calling: Calling, owner: psycopg.Connection) -> None:
    for _ in range(2):
        with pytest.raises(psycopg.Error):
            owner.execute("truncate holdfast.job")

    assert value(await scraped(calling), "holdfast_refused_writes", "holdfast_refused_writes_total") == 2


async def test_histograms_are_exact_and_outlive_the_minutes(
    calling: Calling, shop: Holdfast, owner: psycopg.Connection
) -> None:
    await adrain(shop)
    owner.execute("delete from holdfast.timing")
    owner.execute("delete from holdfast.statistic")

    told = await scraped(calling)

    for family in ("holdfast_job_wait_seconds", "holdfast_job_run_seconds"):
        assert value(told, family, f"{family}_count", task="greet") == 1
        assert value(told, family, f"{family}_bucket", task="greet", le="+Inf") == 1
        seconds = value(told, family, f"{family}_sum", task="greet")
        for bound in BOUNDS:
            expected = 1 if seconds < bound else 0
            assert value(told, family, f"{family}_bucket", task="greet", le=f"{bound:g}") == expected


def test_a_span_falls_below_the_bound_of_its_bucket(owner: psycopg.Connection) -> None:
    for seconds in (0.0005, 0.0011, 0.0039, 0.0041, 1.0, 1.03, 3600, 67_000, 68_000, 10_000_000):
        told = owner.execute(
            "select (holdfast.bucket_of(make_interval(secs => %s)) + 7) / 8", [seconds]
        ).fetchone()

        assert told is not None
        assert min(told[0], len(BOUNDS)) == sum(bound <= seconds for bound in BOUNDS)


async def test_only_who_reads_for_all_may_scrape(calling: Calling) -> None:
    async def asked_by(*scopes: str, tenant: str | None = None) -> httpx.Response:
        async with calling(*scopes, tenant=tenant) as client:
            return await client.get("/metrics")

    assert problem(await asked_by()) == (401, "unauthorized")
    assert problem(await asked_by("enqueue")) == (403, "forbidden")
    assert problem(await asked_by("read", tenant="acme")) == (403, "forbidden")


async def test_a_scrape_counts_no_jobs(owner: psycopg.Connection, calling: Calling, shop: Holdfast) -> None:
    shop.enqueue_many([shop.tasks["greet"].job(str(number)) for number in range(2000)])
    owner.execute("vacuum analyze holdfast.job")
    shop.link.perform(project(10_000))
    before = owner.execute(_READ).fetchone()

    await scraped(calling)

    owner.execute("select pg_stat_force_next_flush()")
    after = owner.execute(_READ).fetchone()
    assert before is not None
    assert after is not None
    assert after[0] - before[0] < 50


_READ = """
select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_user_tables where relid = 'holdfast.job'::regclass
"""


# -- what is made from the names -----------------------------------------------------------------------------------------


def test_the_files_are_what_the_names_say() -> None:
    again = "write them anew: python -m holdfast.interfaces.monitoring deploy"

    assert (DEPLOY / "grafana.json").read_text("utf-8") == monitoring.dashboard(), again
    assert (DEPLOY / "alerts.yml").read_text("utf-8") == monitoring.alerts(), again


def test_every_expression_is_about_metrics_that_there_are() -> None:
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text("utf-8"))["groups"][0]["rules"]
    panels = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))["panels"]
    expressions = [rule["expr"] for rule in rules]
    expressions += [target["expr"] for panel in panels for target in panel["targets"]]
    known = {metric.name for metric in METRICS} | {
        f"{metric.name}_bucket" for metric in METRICS if metric.kind == "histogram"
    }

    used = {name for text in expressions for name in re.findall(r"holdfast_\w+", text)}

    assert used <= known
    assert {name.removesuffix("_bucket") for name in used} == {metric.name for metric in METRICS}
    assert all(text.count("(") == text.count(")") for text in expressions)
