"""The driver's side of the pipe: starts the children and tells them what to do."""

import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import psutil

ROOT = Path(__file__).parent.parent
LONGEST_COMMAND = 900  # seconds: enqueuing a million jobs on a slow machine


class ChildFailed(Exception):
    """A child ended or never answered; the message carries the end of what it wrote."""


class Child:
    """One process of a system under measurement."""

    def __init__(self, command: list[str], url: str) -> None:
        self._command = " ".join(command)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        self._process = subprocess.Popen(
            [part.replace("{url}", url) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
        )

    def do(self, command: str, **options: object) -> Any:
        """Have a command done and return its answer."""
        self.say(command, **options)
        return self.answer()

    def say(self, command: str, **options: object) -> None:
        """Send a command without waiting for the answer."""
        pipe = self._process.stdin
        try:
            if pipe is not None:
                pipe.write(json.dumps({"do": command, **options}) + "\n")
                pipe.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def answer(self) -> Any:
        """Wait for the next answer."""
        give_up = threading.Timer(LONGEST_COMMAND, self._process.kill)
        give_up.start()
        try:
            line = self._process.stdout.readline() if self._process.stdout else ""
        finally:
            give_up.cancel()
        if not line:
            raise self._failure()
        return json.loads(line)["result"]

    def is_alive(self) -> bool:
        """Say whether the process still runs."""
        return self._process.poll() is None

    def memory(self) -> float:
        """Return the resident megabytes of the process and its own children."""
        process = psutil.Process(self._process.pid)
        family = [process, *process.children(recursive=True)]
        return sum(int(member.memory_info().rss) for member in family) / 2**20

    def end(self) -> None:
        """Close the pipe, upon which the child ends by itself; kill it when it does not."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _failure(self) -> ChildFailed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=10)
        self._errors.seek(0)
        written = self._errors.read().decode(errors="replace").strip()[-2000:]
        return ChildFailed(f"`{self._command}` ended with {self._process.returncode}: {written}")


@contextlib.contextmanager
def children(command: list[str], url: str, count: int = 1) -> Iterator[list[Child]]:
    """Start processes together, wait until each has connected, end them afterwards."""
    started: list[Child] = []
    try:
        # One by one, not in a comprehension: when a later one cannot start, the earlier ones are still ended.
        for _ in range(count):
            started.append(Child(command, url))  # noqa: PERF401 - as said above
        for child in started:
            child.answer()
        yield started
    finally:
        for child in started:
            child.end()
