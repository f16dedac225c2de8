"""`holdfast demo`: a sample app with traffic, or its stories checked one by one."""

import asyncio
import time

import click

from holdfast.interfaces.cli.commands import FAILURE, Command
from holdfast.interfaces.cli.invocation import current, is_watched, say
from holdfast.interfaces.cli.output import badge, dim, plain

DATABASE = "holdfast_demo"
_LOOK = "holdfast --database-url URL job list | queue list | worker list | doctor   (the URL is psql's)"
_CLEAR_LINE = "\r\x1b[K"


@click.command(cls=Command)
@click.option(
    "--check", is_flag=True, help="Play the stories, say what was verified, and end (exit code 0 or 1)."
)
@click.option("--memory", is_flag=True, help="A throw-away database, gone afterwards.")
def demo(check: bool, memory: bool) -> None:
    """Run a sample app with traffic until Ctrl-C, on an embedded PostgreSQL with its data in .holdfast/."""
    from holdfast.interfaces.ending import leave, terminable

    with terminable():
        code = _check() if check else _run(memory=memory)
    leave(code)


def _check() -> int:
    from holdfast.interfaces.demo.check import play
    from holdfast.interfaces.demo.stories import STORIES
    from holdfast.interfaces.development import admin_url

    began = time.monotonic()
    width = max(len(name) for name in STORIES)
    say("starting PostgreSQL and a worker…")

    def tell(name: str, holds: bool, verified: str, seconds: float) -> None:
        if is_watched():
            click.echo(_CLEAR_LINE, nl=False, err=True)
        click.echo(
            f"{badge('ok' if holds else 'fail')}  {name:<{width}}  {plain(verified)} {dim(f'({seconds:.1f} s)')}"
        )

    with admin_url(current().find_database()) as url:
        held, total = play(url, tell)
    click.echo(f"{held} of {total} stories hold ({time.monotonic() - began:.1f} s)")
    return 0 if held == total else FAILURE


def _run(*, memory: bool) -> int:
    from holdfast.interfaces.cli.dev import banner
    from holdfast.interfaces.demo.app import app
    from holdfast.interfaces.development import development
    from holdfast.interfaces.log_output import configure_logging
    from holdfast.runtime.loop import run

    with development(current().find_database(), DATABASE, memory=memory, disposable=True) as place:
        app.connect_to(place.login)
        queues = ", ".join(sorted({task.settings.queue for task in app.tasks.values()}))
        banner(place, {"tasks": ", ".join(app.tasks), "queues": queues, "look": _LOOK})
        configure_logging("text", "error")
        try:
            return run(_work_and_send())
        finally:
            say()


async def _work_and_send() -> int:
    from holdfast.interfaces.demo.app import app
    from holdfast.interfaces.demo.traffic import send_traffic, tell_summary

    working = asyncio.create_task(app.run_worker())
    extras = [asyncio.create_task(send_traffic())]
    if not current().quiet:
        extras.append(asyncio.create_task(tell_summary(lambda text: click.echo(text, nl=False, err=True))))
    await asyncio.wait([working, *extras], return_when=asyncio.FIRST_COMPLETED)
    for extra in extras:
        extra.cancel()
    await asyncio.gather(*extras, return_exceptions=True)
    await app.link.aclose()
    return await working
