"""The fence: whatever an attempt writes, it writes only while it has the job, and nothing of it is left otherwise."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.asking import GATE
from sql.support import Machine, Row, machine_on, until_somebody_waits

CHILD = Jsonb([{"task": "t", "payload": {}}])
# Every call by which an attempt writes, with what follows its fence.
WRITES: dict[str, tuple[object, ...]] = {
    "save_step": ("s", "step", "", Jsonb(1), False, 1, 0.1),
    "save_checkpoint": (Jsonb(1),),
    "report_progress": (1.0, 2.0, "half"),
    "complete_here": (Jsonb(1), None),
    "sleep_until": ("s", "", 60.0, None, None),
    "wait_for_event": ("e", "", "event", 60.0, None),
    "enqueue_children": ("c", "", CHILD, None),
    "ask": ("refund", None, Jsonb(GATE), None),
    "hand_over": ("ci", Jsonb({}), 600.0, 900.0, 0.0, None),
}
_EVERYTHING = """
select (select array_agg(j order by j.id) from holdfast.job j)::text as jobs, (select count(*) from holdfast.step) as steps,
       (select count(*) from holdfast.checkpoint) as checkpoints, (select count(*) from holdfast.progress) as progress,
       (select count(*) from holdfast.wait) as waits, (select count(*) from holdfast.approval) as approvals,
       (select count(*) from holdfast.dispatch) as runs, (select count(*) from holdfast.job_history) as moves
"""


def given_away(machine: Machine, claimed: Row) -> Row:
    """Let another attempt have the job; the first one still believes in itself."""
    machine.move(claimed["id"], Status.RETRY, reason="by hand")
    machine.move(claimed["id"], Status.RUNNING)
    return claimed


def to_be_retried(machine: Machine, claimed: Row) -> Row:
    machine.move(claimed["id"], Status.RETRY, reason="by hand")
    return claimed


LOST: dict[str, Callable[[Machine, Row], Row]] = {
    "another attempt runs": given_away,
    "the attempt is another's": lambda m, c: {**given_away(m, c), "claim_id": m.job(c["id"])["claim_id"]},
    "the claim is another's": lambda _m, c: {**c, "claim_id": uuid4()},
    "it was cancelled": lambda m, c: (m.value("select holdfast.cancel(%s)", c["id"]), c)[1],
    "it is to be retried": to_be_retried,
}


@pytest.fixture
def claimed(machine: Machine) -> Row:
    machine.enqueue()
    (row,) = machine.claim(machine.worker())
    return row


@pytest.mark.parametrize("how", LOST)
@pytest.mark.parametrize("write", [*WRITES, "wait_for_jobs"])
def test_an_attempt_that_lost_its_job_writes_nothing(
    machine: Machine, claimed: Row, write: str, how: str
) -> None:
    other = machine.enqueue()
    arguments = WRITES.get(write, ("w", "", [other], 60.0, None))
    fence = LOST[how](machine, claimed)
    before = machine.one(_EVERYTHING)

    with machine.refused("HF011", "no longer owns"):
        machine.ask(write, fence, *arguments)

    assert machine.one(_EVERYTHING) == before


@pytest.mark.parametrize("how", ["another attempt runs", "the claim is another's"])
def test_only_who_completed_a_job_is_told_that_it_did(machine: Machine, claimed: Row, how: str) -> None:
    stranger = {**claimed, "claim_id": uuid4()} if "claim" in how else {**claimed, "attempt": 2}
    machine.ask("complete_here", claimed, Jsonb(1), None)

    told = [machine.ask("is_completed_by", each)["is_completed_by"] for each in (claimed, stranger)]

    assert told == [True, False]


def test_who_has_shown_the_fence_keeps_the_job_until_the_transaction_ends(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.enqueue()
    (claimed,) = lasting.claim(lasting.worker())

    def cancel() -> str:
        with machine_on(holdfast_db.owner_url) as other:
            return str(other.value("select holdfast.cancel(%s)", claimed["id"]))

    with psycopg.connect(holdfast_db.owner_url) as connection, ThreadPoolExecutor(1) as threads:
        Machine(connection).ask("save_step", claimed, *WRITES["save_step"])
        cancelling = threads.submit(cancel)
        until_somebody_waits(holdfast_db)
        assert lasting.status(claimed["id"]) is Status.RUNNING
        connection.commit()

        assert cancelling.result() == "CANCELLED"


def test_who_was_declared_dead_meanwhile_completes_nothing_and_lets_go_at_once(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.enqueue()
    (claimed,) = lasting.claim(lasting.worker())

    with (
        psycopg.connect(holdfast_db.owner_url) as frozen,
        psycopg.connect(holdfast_db.owner_url) as another,
        ThreadPoolExecutor(1) as threads,
    ):
        another.execute("lock table holdfast.attempt in exclusive mode")
        logs = Jsonb([{"message": "on my way"}])
        completing = threads.submit(Machine(frozen).ask, "complete_here", claimed, Jsonb(1), logs)
        until_somebody_waits(holdfast_db)
        lasting.run("update holdfast.worker set died_at = holdfast.clock()")
        another.rollback()

        refusal = completing.exception()
        returned = lasting.value("select returned from holdfast.sweep()")

    assert getattr(refusal, "sqlstate", None) == "HF011"
    assert returned == 1
