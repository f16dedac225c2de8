"""`holdfast db`: the schema, brought up to this release or compared with it."""

from typing import TYPE_CHECKING

import click

from holdfast.interfaces.cli.commands import UNHEALTHY, Command, Group
from holdfast.interfaces.cli.invocation import current, progress, say
from holdfast.interfaces.cli.output import badge, emit_one

if TYPE_CHECKING:
    from holdfast.store.migrate import SchemaState


@click.group(cls=Group)
def db() -> None:
    """Migrate and check the database's schema."""


@db.command(cls=Command)
def migrate() -> None:
    """Bring the schema up to this release; safe to repeat and to run from several places at once."""
    from holdfast.store.migrate import migrate as apply

    say(f"migrating {current().database.described}")
    with progress("applying", len(_state().pending)) as advance:
        applied = apply(current().database, lambda _name: advance())
    lines = [f"applied {name}" for name in applied] or ["the schema is current; nothing to do"]
    emit_one({"name": "holdfast", "applied": applied}, lines)


@db.command(cls=Command)
def status() -> None:
    """Show what is installed and what is missing."""
    emit_one(*_told(_state()))


@db.command(cls=Command)
@click.option(
    "--newer-is-fine", is_flag=True, help="0 for a newer schema too, on which this release goes on working."
)
def check(newer_is_fine: bool) -> None:
    """As status, and exit with 3 when the schema is not what this release needs."""
    state = _state()
    fits = state.problem_for_workers() is None if newer_is_fine else state.is_current
    if not fits or not current().quiet:
        emit_one(*_told(state))
    if not fits:
        raise click.exceptions.Exit(UNHEALTHY)


@db.command(cls=Command)
@click.option("--pending", is_flag=True, help="Only what the database lacks.")
def sql(pending: bool) -> None:
    """Print the schema as plain SQL, for people who migrate by other means; without --pending no database is asked."""
    from holdfast.store.migrate import as_script, steps

    click.echo(as_script(_state().pending if pending else steps()), nl=False)


def _state() -> "SchemaState":
    from holdfast.store.connection import Session
    from holdfast.store.migrate import read_state

    session = Session(current().database, "holdfast db")
    try:
        return read_state(session.connection())
    finally:
        session.close()


def _told(state: "SchemaState") -> tuple[dict[str, object], list[str]]:
    pending = [step.name for step in state.pending]
    told = {
        "name": "holdfast",
        "current": state.is_current,
        "installed": sorted(state.installed),
        "pending": pending,
        "newer": state.newer,
        "changed": state.changed,
        "owner": state.owner,
        "roles": state.has_roles,
    }
    names = sorted({*state.installed, *pending})
    lines = [f"{badge('missing' if name in pending else 'installed')}  {name}" for name in names]
    lines.append(state.problem() or f"the schema is current; its owner is {state.owner}")
    if state.owner is not None and not state.has_roles:
        lines.append("single-role set-up: the login that owns the schema does everything")
    return told, lines
