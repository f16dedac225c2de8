"""Whether somebody calls the outside executors that jobs were handed to; pure judgement, for doctor."""

from datetime import datetime
from typing import NamedTuple

from holdfast.domain.health import Check, Verdict
from holdfast.domain.sentence import ago


class OverdueCalls(NamedTuple):
    """Calls to one executor that nobody has made in time."""

    executor: str
    number: int
    due_at: datetime
    now: datetime


def judge_calls(overdue: list[OverdueCalls]) -> Check:
    """Say which executors nobody calls: their jobs stay RUNNING, and no limit of a run has begun."""
    if not overdue:
        return Check("executors", Verdict.OK, "no call is overdue")
    named = ", ".join(
        f"{each.number} call{'' if each.number == 1 else 's'} to {each.executor}, the oldest due {ago(each.due_at, each.now)}"
        for each in overdue
    )
    return Check(
        "executors",
        Verdict.FAIL,
        f"nobody makes {named}",
        "start a worker whose app has the executor (app.executor(…)), or cancel the jobs",
    )
