"""`holdfast config`: every setting with its value and who said so."""

import click

from holdfast.interfaces.cli.commands import Command
from holdfast.interfaces.cli.invocation import current
from holdfast.interfaces.cli.output import Column, dim, emit, plain
from holdfast.interfaces.settings import DEFAULTS, Setting


@click.command(cls=Command)
def config() -> None:
    """Show every setting and where it came from (flag, environment, file, default)."""
    settings = [_database() if name == "database_url" else current().settings.get(name) for name in DEFAULTS]
    rows = [{"name": each.name, "value": each.value, "source": each.source} for each in settings]
    cells = [
        [each.name, dim("-") if each.value is None else plain(each.value), each.source] for each in settings
    ]
    emit(rows, [Column("SETTING"), Column("VALUE"), Column("FROM")], cells, "no settings")


def _database() -> Setting:
    """Say where the database is, without its password."""
    invocation = current()
    found = invocation.link.database if invocation.app is not None else invocation.find_database()
    if found is None:
        return Setting("database_url", None, "default")
    return Setting("database_url", found.described, "the app" if found.source == "given" else found.source)
