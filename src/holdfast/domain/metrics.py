"""Metrics as values: their names, which never change, and the text that Prometheus reads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


# Without a tenant everywhere: there may be any number of them, and each would be a series of its own.
JOBS_TOTAL = Metric(
    "holdfast_jobs_total", "counter", "Jobs that came to a state, ever.", ("state", "queue", "task")
)
# Not holdfast_jobs: OpenMetrics takes that for the counter's own name.
JOBS_PRESENT = Metric(
    "holdfast_jobs_present", "gauge", "Jobs that are in a state now.", ("state", "queue", "task")
)
QUEUE_OLDEST = Metric(
    "holdfast_queue_oldest_seconds", "gauge", "How long the oldest job in line has waited.", ("queue",)
)
JOB_WAIT = Metric(
    "holdfast_job_wait_seconds", "histogram", "From when a job could start to its start.", ("queue", "task")
)
JOB_RUN = Metric("holdfast_job_run_seconds", "histogram", "How long attempts ran.", ("queue", "task"))
APPROVALS_PENDING = Metric(
    "holdfast_approvals_pending", "gauge", "Approvals that nobody has decided; 10000 is: or more."
)
WORKERS = Metric("holdfast_workers", "gauge", "Workers that live.")
REFUSED_WRITES = Metric(
    "holdfast_refused_writes_total",
    "counter",
    "Writes that a guard of the tables refused; Holdfast itself makes none.",
)

METRICS = (
    JOBS_TOTAL,
    JOBS_PRESENT,
    QUEUE_OLDEST,
    JOB_WAIT,
    JOB_RUN,
    APPROVALS_PENDING,
    WORKERS,
    REFUSED_WRITES,
)

# Two doublings apart, from a millisecond to 19 hours; what is longer is in +Inf alone.
BOUNDS = tuple(4**k / 1000 for k in range(14))


class Exposition:
    """The text, metric after metric."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def begin(self, metric: Metric) -> None:
        """Say what follows."""
        self._lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]

    def sample(self, name: str, labels: Mapping[str, str], value: float) -> None:
        """Write one number."""
        told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        self._lines.append(f"{name}{{{told}}} {value:.17g}" if told else f"{name} {value:.17g}")

    def histogram(
        self, name: str, labels: Mapping[str, str], counts: Mapping[int, int], seconds: float
    ) -> None:
        """Write one histogram; a count belongs to the bound of its number, or beyond all of them."""
        upto = 0
        for number, bound in enumerate(BOUNDS):
            upto += counts.get(number, 0)
            self.sample(f"{name}_bucket", {**labels, "le": f"{bound:g}"}, upto)
        total = sum(counts.values())
        self.sample(f"{name}_bucket", {**labels, "le": "+Inf"}, total)
        self.sample(f"{name}_sum", labels, seconds)
        self.sample(f"{name}_count", labels, total)

    @property
    def text(self) -> str:
        """Everything written so far."""
        return "\n".join([*self._lines, ""])


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def gauges(metric: Metric, rows: Iterable[tuple[Mapping[str, str], float]], into: Exposition) -> None:
    """Write a metric that is one number for each of its labels."""
    into.begin(metric)
    for labels, value in rows:
        into.sample(metric.name, labels, value)
