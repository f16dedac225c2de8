"""`python -m apps.live`: the five products at work on one database, and the dashboard to watch them; scripts/demo runs it."""

import secrets
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import click

from apps.__main__ import PRODUCTS
from apps.agent_workflows.traffic import OPERATOR
from apps.live.company import STARTS_AGAIN, Company, company
from apps.live.opening import open_link
from apps.live.product import LEASE, Part
from holdfast import Holdfast
from holdfast.server import Button, LoginLinks, Pressed, Role, add_person, asgi, serve
from holdfast.testing import ScratchDatabase, test_server

PAST, STEPPED = "org_jobs", "agent_workflows"
PORTS_TRIED = 20
ABOUT_KILLING = "This is the demo. Kill the worker in the middle of a job, and see the job go on at the step it had reached."
LOOK_AT = """\
  look at    Overview    five products at work, and what needs somebody
             Approvals   a question that waits for you: press Approve
             Jobs        search "status:failed task:provision": what a failed job had done was undone
             any page    press Kill the worker: a job goes on at the step it had reached"""


@click.command()
@click.option(
    "--port", default=7070, show_default=True, help="Where the dashboard answers; 0 takes a free port."
)
@click.option("--open/--no-open", "opens", default=True, help="Open the dashboard in a browser.")
@click.option(
    "--past",
    default=60,
    show_default=True,
    help="Minutes that are lived through first, so that charts have something to show.",
)
@click.option("--seed", default=6, show_default=True, help="Another one is another day.")
def main(port: int, opens: bool, past: int, seed: int) -> None:
    """Let the five products work until Ctrl-C, on a database of their own, and serve the dashboard."""
    # Both unwind, so that what was started is stopped; shells let programs in the background ignore the second.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    click.echo("Starting PostgreSQL and five products …", err=True)
    with test_server() as server, server.database() as database:
        parts = [
            Part(name, database.owner_url, database.url, seed, past if name == PAST else 0)
            for name in sorted(PRODUCTS, key=lambda name: name != PAST)
        ]
        with company(parts) as products:
            code = show(database, products, port, opens=opens)
    sys.exit(code)


def show(database: ScratchDatabase, products: Company, port: int, *, opens: bool) -> int:
    """Serve the dashboard until told to stop; gives the exit code."""
    app = database.use(Holdfast())
    add_person(app, OPERATOR, secrets.token_urlsafe(32), role=Role.ADMIN, actor="scripts/demo")
    put_on_schedule(app)
    links = LoginLinks()
    button = Button("kill-worker", "Kill the worker", ABOUT_KILLING, lambda: kill_worker(app, products))

    def opened(address: str) -> None:
        def new_link() -> str:
            return address + links.make(OPERATOR)

        link = new_link()
        is_opening = opens and open_link(link)
        tell(link, database, is_opening=is_opening)
        give_new_links(new_link)

    return serve(asgi(app, links=links, buttons=[button]), port=port, tries=PORTS_TRIED, opened=opened)


def put_on_schedule(app: Holdfast) -> None:
    """Let something happen by the clock: one that a newcomer sees fire, and one of the night."""
    app.schedules.create("forget old contacts", "forget_contacts", every=15, payload={"days": 365})
    app.schedules.create(
        "tidy up at night", "forget_contacts", "30 2 * * *", tz="Europe/Lisbon", payload={"days": 30}
    )


async def kill_worker(app: Holdfast, products: Company) -> Pressed:
    """Kill the worker that runs stepped jobs, and lead to one that it held."""
    held = (await app.ajobs("task:run_agent status:running")).jobs
    if not products.kill_worker(STEPPED):
        return Pressed("There is no worker to kill just now: it is starting.")
    again = f"It is started again after {STARTS_AGAIN:g} s; its jobs are free {LEASE} s after its last sign of life."
    if not held:
        return Pressed(f"The worker was killed (kill -9); it held no job. {again}")
    longest = min(held, key=lambda job: job.created_at)
    return Pressed(f"The worker of this job was killed (kill -9). {again}", f"/jobs/{longest.id}")


def tell(link: str, database: ScratchDatabase, *, is_opening: bool) -> None:
    """Say where to look, and at what."""
    how = "opening in your browser" if is_opening else "open it in a browser"
    click.echo(
        f"\n  dashboard  {link}\n             ({how}; it logs you in once, within 10 minutes; Enter gives a new one)\n"
        f"{LOOK_AT}\n  psql       psql '{database.url}'\n  stop       Ctrl-C\n"
    )


def give_new_links(new_link: Callable[[], str]) -> None:
    """Write a new link whenever somebody presses Enter."""

    def listen() -> None:
        with suppress(OSError):  # in the background there is no terminal to read from
            for _ in sys.stdin:
                click.echo(f"  dashboard  {new_link()}")

    signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # which would stop us there
    threading.Thread(target=listen, daemon=True).start()


if __name__ == "__main__":
    main()
