"""What the service's run comes to: ours beside the constant, and whether it is enough."""

import statistics
from typing import Any, NamedTuple

Sample = dict[str, Any]
MOST_STOLEN = 0.01  # of the processors' time


class Goal(NamedTuple):
    """One line of the table."""

    key: str
    what: str
    case: str
    member: str
    unit: str
    at_most: float | None = None

    def line(self, samples: dict[str, list[Sample]]) -> str:
        """Write what was measured of us, of the constant, their ratio, and whether that is enough."""
        ours = self._median(samples.get(self.case, []))
        limit = self._median(samples.get(f"{self.case}, constant", []))
        ratio = "" if limit is None or ours is None or not limit else f"{ours / limit:.2f}"
        verdict = "" if self.at_most is None or ours is None else self._verdict(ours)
        wanted = "" if self.at_most is None else f"≤ {self.at_most:g}"
        taken = samples.get(self.case, [])
        of = f"{len(counted(taken))} of {len(taken)}"
        return f"| {self.what} | `{self.key}` | {_number(ours)} {self.unit} | {of} | {_number(limit)} | {ratio} | {wanted} | {verdict} |"

    def _median(self, samples: list[Sample]) -> float | None:
        known = [sample[self.member] for sample in counted(samples) if self.member in sample]
        return statistics.median(known) if known else None

    def _verdict(self, ours: float) -> str:
        return "reached" if ours <= (self.at_most or 0) else "**not reached**"


def is_quiet(sample: Sample) -> bool:
    """Whether the machine was ours while the sample was taken."""
    return bool(sample.get("stolen", 0.0) <= MOST_STOLEN)


def counted(samples: list[Sample]) -> list[Sample]:
    """Give those that count: the quiet ones, or all where there are none."""
    return [sample for sample in samples if is_quiet(sample)] or samples


def noise(samples: dict[str, list[Sample]]) -> str:
    """Say which samples do not count."""
    every = [sample for taken in samples.values() for sample in taken]
    loud = sum(not is_quiet(sample) for sample in every)
    never = sorted(name for name, taken in samples.items() if not any(map(is_quiet, taken)))
    told = f"{loud} of {len(every)} samples were taken while the host gave more than {MOST_STOLEN:.0%} of the processors to others, and do not count"
    return told + (
        f", but for these, of which no other were to be had: {', '.join(never)}." if never else "."
    )


def goals(rate: float, readers: int, senders: int) -> list[Goal]:
    """Name the lines of the table."""
    events, many = f"webhook at {rate:g}/s with its job committed", f"{readers:,} streams in one process"
    return [
        Goal("webhook_p50", f"{events}, p50", "webhook", "p50", "ms"),
        Goal("webhook_p99", f"{events}, p99", "webhook", "p99", "ms", 50),
        Goal("by_hand_p50", "the same by hand: Stripe's library, psycopg, plain tables, p50", "webhook, by hand", "p50", "ms"),
        Goal("by_hand_p99", "the same by hand: Stripe's library, psycopg, plain tables, p99", "webhook, by hand", "p99", "ms"),
        Goal("webhook_two_p99", f"{events}, two processes, p99", "webhook, two processes", "p99", "ms", 50),
        Goal("kick_p50", "from the event's commit to its job's start, worker asleep, p50", "kick", "p50", "ms", 100),
        Goal("kick_p99", "from the event's commit to its job's start, worker asleep, p99", "kick", "p99", "ms"),
        Goal("api_enqueue", f"API: enqueue one, {senders} connections", "enqueue", "per_second", "/s"),
        Goal("api_job", f"API: look at a job, {senders} connections", "job", "per_second", "/s"),
        Goal("streams_p50", f"{many}: lag, p50", "streams", "p50", "ms"),
        Goal("streams_longest", f"{many}: longest lag", "streams", "longest", "ms", 1000),
        Goal("streams_cpu", f"{many}: processor a delivery", "streams", "cpu_us", "µs"),
        Goal("streams_memory", f"{many}: memory", "streams", "megabytes", "MB", 200),
        Goal("streams_exit", f"{many}: from SIGTERM to the end", "streams", "exit_seconds", "s", 1),
    ]  # fmt: skip


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


def table(results: dict[str, Any]) -> str:
    """Write the run down for people."""
    lines = goals(results["rate"], results["streams"], results["senders"])
    machine = results["machine"]
    place = f"{machine['cores']} cores ({machine['cpu']}), {machine['memory_gb']} GB, shared by senders, server and PostgreSQL"
    return "\n".join([
        "# The service, beside the same server answering a constant",
        "",
        f"{results['date']}, commit {results['commit']}, {results['repetitions']} repetitions, interleaved; medians.",
        f"{place}; fdatasync {machine['fdatasync_ms']} ms on {machine['filesystem']}.",
        noise(results["samples"]),
        "",
        "| what | key | Holdfast | samples | constant | ratio | goal | |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | --- |",
        *(goal.line(results["samples"]) for goal in lines),
        "",
    ])  # fmt: skip
