"""Approval gates: a task asks people, lets go of its worker, and goes on after the gate once they have approved."""

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from holdfast.domain.approval import Decision, Gate, OnExpiry, approver_names
from holdfast.domain.payload import encode_result
from holdfast.domain.redaction import Hidden
from holdfast.domain.states import Status
from holdfast.domain.step import Place
from holdfast.domain.task import seconds
from holdfast.runtime import failpoints
from holdfast.runtime.durable import Durable
from holdfast.runtime.plans import Plan
from holdfast.runtime.waiting import put_aside
from holdfast.store import approval as store


def gate(
    hidden: Hidden,
    question: str,
    facts: Mapping[str, Any] | None,
    approvers: Iterable[str],
    quorum: int,
    expires_in: timedelta | float | None,
    on_expiry: OnExpiry,
    self_approval: bool,
    bulk: bool,
) -> Gate:
    """Put together what is asked; facts are written as a payload is, so dates and amounts may stand in them.

    What the task redacts is hidden before it is kept: people are asked without it, and so is the feed of what they see.
    """
    told = hidden.value(json.loads(encode_result(dict(facts or {}))))
    names = approver_names(approvers)
    return Gate(
        hidden.text(question), told, names, quorum, seconds(expires_in), on_expiry, self_approval, bulk
    )


def approval(durable: Durable, place: Place, asked: Gate) -> Plan[Decision]:
    """Ask, or give back the decision."""
    saved = yield from durable.recall(place)
    if saved is not None and durable.replayed is not None:
        return Decision.read(json.loads(saved.value or "{}"))
    # Also when it is saved: a decision is about what was asked, and only the database can tell whether that is still the same.
    yield from durable.alone()
    told = yield store.ask(durable.job, place, asked, durable.logs())
    if told.decision is None:
        raise put_aside(durable, Status.WAITING_FOR_APPROVAL)
    failpoints.reach("step_saved")
    return Decision.read(json.loads(told.decision))
