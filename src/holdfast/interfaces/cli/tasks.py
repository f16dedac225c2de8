"""`holdfast task`: list, pause and resume tasks."""

from dataclasses import asdict
from datetime import timedelta

import click

from holdfast.domain.shell_words import argument
from holdfast.interfaces.cli.commands import Command, Group
from holdfast.interfaces.cli.invocation import actor, current, say
from holdfast.interfaces.cli.moments import Duration
from holdfast.interfaces.cli.output import Column, dim, emit, emit_one, plain


@click.group(cls=Group)
def task() -> None:
    """List, pause and resume tasks."""


@task.command("list", cls=Command)
@click.option("--all", "all_", is_flag=True, help="Holdfast's own too.")
def list_(all_: bool) -> None:
    """List the tasks that this database knows, with their gates."""
    from holdfast.store.limits import tasks

    found = current().link.perform_once(tasks(own=all_))
    columns = [Column("TASK"), Column("QUEUE"), Column("WORKERS", "right"), Column("STATUS"), Column("GATES")]
    cells = [
        [
            plain(each.name),
            plain(each.queue),
            str(each.workers),
            plain(each.status) if each.paused_at is None else click.style(plain(each.status), fg="yellow"),
            plain(each.gates) or dim("-"),
        ]
        for each in found
    ]
    rows = [{**asdict(each), "status": "open" if each.paused_at is None else "paused"} for each in found]
    for row in rows:
        del row["now"]
    emit(rows, columns, cells, "no task is registered yet: start a worker, which registers its tasks")


@task.command(cls=Command)
@click.argument("name")
@click.option("--reason", help="Why; shown wherever its jobs wait.")
@click.option("--for", "resume_in", type=Duration(), help="Resume by itself after this long.")
@click.option("--actor", "who", help="Who [your user name].")
def pause(name: str, reason: str | None, resume_in: timedelta | None, who: str | None) -> None:
    """Let nobody claim jobs of a task until it is resumed; what runs goes on."""
    from holdfast.store.limits import pause_task

    current().link.perform(pause_task(name, actor(who), reason, resume_in))
    emit_one(
        {"name": name, "status": "paused"},
        [f"task {plain(name)} is paused; resume it with: holdfast task resume {plain(argument(name))}"],
    )


@task.command(cls=Command)
@click.argument("name")
def resume(name: str) -> None:
    """Let jobs of a paused task run again."""
    from holdfast.store.limits import resume_task

    if not current().link.perform(resume_task(name)):
        say(f"task {plain(name)} was not paused")
    emit_one({"name": name, "status": "open"}, [f"task {plain(name)} is open"])
