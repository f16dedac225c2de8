"""scripts/mutants: runs mutants, keeps what became of each, and writes docs/operations/controls.md from that.

Verdicts are kept one by one with the commit they are from, so that a part can be run at a time.
"""

import argparse
import hashlib
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
    mutant: str  # what it took away, as a digest: another change has no verdict yet
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
                mutant=digest(mutant),
                strikes=verdict.strikes,
                seconds=round(verdict.seconds, 1),
                commit=commit(),
                day=datetime.now(UTC).date().isoformat(),
            )
        write(verdicts)


def digest(mutant: Mutant) -> str:
    """Tell one version of a mutant from another."""
    return hashlib.sha256(mutant.file.read_bytes()).hexdigest()[:12]


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


_TAIL = """\
## Guards without a mutant

Not every line that could be called a guard has one:
- guards that another one covers alone, so that nothing is to be seen when one is missing: the `TRUNCATE` trigger of the history as a whole (each partition has its own), the mark that `apply_retention` takes back (others take it back behind it), the API's own look at whose a job is (row level security hides the same), what `conclude` asks of the approval and its job (whoever calls it holds both locks and has seen the approval undecided, and no job leaves an undecided approval behind), the approval's lock in `expire_approvals` (the job's comes before it, as everywhere), the attempt beside the claim id in the repeat of `ask` (no two attempts have one claim id), the predicate that the updates of `claim`, `claim_by_slots` and `claim_suspect` repeat (the rows are locked, and only who has the lock takes them out of the line; without the lock it is what counts), for the same reason those of `admit_due` and `unpark`, of the lock and the predicate of `leave_flags` either (both together are missed), of the two lists of `return_jobs` either;
- locks that no mutant takes away: of which nothing hangs but the answer whether it was otherwise (`resume_task`, `resume_queue`), behind the lock of the job that the fence takes (`ask`, `begin_delivery`), before what decides in any case (`close_alerts`: the predicate that is repeated; `evaluate_alerts`: an alert is open once);
- `skip locked` apart from the lock, where it only spares somebody a wait: `clear_closed`, `free_slot`, `admit_rated`, `expire_approvals`, `check_run`, `due_schedules`, `close_alerts`, `evaluate_alerts`;
- `materialized` and the settings of the planner where they only steer plans. Reading a list again for every row takes more than was asked for only where one statement limits it, locks it and changes what it lists: `claim`, `claim_by_slots`, `claim_suspect`, `admit_due`, `unpark`, `take_dispatches` and `return_jobs`, which have a mutant each that makes a subquery of it (the word alone changes nothing there: PostgreSQL never inlines a list that locks rows). All other lists are the same however often their statement reads them; `tests/sql/test_claim.py` and the tests of rows read look at some of those plans;
- primary keys and unique constraints without which nothing is there twice in silence: those that an `on conflict` names, without which PostgreSQL refuses the statement (queues, tasks, flags, tenants, people, schedules, workers, channels, rules, operations, progress, statistics, usage, quotas, views and the like), ids that the machine makes itself (activity, alerts, API keys, approvals, the audit, calls, events, sessions, what is published, deliveries), tables of one row, numbers that only who has the projector's cursor gives (the feed), what is measured anew as a whole (storage), sleepers, who are woken twice then, and what a partition has of its table's key; `holdfast audit` names each of them that is missing;
- checks of single values (domains, lengths, known words), which their own tests try one by one;
- the lock of the projector's cursor, whose absence ends in an error of the database.
"""


def page() -> str:
    """Write the page: every mutant, with what is kept of it."""
    verdicts = known()
    rows = [_row(mutant, verdicts.get(mutant.file.name)) for mutant in mutants()]
    ran = list(verdicts.values())
    parts = ", ".join(
        f"{sum((one['day'], one['commit']) == part for one in ran)} at `{part[1]}` on {part[0]}"
        for part in sorted({(one["day"], one["commit"]) for one in ran})
    )
    chancy = [one["strikes"] for one in ran if one["strikes"] > 1]
    return (
        f"{_HEAD}\n{len(rows)} mutants; {len(ran)} of them were run and seen, {parts}.\n"
        f"{len(ran) - len(chancy)} were seen at the first strike; of the others none needed more than {max(chancy, default=1):,}.\n\n"
        "| guard | mutant | dies | strikes | seconds |\n| --- | --- | --- | --- | --- |\n"
        + "\n".join(rows)
        + f"\n\n{_TAIL}"
    )


def known() -> dict[str, Control]:
    """Give the verdicts that still count: of mutants as they are now, by the tests that they name now."""
    now = {mutant.file.name: (mutant.dies, digest(mutant)) for mutant in mutants()}
    return {
        name: control
        for name, control in kept().items()
        if now.get(name) == (control["dies"], control["mutant"])
    }


def _row(mutant: Mutant, control: Control | None) -> str:
    guard, dies = (text.replace("|", "\\|") for text in (mutant.guard, mutant.dies))
    told = "not run yet | "
    if control is not None:
        most = f" of {mutant.strikes:,}" if mutant.strikes > 1 else ""
        told = f"{control['strikes']:,}{most} | {control['seconds']:.1f}"
    return f"| {guard} | `{mutant.file.name}` | `{dies}` | {told} |"


def write_page() -> None:
    """Write the page anew, and forget verdicts that do not count any more."""
    write(known())
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
        "--missing",
        action="store_true",
        help="only mutants of which no verdict is kept, or that are another now",
    )
    asked = arguments.parse_args()
    settled = known() if asked.missing else {}
    chosen = [
        m
        for m in mutants()
        if not (asked.quick and m.pace == "slow")
        and m.file.name not in settled
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
