"""`holdfast server` and `holdfast up`: the HTTP service, alone or together with a worker."""

from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from holdfast.domain.errors import Configuration
from holdfast.interfaces.cli.commands import Command
from holdfast.interfaces.cli.invocation import current, remembered, say
from holdfast.interfaces.cli.workers import (
    LOG_LEVELS,
    log_options,
    require_schema,
    run_options,
    worker_options,
)

if TYPE_CHECKING:
    import socket

    from holdfast.runtime.app import Holdfast


def server_options(command: Any) -> Any:
    """Add what every command that serves takes; each may also come from the environment or a file."""
    options = [
        click.option("--host", metavar="ADDRESS", help="Address to listen on; 0.0.0.0 for all [127.0.0.1]."),
        click.option("--port", metavar="PORT", help="Port to listen on; 0 takes a free one (PORT) [7070]."),
        click.option(
            "--parts", metavar="NAME,…", help="What to serve, e.g. api,live or callbacks [all of the app's]."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return remembered(command, {"host", "port", "parts"})


_no_auth = click.option(
    "--no-auth", is_flag=True, help="Let in whoever is on this machine, without a key; loopback only."
)


def _processes_option(command: Any) -> Any:
    several = click.option(
        "--processes", metavar="N", help="How many processes answer; one uses one core [1]."
    )
    return remembered(several(command), {"processes"})


@click.command(cls=Command)
@server_options
@_processes_option
@_no_auth
@log_options
def server(no_auth: bool) -> None:
    """Serve the HTTP API and its other parts until SIGTERM or Ctrl-C. Put TLS in front of it."""
    from holdfast.interfaces.ending import leave

    require_uvicorn()
    from holdfast.interfaces.http.processes import Processes, inherited_listener
    from holdfast.interfaces.http.serving import address_of, serve

    count = current().settings.whole("processes", 1)
    with closing(_served_app()) as app:
        application, parts = make_application(app, no_auth=no_auth)
        inherited = inherited_listener()
        listener = inherited or open_listener()
        if inherited is None:
            say(f"{', '.join(parts)} at {address_of(listener)}")
        if inherited is None and count > 1:
            app.close()  # the others connect for themselves
            code = Processes(listener, count, say).run()
        else:
            code = serve(application, listener)
    leave(code)


@click.command(cls=Command)
@server_options
@_no_auth
@worker_options
def up(no_auth: bool) -> None:
    """Run a worker and the HTTP service in one process, until SIGTERM or Ctrl-C (drains; a second Ctrl-C forces)."""
    from holdfast.interfaces.ending import leave

    require_uvicorn()
    from holdfast.interfaces.http.serving import address_of

    current().require_app()
    with closing(_served_app()) as app:
        application, parts = make_application(app, no_auth=no_auth)
        listener = open_listener()
        say(f"{', '.join(parts)} at {address_of(listener)}")
        code = work_and_serve(app, application, listener)
    leave(code)


def work_and_serve(app: "Holdfast", application: Any, listener: "socket.socket") -> int:
    """Run a worker and a server until told to stop; gives the exit code."""
    from holdfast.interfaces.together import work_and_answer
    from holdfast.runtime.loop import run

    return run(work_and_answer(app, application, listener, run_options()))


def require_uvicorn() -> None:
    """Say what to install where the server is missing."""
    try:
        import starlette
        import uvicorn
    except ImportError as error:
        raise Configuration(f"this needs {error.name}: pip install 'holdfast[server]'") from error
    del starlette, uvicorn


def _served_app() -> "Holdfast":
    from holdfast.interfaces.log_output import configure_logging
    from holdfast.runtime.app import Holdfast

    settings = current().settings
    configure_logging(
        settings.choice("log_format", "text", "json"), settings.choice("log_level", *LOG_LEVELS)
    )
    app = current().app
    if app is None:  # the API needs no code of anybody's
        app = Holdfast()
        app.connect_to(current().database)
    require_schema(app.link.database)
    app.alerts.base_url = app.alerts.base_url or settings.text("base_url")
    return app


def make_application(app: "Holdfast", *, no_auth: bool) -> tuple[Any, list[str]]:
    """Make what is served, and name its parts; refuses a door that would stand open."""
    from holdfast.interfaces.http.asgi import asgi, parts_of
    from holdfast.interfaces.http.exposure import refuse_open_door

    settings = current().settings
    named = settings.text("parts")
    parts = [part.strip() for part in named.split(",")] if named else parts_of(app)
    application = asgi(app, parts, auth=not no_auth, settings=settings)
    refuse_open_door(app, settings.text("host") or "", parts, auth=not no_auth)
    return application, parts


def open_listener(tries: int = 1) -> "socket.socket":
    """Listen where the settings say."""
    from holdfast.interfaces.http.serving import listen

    settings = current().settings
    return listen(settings.text("host") or "", settings.whole("port", 0), tries=tries)
