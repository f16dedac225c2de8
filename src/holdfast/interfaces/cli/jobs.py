"""`holdfast job`: list, show, wait for, retry and cancel jobs."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from holdfast.domain.states import Status
from holdfast.interfaces.cli.commands import Command, Group
from holdfast.interfaces.cli.invocation import actor, confirm, current, say
from holdfast.interfaces.cli.job_ids import find_id
from holdfast.interfaces.cli.moments import Duration, Moment
from holdfast.interfaces.cli.output import Column, badge, emit, emit_one, plain

if TYPE_CHECKING:
    from holdfast.domain.job import Job

_WORTH_A_QUESTION = Status.RUNNING


@click.group(cls=Group)
def job() -> None:
    """List, show, wait for, retry and cancel jobs. IDs may be shortened where the beginning is unique."""


@job.command("list", cls=Command)
@click.option("--status", type=click.Choice([str(status) for status in Status], case_sensitive=False))
@click.option("--task")
@click.option("--queue", help="Among the newest 100,000 that fit the other options.")
@click.option("--tenant")
@click.option("--subject")
@click.option("--tag")
@click.option("--since", type=Moment(takes_ago=True), help="Created since: 2h, or 2030-01-31T10:00Z.")
@click.option("--until", type=Moment(takes_ago=True), help="Created before.")
@click.option("--before", metavar="ID", help="The page after the one that ended with this job.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
def list_(
    status: str | None,
    task: str | None,
    queue: str | None,
    tenant: str | None,
    subject: str | None,
    tag: str | None,
    since: datetime | None,
    until: datetime | None,
    before: str | None,
    limit: int,
) -> None:
    """List jobs, newest first."""
    from holdfast.store.inspect import Filters, list_jobs

    filters = Filters(
        status=Status(status) if status else None, task=task, queue=queue, tenant=tenant, subject=subject, tag=tag,
        created_after=since, created_before=until, before_id=find_id(before) if before else None,
    )  # fmt: skip
    found = current().link.perform_once(list_jobs(filters, limit + 1))
    shown = found[:limit]
    columns = ["ID", "STATUS", "TASK", "QUEUE", "TRY", "AGE", "WHAT"]
    emit(
        [job_as_json(each) for each in shown],
        [Column(title) for title in columns],
        [_cells(each) for each in shown],
        "no jobs fit",
    )
    if len(found) > limit and current().output == "table":
        say(f"more: --before {shown[-1].id}")


def _cells(job: "Job") -> list[str]:
    from holdfast.domain.sentence import sentence, span

    why = sentence(job).removeprefix(str(job.status)).lstrip(": ")
    what = f"{job.label}: {why}" if job.label else why
    age = span(job.now - job.created_at)
    return [
        str(job.id),
        badge(job.status),
        plain(job.task),
        plain(job.queue),
        str(job.attempt),
        age,
        plain(what),
    ]


def job_as_json(job: "Job") -> dict[str, Any]:
    """Write a job for programs, with the sentence that people get."""
    from holdfast.domain.sentence import sentence

    told = asdict(job)
    del told["now"]
    return {**told, "sentence": sentence(job)}


@job.command(cls=Command)
@click.argument("job_id", metavar="ID")
def show(job_id: str) -> None:
    """Tell the story of one job: why it is where it is, its history, its attempts' errors and log lines."""
    from holdfast.interfaces.cli.story import read_story, story_as_json, story_lines

    story = read_story(current().link, find_id(job_id))
    emit_one(story_as_json(story), story_lines(story, verbose=current().verbose))


@job.command(cls=Command)
@click.argument("job_id", metavar="ID")
@click.option("--timeout", type=Duration(), help="Give up after this long (exit code 12); the job goes on.")
def wait(job_id: str, timeout: timedelta | None) -> None:
    """Wait until a job has ended: exit code 0 COMPLETED, 10 FAILED, 11 CANCELLED, 12 timed out."""
    from holdfast.interfaces.cli.waiting import wait_for

    wait_for(find_id(job_id), timeout)


@job.command(cls=Command)
@click.argument("job_id", metavar="ID")
@click.option("--reason", help="Why, for the history.")
@click.option("--actor", "who", help="Who, for the history [your user name].")
@click.option("--wait", "then_wait", is_flag=True, help="Wait for the new job; exit codes as job wait.")
def retry(job_id: str, reason: str | None, who: str | None, then_wait: bool) -> None:
    """Retry a FAILED job as a new job that names it."""
    from holdfast.interfaces.cli.waiting import wait_for
    from holdfast.store.finish import retry as make_retry
    from holdfast.store.ids import new_id

    old = find_id(job_id)
    new = current().link.perform(make_retry(old, actor(who), reason, new_id()))
    if then_wait:
        say(f"retried {old} as {new}")
        wait_for(new, None)
    else:
        emit_one({"id": new, "retry_of": old}, [f"retried {old} as {new}"])


@job.command(cls=Command)
@click.argument("job_id", metavar="ID")
@click.option("--reason", help="Why, for the history.")
@click.option("--actor", "who", help="Who, for the history [your user name].")
def cancel(job_id: str, reason: str | None, who: str | None) -> None:
    """Cancel a job that has not ended; one that runs is told to stop, and nothing it writes afterwards counts."""
    from holdfast.store.finish import cancel as make_cancel

    found = find_id(job_id)
    _ask_if_running(found)
    status = current().link.perform(make_cancel(found, actor(who), reason))
    emit_one({"id": found, "status": str(status)}, [f"{badge(str(status))} {found}"])


def _ask_if_running(job_id: UUID) -> None:
    from holdfast.store.inspect import find_job

    found = current().link.perform_once(find_job(job_id))
    if found is not None and found.status is _WORTH_A_QUESTION:
        confirm(f"{found.task} is running on {found.worker}. Stop it?")
