"""The demo as a process of its own, for tests and pictures of it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from apps._stage import StoryFailed
from apps._world.serving import NO_TLS

ROOT = Path(__file__).parents[2]
OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}  # as a browser sends the page's own form
PATIENCE = 20.0


@dataclass(slots=True)
class Demo:
    """A demo that runs."""

    process: "subprocess.Popen[str]"
    link: str

    @property
    def url(self) -> str:
        """Where the dashboard answers."""
        return self.link.partition("/enter")[0]

    @property
    def code(self) -> str:
        """What the link opens with."""
        return self.link.partition("#")[2]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop, as Ctrl-C or a supervisor does; gives its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def new_link(self) -> str:
        """Press Enter."""
        if self.process.stdin is not None:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        return _link(self.process)

    @contextmanager
    def inside(self) -> Iterator[httpx.Client]:
        """Be whoever has used the link."""
        with httpx.Client(base_url=self.url, verify=NO_TLS, timeout=30, headers=OWN_PAGE) as client:
            client.post("/enter", data={"code": self.code})
            yield client


def of_api(client: httpx.Client, path: str) -> Any:
    """Ask the API."""
    return client.get(f"/api/v1{path}").raise_for_status().json()


def jobs(client: httpx.Client, search: str) -> list[dict[str, Any]]:
    """Find jobs."""
    found: list[dict[str, Any]] = of_api(client, f"/jobs?q={search}")["items"]
    return found


@contextmanager
def running(*options: str, environment: dict[str, str] | None = None) -> Iterator[Demo]:
    """Start the demo, wait for its link, and end it with the block."""
    command = [sys.executable, "-m", "apps.live", "--no-open", "--port", "0", *options]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment or dict(os.environ), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with process:
        try:
            yield Demo(process, _link(process))
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(PATIENCE)


def _link(process: "subprocess.Popen[str]") -> str:
    while line := process.stdout.readline() if process.stdout else "":
        words = line.split()
        if words[:1] == ["dashboard"]:
            return words[1]
    raise StoryFailed(f"the demo ended with code {process.wait()} before it was ready")
