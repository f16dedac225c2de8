"""scripts/demo as a newcomer meets it: a process that shows a link, five products at work, and a worker to kill."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps import _stage
from apps._tables import ROOT
from apps.live import opening
from apps.live.running import jobs, of_api, running
from holdfast import Holdfast
from holdfast.testing import TestServer

# A task that each product alone has.
TASKS_OF = {
    "agent_provisioning": "provision",
    "agent_workflows": "run_agent",
    "booking_side_effects": "issue_invoice",
    "org_jobs": "import_contacts",
    "workspace_access": "provision_workspace",
}
MINUTES, FEWEST_A_MINUTE = 2, 10
PATIENCE = 90.0
IN_THE_MIDDLE = range(2, 9)  # of about fifteen steps
SECONDS_TO_END = 15.0


def until(what: str, look: Callable[[], Any]) -> Any:
    return asyncio.run(_stage.until(what, look, PATIENCE))


def settings(server: TestServer) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "PG"))}
    return {**kept, "DATABASE_URL": server.admin_url}


def steps(client: httpx.Client, job_id: str) -> dict[str, tuple[int, str]]:
    found = of_api(client, f"/jobs/{job_id}/steps")["items"]
    assert len({step["name"] for step in found}) == len(found), "a step was done twice"
    return {step["name"]: (step["attempt"], step["finished_at"]) for step in found}


def test_a_newcomer_watches_approves_kills_the_worker_and_leaves(holdfast_server: TestServer) -> None:
    with running("--past", str(MINUTES), environment=settings(holdfast_server)) as demo:
        with demo.inside() as newcomer:
            sees_a_past(newcomer)
            sees_jobs_of_all_products(newcomer)
            is_asked(newcomer)
            sees_a_failure_undone(newcomer)
            sees_what_happens_by_the_clock(newcomer)
            kills_the_worker_and_sees_its_job_go_on(newcomer)
            workers = until("all products have a worker", lambda: _pids(newcomer))
        with demo.inside() as late:
            assert late.get("/").status_code == httpx.codes.SEE_OTHER, "the link let in a second time"
        began = time.monotonic()

        assert demo.stop() == 0

    assert time.monotonic() - began < SECONDS_TO_END
    assert [pid for pid in workers if is_alive(pid)] == []
    assert databases(holdfast_server, demo.process.pid) == []


def sees_a_past(newcomer: httpx.Client) -> None:
    told = of_api(newcomer, "/statistics?hours=1&task=import_contacts")["items"]

    assert told[0]["completed"] >= MINUTES * FEWEST_A_MINUTE
    assert "Throughput and latency" in newcomer.get("/").text


def sees_jobs_of_all_products(newcomer: httpx.Client) -> None:
    for product, task in TASKS_OF.items():
        until(f"{product} has a job", partial(jobs, newcomer, f"task:{task}"))


def is_asked(newcomer: httpx.Client) -> None:
    asked = until("somebody is asked", lambda: of_api(newcomer, "/approvals?status=open")["items"])

    assert asked[0]["approvers"] == ["demo"]
    assert asked[0]["question"] in newcomer.get("/approvals").text


def sees_a_failure_undone(newcomer: httpx.Client) -> None:
    def undone() -> bool:
        failed = [
            of_api(newcomer, f"/jobs/{job['id']}") for job in jobs(newcomer, "status:failed task:provision")
        ]
        undoing = [job["compensated_by"] for job in failed if job["compensated_by"]]
        return any(of_api(newcomer, f"/jobs/{job_id}")["status"] == "COMPLETED" for job_id in undoing)

    until("a job has failed and was undone", undone)


def sees_what_happens_by_the_clock(newcomer: httpx.Client) -> None:
    page = newcomer.get("/schedules").text

    assert all(name in page for name in ("forget old contacts", "tidy up at night"))
    until("a schedule has fired", partial(jobs, newcomer, "task:forget_contacts"))


def kills_the_worker_and_sees_its_job_go_on(newcomer: httpx.Client) -> None:
    def under_way() -> str | None:
        long = jobs(newcomer, "task:run_agent status:running tag:long")
        return long[0]["id"] if long and len(steps(newcomer, long[0]["id"])) in IN_THE_MIDDLE else None

    job_id = until("an agent is in the middle of its work", under_way)
    job, before = of_api(newcomer, f"/jobs/{job_id}"), steps(newcomer, job_id)
    assert "Kill the worker</button>" in newcomer.get("/").text
    pressed = newcomer.post("/press-kill-worker", data={"to": "/"})
    assert pressed.headers["location"].startswith("/jobs/")
    assert "was killed" in newcomer.get(pressed.headers["location"]).text

    until("another worker has it", lambda: of_api(newcomer, f"/jobs/{job_id}")["attempt"] > job["attempt"])
    until("it goes on", lambda: len(steps(newcomer, job_id)) > len(before) + 1)
    after = steps(newcomer, job_id)
    assert {name: after[name] for name in before} == before
    assert of_api(newcomer, f"/jobs/{job_id}")["worker"] != job["worker"]


def _pids(client: httpx.Client) -> list[int] | None:
    live = [each["pid"] for each in of_api(client, "/workers")["items"] if each["state"] == "live"]
    return live if len(live) >= len(TASKS_OF) else None


def test_it_can_be_stopped_while_it_starts(holdfast_server: TestServer) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "apps.live", "--no-open", "--port", "0"], cwd=ROOT, env=settings(holdfast_server),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until("it has made its database", lambda: databases(holdfast_server, process.pid))

    try:
        process.send_signal(signal.SIGINT)

        assert process.wait(PATIENCE) in {0, 1}
    finally:
        process.kill()
        process.wait()
    assert databases(holdfast_server, process.pid) == []


def test_no_browser_is_opened_where_nobody_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")

    assert not opening.open_link("http://127.0.0.1:1/enter#secret")


def test_the_browser_is_opened_without_a_word_of_the_secret_in_the_list_of_processes(tmp_path: Path) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(
        f'#!/bin/sh\nfile="${{1#file://}}"\n{{ echo "$1"; stat -c %a "$file"; cat "$file"; }} >{seen}\n'
    )
    browser.chmod(0o700)
    link = "http://127.0.0.1:1/enter#hfl_secret"

    subprocess.run(
        [sys.executable, "-c", f"from apps.live.opening import open_link; assert open_link({link!r})"],
        cwd=ROOT, env={**os.environ, "BROWSER": f"{browser} %s", "DISPLAY": ":7"}, check=True,
    )  # fmt: skip

    given, rights, page = seen.read_text("utf-8").split("\n", 2)
    assert "secret" not in given
    assert rights == "600"
    assert link in page
    assert not Path(given.removeprefix("file://")).exists()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def databases(server: TestServer, pid: int) -> list[str]:
    with _asking(server) as app, app.transaction() as connection:
        rows = connection.execute(
            "select datname from pg_database where datname like %s", [f"holdfast\\_test\\_{pid}\\_%"]
        ).fetchall()
    return [row[0] for row in rows]


@contextmanager
def _asking(server: TestServer) -> Iterator[Holdfast]:
    app = Holdfast(server.admin_url)
    yield app
    app.close()
