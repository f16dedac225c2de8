"""`holdfast version`."""

import platform
from importlib.metadata import version as version_of

import click

from holdfast.interfaces.cli.commands import Command
from holdfast.interfaces.cli.output import emit_one


@click.command(cls=Command)
def version() -> None:
    """Show the version."""
    told = {"name": "holdfast", "version": version_of("holdfast"), "python": platform.python_version()}
    emit_one(told, [f"holdfast {told['version']} (Python {told['python']})"])
