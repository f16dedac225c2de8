"""Waiting for what is to happen, with a deadline that says what did not."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Generous: a shared machine pauses for seconds. A promise about time is checked against its own bound.
PATIENCE = 30.0


def until(what: str | Callable[[], str], look: Callable[[], T], within: float = PATIENCE) -> T:
    """Look again and again until the answer is truthy; then give it."""
    deadline = time.monotonic() + within
    pause = 0.002
    while True:
        answer = look()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(
                f"not within {within} s: {what if isinstance(what, str) else what()} (last seen: {answer!r})"
            )
        time.sleep(pause)
        pause = min(pause * 1.5, 0.03)
