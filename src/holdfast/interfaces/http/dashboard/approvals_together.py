"""Approvals that are given together: those that were ticked, named once more, each with its own decision and its own answer."""

import re
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from pydantic import Field

from holdfast.domain.errors import ApprovalNotFound
from holdfast.interfaces.http.api.approvals import (
    MOST_TOGETHER,
    ApprovalsQuery,
    ApprovalView,
    SeenApproval,
    TogetherBody,
    ToldView,
    approve_together,
    decide_approval,
    list_approvals,
    show_approval,
)
from holdfast.interfaces.http.dashboard.approvals import LISTED, REFUSAL, has_voted, objection
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Asked, Form, Page, Section, Shown
from holdfast.interfaces.http.operation import operation_of
from holdfast.interfaces.http.problem import INVALID, Refusal

approvals_together = Section("approvals")

_PICK = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9a-f]{1,100})")


class TogetherAsked(Asked):
    """Which of them: an id and the version that was seen, apart by a dot."""

    pick: str = ""


class Named(NamedTuple):
    """One of those that were ticked, and why it cannot be approved with the others."""

    approval: ApprovalView
    problem: str | None


def read_picks(text: str) -> dict[UUID, str]:
    """Read what was ticked: ids, each with the version that was seen."""
    found = [_PICK.fullmatch(each) for each in text.split(",")]
    seen = {UUID(each[1]): each[2] for each in found if each}
    if None in found or not seen or len(seen) > MOST_TOGETHER:
        raise Refusal(INVALID, f"Tick 1 to {MOST_TOGETHER} approvals in the list first.")
    return seen


@approvals_together.panel()
async def together(look: Look, asked: TogetherAsked) -> dict[str, Any]:
    """Name what would be approved."""
    await look.require(approve_together)
    seen = read_picks(asked.pick)
    waiting = {each.id: each for each in (await look.at(list_approvals, ApprovalsQuery(limit=LISTED))).items}
    found = [(waiting[each], version) for each, version in seen.items() if each in waiting]
    refused = await look.call.refused(
        operation_of(decide_approval).name, [each.job_id for each, _version in found]
    )
    named = [
        Named(each, REFUSAL if each.job_id in refused else _problem(each, version, look))
        for each, version in found
    ]
    can = [each.approval for each in named if each.problem is None]
    return {
        "named": named,
        "gone": len(seen) - len(named),
        "number": len(can),
        "seen": ",".join(f"{each.id}.{each.version}" for each in can),
    }


def _problem(approval: ApprovalView, version: str, look: Look) -> str | None:
    if not approval.bulk:
        return "Its gate does not let it be approved with others: open it, and decide it alone."
    if approval.version != version:
        return "It has changed since you looked: open it first."
    if has_voted(approval, look.principal):
        return "You have approved it already."
    return objection(approval, look.principal)


approvals_together.page(
    "/approvals/together", "Approve together", together, name="together", asked=TogetherAsked
)
# Shown in the answer to the form: sent again it says the same, since nobody's voice counts twice.
_TOLD = Page("/approvals/together", "together_told", "Approved together", "approvals", (), Asked)


class TogetherForm(Form):
    """What was named, and why if somebody wants to say so."""

    seen: Annotated[str, Field(max_length=15_000)]
    reason: Annotated[str, Field(max_length=500)] | None = None


@approvals_together.action("/approvals/together")
async def give_together(look: Look, form: TogetherForm) -> Shown:
    """Approve what was named, and say of each what came of it."""
    seen = [SeenApproval(id=each, version=version) for each, version in read_picks(form.seen).items()]
    answered = await look.at(approve_together, TogetherBody(approvals=seen, reason=form.reason))
    told = [(one, await _question(look, one)) for one in answered.items]
    lost = sum(not one.counts for one in answered.items)
    return Shown(_TOLD, {"told": told, "taken": len(told) - lost, "lost": lost})


async def _question(look: Look, one: ToldView) -> ApprovalView | None:
    try:
        return await look.at(show_approval, one.id)
    except (ApprovalNotFound, Refusal):
        return None  # deleted with its job meanwhile, or not to be shown to this person
