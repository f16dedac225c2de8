"""Makes the READMEs' pictures from real jobs on real databases: the dashboard of the demo, and stories as `holdfast job show` tells them."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from html import escape
from pathlib import Path

import httpx

from apps.__main__ import PRODUCTS, play
from apps.live.running import Demo, jobs, of_api, running
from holdfast.testing import ScratchDatabase, TestServer, test_server

HERE = Path(__file__).parent
APPS = HERE.parent / "apps"
WIDE, HIGH = 1280, 744  # down to the end of the charts
A_SENTENCE = 39  # of what needs somebody
SETTLES = 10_000  # milliseconds that the page has to draw its charts
LARGEST = 300_000  # bytes
PATIENCE = 600.0
AGENTS_DONE = 20
LATE = (40, 49)  # seconds of a minute
HEADLESS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-proxy-server", "--hide-scrollbars",
]  # fmt: skip
CANDIDATES = 12
LONGEST = 44  # lines of a product's picture
WIDEST = 116  # characters of a line
WIDTH, LINE, PAD = 960, 19, 22
COLOURS = {"↻": "#fbbf24", "○": "#94a3b8", "▶": "#60a5fa", "✓": "#4ade80", "✗": "#f87171"}


def main() -> None:
    """Draw the demo's dashboard, and of every product the job that has the most to tell."""
    with running() as demo:
        _draw_dashboard(demo)
    with test_server() as server:
        for product in PRODUCTS:
            _draw_product(server, product)


# -- the dashboard ---------------------------------------------------------------------------------------------------------


def _draw_dashboard(demo: Demo) -> None:
    """Take a picture of the first page at a moment when there is something to see."""
    chromium = shutil.which("chromium") or sys.exit(
        "chromium is not installed: there is nobody to take the picture"
    )
    with demo.inside() as client:
        sentences = _wait_for_a_good_moment(client)
    picture = HERE / "dashboard.png"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = [
            f"--window-size={WIDE},{HIGH + A_SENTENCE * sentences}",
            f"--timeout={SETTLES}",
            f"--user-data-dir={profile}",
        ]
        subprocess.run(
            [chromium, *HEADLESS, *options, f"--screenshot={picture}", demo.new_link()],
            check=True,
            capture_output=True,
        )
    if picture.stat().st_size > LARGEST:
        sys.exit(f"{picture} has {picture.stat().st_size:,} bytes, and {LARGEST:,} are the most")


def _wait_for_a_good_moment(client: httpx.Client) -> int:
    """Wait until jobs run and are tried again, somebody is needed, and the charts have live minutes; says how often needed."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        moving = [jobs(client, f"status:{name}") for name in ("running", "retry")]
        agents = of_api(client, "/statistics?hours=1&task=run_agent")["items"][0]["completed"]
        needed = client.get("/?panel=attention").text.count("<li")
        is_late = (
            LATE[0] < time.time() % 60 < LATE[1]
        )  # the minute that has just begun would be drawn as a fall
        if all(moving) and agents >= AGENTS_DONE and needed and is_late:
            return needed
        time.sleep(1)
    sys.exit("there was no good moment to take a picture of the demo")


# -- the products ----------------------------------------------------------------------------------------------------------


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
