"""Approval gates: a job waits for a person without a worker, goes on after the gate, or fails."""

import base64
import hashlib
import json
from datetime import datetime
from typing import Any
from uuid import UUID

import httpx
import pytest

from apps._world.serving import NO_TLS
from apps.agent_workflows.app import app
from apps.agent_workflows.tests.plane import ANN, BEN, Plane
from holdfast import Invitation

OWN = {"Sec-Fetch-Site": "same-origin", "Origin": "null"}  # as a browser sends the page's own form
DRAFTS = ["draft one", "draft two"]


@pytest.fixture
def gate(plane: Plane) -> UUID:
    """Give a job that asks whether it may delete."""
    job_id = plane.start(tidy=True)
    plane.work()
    assert plane.job(job_id)["status"] == "WAITING_FOR_APPROVAL"
    return job_id


@pytest.fixture
def invitation(plane: Plane, gate: UUID) -> Invitation:
    """Give what a mail to Ben would bring him."""
    return app.approvals.mint_token(plane.job(gate)["approval_id"], BEN)


def told(plane: Plane, job_id: UUID, status: str) -> dict[str, Any]:
    """What the history says about the approval where the job came to a status last."""
    rows = [row for row in plane.history(job_id) if row["to_status"] == status]
    approval: dict[str, Any] = rows[-1]["metadata"]["approval"]
    return approval


def press(plane: Plane, invitation: Invitation, decision: str, reason: str) -> httpx.Response:
    """Press a button of the page."""
    form = {
        "code": invitation.token,
        "version": invitation.bound_hash,
        "decision": decision,
        "reason": reason,
    }
    return httpx.post(f"{plane.stage.url}/a/{invitation.approval_id}", data=form, headers=OWN, verify=NO_TLS)


# -- waiting ---------------------------------------------------------------------------------------------------------------


def test_a_job_that_asks_holds_no_worker_and_nothing_dangerous_is_done(plane: Plane, gate: UUID) -> None:
    ((holder, claim_order),) = plane.rows("select holder, claim_order from holdfast.job where id = %s", gate)

    assert (holder, claim_order) == (None, None)
    assert plane.job(gate)["held_by"] is None
    assert [tool for tool, _ in plane.tools.done] == ["search", "read", "read", "write"]


def test_the_history_says_what_is_asked_of_whom_and_until_when(plane: Plane) -> None:
    plane.agent(approval_expires_in=3600)
    job_id = plane.start(tidy=True)
    plane.work()

    asked = told(plane, job_id, "WAITING_FOR_APPROVAL")

    assert asked["question"] == "May agent scout use delete?"
    assert asked["approvers"] == [ANN, BEN]
    assert datetime.fromisoformat(asked["expires_at"]) == datetime.fromisoformat(
        plane.job(job_id)["approval_expires_at"]
    )
    (approval,) = app.approvals.of_job(job_id)
    assert approval.facts == {"topic": "draft", "documents": DRAFTS}


def test_who_wants_no_expiry_waits_for_ever(plane: Plane, gate: UUID) -> None:
    plane.clock.advance(400 * 86_400)
    plane.work()

    job = plane.job(gate)
    assert (job["status"], job["approval_expires_at"]) == ("WAITING_FOR_APPROVAL", None)


# -- deciding --------------------------------------------------------------------------------------------------------------


def test_approved_it_resumes_after_the_gate_with_its_checkpoint_intact(plane: Plane, gate: UUID) -> None:
    plane.tools.asked.clear()
    checkpoint = plane.rows("select value from holdfast.checkpoint where job_id = %s", gate)
    assert plane.decide(plane.ben, gate, "approve", "I have a copy").status_code == 200
    plane.work()

    assert checkpoint == [({"steps": ["1 search", "2 read", "3 read", "4 write"]},)]
    assert [tool for tool, _ in plane.tools.asked] == ["delete"]
    assert plane.job(gate)["status"] == "COMPLETED"
    assert sorted(plane.tools.documents) == ["minutes", "summary of draft"]


def test_an_approved_job_stays_where_it_is_until_a_worker_takes_it(plane: Plane, gate: UUID) -> None:
    plane.decide(plane.ben, gate, "approve", "fine")

    assert plane.job(gate)["status"] == "WAITING_FOR_APPROVAL"
    assert plane.rows("select claim_order is not null from holdfast.job where id = %s", gate) == [(True,)]


def test_denied_it_fails_and_nothing_is_deleted(plane: Plane, gate: UUID) -> None:
    assert plane.decide(plane.ben, gate, "deny", "we need them").status_code == 200
    plane.work()

    job = plane.job(gate)
    assert job["status"] == "FAILED"
    assert "we need them" in job["error_message"]
    assert set(DRAFTS) <= set(plane.tools.documents)


def test_an_expired_gate_fails_the_job(plane: Plane) -> None:
    plane.agent(approval_expires_in=3600)
    job_id = plane.start(tidy=True)
    plane.work()
    plane.clock.advance(3601)
    plane.work()

    assert plane.job(job_id)["status"] == "FAILED"
    assert "expired" in plane.job(job_id)["error_message"]
    assert set(DRAFTS) <= set(plane.tools.documents)


@pytest.mark.parametrize(("decision", "status"), [("approve", "RUNNING"), ("deny", "FAILED")])
def test_who_decided_when_and_why_is_in_the_history(
    plane: Plane, gate: UUID, decision: str, status: str
) -> None:
    plane.decide(plane.ben, gate, decision, "because I know them")
    plane.work()

    decided = told(plane, gate, status)

    assert (decided["by"], decided["reason"]) == (BEN, "because I know them")
    assert "at" in decided


def test_who_asked_for_the_job_does_not_decide(plane: Plane, gate: UUID) -> None:
    refused = plane.decide(plane.ann, gate, "approve", "trust me")

    assert refused.status_code == 403
    assert "does not decide" in refused.json()["detail"]
    assert plane.job(gate)["status"] == "WAITING_FOR_APPROVAL"


def test_a_stranger_does_not_decide(plane: Plane, gate: UUID) -> None:
    plane.agent(approvers=["cho@example.org"])
    job_id = plane.start(tidy=True)
    plane.work()

    assert plane.decide(plane.ben, job_id, "approve", "fine").status_code == 403
    assert httpx.post(f"{plane.stage.url}/api/v1/approvals/{job_id}/decide", verify=NO_TLS).status_code == 401


# -- by token --------------------------------------------------------------------------------------------------------------


def test_a_token_is_random_and_has_at_least_128_bits(invitation: Invitation) -> None:
    another = app.approvals.mint_token(invitation.approval_id, BEN)

    secret = base64.urlsafe_b64decode(invitation.token.removeprefix("hfa_") + "=")
    assert len(secret) * 8 >= 128
    assert another.token != invitation.token


def test_a_token_is_stored_as_a_hash_and_is_never_in_the_history(
    plane: Plane, gate: UUID, invitation: Invitation
) -> None:
    press(plane, invitation, "approve", "fine")
    plane.work()

    stored = plane.rows(
        "select token_hash from holdfast.approver where approval_id = %s", invitation.approval_id
    )
    assert [bytes(kept) for (kept,) in stored] == [hashlib.sha256(invitation.token.encode()).digest()]
    everything = json.dumps([plane.history(gate), plane.ann.get(f"/api/v1/jobs/{gate}").json()])
    assert invitation.token not in everything
    assert hashlib.sha256(invitation.token.encode()).hexdigest() not in everything


def test_looking_at_an_approval_link_never_decides(plane: Plane, gate: UUID, invitation: Invitation) -> None:
    link = f"{plane.stage.url}/a/{invitation.approval_id}"
    for url in (link, f"{link}#{invitation.token}", f"{link}?code={invitation.token}&decision=approve"):
        assert httpx.get(url, verify=NO_TLS).status_code == 200
        assert httpx.head(url, verify=NO_TLS).status_code == 200
    httpx.post(
        link, data={"code": invitation.token}, headers=OWN, verify=NO_TLS
    )  # the page, opened by a person
    plane.work()

    assert plane.job(gate)["status"] == "WAITING_FOR_APPROVAL"
    assert app.approvals.get(invitation.approval_id).decision is None


def test_a_click_with_the_token_decides(plane: Plane, gate: UUID, invitation: Invitation) -> None:
    assert press(plane, invitation, "approve", "fine").status_code == 200
    plane.work()

    assert plane.job(gate)["status"] == "COMPLETED"
    assert told(plane, gate, "RUNNING")["by"] == BEN


def test_a_token_works_once(plane: Plane, gate: UUID, invitation: Invitation) -> None:
    press(plane, invitation, "deny", "we need them")

    again = app.approvals.decide_by_token(invitation.approval_id, invitation.token, "approve")

    assert again.result == "unknown"
    assert plane.job(gate)["status"] == "FAILED"


def test_a_wrong_token_decides_nothing(plane: Plane, gate: UUID) -> None:
    approval_id = plane.job(gate)["approval_id"]
    form = {"code": "hfa_" + "x" * 43, "version": "x", "decision": "approve", "reason": "fine"}

    assert (
        httpx.post(f"{plane.stage.url}/a/{approval_id}", data=form, headers=OWN, verify=NO_TLS).status_code
        == 404
    )
    assert plane.job(gate)["status"] == "WAITING_FOR_APPROVAL"
