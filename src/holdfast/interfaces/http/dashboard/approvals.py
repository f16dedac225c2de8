"""Approvals: what waits for a decision, what is known about it, and the two buttons."""

from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Principal, Scope
from holdfast.domain.approval import EXPIRED
from holdfast.interfaces.http.address import here, prefix
from holdfast.interfaces.http.api.approvals import (
    ApprovalsQuery,
    ApprovalView,
    DecisionBody,
    decide_approval,
    list_approvals,
    show_approval,
)
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Asked, Done, Form, Section
from holdfast.interfaces.http.operation import operation_of
from holdfast.interfaces.http.problem import NOT_FOUND, Refusal
from holdfast.store.access import database_clock
from holdfast.store.approval import count_waiting

approvals = Section("approvals")

MOST = 99  # on the badge
REFUSAL = "This application does not let you decide it."
LISTED = 200
_LOOKED_AT = 50  # of those that are decided
_RECENT = timedelta(days=7)
_SIMILAR = 3


async def number_waiting(look: Look) -> int | None:
    """Count what waits for this person; None for who decides nothing."""
    if not look.may(Scope.APPROVE):
        return None
    await look.require(list_approvals)
    principal = look.principal
    return await look.call.ask(count_waiting(principal.name, principal.tenant, MOST + 1))


@approvals.panel("approvals", "jobs")
async def approval_badge(look: Look) -> dict[str, Any]:
    """Give the number that stands in the navigation."""
    return {"waiting": await number_waiting(look)}


@approvals.panel("approvals", "jobs")
async def approval_list(look: Look) -> dict[str, Any]:
    """List what waits for this person, what waits for others, and what was decided lately."""
    waiting = (await look.at(list_approvals, ApprovalsQuery(limit=LISTED))).items
    now = await look.call.ask(database_clock())
    yours, others = _parted(waiting, look.principal)
    decided = (await look.at(list_approvals, ApprovalsQuery(status="decided", limit=_LOOKED_AT))).items
    recent = [each for each in decided if each.decided_at and each.decided_at > now - _RECENT]
    return {
        "sections": (("Yours", yours), ("Others'", others), ("Decided", _newest_decision_first(recent))),
        "is_cut": len(waiting) == LISTED,
        "last": _newest_decision_first(decided)[:1],
        "decides": look.may(Scope.APPROVE),
        "together": {each.id for each in yours if each.bulk},
    }


@approvals.panel("approvals", "jobs")
async def approval_card(look: Look, approval_id: str) -> dict[str, Any]:
    """Show one approval with everything that a decision needs."""
    return await _card(look, _read_id(approval_id))


class InboxAsked(Asked):
    """Which card the inbox stays with."""

    card: str = ""


@approvals.panel("approvals", "jobs")
async def first_card(look: Look, asked: InboxAsked) -> dict[str, Any]:
    """Show what should be decided first. From then on the card stays with it: nothing else moves under a finger."""
    chosen = _read_id(asked.card) if asked.card else await _first(look)
    if chosen is None:
        return {"approval": None}
    stays = f"{prefix(look.request)}{here(look.request)}?panel=first_card&card={chosen}"
    return {**await _card(look, chosen), "address": stays}


async def _first(look: Look) -> UUID | None:
    waiting = (await look.at(list_approvals, ApprovalsQuery(limit=LISTED))).items
    yours, others = _parted(waiting, look.principal)
    return next((one.id for one in [*yours, *others]), None)


approvals.page("/approvals", "Approvals", approval_list, first_card, approval_badge, asked=InboxAsked)
approvals.page("/approvals/{approval_id}", "Approval", approval_list, approval_card, name="approval")


async def _card(look: Look, approval_id: UUID) -> dict[str, Any]:
    shown = await look.at(show_approval, approval_id)
    decided = (await look.at(list_approvals, ApprovalsQuery(status="decided", limit=_LOOKED_AT))).items
    similar = [
        each
        for each in _newest_decision_first(decided)
        if (each.task, each.name) == (shown.task, shown.name) and each.id != shown.id
    ]
    return {
        "approval": shown,
        # What is read at a glance comes first.
        "facts": sorted(shown.facts.items(), key=lambda each: isinstance(each[1], (dict, list))),
        "objection": objection(shown, look.principal) or await _refusal(look, shown),
        "has_voted": has_voted(shown, look.principal),
        "expired": EXPIRED[shown.on_expiry],  # type: ignore[index]  # as the API writes it
        "missing_voices": shown.quorum - shown.approvals,
        "similar": similar[:_SIMILAR],
    }


async def _refusal(look: Look, approval: ApprovalView) -> str | None:
    """Say that the application does not let this person decide; None when it does."""
    lets = await look.call.lets(operation_of(decide_approval).name, {"approval_id": approval.id})
    return None if lets else REFUSAL


def objection(approval: ApprovalView, principal: Principal) -> str | None:
    """Say why this person's word would not count, in the order in which the database objects; None when it would."""
    me = _person(principal.name)
    if not principal.may(Scope.APPROVE):
        return "Your role looks on: approvers, operators and admins decide."
    if not approval.self_approval and approval.requester and me == _person(approval.requester):
        return "You asked for this job, so somebody else decides. Cancel the job to withdraw it."
    if approval.approvers and me not in {_person(each) for each in approval.approvers}:
        return f"Only {' or '.join(approval.approvers)} may decide."
    return None


def has_voted(approval: ApprovalView, principal: Principal) -> bool:
    """Whether this person has said something already."""
    return _person(principal.name) in {_person(each.who) for each in approval.voices}


def _person(name: str) -> str:
    return name.strip(" ").lower()


def _parted(
    waiting: list[ApprovalView], principal: Principal
) -> tuple[list[ApprovalView], list[ApprovalView]]:
    """Part what this person should decide from what others should; the nearest deadline first, then the oldest."""
    ordered = sorted(waiting, key=lambda each: (each.expires_at is None, each.expires_at or each.asked_at))
    yours = [
        each for each in ordered if objection(each, principal) is None and not has_voted(each, principal)
    ]
    own = {each.id for each in yours}
    return yours, [each for each in ordered if each.id not in own]


def _newest_decision_first(decided: list[ApprovalView]) -> list[ApprovalView]:
    return sorted(decided, key=_decided_at, reverse=True)


def _decided_at(approval: ApprovalView) -> datetime:
    return approval.decided_at or approval.asked_at


def _read_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Refusal(NOT_FOUND, "no approval has such an id") from None


class ApproveForm(Form):
    """What was seen, and why if somebody wants to say so."""

    version: Annotated[str, Field(max_length=100, pattern=r"^[0-9a-f]+$")]
    reason: Annotated[str, Field(max_length=500)] | None = None


class DenyForm(ApproveForm):
    """What was seen, and why not."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]


@approvals.action("/approvals/{approval_id}/approve")
async def approve(look: Look, form: ApproveForm, approval_id: str) -> Done:
    """Approve what was seen."""
    look.call.headers = {**look.call.headers, "if-match": f'"{form.version}"'}
    body = DecisionBody(decision="approve", reason=form.reason)
    shown = await look.at(decide_approval, _read_id(approval_id), body)
    if shown.decision is None:
        return Done(f"Your approval counts: {shown.approvals} of {shown.quorum} so far.", "/approvals")
    return Done(f"Approved: {shown.question}", "/approvals")


@approvals.action("/approvals/{approval_id}/deny")
async def deny(look: Look, form: DenyForm, approval_id: str) -> Done:
    """Deny what was seen."""
    look.call.headers = {**look.call.headers, "if-match": f'"{form.version}"'}
    shown = await look.at(
        decide_approval, _read_id(approval_id), DecisionBody(decision="deny", reason=form.reason)
    )
    return Done(f"Denied: {shown.question}", "/approvals")
