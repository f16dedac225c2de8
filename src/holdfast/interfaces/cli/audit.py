"""`holdfast audit`: does everything hold that is promised of the jobs in this database."""

from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from holdfast.domain.errors import HoldfastError, JobNotFound
from holdfast.interfaces.cli.commands import UNHEALTHY, Command
from holdfast.interfaces.cli.invocation import current, say
from holdfast.interfaces.cli.output import as_json, dim, plain

if TYPE_CHECKING:
    from holdfast.domain.audit import Finding
    from holdfast.interfaces.auditing import Audit
    from holdfast.interfaces.kept_heads import HeadsFile


@click.command(cls=Command)
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Look at about N jobs: the newest, and some of all ages.",
)
@click.option("--job", type=click.UUID, metavar="ID", help="Look at one job.")
@click.option(
    "--at-rest",
    is_flag=True,
    help="Also check what holds once no worker runs: nothing overdue, nothing stranded.",
)
@click.option(
    "--chain",
    is_flag=True,
    help="Also compute the chain over each history anew: was a row of it changed since it was written?",
)
@click.option(
    "--keep",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the chains' heads to FILE, which belongs where the database's owner cannot reach it. Says --chain.",
)
@click.option(
    "--compare",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Compare the chains with heads that --keep wrote earlier. Says --chain.",
)
@click.option(
    "--most", type=click.IntRange(1), default=1000, show_default=True, help="Stop after so many findings."
)
@click.option(
    "--timeout",
    type=click.IntRange(1, 86_400),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Give up when one statement takes longer.",
)
def audit(
    sample: int | None,
    job: UUID | None,
    at_rest: bool,
    chain: bool,
    keep: Path | None,
    compare: Path | None,
    most: int,
    timeout: int,
) -> None:
    """Check all that is promised of the jobs. Reads only, in slices; exit code 0 when nothing is found, 3 when something is.

    Each finding names the rule that is broken, the job, and what to do, and is written when it is found. An audit that was not
    finished ends with another exit code, 75 or 69, whatever it found. Safe beside running workers.
    """
    from holdfast.interfaces.auditing import Audit
    from holdfast.interfaces.kept_heads import HeadsFile, KeptHeads
    from holdfast.store.connection import Session

    if sample is not None and job is not None:
        raise click.UsageError("--sample and --job are two ways of saying what to look at: give one")
    kept = None if compare is None else KeptHeads(compare)
    session = Session(current().database, "holdfast audit")
    with closing(session), nullcontext() if keep is None else HeadsFile(keep, datetime.now(UTC)) as heads:
        walk = Audit(
            session,
            sample=sample,
            job=job,
            at_rest=at_rest,
            chains=chain or keep is not None or kept is not None,
            keep=None if heads is None else heads.add,
            kept=kept,
            seconds=timeout,
        )
        report = _Report(walk, most, heads)
        report.write()
    if report.found:
        raise click.exceptions.Exit(UNHEALTHY)


@dataclass(slots=True)
class _Report:
    """What an audit finds, written as it finds it; a JSON document can only be written whole."""

    walk: "Audit"
    most: int
    heads: "HeadsFile | None"
    found: "list[Finding]" = field(default_factory=list)
    named: set[UUID] = field(default_factory=set)

    def write(self) -> None:
        """Write all of it; an error comes after what was found before it."""
        try:
            for finding in islice(self.walk.findings(), self.most):
                self.found.append(finding)
                self._write_one(finding)
            if self.heads is not None and not self.is_truncated:
                self.heads.end()  # half of the heads would look like all that there were
        except JobNotFound:
            raise
        except HoldfastError as error:
            self._end(error)
            raise
        self._end(None)
        self._say_what_was_kept()

    def _say_what_was_kept(self) -> None:
        if self.heads is None:
            return
        if self.is_truncated:
            say(f"no heads were kept: the audit stopped at --most {self.most}")
            return
        say(
            f"kept {self.heads.heads:,} heads in {self.heads.path}: take the file where nobody who owns this database can reach it"
        )

    def _write_one(self, finding: "Finding") -> None:
        match current().output:
            case "json":
                pass
            case "jsonl":
                click.echo(as_json(_row(finding)))
            case "id":
                if finding.job_id is not None and finding.job_id not in self.named:
                    self.named.add(finding.job_id)
                    click.echo(str(finding.job_id))
            case _:
                _show(finding)

    def _end(self, error: HoldfastError | None) -> None:
        if current().output == "json":
            click.echo(as_json(self._document(error), indent=2))
            return
        for codes, why in self.walk.not_checked:
            say(f"not checked: {', '.join(codes)}: {plain(why)}")
        told = f"{len(self.found):,} findings" if self.found else "nothing found"
        ended = "; not finished" if error else ""
        if self.is_truncated:
            ended = f"; stopped there (--most {self.most}): what lies behind was not looked at"
        say(f"{self.walk.jobs:,} jobs, {told}{ended}")

    def _document(self, error: HoldfastError | None) -> dict[str, Any]:
        finished = error is None and not self.is_truncated
        return {
            "clean": finished and not self.found,
            "finished": finished,
            "truncated": self.is_truncated,
            "error": str(error) if error else None,
            "jobs": self.walk.jobs,
            "findings": [_row(finding) for finding in self.found],
            "not_checked": [each._asdict() for each in self.walk.not_checked],
        }

    @property
    def is_truncated(self) -> bool:
        """Whether it stopped before its end."""
        return len(self.found) >= self.most


def _row(finding: "Finding") -> dict[str, Any]:
    return {**asdict(finding), "rule": finding.rule, "advice": finding.advice}


def _show(finding: "Finding") -> None:
    about = f" job {finding.job_id}" if finding.job_id else ""
    click.echo(f"{click.style(finding.code, fg='red', bold=True)}{about}: {plain(finding.what)}")
    click.echo(f"     {dim('rule:')} {finding.rule}")
    click.echo(f"     → {plain(finding.advice)}")
