"""The operations whose every order is tried: each as one call in a transaction of its own, and what it is told."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.types.json import Jsonb

from interleaving.scenes import OTHER_QUEUE, TASKS, Facts
from sql.support import Machine

Does = Callable[[Machine, Facts], object]


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that somebody does to the job of a scene."""

    name: str
    does: Does
    # What it may be refused with; anything else is a fault.
    refusals: frozenset[str] = frozenset()
    # It passes over what somebody has locked, and comes again: what it did only counts once it has been back.
    comes_again: bool = False
    # What it is never told when it is done by an attempt that has lost the job.
    counted: str | None = None
    needs_attempt: bool = False
    needs_approval: bool = False
    needs_child: bool = False

    def fits(self, facts: Facts) -> bool:
        """Whether there is anything in the scene that it could be done to."""
        return (
            (facts.claimed is not None or not self.needs_attempt)
            and (facts.approval_id is not None or not self.needs_approval)
            and (facts.made is not None or not self.needs_child)
        )

    def on(self, facts: Facts) -> Callable[[psycopg.Connection[Any]], str]:
        """Give it what it needs."""
        return lambda connection: str(self.does(Machine(connection), facts))


def _claim(machine: Machine, facts: Facts) -> object:
    return len(machine.claim(facts.other, tasks=TASKS))


def _claim_suspect(machine: Machine, facts: Facts) -> object:
    return len(machine.claim_suspect(facts.other, tasks=TASKS))


def _beat(machine: Machine, facts: Facts) -> object:
    mine = facts.claimed or {}
    return machine.one(
        "select alive, cardinality(lost) as lost from holdfast.beat(%s, %s, %s)",
        mine["worker"], [mine["id"]], [mine["claim_id"]],
    )  # fmt: skip


def _step(machine: Machine, facts: Facts) -> object:
    undoable = False
    return machine.ask("save_step", facts.claimed or {}, "s", "step", "", "1", undoable, 1, 0.1)


def _finish(machine: Machine, facts: Facts) -> object:
    mine = facts.claimed or {}
    return [row["status"] for row in machine.complete(mine["worker"], mine, result="1")]


def _settle(outcome: str) -> Does:
    def settle(machine: Machine, facts: Facts) -> object:
        mine = facts.claimed or {}
        told = machine.settle(mine["worker"], mine, outcome=outcome, error={"type": "Boom"})
        return [(row["status"], row["recorded"]) for row in told]

    return settle


def _decide(who: str, decision: str) -> Does:
    def decide(machine: Machine, facts: Facts) -> object:
        call = "select result from holdfast.decide(%s, %s, %s, 'because')"
        return machine.value(call, facts.approval_id, who, decision)

    return decide


def _callback(machine: Machine, facts: Facts) -> object:
    mine = facts.claimed or {}
    return machine.value(
        "select holdfast.callback(%s, %s, %s, 'ci', 'completed', %s, '\\x00', %s)",
        mine["id"], mine["attempt"], mine["claim_id"], uuid4().hex, Jsonb({"result": 1}),
    )  # fmt: skip


def _cancel(machine: Machine, facts: Facts) -> object:
    return machine.value("select holdfast.cancel(%s)", facts.job_id)


def _retry(machine: Machine, facts: Facts) -> object:
    return machine.value("select holdfast.retry(%s) is not null", facts.job_id)


def _sweep(machine: Machine, _facts: Facts) -> object:
    return machine.sweep()


def _retention(machine: Machine, _facts: Facts) -> object:
    return machine.value("select holdfast.apply_retention(10)")


def _reprioritise(machine: Machine, facts: Facts) -> object:
    return machine.value("select holdfast.reprioritise(%s, 7)::text", facts.job_id)


def _move(machine: Machine, facts: Facts) -> object:
    return machine.value("select holdfast.move_to_queue(%s, %s)::text", facts.job_id, OTHER_QUEUE)


def _delete(machine: Machine, facts: Facts) -> object:
    return machine.value("select holdfast.delete_job(%s)::text", facts.job_id)


def _wait(machine: Machine, facts: Facts) -> object:
    return machine.ask("wait_for_jobs", facts.claimed or {}, "w", "", [facts.made], None, None)


_NOT_MINE, _GONE = "HF011", "HF009"

OPERATIONS = (
    Operation("claim", _claim, comes_again=True),
    Operation("suspect", _claim_suspect, comes_again=True),
    Operation("heartbeat", _beat, counted="'lost': 0", needs_attempt=True),
    Operation("step", _step, frozenset({_NOT_MINE}), counted="save_step", needs_attempt=True),
    Operation("finish", _finish, counted="[]", needs_attempt=True),
    Operation("fail", _settle("failed"), counted="True", needs_attempt=True),
    # A repeat of what it has done before is a success: only the end of the newer attempt would not be.
    Operation("release", _settle("released"), needs_attempt=True),
    Operation("cancel", _cancel, frozenset({"HF001", _GONE})),
    Operation("sweep", _sweep, comes_again=True),
    Operation("approve", _decide("ann", "approve"), needs_approval=True),
    Operation("deny", _decide("ben", "deny"), needs_approval=True),
    Operation("callback", _callback, counted="ok", needs_attempt=True),
    Operation("retry", _retry, frozenset({"HF008", _GONE})),
    Operation("retention", _retention, comes_again=True),
    Operation("reprioritise", _reprioritise, frozenset({"HF001", _GONE})),
    Operation("move", _move, frozenset({"HF001", _GONE})),
    Operation("delete", _delete, frozenset({"HF001", _GONE})),
    Operation("wait", _wait, frozenset({_NOT_MINE, _GONE}), needs_attempt=True, needs_child=True),
)
