"""Points at which tests make a worker crash. Nothing is armed unless HOLDFAST_TESTING=1 is set.

claimed     the claim is committed, its tasks have not started
ran         tasks have ended, no outcome is written yet
finished    outcomes are committed, the worker has not taken note
handed_over     the job is an executor's, its attempt has not ended here
dispatch_taken  a call to an executor is about to be made
dispatch_called the executor has answered, and nobody has written it down
"""

import os
import signal
from typing import Literal, TypeAlias, get_args

from holdfast.domain.errors import Configuration

Point: TypeAlias = Literal["claimed", "ran", "finished", "handed_over", "dispatch_taken", "dispatch_called"]

POINTS: frozenset[str] = frozenset(get_args(Point))


class SimulatedCrash(BaseException):
    """The worker ends here as if its process had been killed: nothing is released, nothing is said."""


_armed: str | None = None
_kills_process = False


def arm(point: Point) -> None:
    """Crash the worker of this process when it reaches the point; once."""
    global _armed  # noqa: PLW0603 - one worker a process
    if os.environ.get("HOLDFAST_TESTING") != "1":
        raise Configuration("crash points are for tests: set HOLDFAST_TESTING=1")
    _armed = _known(point)


def disarm() -> None:
    """Crash nowhere."""
    global _armed  # noqa: PLW0603 - one worker a process
    _armed = None


def arm_from_environment() -> None:
    """Kill this process at the point that HOLDFAST_CRASH_AT names, when HOLDFAST_TESTING=1."""
    global _armed, _kills_process
    point = os.environ.get("HOLDFAST_CRASH_AT")
    if point and os.environ.get("HOLDFAST_TESTING") == "1":
        _armed, _kills_process = _known(point), True


def _known(point: str) -> str:
    if point not in POINTS:
        raise Configuration(f"{point!r} is no crash point; there are {', '.join(sorted(POINTS))}")
    return point


def reach(point: Point) -> None:
    """Crash here if a test has asked for it."""
    global _armed  # noqa: PLW0603 - one worker a process
    if _armed != point:
        return
    _armed = None
    if _kills_process:
        os.kill(os.getpid(), signal.SIGKILL)
    raise SimulatedCrash(point)
