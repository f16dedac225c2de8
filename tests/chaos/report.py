"""What a run came to: printed, written as JSON, and merged into the published table, which shows what was run and nothing more."""

import json
import subprocess
import time
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chaos.evidence import Evidence
from chaos.judge import Finding, calm, recoveries
from chaos.nemesis import Nemesis
from chaos.strikes.strike import Record
from guarantees.workers import TESTS

BEGIN, END = "<!-- runs -->", "<!-- /runs -->"


@dataclass
class Report:
    """One run."""

    seed: int
    commit: str
    date: str
    command: str
    seconds: float
    rate: float
    lease: float
    jobs: dict[str, dict[str, int]]
    answers: dict[str, dict[str, int]]
    strikes: dict[str, dict[str, int]]
    not_run: dict[str, str]
    findings: list[Finding]
    slowest_recovery: float | None
    recoveries: int
    calms: int
    records: list[dict[str, Any]] = field(default_factory=list)

    def text(self) -> str:
        """The run as people read it."""
        lines = [
            f"seed {self.seed}, commit {self.commit}, {self.date}, {self.seconds:.0f} s, {self.rate:g} jobs/s, lease {self.lease:g} s",
            "",
            f"{'strike':32}{'struck':>8}{'landed':>8}{'hits':>8}",
            *(
                f"{name:32}{one['struck']:>8}{one['landed']:>8}{one['hits']:>8}"
                for name, one in sorted(self.strikes.items())
            ),
            *(f"{name:32}NOT RUN: {why}" for name, why in sorted(self.not_run.items())),
            "",
            *(
                f"{task:32}" + ", ".join(f"{n} {status}" for status, n in sorted(ends.items()))
                for task, ends in sorted(self.jobs.items())
            ),
            *(
                f"asked to {what:23}" + ", ".join(f"{n} {outcome}" for outcome, n in sorted(answers.items()))
                for what, answers in sorted(self.answers.items())
            ),
            "",
            f"{self.recoveries} jobs came back from dead workers, the slowest after "
            + (f"{self.slowest_recovery:.2f} s" if self.slowest_recovery is not None else "- s")
            + f"; throughput was looked at in {self.calms} calms",
            f"{len(self.findings)} findings",
            *(f"  {rule}: {case}" for rule, case in self.findings[:50]),
        ]
        return "\n".join(lines)

    def write(self, folder: Path) -> Path:
        file = folder / f"chaos-{self.seed}.json"
        told = {**asdict(self), "findings": [one._asdict() for one in self.findings]}
        file.write_text(json.dumps(told, indent=1, default=str) + "\n", "utf-8")
        return file


def make_report(
    nemesis: Nemesis, evidence: Evidence, found: list[Finding], *, plan: Any, command: str, seconds: float
) -> Report:
    jobs: dict[str, Counter[str]] = defaultdict(Counter)
    for job in evidence.jobs.values():
        jobs[job.task][job.status] += 1
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    for note in evidence.client_log:
        if note["outcome"] != "asked":
            answers[note["what"]][note["outcome"]] += 1
    moves = defaultdict(list)
    for move in evidence.moves:
        moves[move.job].append(move)
    took = [seconds for _, _, seconds in recoveries(evidence.records, moves, evidence.lease)]
    return Report(
        seed=plan.seed,
        commit=commit(),
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        command=command,
        seconds=seconds,
        rate=plan.rate,
        lease=plan.lease,
        jobs={task: dict(ends) for task, ends in jobs.items()},
        answers={what: dict(told) for what, told in answers.items()},
        strikes=counted(nemesis.records),
        not_run=nemesis.not_run,
        findings=found,
        slowest_recovery=max(took, default=None),
        recoveries=len(took),
        calms=sum(1 for _ in calm(evidence)),
        records=[asdict(record) for record in nemesis.records],
    )


def counted(records: list[Record]) -> dict[str, dict[str, int]]:
    """Strikes of a kind, how many of them landed, and how much they hit."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: {"struck": 0, "landed": 0, "hits": 0})
    for record in records:
        one = found[record.kind]
        one["struck"] += 1
        one["landed"] += record.hits > 0
        one["hits"] += record.hits
    return dict(found)


def commit() -> str:
    """Name what was run; a tree with changes of its own says so."""

    def git(*arguments: str) -> str:
        said = subprocess.run(
            ["git", *arguments], cwd=TESTS.parent, capture_output=True, text=True, check=False
        )
        return said.stdout.strip()

    changed = "+" if git("status", "--porcelain", "--", "src", "tests") else ""
    return (git("rev-parse", "--short", "HEAD") or "unknown") + changed


# -- the published table -------------------------------------------------------------------------------------------------


def upper_bound(landed: int, failures: int) -> str:
    """The 95 % upper bound of a failure's chance after none in so many: the rule of three."""
    return f"{min(3 / landed, 1):.2%}" if landed and not failures else "-"


def merge(table: Path, report: Report) -> None:
    """Add a run's rows to the published table; the same seed at the same commit replaces its own."""
    text = table.read_text("utf-8")
    before, rest = text.split(BEGIN)
    inside, after = rest.split(END)
    mine = f"| `{report.commit}` | {report.seed} |"
    kept = [line for line in inside.strip().splitlines() if line.startswith("| ") and not line.endswith(mine)]
    kept = [line for line in kept if not line.startswith(("| strike", "| ---"))]
    failures = len(report.findings)
    for name, one in sorted(report.strikes.items()):
        bound = upper_bound(one["landed"], failures)
        kept.append(
            f"| {name} | {one['struck']} | {one['landed']} | {one['hits']} | {failures} | {bound} | `{report.command}` | {report.date} {mine}"
        )
    head = [
        "| strike | struck | landed | hits | findings of the run | 95 % upper bound | command | date | commit | seed |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- | --- | --- | ---: |",
    ]
    table.write_text(f"{before}{BEGIN}\n" + "\n".join([*head, *sorted(kept)]) + f"\n{END}{after}", "utf-8")
