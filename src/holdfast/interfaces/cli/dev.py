"""`holdfast dev`: PostgreSQL, schema, worker and HTTP service in one command."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.domain.errors import Configuration
from holdfast.domain.served import written_queue
from holdfast.interfaces.cli.commands import Command
from holdfast.interfaces.cli.invocation import current, say
from holdfast.interfaces.cli.server import (
    make_application,
    open_listener,
    require_uvicorn,
    server_options,
    work_and_serve,
)
from holdfast.interfaces.cli.workers import LOG_LEVELS, run_options, worker_options

if TYPE_CHECKING:
    import socket

    from holdfast.interfaces.development import Place
    from holdfast.runtime.app import Holdfast

DATABASE = "holdfast"
# When somebody has the port, the next ones are as good.
_PORTS_TRIED = 10


@click.command(cls=Command)
@worker_options
@server_options
@click.option("--reload", is_flag=True, help="Start again whenever a Python file changes.")
@click.option("--memory", is_flag=True, help="A throw-away database, gone afterwards.")
def dev(reload: bool, memory: bool) -> None:
    """Run your app here: an embedded PostgreSQL with its data in .holdfast/, the schema, a worker and the HTTP service.

    The service lets in whoever is on this machine, and nobody else.

    A configured database (--database-url, HOLDFAST_DATABASE_URL, DATABASE_URL, PG*) is used instead of the embedded one.
    """
    from holdfast.interfaces.development import development
    from holdfast.interfaces.ending import leave, terminable

    if current().settings.text("app") is None:
        raise Configuration(
            "dev runs your app: pass -a module:attribute, e.g. holdfast -a shop.jobs:app dev; or see one first: holdfast demo"
        )
    with terminable(), development(current().find_database(), DATABASE, memory=memory) as place:
        code = _reloading(place) if reload else _here(place)
    leave(code)


def _here(place: "Place") -> int:
    from holdfast.interfaces.log_output import configure_logging

    settings = current().settings
    app = current().require_app()
    app.connect_to(place.login)
    options = run_options()
    queues = options["queues"] or dict.fromkeys(
        sorted({each.settings.queue for each in app.tasks.values()}), options["concurrency"]
    )
    served = ", ".join(f"{written_queue(name)}:{slots}" for name, slots in queues.items())
    service, told = _service(app)
    facts = {"app": f"{settings.text('app')}, {len(app.tasks)} tasks", "queues": served, "server": told}
    banner(place, facts)
    configure_logging(
        settings.choice("log_format", "text", "json"), settings.choice("log_level", *LOG_LEVELS)
    )
    return app.work(**options) if service is None else work_and_serve(app, *service)


def _service(app: "Holdfast") -> tuple[tuple[Any, "socket.socket"] | None, str]:
    """Give what is to be served and say where; without it the worker still works."""
    try:
        require_uvicorn()
        application, _ = make_application(app, no_auth=True)
        listener = open_listener(_PORTS_TRIED)
    except Configuration as error:
        return None, f"none: {error}"
    from holdfast.interfaces.http.serving import address_of

    return (application, listener), f"{address_of(listener)}  (for this machine, without a key)"


def _reloading(place: "Place") -> int:
    from holdfast.interfaces.reloading import run_reloading, worker_command

    settings = current().settings
    facts = {"app": f"{settings.text('app')}, reloads when a Python file changes"}
    command = ["worker"]
    try:
        require_uvicorn()
        with open_listener(_PORTS_TRIED) as listener:
            port = listener.getsockname()[1]
        command = ["up", "--no-auth", "--port", str(port)]
    except Configuration as error:
        facts["server"] = f"none: {error}"
    banner(place, facts)
    flags = {name: value for name, value in current().flags.items() if name != "database_url"}
    environment = {**os.environ, **{f"HOLDFAST_{name.upper()}": value for name, value in flags.items()}}
    environment["HOLDFAST_DATABASE_URL"] = place.login.url
    environment["HOLDFAST_APP"] = settings.text("app") or ""
    return run_reloading(worker_command(*command), environment, Path.cwd(), say)


def banner(place: "Place", facts: dict[str, str]) -> None:
    """Say what runs where, and how it ends."""
    import platform
    from importlib.metadata import version

    say(click.style(f"Holdfast {version('holdfast')}", bold=True) + f"  (Python {platform.python_version()})")
    for name, value in {"database": place.described, "psql": place.psql, **facts}.items():
        say(f"  {name:<9} {value}")
    say(f"  {'stop':<9} Ctrl-C stops (drains), twice forces")
    say()
