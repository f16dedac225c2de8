"""`holdfast audit`: does everything hold that is promised of the jobs in this database."""

from dataclasses import asdict, dataclass, field
from itertools import islice
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
def audit(sample: int | None, job: UUID | None, at_rest: bool, most: int, timeout: int) -> None:
    """Check all that is promised of the jobs. Reads only, in slices; exit code 0 when nothing is found, 3 when something is.

    Each finding names the rule that is broken, the job, and what to do, and is written when it is found. An audit that was not
    finished ends with another exit code, 75 or 69, whatever it found. Safe beside running workers.
    """
    from holdfast.interfaces.auditing import Audit
    from holdfast.store.connection import Session

    if sample is not None and job is not None:
        raise click.UsageError("--sample and --job are two ways of saying what to look at: give one")
    session = Session(current().database, "holdfast audit")
    report = _Report(Audit(session, sample=sample, job=job, at_rest=at_rest, seconds=timeout), most)
    try:
        report.write()
    finally:
        session.close()
    if report.found:
        raise click.exceptions.Exit(UNHEALTHY)


@dataclass(slots=True)
class _Report:
    """What an audit finds, written as it finds it; a JSON document can only be written whole."""

    walk: "Audit"
    most: int
    found: "list[Finding]" = field(default_factory=list)
    named: set[UUID] = field(default_factory=set)

    def write(self) -> None:
        """Write all of it; an error comes after what was found before it."""
        try:
            for finding in islice(self.walk.findings(), self.most):
                self.found.append(finding)
                self._write_one(finding)
        except JobNotFound:
            raise
        except HoldfastError as error:
            self._end(error)
            raise
        self._end(None)

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
        if self._is_truncated:
            ended = f"; stopped there (--most {self.most}): what lies behind was not looked at"
        say(f"{self.walk.jobs:,} jobs, {told}{ended}")

    def _document(self, error: HoldfastError | None) -> dict[str, Any]:
        finished = error is None and not self._is_truncated
        return {
            "clean": finished and not self.found,
            "finished": finished,
            "truncated": self._is_truncated,
            "error": str(error) if error else None,
            "jobs": self.walk.jobs,
            "findings": [_row(finding) for finding in self.found],
            "not_checked": [each._asdict() for each in self.walk.not_checked],
        }

    @property
    def _is_truncated(self) -> bool:
        return len(self.found) >= self.most


def _row(finding: "Finding") -> dict[str, Any]:
    return {**asdict(finding), "rule": finding.rule, "advice": finding.advice}


def _show(finding: "Finding") -> None:
    about = f" job {finding.job_id}" if finding.job_id else ""
    click.echo(f"{click.style(finding.code, fg='red', bold=True)}{about}: {plain(finding.what)}")
    click.echo(f"     {dim('rule:')} {finding.rule}")
    click.echo(f"     → {plain(finding.advice)}")
