"""Chance, for spreading timers: a sequence of its own, because the process' belongs to its tasks and their seeds."""

import random

_own = random.Random()  # noqa: S311 - spreads timers, protects nothing


def share() -> float:
    """Draw a number from 0 up to, and without, 1."""
    return _own.random()


def between(low: float, high: float) -> float:
    """Draw a number between two others."""
    return _own.uniform(low, high)
