"""`holdfast enqueue`: one job, by name and JSON, with or without the app at hand."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from holdfast.domain.errors import UnknownTask
from holdfast.interfaces.cli.commands import Command
from holdfast.interfaces.cli.invocation import actor, current, say
from holdfast.interfaces.cli.moments import Duration, Moment
from holdfast.interfaces.cli.output import emit_one

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast


@click.command(cls=Command)
@click.argument("task")
@click.argument("payload", default="{}")
@click.option("--at", "run_at", type=Moment(), help="Run at this time: 2030-01-31T10:00Z.")
@click.option("--in", "run_in", type=Duration(), help="Run after this long: 90s, 5m, 2h, 1d.")
@click.option("--queue")
@click.option("--priority", type=click.IntRange(-100, 100), help="-100 to 100, larger first.")
@click.option("--key", help="At most one active job of this key.")
@click.option(
    "--on-conflict",
    type=click.Choice(["return", "raise", "replace"]),
    help="When a job holds the key [return].",
)
@click.option("--tenant")
@click.option("--subject")
@click.option("--tag", "tags", multiple=True, help="May be repeated.")
@click.option("--label", help="A title for people.")
@click.option("--actor", "who", help="Who asks for it [your user name].")
@click.option("--wait", is_flag=True, help="Wait for it; exit codes as job wait.")
def enqueue(task: str, payload: str, wait: bool, who: str | None, **options: Any) -> None:
    """Enqueue TASK with PAYLOAD, a JSON object ({} if left out; - reads stdin).

    Without --app the task must be registered in the database (a worker does that). With --app the payload is checked
    against the task's parameters first.
    """
    from holdfast.domain.json_rules import check_json_object
    from holdfast.interfaces.cli.waiting import wait_for

    text = check_json_object(sys.stdin.read() if payload == "-" else payload)
    given = {**options, "tags": list(options["tags"]) or None, "requested_by": actor(who)}
    app = current().app
    job_id, created = (
        _enqueue_plainly(task, text, given) if app is None else _enqueue_through(app, task, text, given)
    )
    if not created:
        say(f"job {job_id} already holds the key; nothing was enqueued")
    if wait:
        say(f"enqueued {job_id}")
        wait_for(job_id, None)
    else:
        emit_one({"id": job_id, "created": created}, [str(job_id)])


def _enqueue_through(
    app: "Holdfast", name: str, payload: str, options: Mapping[str, Any]
) -> tuple[UUID, bool]:
    task = app.tasks.get(name)
    if task is None:
        known = ", ".join(sorted(app.tasks)) or "none"
        raise UnknownTask(f"the app has no task {name!r}; its tasks are: {known}")
    positional, named = task.codec.arguments(task.codec.decode(payload))
    handle = task.using(**options).enqueue(*positional, **named)
    return handle.id, handle.created


def _enqueue_plainly(name: str, payload: str, options: Mapping[str, Any]) -> tuple[UUID, bool]:
    from holdfast.domain.job import NewJob
    from holdfast.domain.options import written_options
    from holdfast.store.enqueue import enqueue_many
    from holdfast.store.ids import new_id

    others = dict.fromkeys(("key_scope", "metadata", "trace_parent", "retries", "timeout"))
    job = NewJob(new_id(), name, payload, written_options(**options, **others))
    (made,) = current().link.perform(enqueue_many([job], None))
    return made.job_id, made.created
