"""What the tests of dispatch and callbacks say often: a job in an executor's hands, and what its run reports."""

import hashlib
from typing import Any
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from sql.support import Machine, Row


def handed_over(
    machine: Machine, *, heartbeat: float = 600, run: float = 900, retry_in: float = 0, **options: Any
) -> Row:
    """Bring a job into the hands of the executor `ci`; nobody has called it yet."""
    job_id = machine.enqueue(**options)
    worker = machine.worker()
    claimed = next(row for row in machine.claim(worker, 100) if row["id"] == job_id)
    dispatch_id = machine.value(
        "select holdfast.hand_over(%s, %s, %s, 'ci', '{\"region\": \"fsn1\"}', %s, %s, %s, null)",
        job_id, claimed["attempt"], claimed["claim_id"], heartbeat, run, retry_in,
    )  # fmt: skip
    return {**claimed, "worker": worker, "dispatch": dispatch_id}


def sent(machine: Machine, **options: Any) -> Row:
    """Bring a job into the hands of the executor `ci`, which has been called."""
    job = handed_over(machine, **options)
    take(machine)
    machine.value("select holdfast.dispatch_sent(%s, null, null)", job["dispatch"])
    return job


def take(machine: Machine, limit: int = 10, lease: float = 90) -> list[Row]:
    return machine.rows("select * from holdfast.take_dispatches(%s, '{ci}', %s, %s)", uuid4(), limit, lease)


def callback(
    machine: Machine,
    job: Row,
    action: str,
    *,
    nonce: str | None = "",
    executor: str = "ci",
    **data: Any,
) -> str:
    given = uuid4().hex if nonce == "" else nonce
    body = hashlib.sha256(repr((action, sorted(data.items()))).encode()).digest()
    answer: str = machine.value(
        "select holdfast.callback(%s, %s, %s, %s, %s, %s, %s, %s)",
        job["id"], job["attempt"], job["claim_id"], executor, action, given, body, Jsonb(data),
    )  # fmt: skip
    return answer


def dispatch(machine: Machine, job: Row | UUID) -> Row:
    dispatch_id = job if isinstance(job, UUID) else job["dispatch"]
    return machine.one("select * from holdfast.dispatch where id = %s", dispatch_id)


def notes(machine: Machine, job: Row) -> list[str]:
    rows = machine.rows("select kind from holdfast.activity where job_id = %s order by id", job["id"])
    return [row["kind"] for row in rows]


def failed_call(
    machine: Machine,
    job: Row,
    number: int,
    *,
    permanent: bool = False,
    doubtful: bool = False,
    delay: float = 1,
    most: int = 8,
) -> str:
    became: str = machine.value(
        "select holdfast.dispatch_failed(%s, %s, %s, %s, %s, %s, %s)",
        job["dispatch"], number, Jsonb({"type": "DispatchFailed", "kind": "dispatch", "message": "no"}), permanent, doubtful, delay, most,
    )  # fmt: skip
    return became
