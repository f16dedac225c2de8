"""Approvals as values: what a task asks, how it stands, and what came of it. Nothing here decides anything."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from holdfast.domain.errors import ApprovalClosed, ApprovalNotFound, ApprovalRefused, BadInput
from holdfast.domain.json_rules import Fault, check_text

OnExpiry: TypeAlias = Literal["fail", "deny", "approve"]
Verdict: TypeAlias = Literal["approve", "deny"]
Result: TypeAlias = Literal["decided", "counted", "already", "refused", "unknown"]

TOKEN_PREFIX = "hfa_"  # noqa: S105 - for secret scanners; every kind of secret has its own


@dataclass(frozen=True, slots=True)
class Gate:
    """What a task asks of people before it goes on."""

    question: str
    facts: Mapping[str, Any]
    approvers: tuple[str, ...]
    quorum: int
    expires_in: float | None
    on_expiry: OnExpiry
    self_approval: bool
    bulk: bool = False

    def as_json(self) -> dict[str, Any]:
        """Write it as holdfast.ask reads it."""
        return asdict(self)


def approver_names(approvers: Iterable[str]) -> tuple[str, ...]:
    """Read `approvers=`; one name is no list of letters."""
    if isinstance(approvers, str):
        raise BadInput(f"approvers={approvers!r} is one name: give a list, [{approvers!r}]")
    return tuple(approvers)


@dataclass(frozen=True, slots=True)
class Decision:
    """Why a task may go on: who approved, when, from where and why. A denied or expired approval ends the job instead."""

    approval_id: UUID
    decided_by: str
    decided_at: datetime
    origin: str | None
    reason: str | None
    approved_by: tuple[str, ...]

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> "Decision":
        """Read it as the database keeps it."""
        return cls(
            UUID(told["approval_id"]),
            told["decided_by"],
            datetime.fromisoformat(told["decided_at"]),
            told["origin"],
            told["reason"],
            tuple(told["approved_by"]),
        )


@dataclass(frozen=True, slots=True)
class Voice:
    """What one person, or the clock, said."""

    who: str
    decision: Verdict
    reason: str | None
    origin: str | None
    how: str
    at: datetime

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> "Voice":
        """Read it as the database writes it."""
        return cls(**{**told, "at": datetime.fromisoformat(told["at"])})


@dataclass(frozen=True, slots=True)
class Approval:
    """One row of holdfast.approval, with its job's task and everything that was said so far."""

    id: UUID
    job_id: UUID
    task: str
    name: str
    question: str
    facts: dict[str, Any]
    approvers: list[str]
    quorum: int
    requester: str | None
    self_approval: bool
    bulk: bool
    bound_hash: str
    asked_at: datetime
    expires_at: datetime | None
    on_expiry: OnExpiry
    decided_at: datetime | None
    decision: str | None
    decided_by: str | None
    decided_from: str | None
    reason: str | None
    voices: tuple[Voice, ...]
    now: datetime

    @property
    def approvals(self) -> int:
        """How many have approved; one person counts once."""
        return len({voice.who.strip().lower() for voice in self.voices if voice.decision == "approve"})

    @property
    def of_whom(self) -> str:
        """Who may decide, in words."""
        return asked_of(self.approvers, self.quorum, self.approvals)


def asked_of(approvers: Iterable[str], quorum: int, approvals: int) -> str:
    """Say who may decide, and how many it takes."""
    named = " or ".join(approvers) or "anybody authorised"
    return named if quorum == 1 else f"{quorum} of {named} ({approvals} so far)"


EXPIRED: dict[OnExpiry, str] = {
    "fail": "then the job fails",
    "deny": "then it is denied",
    "approve": "then it is approved",
}


class Answer(NamedTuple):
    """What came of an attempt to decide. Without a right token every answer is the same `unknown`, and says nothing else."""

    result: Result
    job_id: UUID | None
    decision: str | None
    decided_by: str | None
    decided_at: datetime | None
    reason: str | None
    approvals: int | None
    quorum: int | None
    problem: str | None


def accepted(approval_id: UUID, answer: Answer, actor: str, verdict: Verdict) -> Answer:
    """Give back an answer that took the decision, or raise what stood against it."""
    match answer.result:
        case "decided" | "counted":
            return answer
        case "refused":
            raise ApprovalRefused(f"approval {approval_id} was not decided: {answer.problem}")
        case "unknown":
            raise ApprovalNotFound(f"no approval has the id {approval_id}")
        case "already":
            # The same word of the same person again: the answer to the first may have been lost.
            wanted = "approved" if verdict == "approve" else "denied"
            if (answer.decision, answer.decided_by) == (wanted, actor.strip()):
                return answer
            raise ApprovalClosed(approval_id, str(answer.decision), str(answer.decided_by), answer.decided_at)


class Told(NamedTuple):
    """What came of one of several approvals that were given together."""

    approval_id: UUID
    counts: bool  # whether the voice was taken
    says: str
    answer: Answer


def told_of(approval_id: UUID, answer: Answer, actor: str) -> Told:
    """Say what came of an approval that was given together with others."""
    match answer.result:
        case "decided":
            return Told(approval_id, counts=True, says="approved; its job goes on", answer=answer)
        case "counted":
            says = f"counted: {answer.approvals} of {answer.quorum} approvals so far"
            return Told(approval_id, counts=True, says=says, answer=answer)
        case "refused":
            return Told(approval_id, counts=False, says=str(answer.problem), answer=answer)
        case "unknown":
            return Told(approval_id, counts=False, says="it is not there any more", answer=answer)
        case "already":
            is_own = (answer.decision, answer.decided_by) == ("approved", actor.strip())
            says = f"already {answer.decision} by {'you' if is_own else answer.decided_by}"
            return Told(approval_id, counts=is_own, says=says, answer=answer)


@dataclass(frozen=True, slots=True)
class Invitation:
    """What a delivery brings to one approver. Its token is shown here once, and kept nowhere: not in a log, not in a job."""

    approval_id: UUID
    job_id: UUID
    name: str
    question: str
    facts: dict[str, Any]
    approver: str
    quorum: int
    expires_at: datetime | None
    on_expiry: OnExpiry
    bound_hash: str
    token: str

    def __repr__(self) -> str:
        return f"Invitation(approval_id={self.approval_id}, approver={self.approver!r})"


class Seen(NamedTuple):
    """What an approver who has a right token gets to see."""

    approver: str
    tenant: str | None
    task: str
    question: str
    facts: dict[str, Any]
    requester: str | None
    quorum: int
    approvals: int
    expires_at: datetime | None
    on_expiry: OnExpiry
    bound_hash: str
    decision: str | None
    decided_by: str | None
    decided_at: datetime | None
    reason: str | None


def check_words(**words: str | None) -> None:
    """Refuse what PostgreSQL cannot store as text, before anything is asked of it."""
    for name, text in words.items():
        try:
            check_text(text or "")
        except Fault as fault:
            raise fault.refusal(name) from None


def token_hash(token: str) -> bytes:
    """Return what the database knows of a token; 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
