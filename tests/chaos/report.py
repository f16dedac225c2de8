"""What a run came to: printed, written as JSON, and merged into the published tables, which show what was run and nothing more."""

import json
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from chaos.evidence import Evidence
from chaos.judge import Finding
from chaos.nemesis import Nemesis
from chaos.strikes.catalogue import ALL
from chaos.strikes.strike import Record
from chaos.timing import deaths, kept_up
from guarantees.workers import TESTS

BEGIN, END = "<!-- runs -->", "<!-- /runs -->"
FINDINGS = "findings of the runs"
Run = dict[str, Any]  # as it is published


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
    calms: list[float]  # for each calm, the share of what was offered that was answered
    records: list[dict[str, Any]] = field(default_factory=list)
    soak: dict[str, Any] | None = None  # where what was watched stood, and which tables and indexes grew most

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
            + f"; throughput was looked at in {len(self.calms)} calms"
            + (
                f": {median(self.calms):.1%} of what was offered was answered, at the least {min(self.calms):.1%}"
                if self.calms
                else ""
            ),
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
    nemesis: Nemesis,
    evidence: Evidence,
    found: list[Finding],
    *,
    plan: Any,
    command: str,
    began_at: str,
    seconds: float,
    soak: dict[str, Any] | None,
) -> Report:
    jobs: dict[str, Counter[str]] = defaultdict(Counter)
    for job in evidence.jobs.values():
        jobs[job.task][job.status] += 1
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    for note in evidence.client_log:
        if note["outcome"] != "asked":
            answers[note["what"]][note["outcome"]] += 1
    took = [seconds for death in deaths(evidence) for seconds in death.took.values()]
    return Report(
        seed=plan.seed,
        commit=what_ran(began_at, commit()),
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
        calms=[kept.share for kept in kept_up(evidence)],
        records=[asdict(record) for record in nemesis.records],
        soak=soak,
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


def what_ran(began_at: str, ended_at: str) -> str:
    """Name the commit that a run began at; who is struck starts anew from the source as it is then, so a change meanwhile is told."""
    return began_at if began_at == ended_at else began_at.rstrip("+") + "+"


# -- what is published ---------------------------------------------------------------------------------------------------


def merge(page: Path, report: Report) -> None:
    """Publish a run beside those there are, in the page's own JSON; the same again at the same commit replaces itself."""
    file = page.with_suffix(".json")
    runs: list[Run] = json.loads(file.read_text("utf-8")) if file.exists() else []
    mine: Run = {
        "seed": report.seed,
        "commit": report.commit,
        "date": report.date,
        "command": report.command,
        "minutes": round(report.seconds / 60),
        "jobs": sum(n for ends in report.jobs.values() for n in ends.values()),
        "findings": len(report.findings),
        "came_back": report.recoveries,
        "slowest": report.slowest_recovery,
        "calms": len(report.calms),
        "answered": median(report.calms) if report.calms else None,
        "strikes": dict(sorted(report.strikes.items())),
    }
    same = (report.seed, report.commit, report.command)
    others = [run for run in runs if (run["seed"], run["commit"], run["command"]) != same]
    runs = sorted([*others, mine], key=lambda run: (run["date"], run["seed"]))
    file.write_text(json.dumps(runs, indent=1) + "\n", "utf-8")
    write_tables(page, runs)


def write_tables(page: Path, runs: list[Run]) -> None:
    """Write what all runs come to between the page's marks."""
    before, rest = page.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n{tables(runs)}\n{END}{after}", "utf-8")


def tables(runs: list[Run]) -> str:
    """What all runs come to, as it stands between the marks."""
    return "\n\n".join("\n".join(table) for table in (_strikes(runs), _cuts(runs), _runs(runs)))


def upper_bound(landed: int, failures: int) -> str:
    """The 95 % upper bound of a failure's chance after none in so many: the rule of three."""
    return f"{min(3 / landed, 1):.2%}" if landed and not failures else "-"


def _strikes(runs: list[Run]) -> list[str]:
    """All strikes of a kind, in all runs, and the kinds that no run had; a bound only where no run that had them found anything."""
    total: dict[str, Counter[str]] = {kind: Counter() for kind in ALL}
    for run in runs:
        for kind, counts in run["strikes"].items():
            one = total.setdefault(kind.partition(":")[0], Counter())
            one.update(counts)
            one[FINDINGS] += run["findings"]
    rows = [
        (kind, one["struck"], one["landed"], one["hits"], upper_bound(one["landed"], one[FINDINGS]))
        for kind, one in sorted(total.items())
    ]
    return _table(("strike", "struck", "landed", "hits", "95 % upper bound"), rows)


def _cuts(runs: list[Run]) -> list[str]:
    """The cuts that landed, by the operation that was cut."""
    landed: dict[str, Counter[str]] = defaultdict(Counter)
    for run in runs:
        for kind, counts in run["strikes"].items():
            strike, _, operation = kind.partition(": ")
            if operation:
                landed[operation][strike] += counts["landed"]
    rows = [
        (operation, one["cut_before_commit"], one["cut_after_commit"])
        for operation, one in sorted(landed.items())
    ]
    return _table(("operation", "cut before its commit", "cut after it"), rows)


def _runs(runs: list[Run]) -> list[str]:
    rows = [
        (
            f"`{run['command']}`", run["date"], f"`{run['commit']}`", str(run["seed"]), run["minutes"], run["jobs"],
            _both(run["came_back"], run["slowest"], "{:.2f} s"),
            _both(run["calms"], run["answered"], "{:.1%}"),
            run["findings"],
        )
        for run in runs
    ]  # fmt: skip
    heads = (
        "run",
        "date",
        "commit",
        "seed",
        "minutes",
        "jobs judged",
        "came back, the slowest after",
        "calms, answered of the offered",
        "findings",
    )
    return _table(heads, rows)


def _both(number: int | None, measured: float | None, form: str) -> str:
    """Say how many, and what was measured of them; the oldest runs did not keep it."""
    if number is None:
        return "-"
    return f"{number:,}" + (f", {form.format(measured)}" if measured is not None else "")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str | int, ...]]) -> list[str]:
    """Write rows for people: numbers to the right."""
    numbers = [any(str(row[place])[-1] in "0123456789%" for row in rows) for place in range(len(head))]
    return [
        "| " + " | ".join(head) + " |",
        "|" + "|".join(" ---: " if number else " --- " for number in numbers) + "|",
        *("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in row) + " |" for row in rows),
    ]  # fmt: skip
