"""Approvals: asking with the attempt's fence, deciding, and reading how they stand. A token never comes here, only its hash."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

from holdfast.domain.approval import (
    Answer,
    Approval,
    Gate,
    Invitation,
    Seen,
    Told,
    Verdict,
    Voice,
    check_words,
    token_hash,
    told_of,
)
from holdfast.domain.job import ClaimedJob
from holdfast.domain.redaction import Hidden
from holdfast.domain.step import Place
from holdfast.store.call import Call, Row, function, query, single
from holdfast.store.hidden import hidden_in

T = TypeVar("T")
Scope: TypeAlias = Literal["open", "decided", "all"]

_FIRST, _LAST = UUID(int=0), UUID(int=2**128 - 1)


class Asked(NamedTuple):
    """The approval, and the decision as JSON text; without one the job waits now."""

    approval_id: UUID
    decision: str | None


def ask(job: ClaimedJob, place: Place, gate: Gate, logs: str | None) -> Call[Asked]:
    """Ask people, and let the job wait; or learn what they decided."""
    return function(
        "ask", job.id, job.attempt, job.claim_id, place.name, place.after, json.dumps(gate.as_json()), logs,
        read=lambda rows: Asked(*rows[0]), types=("", "", "", "text", "text", "jsonb", "jsonb"),
    )  # fmt: skip


def decide(
    approval_id: UUID,
    actor: str,
    verdict: Verdict,
    reason: str | None,
    origin: str | None,
    seen_hash: str | None,
) -> Call[Answer]:
    """Decide for a person that the caller vouches for."""
    check_words(actor=actor, reason=reason, origin=origin, seen_hash=seen_hash)
    return function(
        "decide", approval_id, actor, verdict, reason, origin, seen_hash,
        read=_read_answer, types=("uuid", "text", "text", "text", "text", "text"),
    )  # fmt: skip


def approve_together(
    seen: Sequence[tuple[UUID, str]], actor: str, reason: str | None, origin: str | None
) -> Call[list[Told]]:
    """Approve several for a person, each bound to what was seen of it; those whose gates do not allow it are refused."""
    ids, hashes = [approval_id for approval_id, _ in seen], [version for _, version in seen]
    check_words(actor=actor, reason=reason, origin=origin, seen_hash="".join(hashes))

    def read(rows: list[Row]) -> list[Told]:
        answers = {approval_id: told_of(approval_id, Answer(*answer), actor) for approval_id, *answer in rows}
        return [answers[approval_id] for approval_id in dict.fromkeys(ids)]

    return function(
        "approve_together", ids, hashes, actor, reason, origin,
        read=read, types=("uuid[]", "text[]", "text", "text", "text"),
    )  # fmt: skip


def decide_by_token(
    approval_id: UUID,
    token: str,
    verdict: Verdict,
    reason: str | None,
    origin: str | None,
    seen_hash: str | None,
) -> Call[Answer]:
    """Decide for whoever holds an approver's newest token."""
    check_words(reason=reason, origin=origin, seen_hash=seen_hash)
    return function(
        "decide_by_token", approval_id, token_hash(token), verdict, reason, origin, seen_hash,
        read=_read_answer, types=("uuid", "bytea", "text", "text", "text", "text"),
    )  # fmt: skip


def look_by_token(approval_id: UUID, token: str) -> Call[Seen | None]:
    """Show what is asked to whoever holds an approver's newest token; None is everybody else."""
    return function("look_by_token", approval_id, token_hash(token), read=_read_seen, types=("uuid", "bytea"))


def _read_seen(rows: list[Row]) -> Seen | None:
    return Seen(*rows[0])._replace(facts=json.loads(rows[0][4])) if rows else None


def _read_answer(rows: list[Row]) -> Answer:
    return Answer(*rows[0])


def mint_token(approval_id: UUID, approver: str, token: str) -> Call[Invitation]:
    """Make a token the approver's only one."""
    check_words(approver=approver)

    def read(rows: list[Row]) -> Invitation:
        names = (
            "job_id",
            "name",
            "question",
            "facts",
            "approver",
            "quorum",
            "expires_at",
            "on_expiry",
            "bound_hash",
        )
        told = dict(zip(names, rows[0], strict=True))
        return Invitation(
            **{**told, "facts": json.loads(told["facts"])}, approval_id=approval_id, token=token
        )

    return function(
        "mint_token", approval_id, approver, token_hash(token), read=read, types=("uuid", "text", "bytea")
    )


def find_approval(approval_id: UUID, tenant: str | None = None) -> Call[Approval | None]:
    """Look one approval up; with a tenant only if it is that tenant's."""
    return _select(
        lambda rows: _read(rows)[0] if rows else None,
        first=approval_id,
        last=approval_id,
        tenant=tenant,
        limit=1,
    )


def list_approvals(
    scope: Scope,
    *,
    approver: str | None = None,
    tenant: str | None = None,
    before_id: UUID | None = None,
    limit: int = 50,
) -> Call[list[Approval]]:
    """List approvals, newest first; the next page begins before the last id of this one."""
    last = _LAST if before_id is None else UUID(int=max(before_id.int - 1, 0))
    return _select(_read, scope=scope, approver=approver, tenant=tenant, last=last, limit=limit)


def count_waiting(who: str, tenant: str | None, cap: int) -> Call[int]:
    """Count the open approvals that somebody may decide and has said nothing about, up to a cap."""
    check_words(who=who)
    return query("approvals_waiting", single, who=who, tenant=tenant, cap=cap)


def approvals_of(job_id: UUID) -> Call[list[Approval]]:
    """List a job's approvals, newest first."""
    return _select(_read, scope="job", job_id=job_id, limit=1000)


def approvals_between(first: UUID, last: UUID, limit: int) -> Call[list[Approval]]:
    """List approvals whose ids lie in a range."""
    return _select(_read, first=first, last=last, limit=limit)


def _select(
    read: Callable[[list[Row]], T],
    *,
    limit: int,
    scope: Scope | Literal["job"] = "all",
    first: UUID = _FIRST,
    last: UUID = _LAST,
    approver: str | None = None,
    tenant: str | None = None,
    job_id: UUID | None = None,
) -> Call[T]:
    return query(
        "approvals", read, scope=scope, first=first, last=last, approver=approver, tenant=tenant, job_id=job_id,
        limit=limit,
    )  # fmt: skip


def _read(rows: list[Row]) -> list[Approval]:
    return [_read_one(list(row)) for row in rows]


def _read_one(values: list[Any]) -> Approval:
    *values, told = values
    values[-2] = tuple(Voice.read(each) for each in values[-2])
    asked = Approval(*values)
    return asked if told is None else _without_hidden(asked, hidden_in(told))


def _without_hidden(asked: Approval, hidden: Hidden) -> Approval:
    question, reason = hidden.text(asked.question), hidden.text(asked.reason)
    voices = tuple(replace(voice, reason=hidden.text(voice.reason)) for voice in asked.voices)
    return replace(asked, question=question, facts=hidden.value(asked.facts), reason=reason, voices=voices)
