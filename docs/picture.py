"""Makes docs/job-show.svg: a real job on a real database, as `holdfast job show` tells its story."""

import os
import subprocess
import sys
from html import escape
from pathlib import Path

from holdfast import Holdfast
from holdfast.testing import drain, test_server

HERE = Path(__file__).parent
WIDTH, LINE, PAD = 960, 19, 22
COLOURS = {"↻": "#fbbf24", "○": "#94a3b8", "▶": "#60a5fa", "✓": "#4ade80", "✗": "#f87171"}


def main() -> None:
    """Run the job, ask for its story, draw it."""
    with test_server() as server, server.database() as database:
        app = database.use(Holdfast())

        @app.task(queue="billing", retries=5, backoff=42)
        async def charge(order_id: int, cents: int) -> str:  # noqa: ARG001 - shown as its payload
            raise TimeoutError("the bank did not answer")

        options = {"label": "Order 42", "subject": "order:42", "requested_by": "ana@example.com"}
        job = charge.using(**options, tags=["vip"]).enqueue(42, cents=1999)  # type: ignore[arg-type]  # plain strings
        drain(app)
        told = _story(str(job.id), database.url)
    (HERE / "job-show.svg").write_text(_drawn([f"$ holdfast job show {job.id}", "", *told]), "utf-8")


def _story(job_id: str, url: str) -> list[str]:
    command = [Path(sys.executable).with_name("holdfast"), "--no-color", "job", "show", job_id]
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


def _colour(line: str) -> str:
    if line.isupper() or line.startswith(("HISTORY", "$")):
        return "#94a3b8"
    return next((colour for symbol, colour in COLOURS.items() if symbol in line), "#e2e8f0")


if __name__ == "__main__":
    main()
