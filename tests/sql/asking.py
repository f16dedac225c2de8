"""What the tests of approvals say often: a job that asks, a person that decides, a token that is tried."""

import hashlib
import secrets
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from sql.support import Machine, Row

GATE: dict[str, Any] = {"question": "Refund 900 €?", "facts": {"amount": 900}, "approvers": ["ann", "ben"]}


class Asked(NamedTuple):
    """A job that waits, its approval, and the attempt that asked."""

    job_id: UUID
    approval_id: UUID
    claimed: Row


def ask(machine: Machine, claimed: Row, name: str = "refund", **gate: Any) -> Row:
    """Ask as the runtime does; the decision is null when the attempt has to end."""
    return machine.one(
        "select * from holdfast.ask(%s, %s, %s, %s, null, %s, null)",
        claimed["id"], claimed["attempt"], claimed["claim_id"], name, Jsonb({**GATE, **gate}),
    )  # fmt: skip


def asked(machine: Machine, *, enqueued: dict[str, Any] | None = None, **gate: Any) -> Asked:
    """Bring a job as far as its gate."""
    worker, job_id = machine.worker(), machine.enqueue(**(enqueued or {}))
    (claimed,) = [row for row in machine.claim(worker, 100) if row["id"] == job_id]
    return Asked(job_id, ask(machine, claimed, **gate)["approval_id"], claimed)


def decide(
    machine: Machine,
    approval_id: UUID,
    who: str | None,
    decision: str | None = "approve",
    reason: str | None = None,
    origin: str | None = None,
    seen: str | None = None,
) -> Row:
    return machine.one(
        "select * from holdfast.decide(%s, %s, %s, %s, %s, %s)",
        approval_id, who, decision, reason, origin, seen,
    )  # fmt: skip


def mint(machine: Machine, approval_id: UUID, who: str) -> bytes:
    """Give an approver a token, as a delivery does; answers the secret."""
    secret = secrets.token_bytes(32)
    machine.one("select * from holdfast.mint_token(%s, %s, %s)", approval_id, who, digest(secret))
    return secret


def digest(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


def try_token(
    machine: Machine, approval_id: UUID, secret: bytes, decision: str = "approve", reason: str | None = None
) -> Row:
    return machine.one(
        "select * from holdfast.decide_by_token(%s, %s, %s, %s, 'mail')",
        approval_id, digest(secret), decision, reason,
    )  # fmt: skip


def approval(machine: Machine, approval_id: UUID) -> Row:
    return machine.one("select * from holdfast.approval where id = %s", approval_id)


def votes(machine: Machine, approval_id: UUID) -> list[Row]:
    return machine.rows(
        "select * from holdfast.approval_decision where approval_id = %s order by at", approval_id
    )
