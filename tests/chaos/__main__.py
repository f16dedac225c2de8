"""A mixed workload under a seeded nemesis: scripts/chaos [--quick | --minutes N] [--seed N] [--only STRIKE …]."""

import argparse
import random
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from chaos import soak
from chaos.nemesis import TRIES, Nemesis, say
from chaos.report import commit, make_report, merge
from chaos.rest import UNGUARDED, come_to_rest
from chaos.strikes.catalogue import ALL
from chaos.strikes.on_network import OPERATIONS
from chaos.timing import SLOW
from chaos.without import NoSuchGuardError, Without
from chaos.world import STANDSTILL, Plan, made_world

# What matters most, with every run of the tests; chance adds some of the others.
CORE = ("kill_worker", "freeze_worker", "stop_immediately", "cut_after_commit", "failover")
MORE = 1
QUICK_RATE = 8.0
QUICK_SECONDS = 60.0  # of strikes, after which only those begin that matter most
# Without a guard work mostly stands still for ever; longer than an outside run's silence is enough then. How long all of it takes is not
# said: what was in a worker that died runs again alone, one after the other.
SABOTAGED_STANDSTILL = 70.0
CALM = 26.0  # the last of which are watched for whether work goes on
MINUTES, REST = 5.0, 2.0  # where nobody says otherwise
# What one wish leaves nothing to say about.
PASSED_OVER = {"quick": ("minutes", "strikes", "rest", "calm"), "calm": ("rest",), "soak": ("rest",)}


class Enough:
    """Whether SIGTERM has told the run to end: what was struck by then is judged, and nothing is left behind."""

    def __init__(self) -> None:
        self.said = False
        signal.signal(signal.SIGTERM, self._hear)

    def _hear(self, *_: object) -> None:
        self.said = True

    def wait(self, seconds: float) -> None:
        """Let time go by, but not after the word."""
        deadline = time.monotonic() + seconds
        while not self.said and time.monotonic() < deadline:
            time.sleep(0.1)


def main() -> int:
    enough = Enough()
    asked = arguments().parse_args()
    unknown = sorted(set(asked.only) - set(ALL))
    if unknown:
        sys.exit(f"chaos: there is no strike {', '.join(unknown)}; there are {', '.join(ALL)}")
    if said := contradiction(asked):
        sys.exit(f"chaos: {said}")
    try:
        without = Without.named(asked.sabotage)
    except NoSuchGuardError as error:
        sys.exit(f"chaos: {error}")
    seed = secrets.randbelow(10**6) if asked.seed is None else asked.seed
    say(f"seed {seed}")
    out = Path(asked.out)
    out.mkdir(parents=True, exist_ok=True)
    began_at = commit()
    folder = Path(tempfile.mkdtemp(prefix="holdfast-chaos-notes-"))
    began = time.monotonic()
    plan = Plan(
        seed,
        asked.rate or (QUICK_RATE if asked.quick else 100.0),
        workers=asked.workers,
        lease=asked.lease,
        at_once=asked.at_once,
        operations=asked.operation,
        subjects=0.02 if asked.soak else 1.0,
        retention=60.0 if asked.soak else None,
        spared=1 if asked.soak else 0,
        postgres=asked.postgres,
        standstill=SABOTAGED_STANDSTILL if asked.sabotage else STANDSTILL,
    )
    with made_world(plan, folder, without) as world:
        say(f"{plan.workers} workers, {plan.rate:g} jobs/s, lease {plan.lease:g} s; notes in {folder}")
        nemesis = Nemesis(world, random.Random(seed), asked.only)
        with soak.watched(world, out / f"soak-{seed}.svg", asked.soak) as watch:
            strike(nemesis, asked, enough)
            enough.wait(CALM)  # the load goes on: has what was struck come back?
        evidence, found = come_to_rest(world, nemesis)
        found += watch.findings()
    report = make_report(
        nemesis,
        evidence,
        found,
        plan=plan,
        command=command(),
        began_at=began_at,
        seconds=time.monotonic() - began,
        soak=watch.told(),
    )
    sys.stdout.write(report.text() + "\n")
    say(f"seed {seed}; written to {report.write(out)}")
    if asked.table and not asked.sabotage:
        merge(Path(asked.table), report)
    if asked.sabotage:
        struck = sum(one["landed"] for one in report.strikes.values())
        # A slow machine is slow with every guard in place.
        told = Counter(finding.rule for finding in found if finding.rule not in SLOW | {UNGUARDED})
        said = ", ".join(f"{rule} ({times})" for rule, times in sorted(told.items())) or "NOTHING FOUND"
        say(f"without {' and '.join(asked.sabotage)}: {said}, with {struck} strikes that landed")
        return 0 if told else 1
    if found:
        say(f"the notes stay in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def strike(nemesis: Nemesis, asked: argparse.Namespace, enough: Enough) -> None:
    """Strike as long as was asked for, or until enough is said."""
    enough.wait(1.0)
    minutes = MINUTES if asked.minutes is None else asked.minutes
    longest_rest = REST if asked.rest is None else asked.rest
    over = time.monotonic() + (QUICK_SECONDS if asked.quick else minutes * 60)
    if asked.quick:
        nemesis.strike_each(
            nemesis.some(CORE, MORE), CORE, lambda: enough.said, lambda: time.monotonic() > over
        )
        return
    rest = (CALM, CALM) if asked.calm else (5.0, 30.0) if asked.soak else (longest_rest / 10, longest_rest)
    nemesis.until(
        lambda: (
            enough.said
            or time.monotonic() > over
            or (asked.strikes is not None and len(nemesis.records) >= asked.strikes)
        ),
        rest,
    )


def command() -> str:
    """Write how this run was asked for, without where its results go."""
    words, places = sys.argv[1:], {"--out", "--table"}
    kept = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if before not in places and word.partition("=")[0] not in places
    ]
    return " ".join(["scripts/chaos", *kept])


def contradiction(asked: argparse.Namespace) -> str | None:
    """Say which wish would be passed over in silence."""
    # Not which of them are true: a rest of none is a wish too.
    told = {name for name, value in vars(asked).items() if value is not None and value is not False}
    for wish, others in PASSED_OVER.items():
        for other in others:
            if {wish, other} <= told:
                return f"--{wish} would pass over --{other}: leave one of the two out"
    return None


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"the {len(CORE)} kinds of strikes that matter most, each up to {TRIES} times until it lands, and {MORE} of the others",
    )
    parser.add_argument("--minutes", type=float, help=f"how long it strikes; {MINUTES:g} unless told")
    parser.add_argument("--strikes", type=int, help="end after so many strikes")
    parser.add_argument("--seed", type=int, help="have the same strikes again")
    parser.add_argument(
        "--only", action="append", default=[], metavar="STRIKE", help="only this kind; may be repeated"
    )
    parser.add_argument("--rate", type=float, help="jobs that customers ask for in a second")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--lease", type=float, default=3.0)
    parser.add_argument("--postgres", type=int, metavar="VERSION", help="strike a server of this version")
    parser.add_argument(
        "--rest",
        type=float,
        help=f"the longest time between two strikes, in seconds; {REST:g} unless told, and up to 30 in a soak",
    )
    parser.add_argument(
        "--calm",
        action="store_true",
        help=f"leave {CALM:.0f} s after every strike, and judge whether as much is answered as before",
    )
    parser.add_argument(
        "--at-once",
        type=int,
        default=1,
        help="how many workers are killed or frozen, or operations cut, by one strike",
    )
    parser.add_argument(
        "--operation",
        action="append",
        default=[],
        choices=sorted(OPERATIONS),
        metavar="OPERATION",
        help="cut connections only at this operation; may be repeated",
    )
    parser.add_argument(
        "--soak", action="store_true", help="watch memory, connections and tables, and draw them"
    )
    parser.add_argument(
        "--sabotage",
        action="append",
        default=[],
        metavar="MUTANT",
        help="take away the guard of this mutant; may be repeated; the run must notice",
    )
    parser.add_argument("--out", default=".chaos", help="where reports go")
    parser.add_argument("--table", metavar="FILE", help="add this run to the published table")
    return parser


if __name__ == "__main__":
    sys.exit(main())
