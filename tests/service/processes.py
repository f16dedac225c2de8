"""`holdfast server` and its like as processes of their own."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx

from guarantees.waiting import until
from holdfast.testing import ScratchDatabase
from interfaces.calling import APP, HOLDFAST, TESTS

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


class Process:
    """A process that serves; what it says on stderr is kept."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [*HOLDFAST, *arguments], env=environment, stderr=subprocess.PIPE, text=True
        )
        self.said: list[str] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self.url = str(until(lambda: f"it serves; it said {self.said}", self._address))

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line.rstrip())

    def _address(self) -> str | None:
        assert self.process.poll() is None, self.said
        found = _ADDRESS.search("\n".join(self.said))
        return found[0] if found else None

    @property
    def place(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return str(parts.hostname), parts.port or 0

    def stop(self, number: int = signal.SIGTERM, within: float = 60.0) -> int:
        self.process.send_signal(number)
        return self.ended(within)

    def ended(self, within: float = 60.0) -> int:
        code = self.process.wait(within)
        self._reading.join(within)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, trust_env=False)


@contextmanager
def serving(database: ScratchDatabase, *arguments: str, app: str = APP, **more: str) -> Iterator[Process]:
    """Run a command that serves, on a free port, until the block ends."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("HOLDFAST_") and name != "PORT"
    }
    environment = {**kept, "PYTHONPATH": os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)]), **more}
    given = ["--database-url", database.url, "-a", app, *arguments, "--port", "0"]
    process = Process(given, environment)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.process.kill()
            process.ended()
