"""Stories of jobs that outlive their workers: steps that resume, waits, and what is undone."""

import signal
import urllib.error
import urllib.request
from http import HTTPStatus
from uuid import UUID, uuid4

from holdfast.domain.errors import ApprovalRefused
from holdfast.domain.states import Status
from holdfast.interfaces.demo.app import app, book_trip, install, refund
from holdfast.interfaces.demo.stage import PATIENCE, Stage, StoryFailed, verify
from holdfast.store import inspect

_LONG = 60.0


def resume_at_the_step(stage: Stage) -> str:
    """Kill a worker in the middle of a stepped job: another resumes at the step that was under way."""
    queue = ["-q", "steps:1", "--lease", "2"]
    handle = book_trip.using(queue="steps").enqueue(hotel_takes=_LONG)
    with stage.worker(*queue) as victim:
        stage.until(lambda: len(stage.steps(handle.id)) == 1, "the first step is saved")
        with stage.worker(*queue):
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            result = handle.result(timeout=PATIENCE)

    verify(result == ["flight reserved", "hotel reserved"], f"it returned {result}")
    saved = [(step.name, step.attempt) for step in stage.steps(handle.id)]
    verify(saved == [("flight", 1), ("hotel", 2)], f"its steps were saved as {saved}")
    return "the flight's step was saved before the kill and not run again, the hotel's ran on attempt 2"


def undo_what_had_succeeded(stage: Stage) -> str:
    """Let a job fail after two steps: both are undone, the newest first."""
    handle = book_trip.enqueue(card_works=False)
    stage.until_status(handle.id, Status.FAILED)
    undoing = stage.job(handle.id).compensated_by
    verify(undoing is not None, "nothing undoes it")
    if undoing is not None:
        stage.until_status(undoing, Status.COMPLETED)
        undone = [step.name for step in stage.steps(undoing)]
        verify(undone == ["undo hotel", "undo flight"], f"undone were {undone}")
        born = stage.history(undoing)[0].at
        ended = stage.history(handle.id)[-1].at
        verify(abs((born - ended).total_seconds()) < 1, "the compensation was not born with the failure")
    return "FAILED, and with it a job that undid the hotel, then the flight"


def ask_a_person(stage: Stage) -> str:
    """Let a job ask: it holds no worker until somebody else than its requester has approved."""
    handle = refund.using(requested_by="ben").enqueue(900)
    stage.until_status(handle.id, Status.WAITING_FOR_APPROVAL)
    (asked,) = app.approvals.of_job(handle.id)
    verify(stage.job(handle.id).holder is None, "it holds a worker while it waits")
    try:
        app.approvals.approve(asked.id, actor="ben")
    except ApprovalRefused:
        app.approvals.approve(asked.id, actor="ana", reason="seen the invoice", origin="the demo")
    else:
        raise StoryFailed("its requester could approve it")

    result = handle.result(timeout=PATIENCE)
    verify(result == "refunded 900, approved by ana", f"it returned {result}")
    told = (stage.history(handle.id)[-2].metadata or {}).get("approval", {})
    verify((told.get("by"), told.get("reason")) == ("ana", "seen the invoice"), f"its history says {told}")
    return "waited without a worker, its requester was refused, ana approved, and the history says so"


def hear_from_outside(stage: Stage) -> str:
    """Hand a job to an outside executor: it reports by signed callbacks, and a forged one is refused."""
    handle = install.enqueue("fsn1")
    result: object = handle.result(timeout=PATIENCE)
    forged = _status_of(stage.door, handle.id)
    verify(isinstance(result, dict) and result["region"] == "fsn1", f"it reported {result!r}")
    kinds = [each.kind for each in stage.as_login.perform(inspect.activity(handle.id))]
    verify({"dispatch.sent", "callback.started", "callback.completed"} <= set(kinds), f"it was told {kinds}")
    verify(stage.history(handle.id)[-1].actor == "executor:runner", "somebody else completed it")
    verify(forged == HTTPStatus.UNAUTHORIZED, f"a forged callback was answered {forged}")
    return "handed over, run elsewhere, completed by the executor's signed callback; a forged one got 401"


def _status_of(door: str, job_id: UUID) -> int:
    url = f"{door}/callbacks/v1/runner/{job_id}/1/{uuid4()}"
    headers = {"webhook-id": "x", "webhook-timestamp": "1", "webhook-signature": "v1,AA=="}
    request = urllib.request.Request(url, b"{}", headers)  # noqa: S310 - our own
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - our own # nosec B310
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code
