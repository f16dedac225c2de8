"""Several server processes behind one listener: each answers by itself, and one that dies is replaced."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

from holdfast.interfaces.ending import ended, hearing
from holdfast.interfaces.http.serving import FORCED, GRACE

_LISTENER = "HOLDFAST_LISTENER"
LOOK_EVERY = 1.0
# Longer than a server takes to end by itself.
PATIENCE = GRACE + 10.0


def inherited_listener() -> socket.socket | None:
    """Give the listener of the process that started this one as one of several; None when nobody did."""
    number = os.environ.pop(_LISTENER, None)
    if number is None:
        return None
    threading.Thread(target=_end_with_the_parent, name="holdfast-parent", daemon=True).start()
    return socket.socket(fileno=int(number))


def _end_with_the_parent() -> None:
    # A parent that was killed can tell nobody, but its end of the pipe closes.
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


class Processes:
    """This program, several times, with one listener: what is to be answered goes to whoever takes it first."""

    def __init__(self, listener: socket.socket, count: int, say: Callable[[str], None]) -> None:
        self._listener = listener
        self._say = say
        self._stopped = threading.Event()
        self._children = [self._start() for _ in range(count)]

    def run(self) -> int:
        """Keep all of them running until SIGTERM or Ctrl-C; gives the exit code."""
        with hearing(self._pass_on):
            while not self._stopped.wait(LOOK_EVERY):
                self._children = [self._replaced(child) for child in self._children]
            codes = [self._ended(child) for child in self._children]
        return FORCED if FORCED in codes else max(codes)

    def _start(self) -> "subprocess.Popen[bytes]":
        number = self._listener.fileno()
        return subprocess.Popen(
            [sys.executable, *sys.orig_argv[1:]],
            env={**os.environ, _LISTENER: str(number)},
            pass_fds=[number],
            stdin=subprocess.PIPE,
            process_group=0,  # Ctrl-C reaches it once, through us
        )

    def _replaced(self, child: "subprocess.Popen[bytes]") -> "subprocess.Popen[bytes]":
        if child.poll() is None or self._stopped.is_set():
            return child
        self._say(f"server process {child.pid} ended with code {child.returncode}; another takes its place")
        return self._start()

    def _pass_on(self, number: int) -> None:
        self._stopped.set()
        for child in self._children:
            child.send_signal(number)

    def _ended(self, child: "subprocess.Popen[bytes]") -> int:
        child.terminate()  # one that was being started did not hear the signal
        code = ended(child, PATIENCE)
        return 0 if code == -signal.SIGTERM else abs(code)  # told before it could listen
