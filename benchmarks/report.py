"""Ratios, goals and tables, all computed from raw samples; a ratio compares medians over the repetitions of one run."""

import dataclasses
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Sample = dict[str, Any]

FLAT = 1.1  # memory after the first fifth of a drain may grow by a tenth of what it was then
TOLD_SETTINGS = ("fsync", "synchronous_commit", "full_page_writes", "shared_buffers")
LEAST_DEAD_ROWS = 200_000


class Samples:
    """The raw samples of one run, asked by case, system and variant."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = list(samples)

    def of(self, case: str, system: str, variant: str = "") -> list[Sample]:
        """Return the repetitions of one measurement."""
        wanted = (case, system, variant)
        return [s for s in self._samples if (s["case"], s["system"], s.get("variant", "")) == wanted]

    def rates(self, case: str, system: str, variant: str = "") -> list[float]:
        """Return jobs a second, one number a repetition."""
        return [s["jobs"] / s["seconds"] for s in self.of(case, system, variant)]

    def rate(self, case: str, system: str, variant: str = "") -> float | None:
        """Return the median rate."""
        return _median(self.rates(case, system, variant))

    def latency(self, system: str, share: float) -> float | None:
        """Return the median over the repetitions of a percentile of the latency."""
        return _median([percentile(s["latencies_ms"], share) for s in self.of("latency", system)])


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one / other


def _drain_against(case: str, peer: str) -> Callable[[Samples], float | None]:
    return lambda samples: _ratio(samples.rate(case, "holdfast"), samples.rate(case, peer))


def _latency_against_raw(share: float) -> Callable[[Samples], float | None]:
    return lambda samples: _ratio(samples.latency("holdfast", share), samples.latency("raw", share))


def _variants(case: str, one: str, other: str) -> Callable[[Samples], float | None]:
    return lambda samples: _ratio(samples.rate(case, "holdfast", one), samples.rate(case, "holdfast", other))


def _waking_against_silent(samples: Samples) -> float | None:
    """Return the worse of the two: with a worker that drains and with one that idles."""
    pairs = [
        _variants("enqueue_16", f"{worker}, waking", f"{worker}, silent")(samples)
        for worker in ("draining", "idle")
    ]
    known = [pair for pair in pairs if pair is not None]
    return min(known) if len(known) == len(pairs) else None


def _worst_against_median(samples: Samples) -> float | None:
    rates = samples.rates("mixed", "holdfast")
    return _ratio(min(rates), statistics.median(rates)) if rates else None


def _memory(samples: Samples) -> float | None:
    peaks = [max(s["rss_mb"]) for s in samples.of("memory", "holdfast")]
    return max(peaks) if peaks else None


def memory_growth(sample: Sample) -> float:
    """Return the most memory after the first fifth of a drain against the memory at that moment."""
    later = sample["rss_mb"][len(sample["rss_mb"]) // 5 :]
    return float(max(later) / later[0])


def _memory_is_flat(samples: Samples) -> bool:
    return all(memory_growth(s) <= FLAT for s in samples.of("memory", "holdfast"))


def _enough_was_dead(samples: Samples) -> bool:
    return all(s["dead_rows"] >= LEAST_DEAD_ROWS for s in samples.of("drain_pinned", "holdfast", "pinned"))


@dataclasses.dataclass(frozen=True, slots=True)
class Goal:
    """One line of the table of goals."""

    key: str
    what: str
    value: Callable[[Samples], float | None]
    at_least: float | None = None
    at_most: float | None = None
    also: Callable[[Samples], bool] | None = None
    condition: str = ""
    is_quick: bool = True

    @property
    def wanted(self) -> str:
        """Return the goal in words."""
        bound = f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"
        return f"{bound}, {self.condition}" if self.condition else bound

    def is_met(self, value: float, samples: Samples) -> bool:
        """Say whether the value reaches the goal."""
        reaches = value >= self.at_least if self.at_least is not None else value <= (self.at_most or 0)
        return reaches and (self.also is None or self.also(samples))


GOALS = (
    Goal("drain1_vs_pgqueuer_best", "drain, one worker process, against PgQueuer's best",
         _drain_against("drain1", "pgqueuer_best"), at_least=1.3),
    Goal("drain1_vs_procrastinate", "drain, one worker process, against Procrastinate tuned",
         _drain_against("drain1", "procrastinate"), at_least=35),
    Goal("drain1_vs_graphile_best", "drain, one worker process, against Graphile Worker's best",
         _drain_against("drain1", "graphile_best"), at_least=1, is_quick=False),
    Goal("drain1_vs_raw", "drain, one worker process, against the raw-SQL limit",
         _drain_against("drain1", "raw"), at_least=0.5),
    Goal("drain2_vs_pgqueuer_best", "drain, two worker processes, against PgQueuer's best with two",
         _drain_against("drain2", "pgqueuer_best"), at_least=1.3),
    Goal("enqueue_many_vs_raw", "enqueue_many against raw bulk insert with history",
         _drain_against("enqueue_many", "raw"), at_least=0.5),
    Goal("enqueue_one_vs_raw", "single enqueue, one connection, against raw INSERT + commit with history",
         _drain_against("enqueue_one", "raw"), at_least=0.8),
    Goal("enqueue_16_vs_silent", "16 connections enqueuing one by one, against the same without waking anybody (the worse of draining and idle worker)",
         _waking_against_silent, at_least=0.8),
    Goal("latency_p50_vs_raw", "enqueue → running on an idle system against raw NOTIFY → claim, p50",
         _latency_against_raw(0.5), at_most=1.5),
    Goal("latency_p99_vs_raw", "enqueue → running on an idle system against raw NOTIFY → claim, p99",
         _latency_against_raw(0.99), at_most=3),
    Goal("drain_1m_finished_vs_empty", "drain with 1,000,000 finished jobs in the table against an empty one",
         _variants("drain_finished", "finished", "empty"), at_least=0.85, is_quick=False),
    Goal("drain_pinned_snapshot_vs_free", "drain while a REPEATABLE READ transaction is held open from before the first of 200,000 jobs, against without",
         _variants("drain_pinned", "pinned", "free"), at_least=0.7, also=_enough_was_dead, condition="with ≥ 200,000 dead rows", is_quick=False),
    Goal("mixed_worst_vs_median", "worst of 10 runs of enqueue and drain together against their median",
         _worst_against_median, at_least=0.7, is_quick=False),
    Goal("worker_rss_mb", "worker memory while draining 1,000,000 jobs, MB",
         _memory, at_most=120, also=_memory_is_flat, condition="flat", is_quick=False),
)  # fmt: skip


def ratios(samples: Iterable[Sample]) -> dict[str, float]:
    """Compute every ratio these samples allow."""
    asked = Samples(samples)
    values = {goal.key: goal.value(asked) for goal in GOALS}
    return {key: value for key, value in values.items() if value is not None}


def goals(samples: Iterable[Sample]) -> list[dict[str, Any]]:
    """Say of every goal these samples measure whether it was reached."""
    asked = Samples(samples)
    lines = []
    for goal in GOALS:
        value = goal.value(asked)
        if value is not None:
            met = goal.is_met(value, asked)
            lines.append(
                {"key": goal.key, "what": goal.what, "goal": goal.wanted, "value": value, "met": met}
            )
    return lines


def table(results: dict[str, Any]) -> str:
    """Write the results as Markdown."""
    parts = [
        "# Holdfast, measured side by side",
        _heading(results),
        _goals_table(results),
        _rates_table(results),
    ]
    parts += [_latency_table(results), _settings_list(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _heading(results: dict[str, Any]) -> str:
    machine, postgresql = results["machine"], results["postgresql"]
    lines = [
        f"{results['date']}, commit {results['commit']}, {'quick' if results['quick'] else 'full'} run, {results['repetitions']} repetitions, interleaved.",
        f"{machine['cores']} cores ({machine['cpu']}), {machine['memory_gb']} GB, fdatasync {machine['fdatasync_ms']} ms on {machine['filesystem']}.",
        f"PostgreSQL {postgresql['server_version']}: {', '.join(f'{name} {postgresql[name]}' for name in TOLD_SETTINGS)}, everything else as it comes.",
        "A ratio compares medians over the repetitions; identical runs differ, so compare only within one run.",
    ]
    lines += [f"Left out: {name}: {reason}." for name, reason in results["left_out"].items()]
    return "\n".join(lines)


def _goals_table(results: dict[str, Any]) -> str:
    if not results["goals"]:
        return "No goal was measured in this run."
    lines = ["| what | key | goal | measured | |", "| --- | --- | --- | --- | --- |"]
    for goal in results["goals"]:
        verdict = "reached" if goal["met"] else "**not reached**"
        lines.append(
            f"| {goal['what']} | `{goal['key']}` | {goal['goal']} | {goal['value']:.2f} | {verdict} |"
        )
    return "\n".join(lines)


def _rates_table(results: dict[str, Any]) -> str:
    samples = Samples(results["samples"])
    timed = [s for s in results["samples"] if "seconds" in s]
    measured = dict.fromkeys((s["case"], s["system"], s.get("variant", "")) for s in timed)
    lines = [
        "| case | system | jobs/s (median) | every repetition | client CPU, µs a job |",
        "| --- | --- | ---: | --- | ---: |",
    ]
    for case, system, variant in sorted(measured, key=lambda key: key[0]):
        rates = samples.rates(case, system, variant)
        name = f"{system} ({variant})" if variant else system
        every = ", ".join(f"{rate:,.0f}" for rate in rates)
        cpu = _client_cpu(samples.of(case, system, variant))
        lines.append(f"| {case} | {name} | {statistics.median(rates):,.0f} | {every} | {cpu} |")
    return "\n".join(lines) if measured else ""


def _client_cpu(samples: list[Sample]) -> str:
    costs = [s["client_cpu_seconds"] / s["jobs"] * 1e6 for s in samples if "client_cpu_seconds" in s]
    return f"{statistics.median(costs):.1f}" if costs else ""


def _latency_table(results: dict[str, Any]) -> str:
    samples = Samples(results["samples"])
    systems = dict.fromkeys(s["system"] for s in results["samples"] if s["case"] == "latency")
    lines = ["| latency, ms | p50 | p99 |", "| --- | ---: | ---: |"]
    lines += [
        f"| {name} | {samples.latency(name, 0.5):.2f} | {samples.latency(name, 0.99):.2f} |"
        for name in systems
    ]
    return "\n".join(lines) if systems else ""


def _settings_list(results: dict[str, Any]) -> str:
    lines = ["Settings and versions:", ""]
    for name, system in results["systems"].items():
        versions = ", ".join(f"{package} {version}" for package, version in system["versions"].items())
        lines.append(f"- {name}: {system['settings']}; keeps {system['keeps']} ({versions}).")
    return "\n".join(lines)
