"""`holdfast job`: list, show, follow, wait for, retry, cancel and change jobs."""

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from holdfast.domain.bulk import Change
from holdfast.domain.states import Status
from holdfast.interfaces.cli.bulk import many, operate
from holdfast.interfaces.cli.commands import Command, Group
from holdfast.interfaces.cli.invocation import actor, confirm, confirm_by_typing, current, say
from holdfast.interfaces.cli.job_ids import find_id
from holdfast.interfaces.cli.moments import Duration
from holdfast.interfaces.cli.output import Column, badge, clock_time, emit, emit_one, plain
from holdfast.interfaces.cli.searching import searching

if TYPE_CHECKING:
    from holdfast.domain.job import Job
    from holdfast.domain.search import Search
    from holdfast.interfaces.cli.bulk import Many

_WORTH_A_QUESTION = Status.RUNNING


@click.group(cls=Group)
def job() -> None:
    """List, show, follow, wait for, retry, cancel and change jobs. IDs may be shortened where the beginning is unique."""


@job.command("list", cls=Command)
@searching
@click.option("--before", metavar="ID", help="The page after the one that ended with this job.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
def list_(search: "Search", before: str | None, limit: int) -> None:
    """List jobs, newest first."""
    from holdfast.store.search import find_jobs

    found = current().link.perform_once(find_jobs(search, limit, before=find_id(before) if before else None))
    emit(
        [job_as_json(each) for each in found.jobs],
        job_columns(),
        [job_cells(each) for each in found.jobs],
        "no jobs fit",
    )
    if current().output == "table":
        if found.since is not None:
            say(f"looked at jobs since {clock_time(found.since)}; further back: age:<30d, or --since")
        if found.next is not None:
            say(f"more: --before {found.next}")


def job_columns() -> list[Column]:
    """Give the columns of a list of jobs."""
    return [Column(title) for title in ("ID", "STATUS", "TASK", "QUEUE", "TRY", "AGE", "WHAT")]


def job_cells(job: "Job") -> list[str]:
    """Write a job's line of a list."""
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
@click.option("--follow/--no-follow", default=True, show_default=True, help="Go on until the job has ended.")
def tail(job_id: str, follow: bool) -> None:
    """Write what a job's attempts log, as it comes; exit codes as job wait, or 0 with --no-follow."""
    from holdfast.interfaces.cli.tailing import tail_of

    tail_of(find_id(job_id), follow=follow)


@job.command(cls=Command)
@click.argument("job_id", metavar="ID")
@click.option("--timeout", type=Duration(), help="Give up after this long (exit code 12); the job goes on.")
def wait(job_id: str, timeout: timedelta | None) -> None:
    """Wait until a job has ended: exit code 0 COMPLETED, 10 FAILED, 11 CANCELLED, 12 timed out."""
    from holdfast.interfaces.cli.waiting import wait_for

    wait_for(find_id(job_id), timeout)


_REASON = click.option("--reason", help="Why, for the history.")
_ACTOR = click.option("--actor", "who", help="Who, for the history [your user name].")
_WAIT = click.option(
    "--wait", "then_wait", is_flag=True, help="With --all-matching: wait until all are dealt with."
)


@job.command(cls=Command)
@click.argument("job_id", metavar="[ID]", required=False)
@many
@_REASON
@_ACTOR
@click.option("--wait", "then_wait", is_flag=True, help="Wait for the new job; exit codes as job wait.")
def retry(job_id: str | None, which: "Many", reason: str | None, who: str | None, then_wait: bool) -> None:
    """Retry a FAILED job as a new job that names it, or all that match a search."""
    from holdfast.interfaces.cli.waiting import wait_for
    from holdfast.store.finish import retry as make_retry
    from holdfast.store.ids import new_id

    if job_id is None or which.is_asked_for:
        operate(Change("retry"), job_id, which, actor(who), reason, then_wait=then_wait)
        return
    old = find_id(job_id)
    new = current().link.perform(make_retry(old, actor(who), reason, new_id()))
    if then_wait:
        say(f"retried {old} as {new}")
        wait_for(new, None)
    else:
        emit_one({"id": new, "retry_of": old}, [f"retried {old} as {new}"])


@job.command(cls=Command)
@click.argument("job_id", metavar="[ID]", required=False)
@many
@_REASON
@_ACTOR
@_WAIT
def cancel(job_id: str | None, which: "Many", reason: str | None, who: str | None, then_wait: bool) -> None:
    """Cancel a job that has not ended, or all that match a search.

    One that runs is told to stop, and nothing it writes afterwards counts.
    """
    from holdfast.store.finish import cancel as make_cancel

    if job_id is None or which.is_asked_for:
        operate(Change("cancel"), job_id, which, actor(who), reason, then_wait=then_wait)
        return
    found = find_id(job_id)
    _ask_if_running(found)
    status = current().link.perform(make_cancel(found, actor(who), reason))
    emit_one({"id": found, "status": str(status)}, [f"{badge(str(status))} {found}"])


@job.command(cls=Command)
@click.argument("job_id", metavar="[ID]", required=False)
@click.option(
    "--to", "priority", type=click.IntRange(-100, 100), required=True, help="-100 to 100, larger first."
)
@many
@_REASON
@_ACTOR
@_WAIT
def reprioritise(
    job_id: str | None, priority: int, which: "Many", reason: str | None, who: str | None, then_wait: bool
) -> None:
    """Give a job that has not ended another priority, or all that match a search.

    A point is 36 seconds in line. One that runs has it from its next attempt on.
    """
    from holdfast.store.change import reprioritise as make_reprioritise

    if job_id is None or which.is_asked_for:
        operate(
            Change("reprioritise", priority=priority), job_id, which, actor(who), reason, then_wait=then_wait
        )
        return
    found = find_id(job_id)
    current().link.perform(make_reprioritise(found, priority, actor(who), reason))
    emit_one({"id": found, "priority": priority}, [f"{found} has priority {priority}"])


@job.command(cls=Command)
@click.argument("job_id", metavar="[ID]", required=False)
@click.option("--to", "to_queue", required=True, metavar="QUEUE", help="The queue that it goes to.")
@many
@_REASON
@_ACTOR
@_WAIT
def move(
    job_id: str | None, to_queue: str, which: "Many", reason: str | None, who: str | None, then_wait: bool
) -> None:
    """Put a job that waits into another queue, or all that match a search. One that runs is not moved."""
    from holdfast.store.change import move_to_queue

    if job_id is None or which.is_asked_for:
        operate(Change("move", queue=to_queue), job_id, which, actor(who), reason, then_wait=then_wait)
        return
    found = find_id(job_id)
    current().link.perform(move_to_queue(found, to_queue, actor(who), reason))
    emit_one({"id": found, "queue": to_queue}, [f"{found} is in queue {plain(to_queue)}"])


@job.command(cls=Command)
@click.argument("job_id", metavar="[ID]", required=False)
@many
@_REASON
@_ACTOR
@_WAIT
def delete(job_id: str | None, which: "Many", reason: str | None, who: str | None, then_wait: bool) -> None:
    """Delete a job that has ended, with its history, or all that match a search. The audit keeps who did it."""
    from holdfast.store.change import delete_job

    if job_id is None or which.is_asked_for:
        operate(Change("delete"), job_id, which, actor(who), reason, then_wait=then_wait)
        return
    found = find_id(job_id)
    confirm_by_typing(f"Delete {found} and its history for ever?", "delete")
    current().link.perform(delete_job(found, actor(who), reason))
    emit_one({"id": found, "deleted": True}, [f"deleted {found}"])


def _ask_if_running(job_id: UUID) -> None:
    from holdfast.store.inspect import find_job

    found = current().link.perform_once(find_job(job_id))
    if found is not None and found.status is _WORTH_A_QUESTION:
        confirm(f"{found.task} is running on {found.worker}. Stop it?")
