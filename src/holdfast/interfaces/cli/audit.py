"""`holdfast audit`: does everything hold that is promised of the jobs in this database."""

from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from holdfast.interfaces.cli.commands import UNHEALTHY, Command
from holdfast.interfaces.cli.invocation import current, say
from holdfast.interfaces.cli.output import as_json, dim, plain

if TYPE_CHECKING:
    from holdfast.domain.audit import Finding


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
def audit(sample: int | None, job: UUID | None, at_rest: bool, most: int) -> None:
    """Check all that is promised of the jobs. Reads only, in slices; exit code 0 when nothing is found, 3 when something is.

    Each finding names the rule that is broken, the job, and what to do. Safe beside running workers.
    """
    from holdfast.interfaces.auditing import Audit
    from holdfast.store.connection import Session

    if sample is not None and job is not None:
        raise click.UsageError("--sample and --job are two ways of saying what to look at: give one")
    session = Session(current().database, "holdfast audit")
    try:
        walk = Audit(session, sample=sample, job=job, at_rest=at_rest)
        found = list(islice(walk.findings(), most))
    finally:
        session.close()
    _write(found, walk.jobs)
    if found:
        raise click.exceptions.Exit(UNHEALTHY)


def _write(found: list["Finding"], jobs: int) -> None:
    rows = [_row(finding) for finding in found]
    match current().output:
        case "json":
            click.echo(as_json({"clean": not found, "jobs": jobs, "findings": rows}, indent=2))
        case "jsonl":
            for row in rows:
                click.echo(as_json(row))
        case "id":
            for job_id in dict.fromkeys(finding.job_id for finding in found if finding.job_id):
                click.echo(str(job_id))
        case _:
            for finding in found:
                _show(finding)
            say(f"{jobs:,} jobs, {len(found):,} findings" if found else f"{jobs:,} jobs, nothing found")


def _row(finding: "Finding") -> dict[str, Any]:
    return {**asdict(finding), "rule": finding.rule, "advice": finding.advice}


def _show(finding: "Finding") -> None:
    about = f" job {finding.job_id}" if finding.job_id else ""
    click.echo(f"{click.style(finding.code, fg='red', bold=True)}{about}: {plain(finding.what)}")
    click.echo(f"     {dim('rule:')} {finding.rule}")
    click.echo(f"     → {plain(finding.advice)}")
