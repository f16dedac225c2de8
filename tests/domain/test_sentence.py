from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from holdfast.domain.job import Job, Transition
from holdfast.domain.sentence import ago, sentence, span
from holdfast.domain.states import Status

NOW = datetime(2030, 1, 31, 10, 0, tzinfo=UTC)
ID = UUID("01a1e11e-f785-75e6-9c1f-b2b77c783197")
TIMEOUT = {"type": "TimeoutError", "message": "the bank did not answer"}


def before(**time: float) -> datetime:
    return NOW - timedelta(**time)


PENDING = Job(
    id=ID,
    task="charge",
    queue="billing",
    status=Status.PENDING,
    priority=0,
    attempt=0,
    retry_count=0,
    max_retries=4,
    crash_count=0,
    suspect=False,
    created_at=before(minutes=12),
    updated_at=before(minutes=12),
    due_at=None,
    deadline_at=None,
    finished_at=None,
    in_line=True,
    holder=None,
    worker=None,
    retry_of=None,
    retried_as=None,
    tenant=None,
    subject=None,
    key=None,
    key_held=False,
    held_by=None,
    reason=None,
    label=None,
    requested_by=None,
    tags=None,
    metadata=None,
    payload={},
    result=None,
    error=None,
    queue_paused_by=None,
    queue_paused_at=None,
    queue_paused_for=None,
    queue_has_worker=True,
    task_has_worker=True,
    holder_seen_at=None,
    holder_is_silent=False,
    parent_id=None,
    compensates=None,
    compensated_by=None,
    hold=None,
    now=NOW,
)
RETRY = replace(
    PENDING,
    status=Status.RETRY,
    attempt=2,
    retry_count=2,
    error=TIMEOUT,
    in_line=False,
    due_at=NOW + timedelta(seconds=42),
)
ASKING = replace(PENDING, status=Status.WAITING_FOR_APPROVAL, updated_at=before(minutes=3), in_line=False)
DECIDE = f"decide: holdfast approval approve {ID}, or deny with --reason"
GATE = {
    "id": str(ID),
    "name": "large",
    "question": "Refund 900 €?",
    "approvers": ["ann", "ben"],
    "quorum": 1,
    "approvals": 1,
    "expires_at": "2030-01-31T12:00:00+00:00",
    "on_expiry": "fail",
    "decided_by": None,
    "decided_at": None,
}
RUNNING = replace(
    PENDING,
    status=Status.RUNNING,
    attempt=1,
    in_line=False,
    holder=ID,
    worker="worker-1-ab",
    updated_at=before(seconds=12),
    holder_seen_at=before(seconds=2),
)
ENDED = replace(PENDING, attempt=3, in_line=False, finished_at=before(minutes=5))


@pytest.mark.parametrize(
    ("job", "told"),
    [
        (PENDING, "PENDING: in line on queue billing for 12 min, a worker takes it in its turn"),
        (
            replace(PENDING, queue_paused_by="ana", queue_paused_at=before(minutes=10)),
            "PENDING: queue billing paused by ana 10 min ago",
        ),
        (
            replace(
                PENDING,
                queue_paused_by="ana",
                queue_paused_at=before(minutes=10),
                queue_paused_for="bank is down",
            ),
            "PENDING: queue billing paused by ana 10 min ago: bank is down",
        ),
        (
            replace(PENDING, queue_has_worker=False, task_has_worker=False),
            "PENDING: no live worker serves queue billing",
        ),
        (replace(PENDING, task_has_worker=False), "PENDING: no live worker has task charge registered"),
        (replace(PENDING, in_line=False, due_at=NOW + timedelta(hours=2)), "PENDING: starts in 2 h 00 min"),
        (
            replace(PENDING, in_line=False, held_by="a concurrency limit"),
            "PENDING: held by a concurrency limit",
        ),
        (
            replace(
                PENDING,
                in_line=False,
                held_by="limit:user:42",
                hold={"key": "user:42", "most": 1, "taken": 1, "by": "J"},
            ),
            "PENDING: waits for a slot of user:42 (1 of 1 taken by job J)",
        ),
        (
            replace(
                PENDING,
                in_line=False,
                held_by="limit:user:42",
                hold={"key": "user:42", "most": 3, "taken": 3, "by": "J"},
            ),
            "PENDING: waits for a slot of user:42 (3 of 3 taken)",
        ),
        (
            replace(
                PENDING,
                in_line=False,
                held_by="limit:gone",
                hold={"key": "gone", "most": None, "taken": 0, "by": None},
            ),
            "PENDING: waits for a slot of gone",
        ),
        (
            replace(PENDING, in_line=False, held_by="rate:api:a", hold={"key": "api:a", "next_in": 12.0}),
            "PENDING: waits for a start under the rate of api:a, the next one is free in 12 s",
        ),
        (
            replace(PENDING, in_line=False, held_by="rate:api:a", hold={"key": "api:a", "next_in": None}),
            "PENDING: waits for a start under the rate of api:a",
        ),
        (
            replace(
                PENDING,
                in_line=False,
                held_by="task:charge",
                hold={"by": "ana", "reason": "bank is down", "ago": 300.0, "resumes_in": 60.0},
            ),
            "PENDING: task charge paused by ana 5 min ago: bank is down, resumes in 1 min",
        ),
        (
            replace(
                PENDING,
                in_line=False,
                held_by="task:charge",
                hold={"by": "ana", "reason": None, "ago": 300.0, "resumes_in": None},
            ),
            "PENDING: task charge paused by ana 5 min ago, until it is resumed",
        ),
        (
            replace(PENDING, in_line=False, held_by="task:charge", hold=None),
            "PENDING: task charge was resumed a moment ago, it enters the line again",
        ),
        (
            replace(
                PENDING,
                in_line=False,
                held_by="flag:NEW:0",
                hold={"flag": "NEW", "share": 0, "by": "ana", "reason": "broken"},
            ),
            "PENDING: flag NEW is off (set by ana: broken); it runs when the flag is on",
        ),
        (
            replace(
                PENDING,
                in_line=False,
                held_by="flag:NEW:10",
                hold={"flag": "NEW", "share": 10, "by": "ana", "reason": None},
            ),
            "PENDING: flag NEW is on for 10 % (set by ana), and this job is not among them; it runs when it is",
        ),
        (
            replace(PENDING, in_line=False, held_by="jobs", hold=None),
            "PENDING: waits for the jobs that it is to run after",
        ),
        (RETRY, "will retry in 42 s, attempt 3 of 5, after TimeoutError"),
        (
            replace(RETRY, queue_has_worker=False),
            "will retry in 42 s, attempt 3 of 5, after TimeoutError, but no live worker serves queue billing",
        ),
        (
            replace(RETRY, in_line=True, due_at=before(seconds=1)),
            "will retry as soon as a worker is free, attempt 3 of 5, after TimeoutError",
        ),
        (
            replace(RETRY, suspect=True, in_line=True),
            "RETRY: its worker died while it ran this job, which may be why; the next attempt runs apart from other jobs; that worker's log says what ended it",
        ),
        (
            replace(RETRY, suspect=True, in_line=True, reason="worker w-1 died", queue_has_worker=False),
            "RETRY: worker w-1 died while it ran this job, which may be why; the next attempt runs apart from other jobs, but no live worker serves queue billing; that worker's log says what ended it",
        ),
        (
            replace(RETRY, in_line=True, due_at=NOW, reason="released: its worker stops"),
            "RETRY: released: its worker stops; another worker takes it in its turn",
        ),
        (RUNNING, "RUNNING on worker-1-ab for 12 s (attempt 1)"),
        (
            replace(RUNNING, deadline_at=NOW + timedelta(seconds=30)),
            "RUNNING on worker-1-ab for 12 s (attempt 1), must end within 30 s",
        ),
        (
            replace(RUNNING, holder_is_silent=True, holder_seen_at=before(seconds=40)),
            "RUNNING on worker-1-ab for 12 s (attempt 1), but that worker was last seen 40 s ago: a sweeper takes the job back",
        ),
        (
            replace(
                PENDING, status=Status.WAITING, updated_at=before(hours=1), due_at=NOW + timedelta(days=1)
            ),
            "WAITING for 1 h 00 min, goes on in 1 d 0 h",
        ),
        (
            replace(
                PENDING,
                status=Status.WAITING,
                updated_at=before(hours=1),
                held_by="event paid",
                reason="waits for event paid",
            ),
            "WAITING for 1 h 00 min: waits for event paid",
        ),
        (
            replace(
                PENDING,
                status=Status.WAITING_FOR_APPROVAL,
                updated_at=before(minutes=3),
                reason="refund over 500",
            ),
            "WAITING_FOR_APPROVAL for 3 min: refund over 500",
        ),
        (
            replace(ASKING, approval=GATE),
            f"WAITING_FOR_APPROVAL for 3 min: asks ann or ben: Refund 900 €? until 2030-01-31 12:00 UTC (in 2 h 00 min), then the job fails; {DECIDE}",
        ),
        (
            replace(ASKING, approval={**GATE, "approvers": [], "quorum": 2, "expires_at": None}),
            f"WAITING_FOR_APPROVAL for 3 min: asks 2 of anybody authorised (1 so far): Refund 900 €?; {DECIDE}",
        ),
        (
            replace(ASKING, approval={**GATE, "decided_by": "ann"}),
            "WAITING_FOR_APPROVAL: approved by ann; a worker takes it in its turn",
        ),
        (
            replace(ASKING, approval={**GATE, "decided_by": "ann"}, queue_has_worker=False),
            "WAITING_FOR_APPROVAL: approved by ann; no live worker serves queue billing",
        ),
        (
            replace(ENDED, status=Status.COMPLETED, attempt=1),
            "COMPLETED 5 min ago, 7 min after it was created (attempt 1)",
        ),
        (
            replace(ENDED, status=Status.FAILED, error=TIMEOUT),
            "FAILED 5 min ago after 3 attempts with TimeoutError: the bank did not answer",
        ),
        (
            replace(
                ENDED,
                status=Status.FAILED,
                attempt=1,
                error={"type": "shop.errors.Refused", "message": ""},
                retried_as=ID,
            ),
            f"FAILED 5 min ago after 1 attempt with Refused; retried as {ID}",
        ),
        (replace(ENDED, status=Status.CANCELLED, reason="cancelled"), "CANCELLED 5 min ago"),
    ],
)
def test_the_sentence_says_why_a_job_is_where_it_is(job: Job, told: str) -> None:
    assert sentence(job) == told


def test_a_cancelled_job_names_who_cancelled_it() -> None:
    job = replace(ENDED, status=Status.CANCELLED, reason="wrong order")
    last = Transition(3, Status.PENDING, Status.CANCELLED, 1, before(minutes=5), "ana", "wrong order", None)

    assert sentence(job, [last]) == "CANCELLED by ana 5 min ago: wrong order"


def test_a_long_message_is_cut_and_stays_on_one_line() -> None:
    job = replace(ENDED, status=Status.FAILED, error={"type": "E", "message": "a\nb " + "c" * 500})

    told = sentence(job)

    assert "E: a b ccc" in told
    assert told.endswith("…")
    assert len(told) < 180


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0 ms"),
        (0.42, "420 ms"),
        (0.9996, "1 s"),
        (1, "1 s"),
        (1.25, "1.2 s"),
        (9.97, "10 s"),
        (12.4, "12 s"),
        (59.7, "1 min"),
        (90, "1 min 30 s"),
        (600, "10 min"),
        (3600, "1 h 00 min"),
        (3840, "1 h 04 min"),
        (90_000, "1 d 1 h"),
        (-5, "0 ms"),
    ],
)
def test_spans_have_the_units_that_matter(seconds: float, told: str) -> None:
    assert span(seconds) == told
    assert span(timedelta(seconds=seconds)) == told


def test_ago_knows_the_future() -> None:
    assert ago(before(seconds=30), NOW) == "30 s ago"
    assert ago(NOW + timedelta(seconds=30), NOW) == "in 30 s"
