"""A Grafana dashboard and Prometheus' alert rules, made from the metrics' own names: `python -m holdfast.interfaces.monitoring deploy`."""

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.domain.metrics import (
    APPROVALS_PENDING,
    JOB_RUN,
    JOB_WAIT,
    JOBS_PRESENT,
    JOBS_TOTAL,
    QUEUE_OLDEST,
    REFUSED_WRITES,
    WORKERS,
)

_ENDED = f'{JOBS_TOTAL.name}{{state=~"COMPLETED|FAILED"}}'
_FAILED = f'{JOBS_TOTAL.name}{{state="FAILED"}}'


class Panel(NamedTuple):
    """One picture."""

    title: str
    unit: str
    expressions: tuple[tuple[str, str], ...]  # what, and what it is called


class Rule(NamedTuple):
    """One alert."""

    name: str
    expression: str
    lasts: str
    severity: str
    summary: str


def _percentiles(metric: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (
            f"histogram_quantile({share}, sum by (le, queue) (rate({metric}_bucket[5m])))",
            f"{{{{queue}}}} {name}",
        )
        for share, name in ((0.5, "p50"), (0.95, "p95"))
    )


PANELS = (
    Panel("Jobs that ended, a second", "ops", ((f"sum by (state) (rate({_ENDED}[5m]))", "{{state}}"),)),
    Panel("Share that failed", "percentunit",
          ((f"sum by (task) (rate({_FAILED}[15m])) / sum by (task) (rate({_ENDED}[15m]))", "{{task}}"),)),
    Panel("Oldest in line", "s", ((f"max by (queue) ({QUEUE_OLDEST.name})", "{{queue}}"),)),
    Panel("Jobs by state", "short",
          ((f'sum by (state) ({JOBS_PRESENT.name}{{state!~"COMPLETED|FAILED|CANCELLED"}})', "{{state}}"),)),
    Panel("Wait before the start", "s", _percentiles(JOB_WAIT.name)),
    Panel("Run time", "s", _percentiles(JOB_RUN.name)),
    Panel("Workers", "short", ((f"max({WORKERS.name})", "workers"),)),
    Panel("Approvals pending", "short", ((f"max({APPROVALS_PENDING.name})", "approvals"),)),
)  # fmt: skip

RULES = (
    Rule("HoldfastNotScraped", f"absent({WORKERS.name})", "5m", "critical",
         "Nobody answers /metrics: neither jobs nor their alerts can be seen."),
    Rule("HoldfastNoWorkers", f"max({WORKERS.name}) == 0", "5m", "critical",
         "No worker lives: nothing runs."),
    Rule("HoldfastQueueWaits", f"max by (queue) ({QUEUE_OLDEST.name}) > 600", "5m", "warning",
         "The oldest job in line of queue {{ $labels.queue }} has waited for {{ $value | humanizeDuration }}."),
    Rule("HoldfastJobsFail",
         f"sum by (task) (rate({_FAILED}[15m])) / sum by (task) (rate({_ENDED}[15m])) > 0.1", "15m", "warning",
         "{{ $value | humanizePercentage }} of the jobs of {{ $labels.task }} fail for good."),
    Rule("HoldfastStartsLate",
         f"histogram_quantile(0.95, sum by (le, queue) (rate({JOB_WAIT.name}_bucket[15m]))) > 300", "15m", "warning",
         "One job in twenty of queue {{ $labels.queue }} starts more than {{ $value | humanizeDuration }} late."),
    Rule("HoldfastApprovalsWait", f"min_over_time({APPROVALS_PENDING.name}[1d]) > 0", "0m", "info",
         "There has been an undecided approval at every moment of the last day."),
    Rule("HoldfastGuardRefused", f"increase({REFUSED_WRITES.name}[1h]) > 0", "0m", "warning",
         "A guard of the tables refused what Holdfast itself never writes: holdfast audit says what to do (I05)."),
)  # fmt: skip


def dashboard() -> str:
    """Write the dashboard as Grafana imports it."""
    panels = [_panel(number, panel) for number, panel in enumerate(PANELS)]
    told = {
        "uid": "holdfast", "title": "Holdfast", "tags": ["holdfast"], "schemaVersion": 39, "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{"name": "source", "type": "datasource", "query": "prometheus"}]},
        "panels": panels,
    }  # fmt: skip
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    return {
        "id": number + 1, "type": "timeseries", "title": panel.title,
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "gridPos": {"x": number % 2 * 12, "y": number // 2 * 8, "w": 12, "h": 8},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + place), "expr": expression, "legendFormat": name}
            for place, (expression, name) in enumerate(panel.expressions)
        ],
    }  # fmt: skip


def alerts() -> str:
    """Write the rules as Prometheus reads them."""
    lines = ["groups:", "  - name: holdfast", "    rules:"]
    for rule in RULES:
        lines += [
            f"      - alert: {rule.name}",
            f"        expr: {json.dumps(rule.expression)}",
            f"        for: {rule.lasts}",
            "        labels:",
            f"          severity: {rule.severity}",
            "        annotations:",
            f"          summary: {json.dumps(rule.summary)}",
        ]
    return "\n".join(lines) + "\n"


def main(folder: str) -> None:
    """Write both files."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    Path(folder, "grafana.json").write_text(dashboard(), "utf-8")
    Path(folder, "alerts.yml").write_text(alerts(), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
