"""Worker processes that tests own: started, watched through their log, and killed at the end."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from guarantees.waiting import PATIENCE, until

TESTS = Path(__file__).resolve().parent.parent
DEFAULTS: dict[str, Any] = {"lease": 1.0, "poll": 0.2, "drain_timeout": 10.0}


class Launcher:
    """The process that workers are forked from; it tells their exit codes.

    `module` has the app that they run, `source` another release of Holdfast than this one.
    """

    def __init__(
        self,
        module: str = "guarantees.shop",
        environment: dict[str, str] | None = None,
        source: Path | None = None,
    ) -> None:
        inherited = {
            k: v for k, v in os.environ.items() if not k.startswith(("HOLDFAST_", "DATABASE_URL", "PG"))
        }
        other = [] if source is None else [str(source)]
        paths = [*other, str(TESTS), *filter(None, [inherited.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "guarantees.launch", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**inherited, **(environment or {}), "PYTHONPATH": os.pathsep.join(paths)},
        )
        self._started: list[int] = []
        self.codes: dict[int, int] = {}
        threading.Thread(target=self._hear, daemon=True).start()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            if "started" in told:
                self._started.append(told["started"])
            else:
                self.codes[told["ended"]] = told["code"]

    def launch(self, log: Path, options: dict[str, Any], environment: dict[str, str]) -> int:
        assert self._process.stdin is not None
        already = len(self._started)
        self._process.stdin.write(
            json.dumps({"log": str(log), "options": options, "environment": environment}) + "\n"
        )
        # The first has to wait for all imports, which a machine with other things to do compiles anew.
        until("a worker is forked", lambda: len(self._started) > already, within=4 * PATIENCE)
        pid = self._started[-1]
        self.codes.pop(pid, None)  # the number may have been another's before
        return pid

    def close(self) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()


class WorkerProcess:
    """One worker in a process (and session) of its own."""

    def __init__(
        self,
        launcher: Launcher,
        folder: Path,
        number: int,
        options: dict[str, Any],
        environment: dict[str, str],
    ) -> None:
        self.log_file = folder / f"worker-{number}.log"
        self.log_file.touch()
        self._launcher = launcher
        self.pid = launcher.launch(
            self.log_file, {**DEFAULTS, **options}, {"GUARANTEES_FOLDER": str(folder), **environment}
        )

    def events(self, name: str | None = None) -> list[dict[str, Any]]:
        """What it logged so far."""
        lines = self.log_file.read_text("utf-8", "replace").splitlines()
        told = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
        return [one for one in told if name is None or one["event"] == name]

    def until_event(self, name: str, *, count: int = 1, within: float = PATIENCE) -> list[dict[str, Any]]:
        """Wait until it has logged an event this often."""
        until(
            lambda: f"{name} {count} times in the log:\n{self.tail}",
            lambda: len(self.events(name)) >= count,
            within,
        )
        return self.events(name)

    @property
    def tail(self) -> str:
        """The end of its log, for a failed test's report."""
        lines = self.log_file.read_text("utf-8", "replace").splitlines()
        return "\n".join([line for line in lines if '"event": "job:' not in line][-12:])

    def until_ready(self, within: float = PATIENCE) -> "WorkerProcess":
        self.until_event("ready", within=within)
        return self

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def freeze(self, *, whole: bool = False) -> None:
        """Stop every thread of it, and of the processes that run jobs for it if the whole host stops; returns when the kernel has."""
        self.signal(signal.SIGSTOP)
        until("the worker is frozen", lambda: self.is_frozen)
        for child in self._children() if whole else ():
            with suppress(psutil.NoSuchProcess):
                child.suspend()

    def thaw(self) -> None:
        for child in self._children():
            with suppress(psutil.NoSuchProcess):
                child.resume()
        with suppress(ProcessLookupError):
            self.signal(signal.SIGCONT)

    @property
    def is_frozen(self) -> bool:
        return bool(psutil.Process(self.pid).status() == psutil.STATUS_STOPPED)

    def _children(self) -> list[psutil.Process]:
        try:
            return list(psutil.Process(self.pid).children(recursive=True))
        except psutil.NoSuchProcess:
            return []

    def kill(self) -> None:
        """End it as a power cut does."""
        self.signal(signal.SIGKILL)
        self.until_gone()

    @property
    def lives(self) -> bool:
        return self.pid not in self._launcher.codes

    def until_gone(self, within: float = PATIENCE) -> int:
        """Wait for its end; answers its exit code."""
        until(lambda: f"the worker ends:\n{self.tail}", lambda: not self.lives, within)
        return self._launcher.codes[self.pid]

    def cpu_seconds(self) -> float:
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)

    def clean_up(self) -> None:
        if self.lives:
            self.kill()
