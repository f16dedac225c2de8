"""`holdfast queue`: list, pause, resume and limit queues."""

from dataclasses import asdict
from datetime import timedelta

import click

from holdfast.domain.shell_words import argument
from holdfast.interfaces.cli.commands import NOT_FOUND, Command, Group
from holdfast.interfaces.cli.invocation import actor, current, say
from holdfast.interfaces.cli.moments import Duration
from holdfast.interfaces.cli.output import Column, dim, emit, emit_one, plain


@click.group(cls=Group)
def queue() -> None:
    """List, pause, resume and limit queues."""


@queue.command("list", cls=Command)
def list_() -> None:
    """List queues, those without jobs too. Counts stop at 10,000."""
    from holdfast.domain.health import capped
    from holdfast.domain.sentence import span
    from holdfast.store.overview import queues

    found = current().link.perform_once(queues())
    columns = [
        Column("QUEUE"), Column("WAITING", "right"), Column("RUNNING", "right"), Column("OLDEST WAIT", "right"),
        Column("LIMIT", "right"), Column("WORKERS", "right"), Column("STATUS"),
    ]  # fmt: skip
    cells = [
        [
            plain(each.name),
            capped(each.waiting),
            capped(each.running),
            dim("-") if each.oldest_wait is None else span(each.oldest_wait),
            dim("-") if each.limit is None else str(each.limit),
            str(each.workers) if each.workers or not each.waiting else click.style("none", fg="red"),
            plain(each.status) if each.paused_at is None else click.style(plain(each.status), fg="yellow"),
        ]
        for each in found
    ]
    rows = [
        {
            **asdict(each),
            "status": "open" if each.paused_at is None else "paused",
            "oldest_wait": each.oldest_wait,
        }
        for each in found
    ]
    for row in rows:
        del row["now"]
    emit(rows, columns, cells, "no queue is declared yet: start a worker, which registers its tasks")


@queue.command(cls=Command)
@click.argument("name")
@click.option("--reason", help="Why; shown wherever its jobs wait.")
@click.option("--for", "resume_in", type=Duration(), help="Resume by itself after this long.")
@click.option("--actor", "who", help="Who [your user name].")
def pause(name: str, reason: str | None, resume_in: timedelta | None, who: str | None) -> None:
    """Let nobody claim from a queue until it is resumed; what runs goes on."""
    from holdfast.store.overview import queues
    from holdfast.store.upkeep import pause_queue

    known = {each.name for each in current().link.perform_once(queues())}
    if name not in known:
        say(f"note: no queue called {name} was known until now")
    current().link.perform(pause_queue(name, actor(who), reason, resume_in))
    emit_one(
        {"name": name, "status": "paused"},
        [f"queue {plain(name)} is paused; resume it with: holdfast queue resume {plain(argument(name))}"],
    )


@queue.command(cls=Command)
@click.argument("name")
def resume(name: str) -> None:
    """Open a paused queue again."""
    from holdfast.store.overview import queues
    from holdfast.store.upkeep import resume_queue

    if name not in {each.name for each in current().link.perform_once(queues())}:
        say(f"no queue is called {plain(name)}; holdfast queue list shows them")
        raise click.exceptions.Exit(NOT_FOUND)
    if not current().link.perform(resume_queue(name)):
        say(f"queue {plain(name)} was not paused")
    emit_one({"name": name, "status": "open"}, [f"queue {plain(name)} is open"])


@queue.command(cls=Command)
@click.argument("name")
@click.argument("most", metavar="N|none")
def limit(name: str, most: str) -> None:
    """Let at most N jobs of a queue run at once, over all workers; none takes the limit away."""
    from holdfast.store.limits import limit_queue

    number = None if most == "none" else int(most) if most.isdecimal() else 0
    if number == 0:
        raise click.UsageError(
            f"{most!r} is neither a number from 1 on nor none; to let nothing run: holdfast queue pause {plain(argument(name))}"
        )
    current().link.perform(limit_queue(name, number))
    told = "has no limit" if number is None else f"runs at most {number} at once"
    emit_one({"name": name, "limit": number}, [f"queue {plain(name)} {told}"])
