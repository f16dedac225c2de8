"""scripts/mutants: runs mutants, keeps what became of each, and writes docs/operations/controls.md from that.

Verdicts are kept one by one with the commit they are from, so that a part can be run at a time.
"""

import argparse
import json
import subprocess
import sys
from datetime import UTC, datetime
from threading import Lock
from typing import TypedDict

from guarantees.mutation import ROOT, Mutant, Verdict, judge_all, mutants, table

PAGE = ROOT / "docs" / "operations" / "controls.md"
KEPT = PAGE.with_suffix(".json")
_writing = Lock()


class Control(TypedDict):
    """What is kept of a verdict."""

    dies: str
    strikes: int
    seconds: float
    commit: str
    day: str


def kept() -> dict[str, Control]:
    """Read the verdicts, by the names of their mutants."""
    read: dict[str, Control] = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    return read


def keep(verdict: Verdict) -> None:
    """Put a verdict in place of an older one; of a mutant that survives there is none."""
    mutant = verdict.mutant
    with _writing:
        verdicts = kept()
        verdicts.pop(mutant.file.name, None)
        if verdict.killed:
            verdicts[mutant.file.name] = Control(
                dies=mutant.dies,
                strikes=verdict.strikes,
                seconds=round(verdict.seconds, 1),
                commit=commit(),
                day=datetime.now(UTC).date().isoformat(),
            )
        write(verdicts)


def write(verdicts: dict[str, Control]) -> None:
    lines = [f"  {json.dumps(name)}: {json.dumps(verdicts[name])}" for name in sorted(verdicts)]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def commit() -> str:
    """Name the commit that is checked out; with a + when something has been changed since, but what is written here."""
    told = [
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for words in (
            ("rev-parse", "--short=7", "HEAD"),
            ("status", "--porcelain", "--", "src", "tests"),
        )
    ]
    return told[0] + ("+" if told[1] else "")


# -- the page ----------------------------------------------------------------------------------------------------------------

_HEAD = """\
# Controls: each guard, and the test that fails without it

A test that cannot fail shows nothing.
Each line here is a mutant: Holdfast without one guard, from `tests/guarantees/mutants`.
The test named beside it was run against that mutant and failed by an assertion, after as many strikes as the line says:
a test that races or throws dice strikes until it sees what is wrong, and its mutant says within how many it must; every other test strikes once.
Seconds are those of a run on two shared cores, with the start of the test.

`scripts/mutants --table [part of a name …]` runs them and writes this page; each verdict stands with its commit in [controls.json](controls.json).
"""


def page() -> str:
    """Write the page of what is kept."""
    verdicts = kept()
    everybody = {mutant.file.name: mutant for mutant in mutants()}
    rows = [_row(everybody[name], verdicts[name]) for name in sorted(verdicts) if name in everybody]
    by_commit = sorted({(one["day"], one["commit"]) for one in verdicts.values()})
    from_ = ", ".join(
        f"{sum(one['commit'] == commit for one in verdicts.values())} at `{commit}` on {day}"
        for day, commit in by_commit
    )
    chancy = [one["strikes"] for one in verdicts.values() if one["strikes"] > 1]
    return (
        f"{_HEAD}\n{len(rows)} mutants, all seen: {from_}.\n"
        f"{len(rows) - len(chancy)} at the first strike; of the others none needed more than {max(chancy, default=1):,}.\n\n"
        "| guard | mutant | dies | strikes | seconds |\n| --- | --- | --- | --- | --- |\n"
        + "\n".join(rows)
        + "\n"
    )


def _row(mutant: Mutant, control: Control) -> str:
    strikes = f"{control['strikes']:,}" + (f" of {mutant.strikes:,}" if mutant.strikes > 1 else "")
    guard, dies = (text.replace("|", "\\|") for text in (mutant.guard, mutant.dies))
    return f"| {guard} | `{mutant.file.name}` | `{dies}` | {strikes} | {control['seconds']:.1f} |"


def write_page() -> None:
    """Write the page anew, and forget mutants that there are no more."""
    named = {mutant.file.name for mutant in mutants()}
    write({name: control for name, control in kept().items() if name in named})
    PAGE.write_text(page(), "utf-8")


def main() -> int:
    arguments = argparse.ArgumentParser(prog="scripts/mutants", description=__doc__)
    arguments.add_argument("names", nargs="*", help="only mutants whose file name contains one of these")
    arguments.add_argument(
        "--quick", action="store_true", help="leave out those that need a worker to wait for something"
    )
    arguments.add_argument(
        "--table", action="store_true", help="keep the verdicts, and write docs/operations/controls.md anew"
    )
    arguments.add_argument(
        "--missing", action="store_true", help="only mutants of which no verdict is kept, or of another test"
    )
    asked = arguments.parse_args()
    known = {name: control["dies"] for name, control in kept().items()} if asked.missing else {}
    chosen = [
        m
        for m in mutants()
        if not (asked.quick and m.pace == "slow")
        and known.get(m.file.name) != m.dies
        and (not asked.names or any(n in m.file.name for n in asked.names))
    ]
    verdicts = judge_all(chosen, each=keep if asked.table else None)
    if asked.table:
        write_page()
    print(table(verdicts))  # noqa: T201 - a command
    survivors = [verdict for verdict in verdicts if not verdict.killed]
    for one in survivors:
        print(f"\n{one.mutant.file.name}: {one.said}")  # noqa: T201 - a command
    print(f"\n{len(verdicts) - len(survivors)} of {len(verdicts)} mutants killed")  # noqa: T201 - a command
    return 1 if survivors or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
