"""A job's story in one list."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from holdfast.domain.states import Status
from holdfast.interfaces.http.api.alerts import ActionView
from holdfast.interfaces.http.api.approvals import ApprovalView, VoiceView
from holdfast.interfaces.http.api.job_story import HappeningView
from holdfast.interfaces.http.api.job_views import AttemptView, JobView, StepView, TransitionView
from holdfast.interfaces.http.dashboard.attempts import attempts_of, cleaned_traceback
from holdfast.interfaces.http.dashboard.timeline import Entry, Filter, Fold, Told, folded, timeline

START = datetime(2026, 3, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def job(**given: Any) -> JobView:
    blank = dict.fromkeys(JobView.model_fields)
    told = {
        "id": uuid4(), "task": "t", "queue": "default", "status": Status.PENDING, "why": "because", "priority": 0,
        "attempt": 0, "retry_count": 0, "max_retries": 3, "crash_count": 0, "created_at": START, "updated_at": START,
        "payload": {},
    }  # fmt: skip
    return JobView.model_validate({**blank, **told, **given})


def move(seconds: float, old: Status | None, new: Status, attempt: int = 1, **given: Any) -> TransitionView:
    told = {"seq": 1, "actor": "ann", "reason": None, "metadata": None, **given}
    return TransitionView(from_status=old, to_status=new, attempt=attempt, at=at(seconds), **told)


HISTORY = [
    move(0, None, Status.PENDING, 0),
    move(1, Status.PENDING, Status.RUNNING, actor="worker-1"),
    move(3, Status.RUNNING, Status.RETRY, actor="worker-1"),
    move(10, Status.RETRY, Status.RUNNING, 2, actor="worker-2"),
    move(12, Status.RUNNING, Status.COMPLETED, 2, actor="worker-2"),
]
FAILED = AttemptView(
    attempt=1,
    worker="worker-1",
    outcome="failed",
    at=at(3),
    error={"type": "shop.CardRefused", "message": "no\n money", "traceback": ""},
    logs=[
        {"at": at(2).isoformat(), "level": "INFO", "logger": "shop", "message": "charging"},
        {"at": at(2.5).isoformat(), "level": "ERROR", "logger": "shop", "message": "refused"},
        {"message": "… more than 500 lines"},
    ],
)
STEP = StepView(
    name="charge", kind="step", attempt=2, tries=2, undoable=True, started_at=at(10), finished_at=at(11), size=1, value=1
)  # fmt: skip
QUESTION = ApprovalView(
    id=uuid4(), job_id=uuid4(), task="t", name="refund", question="Refund?", facts={}, approvers=[], quorum=1, approvals=0,
    requester="agent", self_approval=False, bulk=False, version="v", asked_at=at(4), expires_at=None, on_expiry="fail", decided_at=at(6),
    decision="deny", decided_by="ben", reason="no", voices=[VoiceView(who="ben", decision="deny", reason="too much", how="api", at=at(6))],
)  # fmt: skip


def small(number: int) -> StepView:
    return STEP.model_copy(
        update={"name": f"small {number}", "finished_at": at(10 + number / 10), "importance": "low"}
    )


def test_small_steps_that_follow_each_other_are_folded_and_counted() -> None:
    steps = [small(1), small(2), STEP, small(11)]

    made = folded(timeline(Told(job(), HISTORY, [], steps)))

    assert [each.title for each in made] == [
        "Created", "Attempt 1 started", "To be run again", "Attempt 2 started", "2 small steps", "Step charge", "1 small step", "Completed",
    ]  # fmt: skip
    (first, _) = [each for each in made if isinstance(each, Fold)]
    assert [entry.title for entry in first.entries] == ["Step small 1", "Step small 2"]
    assert first.gap == timedelta(seconds=0.1)


def test_without_small_steps_nothing_is_folded() -> None:
    assert all(isinstance(each, Entry) for each in folded(timeline(told())))


def told() -> Told:
    return Told(job(), HISTORY, [FAILED], [STEP], [QUESTION])


def test_everything_stands_in_one_list_in_its_order_with_gaps() -> None:
    entries = timeline(told())

    assert [(entry.title, entry.actor) for entry in entries] == [
        ("Created", "ann"),
        ("Attempt 1 started", "worker-1"),
        ("To be run again", "worker-1"),
        ("Asked: Refund?", "agent"),
        ("Denied refund", "ben"),
        ("Attempt 2 started", "worker-2"),
        ("Step charge", None),
        ("Completed", "worker-2"),
    ]
    assert [entry.gap and entry.gap.total_seconds() for entry in entries] == [None, 1, 2, 1, 2, 4, 1, 1]
    assert entries[2].detail == "CardRefused: no money"


@pytest.mark.parametrize(
    ("only", "titles"),
    [
        ("failures", ["To be run again", "Denied refund"]),
        ("people", ["Asked: Refund?", "Denied refund"]),
        ("steps", ["Step charge"]),
    ],
)
def test_a_filter_leaves_its_kind(only: Filter, titles: list[str]) -> None:
    assert [entry.title for entry in timeline(told(), only)] == titles


def test_signs_of_life_that_follow_each_other_are_told_once() -> None:
    beats = [
        HappeningView(at=at(n), kind="callback.heartbeat", actor="executor:x", data={}) for n in range(5)
    ]

    (entry,) = timeline(Told(job(), activity=beats))

    assert (entry.times, entry.at) == (5, at(4))


def test_what_operators_did_and_what_was_undone_leads_to_other_jobs() -> None:
    again, undoing = uuid4(), job(status=Status.COMPLETED)
    action = ActionView(
        id=1, at=at(20), actor="ann", address=None, action="job.retry", target=None, tenant=None, reason="please",
        data={"retried_as": str(again)},
    )  # fmt: skip

    entries = timeline(Told(job(), actions=[action], undoing=undoing))

    assert [(entry.kind, entry.job_id) for entry in entries] == [("undo", undoing.id), ("operator", again)]


def test_attempts_come_from_moves_and_from_what_they_left_behind() -> None:
    second, first = attempts_of(HISTORY, [FAILED])

    assert (first.worker, first.started_at, first.ended_at, first.outcome) == (
        "worker-1",
        at(1),
        at(3),
        "failed",
    )
    assert (second.worker, second.started_at, second.ended_at) == ("worker-2", at(10), at(12))
    assert second.outcome == "completed"
    assert [line.message for line in first.lines] == ["charging", "refused", "… more than 500 lines"]


def test_log_lines_are_left_out_below_the_level_that_was_asked_for() -> None:
    (_, first) = attempts_of(HISTORY, [FAILED], "warning")

    assert [line.message for line in first.lines] == ["refused", "… more than 500 lines"]


TRACE = """Traceback (most recent call last):
  File "/srv/shop/tasks.py", line 3, in charge
    client.post(url)
  File "/venv/lib/python3.11/site-packages/httpx/_client.py", line 1, in post
    return self.request(
           ^^^^^^^^^^^^
  File "/usr/lib/python3.11/socket.py", line 9, in connect
    raise OSError
OSError: nobody there"""


def test_a_traceback_is_cleaned_of_what_is_not_the_tasks_own() -> None:
    assert cleaned_traceback(TRACE).splitlines() == [
        "Traceback (most recent call last):",
        '  File "/srv/shop/tasks.py", line 3, in charge',
        "    client.post(url)",
        "  … 2 frames of libraries",
        "OSError: nobody there",
    ]


def test_a_traceback_of_libraries_alone_stays_whole() -> None:
    alone = TRACE.replace("/srv/shop/", "/venv/lib/python3.11/site-packages/shop/")

    assert cleaned_traceback(alone) == alone
