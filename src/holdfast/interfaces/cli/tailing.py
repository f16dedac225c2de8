"""`holdfast job tail`: what a job's attempts log, as it comes."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from holdfast.domain.errors import JobNotFound
from holdfast.interfaces.cli.invocation import current, say
from holdfast.interfaces.cli.output import as_json, dim, plain
from holdfast.interfaces.cli.waiting import ENDED

if TYPE_CHECKING:
    from holdfast.domain.job import Job

LOOK_EVERY = 0.5


class Tail:
    """How far the lines of a job have been read."""

    def __init__(self, job_id: UUID) -> None:
        self._job_id = job_id
        self._read: dict[int, int] = {}

    def new_lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Give the lines that were not given before, each with its attempt."""
        from holdfast.store.inspect import attempts

        newest = max(self._read, default=1)  # those before it have ended, and log no more
        for record in current().link.perform(attempts(self._job_id, after=newest - 1)):
            lines = record.logs or []
            for line in lines[self._read.get(record.attempt, 0) :]:
                yield record.attempt, line
            self._read[record.attempt] = len(lines)


def tail_of(job_id: UUID, *, follow: bool) -> None:
    """Write what a job logs until it has ended, and exit as job wait does; or only what there is."""
    from holdfast.domain.sentence import sentence

    tail = Tail(job_id)
    while True:
        job = _found(job_id)
        for attempt, line in tail.new_lines():
            _write(attempt, line)
        if job.status.is_terminal or not follow:
            break
        time.sleep(LOOK_EVERY)
    say(plain(sentence(job)))
    if follow:
        raise click.exceptions.Exit(ENDED[job.status])


def _found(job_id: UUID) -> "Job":
    from holdfast.store.inspect import find_job

    job = current().link.perform(find_job(job_id))
    if job is None:
        raise JobNotFound(f"no job has the id {job_id}")
    return job


def _write(attempt: int, line: dict[str, Any]) -> None:
    if current().output in {"json", "jsonl"}:
        click.echo(as_json({"attempt": attempt, **line}))
        return
    told = " ".join(plain(line[name]) for name in ("at", "level", "logger") if name in line)
    click.echo(f"{dim(f'{attempt}  {told}')} {plain(line.get('message'))}".rstrip())
