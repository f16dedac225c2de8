"""Dispatch: jobs handed over to outside executors, the calls that are due, and what the runs report."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from holdfast.domain.callback import Answer, Callback
from holdfast.domain.executor_health import OverdueCalls
from holdfast.store.call import Call, Row, function, nothing, query, single

Wanted: TypeAlias = Literal["start", "find", "cancel"]


@dataclass(frozen=True, slots=True)
class HandOver:
    """What an attempt hands to an executor, with the attempt's fence."""

    job_id: UUID
    attempt: int
    claim_id: UUID
    executor: str
    inputs: str
    heartbeat_limit: float
    run_limit: float
    retry_in: float
    logs: str | None


class DueCall(NamedTuple):
    """A call to make now: to start a run, to look for one that may exist, or to cancel one."""

    id: UUID
    wanted: Wanted
    number: int
    job_id: UUID
    attempt: int
    claim_id: UUID
    executor: str
    inputs: str
    planned_at: datetime
    run_ref: str | None
    run_id: str | None


def hand_over(given: HandOver) -> Call[UUID]:
    """Write down that an executor is to have the job; answers the dispatch, also to a repeat."""
    return function(
        "hand_over", given.job_id, given.attempt, given.claim_id, given.executor, given.inputs,
        given.heartbeat_limit, given.run_limit, given.retry_in, given.logs,
        read=single, types=("", "", "", "text", "jsonb", "float8", "float8", "float8", "jsonb"),
    )  # fmt: skip


def take_dispatches(
    worker_id: UUID, executors: Sequence[str], limit: int, lease: float
) -> Call[list[DueCall]]:
    """Take the calls that are due; nobody else makes them within the lease."""
    return function(
        "take_dispatches", worker_id, list(executors), limit, lease,
        read=lambda rows: [DueCall(*row) for row in rows], types=("", "text[]", "int", "float8"),
    )  # fmt: skip


def dispatch_sent(dispatch_id: UUID, run_ref: str | None, run_url: str | None) -> Call[None]:
    """Record that the executor has it."""
    return function("dispatch_sent", dispatch_id, run_ref, run_url, read=nothing, types=("", "text", "text"))


def dispatch_failed(
    call: DueCall, error: dict[str, Any], *, permanent: bool, doubtful: bool, delay: float, most_tries: int
) -> Call[str]:
    """Record that a call failed; answers planned, failed or superseded."""
    return function(
        "dispatch_failed", call.id, call.number, json.dumps(error), permanent, doubtful, delay, most_tries,
        read=single, types=("", "int", "jsonb", "", "", "float8", "int"),
    )  # fmt: skip


def dispatch_cancelled(
    dispatch_id: UUID, *, has_ended: bool, error: dict[str, Any] | None, again_in: float | None
) -> Call[None]:
    """Record what came of asking the executor to cancel a run."""
    return function(
        "dispatch_cancelled", dispatch_id, has_ended, None if error is None else json.dumps(error), again_in,
        read=nothing, types=("", "", "jsonb", "float8"),
    )  # fmt: skip


def callback(executor: str, given: Callback) -> Call[Answer]:
    """Hand in what a run says; its signature has been checked."""
    return function(
        "callback", given.token.job_id, given.token.attempt, given.token.claim_id, executor,
        given.action, given.nonce, given.body_hash, json.dumps(given.data),
        read=_read_answer, types=("", "int", "", "text", "text", "text", "bytea", "jsonb"),
    )  # fmt: skip


def _read_answer(rows: list[Row]) -> Answer:
    return Answer(rows[0][0])


def check_run(job_id: UUID) -> Call[bool]:
    """End the run of a job that has passed one of its limits; answers whether it did."""
    return function("check_run", job_id, read=single)


def overdue_calls() -> Call[list[OverdueCalls]]:
    """Look for calls that no worker makes."""
    return query("overdue_calls", lambda rows: [OverdueCalls(*row) for row in rows])
