"""/approvals: what jobs ask of people, and what people answer."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.approval import Approval, Told, accepted
from holdfast.domain.errors import ApprovalNotFound
from holdfast.interfaces.http.api.words import Limit, Name, Reason
from holdfast.interfaces.http.operation import ApiCall, Body, Operations, Page, Query, View
from holdfast.interfaces.http.problem import CHANGED, CONFLICT, FORBIDDEN, INVALID, NOT_FOUND, Refusal
from holdfast.store import approval as store

REFUSED = "this application does not let you"

approvals = Operations("approvals")

MOST_TOGETHER = 100


class VoiceView(View):
    """What one person, or the clock, said."""

    who: str
    decision: str
    reason: str | None
    how: str
    at: datetime


class ApprovalView(View):
    """What is asked, of whom, and what was said so far."""

    id: UUID
    job_id: UUID
    task: str
    name: str
    question: str
    facts: dict[str, Any]
    approvers: list[str]
    quorum: int
    approvals: int
    requester: str | None
    self_approval: bool
    bulk: Annotated[bool, Field(description="Whether it may be approved together with others")]
    version: Annotated[str, Field(description="What a decision is bound to; the ETag")]
    asked_at: datetime
    expires_at: datetime | None
    on_expiry: str
    decided_at: datetime | None
    decision: str | None
    decided_by: str | None
    reason: str | None
    voices: list[VoiceView]

    @classmethod
    def of(cls, approval: Approval) -> "ApprovalView":
        """Show an approval."""
        shown = {
            name: getattr(approval, name) for name in cls.model_fields if name not in {"version", "voices"}
        }
        voices = [VoiceView.model_validate(voice) for voice in approval.voices]
        return cls(**shown, version=approval.bound_hash, voices=voices)


class ApprovalsView(Page):
    """A part of the list, newest first."""

    items: list[ApprovalView]


class ApprovalsQuery(Query):
    """Which approvals."""

    status: Literal["open", "decided", "all"] = "open"
    approver: Name | None = None
    after: UUID | None = None
    limit: Limit = 50


class DecisionBody(Body):
    """A decision. Denying needs a reason."""

    decision: Literal["approve", "deny"]
    reason: Reason | None = None


@approvals.get("/approvals")
async def list_approvals(call: ApiCall, query: ApprovalsQuery) -> ApprovalsView:
    """List approvals, newest first."""
    wanted = store.list_approvals(
        query.status,
        approver=query.approver,
        tenant=call.principal.tenant,
        before_id=query.after,
        limit=query.limit,
    )
    found = await call.ask(wanted)
    further = str(found[-1].id) if len(found) == query.limit else None
    hidden = await call.refused("show_approval", [each.job_id for each in found])
    shown = [ApprovalView.of(each) for each in found if each.job_id not in hidden]
    return ApprovalsView(items=shown, next=further)


class SeenApproval(Body):
    """An approval, and the version of it that was seen."""

    id: UUID
    version: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[0-9a-f]+$")]


class TogetherBody(Body):
    """Approvals that are given in one go; each gate must allow it."""

    approvals: Annotated[list[SeenApproval], Field(min_length=1, max_length=MOST_TOGETHER)]
    reason: Reason | None = None


class ToldView(View):
    """What came of one of them; `counts` is whether the voice was taken."""

    id: UUID
    counts: bool
    says: str
    decision: str | None
    decided_by: str | None
    decided_at: datetime | None


class TogetherView(View):
    """What came of each, in the order in which they were named."""

    items: list[ToldView]


# Before the path of one approval, which would be asked for by the id "approve".
@approvals.post("/approvals/approve", scope=Scope.APPROVE)
async def approve_together(call: ApiCall, body: TogetherBody) -> TogetherView:
    """Approve several whose gates allow it. Each is a decision of its own: who loses one of them gets the others."""
    seen = {each.id: each.version for each in body.approvals}
    refused = {each for each in seen if not await call.lets("decide_approval", {"approval_id": each})}
    asked = [(each, version) for each, version in seen.items() if each not in refused]
    answered = await call.ask(store.approve_together(asked, call.principal.name, body.reason, call.address))
    for one in answered:
        if one.counts:
            await call.record("approval.approve", str(one.approval_id), body.reason, together=len(seen))
    told = {one.approval_id: _told(one) for one in answered}
    return TogetherView(items=[told.get(each) or _refused(each) for each in seen])


def _refused(approval_id: UUID) -> ToldView:
    return ToldView(
        id=approval_id, counts=False, says=REFUSED, decision=None, decided_by=None, decided_at=None
    )


def _told(one: Told) -> ToldView:
    answer = one.answer
    return ToldView(
        id=one.approval_id, counts=one.counts, says=one.says, decision=answer.decision,
        decided_by=answer.decided_by, decided_at=answer.decided_at,
    )  # fmt: skip


@approvals.get("/approvals/{approval_id}", problems=(NOT_FOUND,))
async def show_approval(call: ApiCall, approval_id: UUID) -> ApprovalView:
    """Show an approval; its ETag goes into If-Match when it is decided."""
    found = await call.ask(store.find_approval(approval_id, call.principal.tenant))
    if found is None:
        raise ApprovalNotFound(f"no approval has the id {approval_id}")
    call.answer_headers["ETag"] = f'"{found.bound_hash}"'
    return ApprovalView.of(found)


@approvals.post(
    "/approvals/{approval_id}/decide",
    scope=Scope.APPROVE,
    problems=(NOT_FOUND, CONFLICT, CHANGED, FORBIDDEN),
)
async def decide_approval(call: ApiCall, approval_id: UUID, body: DecisionBody) -> ApprovalView:
    """Approve or deny, once; who comes second is told who was first."""
    shown = await show_approval(call, approval_id)
    if body.decision == "deny" and body.reason is None:
        raise Refusal(INVALID, "say why: denying needs a reason")
    if not _fits(call.headers.get("if-match"), shown.version):
        raise Refusal(CHANGED, "what you saw is not what is asked: look at it again")
    answer = await call.ask(
        store.decide(
            approval_id, call.principal.name, body.decision, body.reason, call.address, shown.version
        )
    )
    accepted(approval_id, answer, call.principal.name, body.decision)
    await call.record(f"approval.{body.decision}", str(approval_id), body.reason)
    return await show_approval(call, approval_id)


def _fits(if_match: str | None, version: str) -> bool:
    return if_match in {None, "*"} or f'"{version}"' in [tag.strip() for tag in str(if_match).split(",")]
