"""What the products' run comes to, and whether it is enough."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple


class Goal(NamedTuple):
    """One line of the table."""

    key: str
    what: str
    at_most: float | None = None  # milliseconds, of the 95th percentile

    def line(self, samples: dict[str, list[float]]) -> str:
        """Write what was measured, and whether that is enough."""
        taken = samples[self.key]
        p50, p95 = percentile(taken, 0.5), percentile(taken, 0.95)
        wanted = "" if self.at_most is None else f"p95 ≤ {self.at_most:,.0f} ms"
        verdict = "" if self.at_most is None else "reached" if p95 <= self.at_most else "**not reached**"
        return f"| {self.what} | `{self.key}` | {p50:,.0f} ms | {p95:,.0f} ms | {max(taken):,.0f} ms | {wanted} | {verdict} |"


GOALS = [
    Goal("booking_confirmation", "from a payment's webhook to the confirmation in the mailbox", 2000),
    Goal("booking_all", "… to all three e-mails, the invoice's with it", 2000),
    Goal("workspace_ready", "from the second approval to the workspace that is ready", 1000),
    Goal(
        "start_behind_100000", "from queueing a job behind 100,000 of another organisation to its start", 1000
    ),
]


def percentile(taken: Sequence[float], share: float) -> float:
    """Give the smallest value that so many are not above."""
    return sorted(taken)[math.ceil(share * len(taken)) - 1]


def table(results: dict[str, Any]) -> str:
    """Write the run down for people."""
    machine = results["machine"]
    place = f"{machine['cores']} cores ({machine['cpu']}), {machine['memory_gb']} GB, shared by customers, world, web, worker and PostgreSQL"
    return "\n".join([
        "# The products in apps/, one customer at a time",
        "",
        f"{results['date']}, commit {results['commit']}, {results['times']} times each, after {results['warm_up']} that do not count.",
        f"{place}; fdatasync {machine['fdatasync_ms']} ms on {machine['filesystem']}; load at the end {machine['load_at_the_end'][0]}, niceness {results['niceness']}.",
        "",
        "| what | key | p50 | p95 | longest | goal | |",
        "| --- | --- | ---: | ---: | ---: | --- | --- |",
        *(goal.line(results["samples"]) for goal in GOALS if goal.key in results["samples"]),
        "",
    ])  # fmt: skip
