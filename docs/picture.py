"""Makes the READMEs' pictures: real jobs on real databases, as `holdfast job show` tells their stories."""

import os
import subprocess
import sys
from html import escape
from pathlib import Path

from apps.__main__ import PRODUCTS, play
from holdfast import Holdfast
from holdfast.testing import ScratchDatabase, TestServer, drain, test_server

HERE = Path(__file__).parent
APPS = HERE.parent / "apps"
CANDIDATES = 12
LONGEST = 44  # lines of a product's picture
WIDEST = 116  # characters of a line
WIDTH, LINE, PAD = 960, 19, 22
COLOURS = {"↻": "#fbbf24", "○": "#94a3b8", "▶": "#60a5fa", "✓": "#4ade80", "✗": "#f87171"}


def main() -> None:
    """Draw the README's own job, and of every product the job that has the most to tell."""
    with test_server() as server:
        _draw_order(server)
        for product in PRODUCTS:
            _draw_product(server, product)


def _draw_order(server: TestServer) -> None:
    with server.database() as database:
        app = database.use(Holdfast())

        @app.task(queue="billing", retries=5, backoff=42)
        async def charge(order_id: int, cents: int) -> str:  # noqa: ARG001 - shown as its payload
            raise TimeoutError("the bank did not answer")

        options = {"label": "Order 42", "subject": "order:42", "requested_by": "ana@example.com"}
        job = charge.using(**options, tags=["vip"]).enqueue(42, cents=1999)  # type: ignore[arg-type]  # plain strings
        drain(app)
        _draw(HERE / "job-show.svg", [str(job.id)], database)


def _draw_product(server: TestServer, product: str) -> None:
    with server.database() as database:
        if not all(play(product, database)):
            sys.exit(f"{product}: a story does not hold, so there is nothing to show")
        eventful = sorted(database.jobs(), key=lambda job: job.attempt, reverse=True)[:CANDIDATES]
        _draw(APPS / product / "story.svg", [str(job.id) for job in eventful], database)


def _draw(picture: Path, job_ids: list[str], database: ScratchDatabase) -> None:
    """Draw the longest of these jobs' stories."""
    stories = {job_id: _story(job_id, database.url) for job_id in job_ids}
    job_id, told = max(stories.items(), key=lambda each: len(each[1]))
    shown = [_fitted(line) for line in told[:LONGEST]] + ["…"] * (len(told) > LONGEST)
    picture.write_text(_drawn([f"$ holdfast job show {job_id}", "", *shown]), "utf-8")


def _story(job_id: str, url: str) -> list[str]:
    command = [str(Path(sys.executable).with_name("holdfast")), "--no-color", "job", "show", job_id]
    ran = subprocess.run(
        command, env={**os.environ, "DATABASE_URL": url}, capture_output=True, text=True, check=True
    )
    return ran.stdout.splitlines()


def _drawn(lines: list[str]) -> str:
    height = LINE * len(lines) + 2 * PAD
    rows = "\n".join(
        f'<text x="{PAD}" y="{PAD + LINE * (number + 0.75):.0f}" fill="{_colour(line)}" xml:space="preserve">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="ui-monospace, SFMono-Regular, Menlo, monospace" font-size="13">\n'
        f'<title>The story of one job</title>\n<rect width="100%" height="100%" rx="10" fill="#14171c"/>\n{rows}\n</svg>\n'
    )


def _fitted(line: str) -> str:
    return line if len(line) <= WIDEST else line[: WIDEST - 1] + "…"


def _colour(line: str) -> str:
    if line.isupper() or line.startswith(("HISTORY", "$")):
        return "#94a3b8"
    return next((colour for symbol, colour in COLOURS.items() if symbol in line), "#e2e8f0")


if __name__ == "__main__":
    main()
