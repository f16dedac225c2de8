"""`holdfast openapi`: the HTTP API's description."""

import click

from holdfast.domain.errors import Configuration
from holdfast.interfaces.cli.commands import Command


@click.command(cls=Command)
def openapi() -> None:
    """Print the HTTP API's description, OpenAPI 3.1."""
    try:
        from holdfast.interfaces.http.asgi import all_operations
        from holdfast.interfaces.http.description import written
    except ImportError as error:
        raise Configuration("this needs the server: pip install 'holdfast[server]'") from error
    click.echo(written(all_operations()), nl=False)
