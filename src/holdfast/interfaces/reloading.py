"""A worker in a process of its own that is started again whenever the code changes."""

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from holdfast.interfaces.ending import ended, hearing

LOOK_EVERY_MS = 500
# Longer than a worker's drain: it ends by itself before this.
PATIENCE = 60.0


def worker_command(*arguments: str) -> list[str]:
    """Write the command line of a worker process."""
    return [sys.executable, "-m", "holdfast.interfaces.cli", *arguments]


def run_reloading(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, say: Callable[[str], None]
) -> int:
    """Run the worker until it is told to stop; a change of the code drains it and starts it anew."""
    return _Reloading(command, environment, say).run(folder)


class _Reloading:
    """The worker process that runs now, and the signals on their way to it."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], say: Callable[[str], None]
    ) -> None:
        self._command = command
        self._environment = environment
        self._say = say
        self._stopped = threading.Event()
        self._child = self._start()
        self._end_was_told = False

    def run(self, folder: Path) -> int:
        """Watch the folder until a signal comes, and answer the worker's exit code."""
        from watchfiles import PythonFilter, watch  # noqa: PLC0415 - only with holdfast[dev]

        with hearing(self._pass_on):
            for changed in watch(
                folder,
                watch_filter=PythonFilter(),
                stop_event=self._stopped,
                rust_timeout=LOOK_EVERY_MS,
                yield_on_timeout=True,
                raise_interrupt=False,
            ):
                if changed:
                    self._start_again(sorted({Path(name).name for _, name in changed}))
                elif self._child.poll() is not None:
                    self._tell_end()
            return ended(self._child, PATIENCE)

    def _start(self) -> "subprocess.Popen[bytes]":
        # A group of its own: Ctrl-C reaches it once, through us, and not a second time from the terminal.
        return subprocess.Popen(self._command, env=self._environment, process_group=0)

    def _start_again(self, names: list[str]) -> None:
        self._say(f"{', '.join(names)} changed: the worker starts again")
        if self._child.poll() is None:
            self._child.terminate()
        ended(self._child, PATIENCE)
        self._child = self._start()
        self._end_was_told = False

    def _tell_end(self) -> None:
        if not self._end_was_told:
            self._say(
                f"the worker ended with code {self._child.returncode}; it starts again when the code changes"
            )
            self._end_was_told = True

    def _pass_on(self, number: int) -> None:
        self._stopped.set()
        if self._child.poll() is None:
            self._child.send_signal(number)
