"""The numbers a run publishes follow from the samples it took."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
LATEST = BENCHMARKS / "results" / "latest.json"
SERVICE = BENCHMARKS / "results" / "service.json"
PAGES = BENCHMARKS / "results" / "pages.json"
PRODUCTS = BENCHMARKS / "results" / "products.json"


def load_report(path: str) -> Any:
    # By path: `benchmarks` is also the name of this folder, and neither is a package.
    spec = importlib.util.spec_from_file_location(f"benchmark_{path}", BENCHMARKS / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


report = load_report("report.py")
service = load_report("service/report.py")
products = load_report("products/report.py")
pages = load_report("pages/report.py")


@pytest.fixture
def latest() -> dict[str, Any]:
    results: dict[str, Any] = json.loads(LATEST.read_text(encoding="utf-8"))
    return results


def drain(system: str, seconds: float, **more: Any) -> dict[str, Any]:
    return {"case": "drain1", "system": system, "repetition": 0, "jobs": 1000, "seconds": seconds} | more


def sixteen(worker_is: str, waking: str, jobs: int) -> dict[str, Any]:
    return drain("holdfast", 1.0, case="enqueue_16", variant=f"{worker_is}, {waking}", jobs=jobs)


def latency(system: str, milliseconds: list[float]) -> dict[str, Any]:
    return {"case": "latency", "system": system, "repetition": 0, "jobs": 3, "latencies_ms": milliseconds}


def run_of(samples: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "date": "2026-01-01T00:00:00+00:00",
        "commit": "unknown",
        "quick": True,
        "repetitions": 1,
        "machine": {"cores": 2, "cpu": "any", "memory_gb": 8, "fdatasync_ms": 0.1, "filesystem": "ext4"},
        "postgresql": dict.fromkeys(("server_version", *report.TOLD_SETTINGS), "on"),
        "systems": {},
        "left_out": {},
        "goals": report.goals(samples),
        "samples": samples,
    }


def test_the_ratios_of_the_last_run_follow_from_its_raw_samples(latest: dict[str, Any]) -> None:
    recomputed = report.ratios(latest["samples"])

    assert recomputed == pytest.approx(latest["ratios"])


def test_the_verdicts_of_the_last_run_follow_from_its_raw_samples(latest: dict[str, Any]) -> None:
    recomputed = {goal["key"]: goal["met"] for goal in report.goals(latest["samples"])}

    assert recomputed == {goal["key"]: goal["met"] for goal in latest["goals"]}


def test_the_published_table_is_the_one_of_the_last_run(latest: dict[str, Any]) -> None:
    assert LATEST.with_suffix(".md").read_text(encoding="utf-8") == report.table(latest)


def test_the_last_run_measured_every_goal(latest: dict[str, Any]) -> None:
    expected = {goal.key for goal in report.GOALS if goal.is_quick or not latest["quick"]}
    if "graphile_best" in latest["left_out"]:
        expected.remove("drain1_vs_graphile_best")

    assert set(latest["ratios"]) == expected


def test_the_last_run_took_every_timed_sample_at_least_twice(latest: dict[str, Any]) -> None:
    taken: dict[tuple[str, str, str], int] = {}
    for sample in latest["samples"]:
        if sample["case"] != "memory":
            key = (sample["case"], sample["system"], sample.get("variant", ""))
            taken[key] = taken.get(key, 0) + 1

    assert min(taken.values()) >= 2


def test_the_last_run_was_durable(latest: dict[str, Any]) -> None:
    settings = {name: latest["postgresql"][name] for name in ("fsync", "synchronous_commit")}

    assert settings == {"fsync": "on", "synchronous_commit": "on"}


def test_a_ratio_compares_medians() -> None:
    ours = [drain("holdfast", seconds) for seconds in (1.0, 2.0, 10.0)]
    raw = [drain("raw", seconds) for seconds in (0.5, 1.0, 1.5)]

    assert report.ratios(ours + raw) == {"drain1_vs_raw": pytest.approx(0.5)}


def test_waking_is_judged_by_the_worse_of_a_draining_and_an_idle_worker() -> None:
    samples = [
        sixteen("draining", "silent", 1000),
        sixteen("draining", "waking", 900),
        sixteen("idle", "silent", 1000),
        sixteen("idle", "waking", 700),
    ]

    assert report.ratios(samples) == {"enqueue_16_vs_silent": pytest.approx(0.7)}


def test_latency_is_compared_at_the_middle_and_at_the_end() -> None:
    samples = [latency("raw", [1.0, 2.0, 3.0]), latency("holdfast", [2.0, 3.0, 12.0])]

    assert report.ratios(samples) == {"latency_p50_vs_raw": 1.5, "latency_p99_vs_raw": 4.0}


@pytest.mark.parametrize(
    ("rss", "met"), [([50.0, 80.0, 80.0, 84.0, 82.0], True), ([50.0, 60.0, 70.0, 80.0, 90.0], False)]
)
def test_memory_must_be_flat_and_not_only_small(rss: list[float], met: bool) -> None:
    sample = drain("holdfast", 5.0, case="memory", rss_mb=rss)

    assert [goal["met"] for goal in report.goals([sample])] == [met]


@pytest.mark.parametrize(("dead_rows", "met"), [(400_000, True), (150_000, False)])
def test_a_pinned_drain_counts_only_with_enough_dead_rows(dead_rows: int, met: bool) -> None:
    free = drain("holdfast", 1.0, case="drain_pinned", variant="free")
    pinned = drain("holdfast", 1.0, case="drain_pinned", variant="pinned", dead_rows=dead_rows)

    assert [goal["met"] for goal in report.goals([free, pinned])] == [met]


def test_the_table_says_which_goals_were_not_reached() -> None:
    samples = [drain("holdfast", 2.0), drain("raw", 0.5), drain("pgqueuer_best", 4.0)]

    text = report.table(run_of(samples))

    assert "| `drain1_vs_raw` | ≥ 0.5 | 0.25 | **not reached** |" in text
    assert "| `drain1_vs_pgqueuer_best` | ≥ 1.3 | 2.00 | reached |" in text


def test_fairness_is_told_against_the_run_without_tenants() -> None:
    plain = drain("holdfast", 1.0, case="fairness", variant="0 tenants")
    fair = drain("holdfast", 1.25, case="fairness", variant="10 tenants", late_ms=[5.0, 90.0, 7.0])

    told = report.table(run_of([plain, fair]))

    assert "| 10 tenants | 7.0 | 90.0 | 0.80 |" in told


def test_the_published_table_of_the_service_is_the_one_of_its_last_run() -> None:
    results = json.loads(SERVICE.read_text(encoding="utf-8"))

    assert SERVICE.with_suffix(".md").read_text(encoding="utf-8") == service.table(results)


@pytest.mark.parametrize(("tail", "verdict"), [(49.0, "reached"), (51.0, "**not reached**")])
def test_the_service_is_told_beside_the_constant_and_judged_by_its_median(tail: float, verdict: str) -> None:
    samples = {"webhook": [{"p99": 1.0}, {"p99": tail}, {"p99": 90.0}], "webhook, constant": [{"p99": 10.0}]}

    (line,) = [goal for goal in service.goals(300, 1000, 8) if goal.key == "webhook_p99"]

    assert line.line(samples).endswith(
        f"| {tail:.1f} ms | 3 of 3 | 10.0 | {tail / 10:.2f} | ≤ 50 | {verdict} |"
    )


def test_a_sample_during_which_the_host_took_the_processors_away_does_not_count_and_is_told() -> None:
    quiet, loud = {"p99": 20.0, "stolen": 0.01}, {"p99": 900.0, "stolen": 0.2}
    (line,) = [goal for goal in service.goals(300, 1000, 8) if goal.key == "webhook_p99"]

    assert "| 20.0 ms | 1 of 3 |" in line.line({"webhook": [loud, quiet, loud]})
    assert "| 900.0 ms | 1 of 1 |" in line.line({"webhook": [loud]})
    assert service.noise({"webhook": [loud, quiet]}).startswith("1 of 2 samples")
    assert service.noise({"webhook": [loud]}).endswith("no other were to be had: webhook.")


def test_the_published_table_of_the_products_is_the_one_of_their_last_run() -> None:
    results = json.loads(PRODUCTS.read_text(encoding="utf-8"))

    assert PRODUCTS.with_suffix(".md").read_text(encoding="utf-8") == products.table(results)


@pytest.mark.parametrize(("late", "verdict"), [(5, "reached"), (6, "**not reached**")])
def test_a_product_is_judged_by_its_95th_percentile(late: int, verdict: str) -> None:
    samples = {"workspace_ready": [100.0] * (100 - late) + [5000.0] * late}

    (goal,) = [goal for goal in products.GOALS if goal.key == "workspace_ready"]

    assert goal.line(samples).endswith(f"| 5,000 ms | p95 ≤ 1,000 ms | {verdict} |")


def test_the_published_table_of_the_pages_is_the_one_of_its_last_run() -> None:
    results = json.loads(PAGES.read_text(encoding="utf-8"))

    assert PAGES.with_suffix(".md").read_text(encoding="utf-8") == pages.table(results)


@pytest.mark.parametrize(("p95", "verdict"), [(300.0, "reached"), (301.0, "**not reached**")])
def test_a_page_is_judged_by_its_95th_percentile(p95: float, verdict: str) -> None:
    taken = {"p50": 20.0, "p95": p95, "longest": 900.0}

    assert pages.line("/jobs", taken) == f"| `/jobs` | 20 ms | {p95:.0f} ms | 900 ms | {verdict} |"
