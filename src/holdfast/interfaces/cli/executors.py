"""`holdfast executor`: those there are, and the secrets that their runs sign with."""

import click

from holdfast.interfaces.cli.commands import NOT_FOUND, Command, Group
from holdfast.interfaces.cli.invocation import current, say
from holdfast.interfaces.cli.output import Column, emit, emit_one, plain


@click.group(cls=Group)
def executor() -> None:
    """List outside executors, and print the secret that one signs its callbacks with."""


@executor.command("list", cls=Command)
def list_() -> None:
    """List the app's executors."""
    found = current().require_app().executors
    rows = [
        {
            "name": name,
            "kind": type(each).__name__,
            "tries": each.tries,
            "plain_signature": each.plain_signature,
        }
        for name, each in sorted(found.items())
    ]
    cells = [
        [
            row["name"],
            plain(row["kind"]),
            str(row["tries"]),
            "accepted" if row["plain_signature"] else "refused",
        ]
        for row in rows
    ]
    columns = [Column("EXECUTOR"), Column("KIND"), Column("TRIES", "right"), Column("PLAIN SIGNATURE")]
    emit(rows, columns, [[str(cell) for cell in line] for line in cells], "this app has no executors")


@executor.command(cls=Command)
@click.argument("name")
def key(name: str) -> None:
    """Print the secret of an executor, to install once in its CI system as HOLDFAST_CALLBACK_SECRET.

    It is derived from HOLDFAST_SECRET_KEY (or given to the executor in code) and speaks for this executor only.
    """
    from holdfast.runtime.keys import derived_secrets

    app = current().app
    if app is not None and name not in app.executors:
        known = ", ".join(sorted(app.executors)) or "none"
        say(f"no executor is called {plain(name)}; there are: {known}")
        raise click.exceptions.Exit(NOT_FOUND)
    secrets = derived_secrets(name) if app is None else app.executors[name].secrets()
    emit_one({"name": name, "secret": secrets[0]}, [secrets[0]])
