"""`holdfast worker`: run one here, list those there are, and let one of them claim no more or end."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from holdfast.domain.errors import Configuration, SchemaMismatch
from holdfast.domain.served import BadEntry, read_served, written_served
from holdfast.interfaces.cli.commands import NOT_FOUND, Command, Group
from holdfast.interfaces.cli.invocation import actor, current, remembered, say
from holdfast.interfaces.cli.output import Column, badge, emit, emit_one, plain

if TYPE_CHECKING:
    from holdfast.domain.health import Wish, WorkerInfo
    from holdfast.store.connection import Database

LOG_LEVELS = ("debug", "info", "warning", "error", "critical")


def log_options(command: Any) -> Any:
    """Add how to log; both may also come from the environment or a file."""
    for option in (
        click.option("--log-level", metavar="LEVEL", help="debug, info, warning or error [info]."),
        click.option(
            "--log-format", metavar="text|json", help="Log lines for people or for machines [text]."
        ),
    ):
        command = option(command)
    return remembered(command, {"log_format", "log_level"})


def worker_options(command: Any) -> Any:
    """Add what every command that runs a worker takes; each may also come from the environment or a file."""
    options = [
        click.option(
            "-q",
            "--queues",
            metavar="NAME:SLOTS,…",
            help=r"Queues to serve, e.g. billing:5,default:20; a name's own comma or colon as \, or \: [all of the app's].",
        ),
        click.option("-c", "--concurrency", metavar="N", help="Jobs at once [50]."),
        click.option("--lease", metavar="SECONDS", help="Silent for this long counts as dead [30]."),
        click.option(
            "--drain-timeout", metavar="SECONDS", help="After SIGTERM: finish within this, then release [25]."
        ),
    ]
    command = log_options(command)
    for option in reversed(options):
        command = option(command)
    return remembered(command, {"queues", "concurrency", "lease", "drain_timeout"})


@click.group(cls=Group, invoke_without_command=True)
@worker_options
@click.option("--until-idle", is_flag=True, help="Stop when nothing is left to do now.")
@click.pass_context
def worker(context: click.Context, until_idle: bool) -> None:
    """Run a worker: claims, runs and finishes jobs until SIGTERM or Ctrl-C (drains; a second Ctrl-C forces)."""
    if context.invoked_subcommand is None:
        _run(until_idle=until_idle)


def _run(*, until_idle: bool) -> None:
    from holdfast.interfaces.ending import leave
    from holdfast.interfaces.log_output import configure_logging

    settings = current().settings
    app = current().require_app()
    configure_logging(
        settings.choice("log_format", "text", "json"), settings.choice("log_level", *LOG_LEVELS)
    )
    require_schema(app.link.database)
    app.alerts.base_url = app.alerts.base_url or settings.text("base_url")
    leave(app.work(**run_options(), until_idle=until_idle))


def run_options() -> dict[str, Any]:
    """Read a worker's options from flags, environment and file."""
    settings = current().settings
    concurrency = settings.whole("concurrency", 1)
    return {
        "queues": read_queues(settings.text("queues"), concurrency),
        "concurrency": concurrency,
        "lease": settings.number("lease", 1),
        "drain_timeout": settings.number("drain_timeout", 0),
    }


def read_queues(text: str | None, slots: int) -> dict[str, int] | None:
    """Read billing:5,default:20; a queue without a number gets all slots there are."""
    if not text:
        return None
    try:
        return {name: own or slots for name, own in read_served(text).items()}
    except BadEntry as error:
        raise Configuration(
            f"queues {text}: {error.entry!r} is not NAME or NAME:SLOTS, e.g. billing:5,default:20;"
            r" a comma or colon of a name itself is written \, or \:"
        ) from None


def require_schema(database: "Database") -> None:
    """Refuse to run on a schema that lacks what this release needs."""
    from holdfast.store.connection import Session
    from holdfast.store.migrate import read_state

    session = Session(database, "holdfast")
    try:
        problem = read_state(session.connection()).problem_for_workers()
    finally:
        session.close()
    if problem is not None:
        raise SchemaMismatch(problem)


@worker.command("list", cls=Command)
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True)
def list_(limit: int) -> None:
    """List workers, the living first; the dead and stopped are kept for a day."""
    from holdfast.domain.sentence import ago
    from holdfast.store.overview import workers

    found = current().link.perform_once(workers(limit))
    columns = [
        Column("WORKER"), Column("STATE"), Column("HOST"), Column("PID", "right"), Column("VERSION"), Column("QUEUES"),
        Column("HOLDS", "right"), Column("SEEN", "right"), Column("STARTED", "right"), Column("ASKED"),
    ]  # fmt: skip
    cells = [
        [
            plain(each.name),
            badge(each.state),
            plain(each.host),
            str(each.pid),
            plain(each.version),
            plain(written_served(each.queues)),
            str(each.held),
            ago(each.seen_at, each.now),
            ago(each.started_at, each.now),
            plain(each.wished or ""),
        ]
        for each in found
    ]
    rows = [{**asdict(each), "state": str(each.state)} for each in found]
    for row in rows:
        del row["now"]
    emit(rows, columns, cells, "no worker has registered yet: start one with holdfast -a module:app worker")


def _asking(command: Any) -> Any:
    for option in (
        click.option("--actor", "who", help="Who [your user name]."),
        click.option("--reason", help="Why; for whoever reads the audit."),
        click.argument("name", metavar="WORKER"),
    ):
        command = option(command)
    return command


@worker.command(cls=Command)
@_asking
def quiet(name: str, reason: str | None, who: str | None) -> None:
    """Let a worker (its name, or its id) claim no more: it finishes what it runs, and stays."""
    _wish(name, "quiet", "worker.quiet", reason, who, "claims no more from its next heartbeat on")


@worker.command(cls=Command)
@_asking
def stop(name: str, reason: str | None, who: str | None) -> None:
    """Let a worker finish what it runs and end, as SIGTERM does; whatever started it may start it again."""
    _wish(
        name, "stop", "worker.stop", reason, who, "ends after its next heartbeat, when what it runs has ended"
    )


@worker.command(cls=Command)
@_asking
def resume(name: str, reason: str | None, who: str | None) -> None:
    """Let a quiet worker claim again."""
    _wish(name, None, "worker.resume", reason, who, "claims again from its next heartbeat on")


def _wish(
    name: str, wish: "Wish | None", action: str, reason: str | None, who: str | None, then: str
) -> None:
    from holdfast.domain.access import Principal
    from holdfast.store.access import record_action
    from holdfast.store.claim import wish_of_worker

    found = _find(name)
    by = actor(who)
    with current().link.transaction() as transaction:
        transaction.perform(wish_of_worker(found.id, wish, by, reason))
        transaction.perform(record_action(Principal(by, frozenset()), None, action, found.name, reason, None))
    emit_one({"id": found.id, "name": found.name, "wish": wish}, [f"worker {plain(found.name)} {then}"])


def _find(name: str) -> "WorkerInfo":
    """Find a living worker by its name or its id."""
    from holdfast.domain.health import LIVING
    from holdfast.store.overview import workers

    known = current().link.perform_once(workers(10_000))
    found = [each for each in known if each.state in LIVING and name in {each.name, str(each.id)}]
    if len(found) != 1:
        say(
            f"{'several workers are' if found else 'no living worker is'} called {plain(name)}; holdfast worker list -o json shows their ids"
        )
        raise click.exceptions.Exit(NOT_FOUND)
    return found[0]
