"""Waiting for a job, with a sign of life for whoever watches, and an exit code that says how it ended."""

import json
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from holdfast.domain.errors import JobNotFound, NotAllowed, WaitTimedOut
from holdfast.domain.states import Status
from holdfast.interfaces.cli.commands import WAIT_CANCELLED, WAIT_FAILED
from holdfast.interfaces.cli.invocation import current, is_watched
from holdfast.interfaces.cli.output import as_json, badge, emit_one, plain

if TYPE_CHECKING:
    from holdfast.runtime.handle import Handle

ENDED = {Status.COMPLETED: 0, Status.FAILED: WAIT_FAILED, Status.CANCELLED: WAIT_CANCELLED}
_LOOK_EVERY = 0.5
_CLEAR_LINE = "\r\x1b[K"


def wait_for(job_id: UUID, timeout: timedelta | None) -> None:
    """Wait until the job has ended, show what came of it, and exit accordingly."""
    from holdfast.runtime.handle import Handle

    handle = Handle(current().link, job_id, created=False, decode=json.loads)
    patience = None if timeout is None else timeout.total_seconds()
    status = _watched(handle, patience) if is_watched() else handle.wait(patience)
    result, error = _shown(job_id)
    line = f"{badge(status)} {job_id}"
    if status is Status.COMPLETED:
        line += f"  {as_json(result)}"
    elif error is not None:
        line += f"  {plain(error.get('type'))}: {plain(error.get('message'))}"
    emit_one({"id": job_id, "status": str(status), "result": result, "error": error}, [line])
    raise click.exceptions.Exit(ENDED[status])


def _shown(job_id: UUID) -> tuple[Any, dict[str, Any] | None]:
    """Read what came of it as job show does; a login that only enqueues may not look, and learns how it ended."""
    from holdfast.store.inspect import find_job

    try:
        job = current().link.perform_once(find_job(job_id))
    except NotAllowed:
        return None, None
    if job is None:
        raise JobNotFound(f"job {job_id} was removed while we looked")
    return job.result, job.error


def _watched(handle: "Handle[object]", patience: float | None) -> Status:
    """Wait in slices and say in between where the job is."""
    from holdfast.domain.sentence import sentence
    from holdfast.store.inspect import find_job

    until = None if patience is None else time.monotonic() + patience
    try:
        while True:
            left = _LOOK_EVERY if until is None else min(_LOOK_EVERY, until - time.monotonic())
            if left <= 0:
                raise WaitTimedOut(f"job {handle.id} had not ended after {patience:g} s; it goes on")
            try:
                return handle.wait(left)
            except WaitTimedOut:
                job = current().link.perform_once(find_job(handle.id))
                if job is not None:
                    click.echo(f"{_CLEAR_LINE}{plain(sentence(job))}", nl=False, err=True)
    finally:
        click.echo(_CLEAR_LINE, nl=False, err=True)
