"""What the dashboard's run comes to, and whether it is enough."""

from collections.abc import Mapping
from typing import Any

AT_MOST = 300.0  # milliseconds, of the 95th percentile of every page


def written(address: str, things: Mapping[str, str]) -> str:
    """Write an address for people: with a word where an id stands."""
    for name, value in things.items():
        address = address.replace(value, f"<{name}>")
    return address


def line(address: str, taken: Mapping[str, float]) -> str:
    """Write what was measured of a page, and whether that is enough."""
    verdict = "reached" if taken["p95"] <= AT_MOST else "**not reached**"
    told = " | ".join(f"{taken[name]:,.0f} ms" for name in ("p50", "p95", "longest"))
    return f"| `{address}` | {told} | {verdict} |"


def table(results: Mapping[str, Any]) -> str:
    """Write the run down for people."""
    machine = results["machine"]
    place = f"{machine['cores']} cores ({machine['cpu']}), {machine['memory_gb']} GB, shared by browser, server and PostgreSQL"
    return "\n".join([
        f"# The dashboard with {results['jobs']:,} jobs",
        "",
        f"{results['date']}, commit {results['commit']}, {results['times']} times each, one look at a time, by a service that nobody else uses.",
        f"{place}; the jobs were made in {results['seeded_seconds']} s. Goal: p95 ≤ {AT_MOST:,.0f} ms, every page.",
        "",
        "| page | p50 | p95 | longest | |",
        "| --- | ---: | ---: | ---: | --- |",
        *(line(address, taken) for address, taken in results["pages"].items()),
        "",
    ])  # fmt: skip
