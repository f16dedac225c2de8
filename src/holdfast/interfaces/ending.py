"""Ends of processes: SIGTERM that cleans up, and threads that will not end."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import NoReturn

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


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM unwind the stack like an exit, so that what was started is stopped; by itself it would skip that."""

    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Finish a clean-up that has begun, whatever else is pressed."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
