"""The driver: measures every system in one run, round robin, and writes the samples, the ratios and a table."""

import argparse
import dataclasses
import datetime as dt
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from benchmarks.cases import NeverFinished, Sample, Sizes
from benchmarks.children import ROOT, ChildFailed
from benchmarks.environments import ENVIRONMENTS, EnvironmentMissing
from benchmarks.server import Server, running_server
from benchmarks.systems import ALL, GRAPHILE, HOLDFAST, PGBOSS, PGQUEUER_BEST, PGQUEUER_DEFAULT, RAW, System

from benchmarks import cases, report

RESULTS = Path(__file__).parent / "results"
GROUPS = ("drain", "enqueue", "latency", "projected", "finished", "pinned", "fairness", "mixed", "memory")
QUICK_GROUPS = ("drain", "enqueue", "latency", "projected")
NOT_IN_QUICK = (GRAPHILE, PGBOSS, PGQUEUER_DEFAULT)
QUICK_SECONDS = 330
LEAST_REPETITIONS = 2
STARTED = time.monotonic()
TWO_PROCESSES = (HOLDFAST, PGQUEUER_BEST, GRAPHILE, PGBOSS)


Measurement = tuple[str, System, Callable[[], Sample]]


class Run:
    """One run of the harness and what it has seen so far."""

    def __init__(
        self, server: Server, systems: list[System], sizes: Sizes, repetitions: int, is_quick: bool
    ) -> None:
        self.server = server
        self.systems = systems
        self.sizes = sizes
        self.repetitions = repetitions
        self.is_quick = is_quick
        self.samples: list[Sample] = []
        self.left_out: dict[str, str] = {}
        self.versions: dict[str, dict[str, str]] = {}

    def prepare(self) -> None:
        """Install every system, or leave it out and say why."""
        for system in list(self.systems):
            try:
                system.command()
                self.versions[system.name] = system.versions()
            except EnvironmentMissing as missing:
                self.leave_out(system, str(missing))

    def leave_out(self, system: System, reason: str) -> None:
        """Go on without a peer; without Holdfast or the limit there is nothing to compare."""
        if system in (RAW, HOLDFAST):
            raise SystemExit(f"bench: {system.title} cannot be measured: {reason}")
        print(f"bench: {system.title} is left out: {reason}", flush=True)
        self.left_out[system.name] = " ".join(reason.split())[:300]
        self.systems.remove(system)

    def measure(self, case: str, system: System, repetition: int, measurement: Callable[[], Sample]) -> None:
        """Take one sample and print it."""
        if system not in self.systems:
            return
        try:
            measured = measurement()
        except (ChildFailed, NeverFinished) as failure:
            self.leave_out(system, f"{case} failed: {failure}")
            return
        sample = {"case": case, "system": system.name, "repetition": repetition} | measured
        self.samples.append(sample)
        print(f"{time.monotonic() - STARTED:6.0f} s  {describe(sample)}", flush=True)

    def round_robin(self, groups: list[str]) -> None:
        """Go through all cases and systems once a repetition, every other time backwards, so that drift hits all alike."""
        began = time.monotonic()
        for repetition in range(self.repetitions):
            if repetition >= LEAST_REPETITIONS and self.is_quick and not self._fits(began, repetition):
                self.repetitions = repetition
                return
            order = self.systems if repetition % 2 == 0 else self.systems[::-1]
            for group in groups:
                for case, system, measurement in self.plan(group, list(order)):
                    self.measure(case, system, repetition, measurement)

    def _fits(self, began: float, repetitions: int) -> bool:
        """Say whether one more repetition as long as those before ends in time for a quick run."""
        now = time.monotonic()
        return now - STARTED + (now - began) / repetitions < QUICK_SECONDS

    def plan(self, group: str, order: list[System]) -> Iterator[Measurement]:
        """Name the measurements of one repetition of a group."""
        server, sizes = self.server, self.sizes
        # No goal needs a peer's enqueue or latency: a quick run spends the time on repetitions.
        compared = [system for system in order if not self.is_quick or system in (RAW, HOLDFAST)]
        match group:
            case "drain":
                for system in order:
                    yield "drain1", system, partial(cases.drain, server, system, sizes, 1)
                for system in (system for system in order if system in TWO_PROCESSES):
                    yield "drain2", system, partial(cases.drain, server, system, sizes, 2)
            case "enqueue":
                for system in compared:
                    yield "enqueue_many", system, partial(cases.enqueue_many, server, system, sizes)
                    yield "enqueue_one", system, partial(cases.enqueue_one, server, system, sizes)
                yield from self._plan_of_16()
            case "latency":
                for system in compared:
                    yield "latency", system, partial(cases.latency, server, system, sizes)
            case "projected" | "pinned":
                yield from self._plan_of_pairs(group)
            case "fairness":
                yield from self._plan_of_fairness()

    def _plan_of_fairness(self) -> Iterator[Measurement]:
        sizes = dataclasses.replace(self.sizes, fair=self.sizes.fair // 5) if self.is_quick else self.sizes
        for tenants in (0, 1, 10, 1000):
            yield "fairness", HOLDFAST, partial(cases.fairness, self.server, HOLDFAST, sizes, tenants)

    def _plan_of_pairs(self, group: str) -> Iterator[Measurement]:
        """Drain without and with the one thing that a group is about."""
        measure = cases.drain_projected if group == "projected" else cases.drain_pinned
        for with_it in (False, True):
            yield f"drain_{group}", HOLDFAST, partial(measure, self.server, HOLDFAST, self.sizes, with_it)

    def _plan_of_16(self) -> Iterator[Measurement]:
        server, sizes = self.server, self.sizes
        for worker_is in ("draining", "idle") if self.is_quick else ("draining", "idle", "following"):
            for waking in ("silent", "waking"):
                yield (
                    "enqueue_16",
                    HOLDFAST,
                    partial(cases.enqueue_16, server, HOLDFAST, sizes, worker_is, waking),
                )

    def among_finished(self) -> None:
        """Drain in turn an empty table and one with a million finished jobs."""
        if HOLDFAST not in self.systems:
            return
        with cases.database_with_finished(self.server, HOLDFAST, self.sizes) as template:
            for repetition in range(self.repetitions):
                for source in (None, template):
                    self.measure(
                        "drain_finished",
                        HOLDFAST,
                        repetition,
                        partial(cases.drain_with_finished, self.server, HOLDFAST, self.sizes, source),
                    )

    def results(self) -> dict[str, Any]:
        """Put together everything that was seen."""
        return {
            "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "quick": self.is_quick,
            "repetitions": self.repetitions,
            "machine": machine(self.server.folder),
            "postgresql": self.server.settings(),
            "runtimes": runtimes(),
            "systems": {
                system.name: {
                    "title": system.title,
                    "settings": system.settings,
                    "keeps": system.keeps,
                    "versions": self.versions[system.name],
                }
                for system in self.systems
            },
            "left_out": self.left_out,
            "ratios": report.ratios(self.samples),
            "goals": report.goals(self.samples),
            "samples": self.samples,
        }


def describe(sample: Sample) -> str:
    """Return one line for a sample."""
    name = f"{sample['case']:<15} {sample['system']:<17} {sample.get('variant', ''):<18}"
    if "latencies_ms" in sample:
        p50, p99 = (report.percentile(sample["latencies_ms"], share) for share in (0.5, 0.99))
        return f"{name} p50 {p50:.2f} ms, p99 {p99:.2f} ms"
    extra = "".join(
        f", {key} {sample[key]}"
        for key in ("dead_rows", "unfinished_at_the_end", "unfinished_after_the_last")
        if key in sample
    )
    if "late_ms" in sample:
        extra += f", the late tenant's jobs started within {max(sample['late_ms']):.1f} ms"
    if "rss_mb" in sample:
        extra += f", {max(sample['rss_mb']):.0f} MB at most, growth {report.memory_growth(sample):.2f}"
    return f"{name} {sample['jobs']:>9,} jobs {sample['jobs'] / sample['seconds']:>9,.0f}/s{extra}"


def publish(name: str, results: dict[str, Any], text: str, *, is_whole: bool) -> None:
    """Write a run down and print it; one that is not whole must not take the place of one that is."""
    path = (RESULTS if is_whole else ENVIRONMENTS) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(
        json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    print(f"\n{text}\nbench: written to {path.with_suffix('.json')}")


def commit() -> str:
    """Return the commit measured, and whether files differ from it."""
    git = shutil.which("git")
    if git is None:
        return "unknown"
    head = subprocess.run([git, "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if head.returncode != 0:
        return "unknown"
    changed = subprocess.run(
        [git, "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return head.stdout.strip() + (" with changes" if changed.stdout.strip() else "")


def machine(folder: Path) -> dict[str, Any]:
    """Describe what this ran on."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "cpu": cpu_model(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(),
        "fdatasync_ms": fdatasync_milliseconds(folder),
        "filesystem": filesystem_of(folder),
        "load_at_the_end": [round(load, 2) for load in os.getloadavg()],
    }


def cpu_model() -> str:
    """Return the processor's name where the system tells it."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def filesystem_of(folder: Path) -> str:
    """Return the kind of file system the database lies on: on one in memory, durable writes cost nothing."""
    kinds = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    return next((kinds[place] for place in (folder, *folder.parents) if place in kinds), "unknown")


def fdatasync_milliseconds(folder: Path) -> float:
    """Return the median time one durable write takes beside the database."""
    synchronise = getattr(os, "fdatasync", os.fsync)
    times = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(100):
            file.write(bytes(8192))
            file.flush()
            started = time.perf_counter()
            synchronise(file.fileno())
            times.append(time.perf_counter() - started)
    return round(statistics.median(times) * 1000, 3)


def runtimes() -> dict[str, str]:
    """Return the versions of the interpreters."""
    versions = {"python": platform.python_version()}
    if (node := shutil.which("node")) is not None:
        versions["node"] = subprocess.run(
            [node, "--version"], check=True, capture_output=True, text=True
        ).stdout.strip()
    return versions


def choose(names: str | None, known: list[str], what: str) -> list[str]:
    """Return the chosen names in the order given by the harness."""
    if names is None:
        return known
    chosen = names.split(",")
    if unknown := set(chosen) - set(known):
        raise SystemExit(f"bench: unknown {what} {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return [name for name in known if name in chosen]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="us, PgQueuer, Procrastinate and the raw limit, within six minutes",
    )
    parser.add_argument(
        "--repetitions",
        type=int,
        default=3,
        help="how often each case is measured (default 3; a quick run leaves the third out when it does not fit)",
    )
    parser.add_argument("--only", help=f"some of: {','.join(GROUPS)}")
    parser.add_argument("--systems", help=f"some of: {','.join(system.name for system in ALL)}")
    parser.add_argument(
        "--jobs", type=int, help="jobs of a drain (50,000), the other cases in proportion; for trying it out"
    )
    return parser.parse_args()


def main() -> None:
    """Measure, write, print."""
    # Ended from outside, the run still stops its server and removes its folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = arguments()
    usual = QUICK_GROUPS if options.quick and options.only is None else GROUPS
    groups = choose(options.only, list(usual), "case")
    known = [system for system in ALL if not (options.quick and system in NOT_IN_QUICK)]
    names = choose(options.systems, [system.name for system in known], "system")
    sizes = Sizes() if options.jobs is None else Sizes.scaled(options.jobs)
    with running_server() as server:
        run = Run(server, [s for s in known if s.name in names], sizes, options.repetitions, options.quick)
        run.prepare()
        run.round_robin([group for group in groups if group in {*QUICK_GROUPS, "pinned", "fairness"}])
        if "finished" in groups:
            run.among_finished()
        for number in range(sizes.mixed_runs if "mixed" in groups else 0):
            run.measure("mixed", HOLDFAST, number, partial(cases.mixed, server, HOLDFAST, sizes))
        if "memory" in groups:
            run.measure("memory", HOLDFAST, 0, partial(cases.memory, server, HOLDFAST, sizes))
        results = run.results()
    # A part of a run must not take the place of a whole one.
    is_whole = options.only is None and options.systems is None and options.jobs is None
    publish("latest", results, report.table(results), is_whole=is_whole)


if __name__ == "__main__":
    main()
