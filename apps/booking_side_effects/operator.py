"""The operator's commands: `python -m apps.booking_side_effects.operator queue | email | retry | resend`."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import click

from apps.booking_side_effects import diagnosis, tasks
from apps.booking_side_effects.app import app
from apps.booking_side_effects.bookings import STAMPS
from holdfast import HoldfastError

T = TypeVar("T")

UNHEALTHY = 3  # as `holdfast doctor` exits

email_type = click.argument("job_type", metavar="TYPE", type=click.Choice(sorted(STAMPS)))
by = click.option("--by", required=True, help="Who you are; it is written down.")
reason = click.option("--reason", required=True, help="Why; it is written down.")


@click.group()
def main() -> None:
    """Look after the side effects of bookings."""


@main.command("queue")
def queue_command() -> None:
    """Is the queue stuck, and why? Exits with 3 when it is."""
    _show(_run(diagnosis.diagnose_queue()))


@main.command("email")
@click.argument("booking_id", metavar="BOOKING", type=int)
@email_type
def email_command(booking_id: int, job_type: str) -> None:
    """Why did this e-mail not go out? Exits with 3 when it will not go out by itself."""
    _show(_run(diagnosis.diagnose_email(booking_id, job_type)))


@main.command()
@click.argument("job_id", metavar="JOB")
@by
@reason
def retry(job_id: str, by: str, reason: str) -> None:
    """Retry a failed job, by a new one that names it."""
    click.echo(f"queued as {_run(_retry(job_id, by, reason))}")


@main.command()
@click.argument("booking_id", metavar="BOOKING", type=int)
@click.argument("job_type", metavar="TYPE")
@by
@reason
def resend(booking_id: int, job_type: str, by: str, reason: str) -> None:
    """Have something done again that was done: clears the stamp, queues a new job, and writes down who asked and why."""
    click.echo(f"queued as {_run(tasks.resend(booking_id, job_type, by=by, reason=reason))}")


async def _retry(job_id: str, by: str, reason: str) -> str:
    return str((await app.aretry(job_id, actor=by, reason=reason)).id)


def _show(finding: diagnosis.Finding) -> None:
    click.echo(str(finding))
    if not finding.is_well:
        raise click.exceptions.Exit(UNHEALTHY)


def _run(work: Coroutine[Any, Any, T]) -> T:
    async def whole() -> T:
        try:
            return await work
        finally:
            await app.aclose()

    try:
        return asyncio.run(whole())
    except HoldfastError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main(prog_name="python -m apps.booking_side_effects.operator")
