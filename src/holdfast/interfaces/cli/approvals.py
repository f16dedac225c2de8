"""`holdfast approval`: list, show, approve and deny what people are asked."""

import socket
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from holdfast.domain.errors import ApprovalNotFound
from holdfast.interfaces.cli.commands import CONFLICT, Command, Group
from holdfast.interfaces.cli.invocation import actor, current, say
from holdfast.interfaces.cli.job_ids import find_by_beginning
from holdfast.interfaces.cli.output import Column, as_json, clock_time, dim, emit, emit_one, plain

if TYPE_CHECKING:
    from holdfast.domain.approval import Answer, Approval
    from holdfast.runtime.approvals import Approvals
    from holdfast.store.approval import Scope

_COLOURS = {"approved": "green", "denied": "red", "expired": "red", "cancelled": "bright_black"}
_LONGEST_QUESTION = 60


@click.group(cls=Group)
def approval() -> None:
    """List, show, approve and deny what jobs ask of people. IDs may be shortened where the beginning is unique."""


@approval.command("list", cls=Command)
@click.option("--status", type=click.Choice(["open", "decided", "all"]), default="open", show_default=True)
@click.option("--approver", metavar="NAME", help="Those that name this approver.")
@click.option("--before", metavar="ID", help="The page after the one that ended with this approval.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
def list_(status: "Scope", approver: str | None, before: str | None, limit: int) -> None:
    """List approvals, newest first."""
    from holdfast.domain.sentence import ago

    found = _approvals().list(
        status, approver=approver, before=_find(before) if before else None, limit=limit + 1
    )
    shown = found[:limit]
    columns = ["ID", "TASK", "QUESTION", "OF WHOM", "ASKED", "EXPIRES", "STATUS"]
    cells = [
        [
            str(each.id),
            plain(each.task),
            plain(_short(each.question)),
            plain(each.of_whom),
            ago(each.asked_at, each.now),
            ago(each.expires_at, each.now) if each.expires_at else dim("never"),
            _status(each),
        ]
        for each in shown
    ]
    emit(
        [_as_json(each) for each in shown],
        [Column(title) for title in columns],
        cells,
        "nothing is asked of anybody",
    )
    if len(found) > limit and current().output == "table":
        say(f"more: --before {shown[-1].id}")


@approval.command(cls=Command)
@click.argument("approval_id", metavar="ID")
def show(approval_id: str) -> None:
    """Show what is asked, who may decide, who said what, and what happens when nobody decides."""
    found = _approvals().get(_find(approval_id))
    emit_one(_as_json(found), _lines(found))


@approval.command(cls=Command)
@click.argument("approval_ids", metavar="ID…", nargs=-1, required=True)
@click.option("--reason", help="Why, for the history.")
@click.option("--as", "--actor", "who", metavar="NAME", help="Who decides [your user name].")
def approve(approval_ids: tuple[str, ...], reason: str | None, who: str | None) -> None:
    """Approve; with the last approval that its quorum needs, the job goes on. Exit code 5: somebody else decided first.

    Several at once only where their gates say bulk=True; each is told what came of it.
    """
    if len(approval_ids) > 1:
        _approve_together([_find(each) for each in approval_ids], actor(who), reason)
        return
    found = _find(approval_ids[0])
    _tell(found, _approvals().approve(found, actor=actor(who), reason=reason, origin=_origin()))


@approval.command(cls=Command)
@click.argument("approval_id", metavar="ID")
@click.option("--reason", required=True, help="Why; the job fails with it.")
@click.option("--as", "--actor", "who", metavar="NAME", help="Who decides [your user name].")
def deny(approval_id: str, reason: str, who: str | None) -> None:
    """Deny: the job is FAILED. Exit code 5: somebody else decided first."""
    found = _find(approval_id)
    _tell(found, _approvals().deny(found, actor=actor(who), reason=reason, origin=_origin()))


def _approve_together(approval_ids: list[UUID], who: str, reason: str | None) -> None:
    approvals = _approvals()
    seen = {each: approvals.get(each).bound_hash for each in approval_ids}
    told = approvals.approve_together(seen, actor=who, reason=reason, origin=_origin())
    emit(
        [{"id": one.approval_id, "counts": one.counts, "says": one.says} for one in told],
        [Column("ID"), Column("WHAT CAME OF IT")],
        [[str(one.approval_id), ("" if one.counts else "NOT DECIDED: ") + plain(one.says)] for one in told],
        "nothing was asked",
    )
    if not all(one.counts for one in told):
        raise click.exceptions.Exit(CONFLICT)


def _approvals() -> "Approvals":
    from holdfast.runtime.approvals import Approvals

    return Approvals(current().link)


def _origin() -> str:
    return f"command line on {socket.gethostname()}"


def _tell(approval_id: UUID, answer: "Answer") -> None:
    if answer.decision is None:
        line = f"counted: {answer.approvals} of {answer.quorum} approvals of {approval_id}"
    else:
        line = f"{answer.decision} {approval_id}; job {answer.job_id} {'goes on' if answer.decision == 'approved' else 'is FAILED'}"
    emit_one({"id": approval_id, **answer._asdict()}, [line])


def _find(text: str) -> UUID:
    from holdfast.store.approval import approvals_between

    def candidates(first: UUID, last: UUID, limit: int) -> list[tuple[UUID, str]]:
        found = current().link.perform_once(approvals_between(first, last, limit))
        return [(each.id, f"{plain(each.task)}: {plain(_short(each.question))}") for each in found]

    return find_by_beginning(text, "approval", candidates, ApprovalNotFound)


def _as_json(approval: "Approval") -> dict[str, Any]:
    told = asdict(approval)
    del told["now"]
    return {
        **told,
        "status": "open" if approval.decided_at is None else "decided",
        "approvals": approval.approvals,
    }


def _short(question: str) -> str:
    return question if len(question) <= _LONGEST_QUESTION else question[: _LONGEST_QUESTION - 1] + "…"


def _status(approval: "Approval") -> str:
    if approval.decision is None:
        return click.style("? open", fg="magenta")
    by = f" by {plain(approval.decided_by)}" if approval.decided_by else ""
    return click.style(approval.decision, fg=_COLOURS[approval.decision]) + by


def _lines(approval: "Approval") -> Iterator[str]:
    from holdfast.domain.approval import EXPIRED
    from holdfast.domain.sentence import ago

    yield f"{_status(approval)}  {click.style(plain(approval.question), bold=True)}"
    yield ""
    facts = {
        "id": approval.id,
        "job": f"{approval.job_id} ({approval.task}), gate {approval.name}",
        "asked": f"{clock_time(approval.asked_at)} ({ago(approval.asked_at, approval.now)})"
        f"{f', for {approval.requester}' if approval.requester else ''}",
        "of whom": approval.of_whom
        + ("" if approval.self_approval or not approval.requester else f", but not {approval.requester}"),
        "quorum": f"{approval.approvals} of {approval.quorum} so far",
        "expires": f"{clock_time(approval.expires_at)} ({ago(approval.expires_at, approval.now)}), {EXPIRED[approval.on_expiry]}"
        if approval.expires_at
        else "never",
        "bound to": f"sha256 {approval.bound_hash}",
    }
    for name, value in facts.items():
        yield f"  {dim(f'{name:<8}')}  {plain(value)}"
    yield ""
    yield click.style("FACTS", bold=True)
    for name, value in approval.facts.items():
        yield f"  {plain(name)}: {plain(value if isinstance(value, str) else as_json(value))}"
    if approval.voices:
        yield ""
        yield click.style("DECISIONS", bold=True)
    for voice in approval.voices:
        why = f": {plain(voice.reason)}" if voice.reason else ""
        where = f" from {plain(voice.origin)}" if voice.origin else ""
        yield f"  {clock_time(voice.at)}  {plain(voice.who)} ({voice.how}{where}) {voice.decision}{why}"
    if approval.decision is None:
        yield ""
        yield f"decide: holdfast approval approve {approval.id}, or holdfast approval deny {approval.id} --reason …"
