"""Points at which tests make a worker crash. Nothing is armed unless HOLDFAST_TESTING=1 is set.

claimed     the claim is committed, its tasks have not started
ran         tasks have ended, no outcome is written yet
finished    outcomes are committed, the worker has not taken note
step_ran    a step's function has returned, its value is not saved
step_saved  a step, children, or what a wait came to is saved, the task has not gone on
put_aside   the job waits or is handed over, its attempt has not unwound
swept       what time has done to jobs is committed, the worker has not taken note
schedule_due     the times of a schedule are counted, nothing of it is settled
schedule_fired   times that passed are settled together with their jobs, the worker has not taken note
projected   a slice is committed as events, statistics and usage, the worker has not taken note
judged      alert rules were looked at, and what they found is in the outbox; the worker has not taken note
dispatch_taken   a call to an executor is about to be made
dispatch_called  the executor has answered, and nobody has written it down
webhook_handled    an event's handler has ended, nothing is committed
webhook_committed  an event is committed, its sender has no answer
delivery_begun   a message is about to be sent
delivery_sent    its receiver has it, and nobody has written it down

HOLDFAST_CRASH_AT=step_saved:3 kills the process when it comes to that point for the third time.
"""

import os
import signal
from typing import Literal, TypeAlias, get_args

from holdfast.domain.errors import Configuration

WorkerPoint: TypeAlias = Literal["claimed", "ran", "finished"]
DispatchPoint: TypeAlias = Literal["dispatch_taken", "dispatch_called"]
WebhookPoint: TypeAlias = Literal["webhook_handled", "webhook_committed"]
UpkeepPoint: TypeAlias = Literal["swept", "schedule_due", "schedule_fired", "projected", "judged"]
TaskPoint: TypeAlias = Literal[
    "step_ran", "step_saved", "put_aside", "delivery_begun", "delivery_sent"
]  # inside a task: only killing the process is a crash
Point: TypeAlias = WorkerPoint | DispatchPoint | UpkeepPoint | WebhookPoint | TaskPoint

POINTS: frozenset[str] = frozenset(
    name
    for group in (WorkerPoint, DispatchPoint, UpkeepPoint, WebhookPoint, TaskPoint)
    for name in get_args(group)
)


class SimulatedCrash(BaseException):
    """The worker ends here as if its process had been killed: nothing is released, nothing is said."""


_armed: str | None = None
_passes = 0
_kills_process = False


def arm(point: WorkerPoint | DispatchPoint | WebhookPoint) -> None:
    """Crash the worker of this process when it reaches the point; once."""
    global _armed, _passes
    if os.environ.get("HOLDFAST_TESTING") != "1":
        raise Configuration("crash points are for tests: set HOLDFAST_TESTING=1")
    _armed, _passes = _known(point), 0


def disarm() -> None:
    """Crash nowhere."""
    global _armed  # noqa: PLW0603 - one worker a process
    _armed = None


def arm_from_environment() -> None:
    """Kill this process at the point that HOLDFAST_CRASH_AT names, when HOLDFAST_TESTING=1."""
    global _armed, _passes, _kills_process
    named = os.environ.get("HOLDFAST_CRASH_AT")
    if named and os.environ.get("HOLDFAST_TESTING") == "1":
        point, _, nth = named.partition(":")
        _armed, _passes, _kills_process = _known(point), int(nth or 1) - 1, True


def _known(point: str) -> str:
    if point not in POINTS:
        raise Configuration(f"{point!r} is no crash point; there are {', '.join(sorted(POINTS))}")
    return point


def reach(point: Point) -> None:
    """Crash here if a test has asked for it."""
    global _armed, _passes  # noqa: PLW0603 - one worker a process
    if _armed != point:
        return
    if _passes:
        _passes -= 1
        return
    _armed = None
    if _kills_process:
        os.kill(os.getpid(), signal.SIGKILL)
    raise SimulatedCrash(point)
