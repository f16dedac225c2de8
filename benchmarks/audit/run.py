"""The auditor's run: how long a look at a sample and a walk through everything take with a million jobs behind them."""

import argparse
import datetime as dt
import signal
import subprocess
import sys
import time
from typing import Any

from benchmarks.audit.past import make_past
from benchmarks.children import ROOT
from benchmarks.server import Server, running_server

from benchmarks import run as runs

JOBS = 1_000_000
WALKS = {
    "a sample of 2,000": ("--sample", "2000"),
    "everything": (),
    "everything, at rest": ("--at-rest",),
    "everything, with the chains": ("--chain",),
}


def measure(server: Server, jobs: int) -> dict[str, Any]:
    """Make the past, and audit it as an operator would."""
    with server.database() as name:
        made = make_past(server, name, jobs)
        print(f"bench: {jobs:,} jobs after {made:.0f} s", flush=True)
        walks = {walk: audit(server.url(name), *options) for walk, options in WALKS.items()}
    return {"made_seconds": round(made), "walks": walks}


def audit(url: str, *options: str) -> float:
    """Let the command look; gives seconds. What it finds would be a defect, of the past or of the auditor."""
    command = [sys.executable, "-m", "holdfast.interfaces.cli", "--database-url", url, "audit", *options]
    began = time.perf_counter()
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if ended.returncode != 0:
        raise SystemExit(f"bench: audit {' '.join(options)}: {ended.stdout[:2000]}{ended.stderr[:2000]}")
    return round(took, 1)


def table(results: dict[str, Any]) -> str:
    """Write the run down for people."""
    machine = results["machine"]
    return "\n".join([
        f"# The auditor with {results['jobs']:,} jobs",
        "",
        f"{results['date']}, commit {results['commit']}; the jobs were made in {results['made_seconds']} s.",
        f"{machine['cores']} cores ({machine['cpu']}), {machine['memory_gb']} GB.",
        "",
        "| what it looks at | seconds |",
        "| --- | ---: |",
        *(f"| {walk} | {seconds:,.1f} |" for walk, seconds in results["walks"].items()),
        "",
    ])  # fmt: skip


def main() -> None:
    """Measure, write, print."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(prog="scripts/bench --audit", description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS, help="how many jobs there are (default 1,000,000)")
    options = parser.parse_args()
    with running_server() as server:
        results = {
            "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), "commit": runs.commit(), **vars(options),
            **measure(server, options.jobs), "machine": runs.machine(server.folder), "postgresql": server.settings(),
        }  # fmt: skip
    runs.publish("audit", results, table(results), is_whole=options.jobs >= JOBS)


if __name__ == "__main__":
    main()
