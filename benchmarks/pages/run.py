"""The dashboard's run: how long each page takes with millions of jobs behind it."""

import argparse
import datetime as dt
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from benchmarks.children import ROOT
from benchmarks.pages import report
from benchmarks.report import percentile
from benchmarks.server import Server, running_server

from benchmarks import run as runs
from holdfast.interfaces.http.dashboard.sections import SECTIONS

JOBS = 5_000_000
SEED = Path(__file__).with_name("seed.sql")
PORT = re.compile(r"http://127\.0\.0\.1:(\d+)")
TABS = ("timeline", "steps", "attempts", "payload", "graph", "audit")
SEARCHES = (
    "",
    "status:failed",
    "task:shop.task_7 status:completed",
    "tenant:tenant-207",
    "subject:order-{order}",
    "tag:vip",
    "error:refused",
)
STREAMS = ("events", "actions", "webhooks", "callbacks")
# What can stand behind a path's question mark and makes a difference.
QUERIES = {
    "/": ("", "?range=30d"),
    "/activity": tuple(f"?show={stream}" for stream in STREAMS),
    "/approvals/together": ("?pick={approval_id}.00",),
    "/jobs": tuple(f"?range=all&q={search}" for search in SEARCHES),
    "/jobs/{job_id:uuid}": tuple(f"?tab={tab}" for tab in TABS),
    "/operations/new": (
        "?action=retry&q=status:failed",
        "?action=delete&q=status:failed",
        "?action=move&q=status:pending",
    ),
}

# One of each thing that has a page, so that its address can be written.
THINGS = """
select (select j.id::text from holdfast.job j where j.status = 'FAILED' order by j.id desc limit 1) as job_id,
       (select substr(j.subject, 7) from holdfast.job j where j.status = 'FAILED' order by j.id desc limit 1) as order,
       (select o.id::text from holdfast.operation o order by o.id desc limit 1) as operation_id,
       (select a.id::text from holdfast.approval a order by a.id desc limit 1) as approval_id,
       (select d.id::text from holdfast.webhook_delivery d order by d.id desc limit 1) as delivery_id
"""


def seed(server: Server, name: str, jobs: int) -> float:
    """Fill a new database; gives the seconds it took."""
    server.install(name)
    began = time.monotonic()
    with server.connect(name) as connection:
        for statement in SEED.read_text("utf-8").replace(":jobs", str(jobs)).split(";\n\n"):
            connection.execute(statement)
    server.settle()
    return time.monotonic() - began


def addresses(things: dict[str, str]) -> Iterator[str]:
    """Write the address of every page, also with what changes what it reads."""
    for page in (page for section in SECTIONS for page in section.pages):
        for query in QUERIES.get(page.path, ("",)):
            yield put_in(page.path + query, page.path, things)


def put_in(address: str, path: str, things: dict[str, str]) -> str:
    """Put things in for what stands in braces."""
    named = "queue-3" if path.startswith("/queues") else "nightly-3"
    values = {**things, "name": named, "tenant": "tenant-207"}
    return re.sub(r"{(\w+)(:\w+)?}", lambda found: values[found[1]], address)


@contextmanager
def serving(url: str) -> Iterator[str]:
    """Serve the dashboard as an operator would."""
    command = [
        sys.executable,
        "-m",
        "holdfast.interfaces.cli",
        "--database-url",
        url,
        "server",
        "--no-auth",
        "--port",
        "0",
    ]
    environment = {**os.environ, "HOLDFAST_RATE_LIMIT": "1000000"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := PORT.search(line):
                yield found[0]
                break
        else:
            raise SystemExit("bench: the server did not start")
    finally:
        process.terminate()
        process.communicate()


def measure(server: Server, jobs: int, times: int) -> dict[str, Any]:
    """Seed, serve, and look at every page again and again, one after the other."""
    with server.database() as name:
        seeded = seed(server, name, jobs)
        print(f"bench: {jobs:,} jobs after {seeded:.0f} s", flush=True)
        with server.connect(name) as connection:
            cursor = connection.execute(THINGS)
            (row,) = cursor.fetchall()
            things = dict(zip((column.name for column in cursor.description or ()), row, strict=True))
        with serving(server.url(name)) as url, httpx.Client(base_url=url, timeout=60) as browser:
            paths = list(addresses(things))
            samples: dict[str, list[float]] = {report.written(path, things): [] for path in paths}
            for _ in range(times):
                for path in paths:
                    samples[report.written(path, things)].append(look(browser, path))
    return {"seeded_seconds": round(seeded), "pages": {path: told(taken) for path, taken in samples.items()}}


def told(taken: list[float]) -> dict[str, float]:
    """Give the middle and the tail."""
    return {"p50": percentile(taken, 0.5), "p95": percentile(taken, 0.95), "longest": max(taken)}


def look(browser: httpx.Client, path: str) -> float:
    """Look at a page; gives milliseconds."""
    began = time.perf_counter()
    answer = browser.get(path)
    took = (time.perf_counter() - began) * 1000
    if answer.status_code != httpx.codes.OK or '<p class="failed">' in answer.text:
        raise SystemExit(f"bench: {path} answered {answer.status_code}, or one of its panels failed")
    return round(took, 1)


def main() -> None:
    """Measure, write, print."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(prog="scripts/bench --pages", description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS, help="how many jobs there are (default 5,000,000)")
    parser.add_argument("--times", type=int, default=40, help="how often each page is looked at (default 40)")
    options = parser.parse_args()
    with running_server() as server:
        results = {
            "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), "commit": runs.commit(), **vars(options),
            **measure(server, options.jobs, options.times), "machine": runs.machine(server.folder), "postgresql": server.settings(),
        }  # fmt: skip
    is_whole = all(vars(options)[name] >= parser.get_default(name) for name in vars(options))
    runs.publish("pages", results, report.table(results), is_whole=is_whole)


if __name__ == "__main__":
    main()
