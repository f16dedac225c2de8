"""Ends of processes: SIGTERM that cleans up, and threads that will not end."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, NoReturn

_PATIENCE = 0.5
_stays: ContextVar[bool] = ContextVar("holdfast_stays", default=False)


def leave(code: int) -> NoReturn:
    """End the process with this code, also when a task's thread is stuck: nobody can stop it, and its job is released."""
    if _stays.get():
        raise SystemExit(code)
    until = time.monotonic() + _PATIENCE
    others = [
        thread
        for thread in threading.enumerate()
        if thread is not threading.current_thread() and not thread.daemon
    ]
    for thread in others:
        thread.join(max(until - time.monotonic(), 0.0))
    if any(thread.is_alive() for thread in others):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise SystemExit(code)


@contextmanager
def staying() -> Iterator[None]:
    """Let a command end and its process stay: a program has called it, whose own threads may go on."""
    token = _stays.set(True)
    try:
        yield
    finally:
        _stays.reset(token)


def ended(child: "subprocess.Popen[bytes]", patience: float) -> int:
    """Wait for a process that was told to stop, and kill it when it does not; gives its exit code."""
    try:
        return child.wait(patience)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM unwind the stack like an exit, so that what was started is stopped; by itself it would skip that."""

    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(0)

    with _handled(end, signal.SIGTERM):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Finish a clean-up that has begun, whatever else is pressed."""
    with _handled(signal.SIG_IGN, signal.SIGTERM, signal.SIGINT):  # programs that are started inherit it
        yield


@contextmanager
def hearing(hear: Callable[[int], None]) -> Iterator[None]:
    """Have a function called with the number of each SIGTERM and Ctrl-C."""
    with _handled(lambda number, _frame: hear(number), signal.SIGTERM, signal.SIGINT):
        yield


@contextmanager
def _handled(
    handler: Callable[[int, FrameType | None], Any] | signal.Handlers, *numbers: signal.Signals
) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)
