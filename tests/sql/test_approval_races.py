"""Two who decide at once, or one and the clock, or one and a cancel: a thousand times each, and exactly one is first."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier, Event
from typing import TypeAlias
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.store.ids import new_id
from holdfast.testing import ScratchDatabase
from sql.asking import GATE, ask, decide, mint, try_token
from sql.support import Machine, Row, machine_on

ROUNDS = 1000
# One side of a race: acts on a job's approval and says whether it was first.
Side: TypeAlias = Callable[[Machine, UUID, UUID], bool]


@pytest.fixture
def pair(holdfast_db: ScratchDatabase, lasting: Machine) -> Iterator[list[Machine]]:
    with ExitStack() as stack:
        yield [stack.enter_context(machine_on(holdfast_db.url)) for _ in range(2)]


def many_claimed(machine: Machine, count: int) -> list[Row]:
    machine.enqueue_many([{"id": str(new_id()), "task": "t", "payload": {}} for _ in range(count)])
    return machine.claim(machine.worker(), count)


def many_asked(machine: Machine, count: int, **gate: object) -> list[tuple[UUID, UUID]]:
    """Bring many jobs to their gates; answers jobs and approvals."""
    claimed = many_claimed(machine, count)
    asked = machine.rows(
        "select c.id as job_id, a.approval_id from unnest(%s::uuid[]) as c (id),"
        " lateral holdfast.ask(c.id, 1, %s, 'refund', null, %s, null) as a",
        [row["id"] for row in claimed], claimed[0]["claim_id"], Jsonb({**GATE, **gate}),
    )  # fmt: skip
    return [(row["job_id"], row["approval_id"]) for row in asked]


def race(pair: list[Machine], sides: list[Side], gates: list[tuple[UUID, UUID]]) -> Counter[tuple[bool, ...]]:
    """Let both sides act on each job at the same moment; counts who was first."""
    start = Barrier(len(sides))

    def run(machine: Machine, side: Side) -> list[bool]:
        won = []
        try:
            for job_id, approval_id in gates:
                start.wait(timeout=30)
                won.append(side(machine, job_id, approval_id))
        except BaseException:
            start.abort()  # the other side is not left waiting
            raise
        return won

    with ThreadPoolExecutor(len(sides)) as threads:
        running = [threads.submit(run, machine, side) for machine, side in zip(pair, sides, strict=True)]
        answers = [each.result() for each in running]
    return Counter(zip(*answers, strict=True))


def approves(machine: Machine, _job: UUID, approval_id: UUID) -> bool:
    return bool(decide(machine, approval_id, "ann")["result"] == "decided")


def denies(machine: Machine, _job: UUID, approval_id: UUID) -> bool:
    return bool(decide(machine, approval_id, "ben", "deny", "no")["result"] == "decided")


def cancels(machine: Machine, job_id: UUID, _approval: UUID) -> bool:
    try:
        machine.value("select holdfast.cancel(%s, 'cho')", job_id)
    except psycopg.Error as error:
        if error.sqlstate != "HF001":
            raise
        return False
    return True


def ends(machine: Machine, gates: list[tuple[UUID, UUID]]) -> Counter[tuple[str, str, int]]:
    """Count how each approval, its job and its history ended."""
    rows = machine.rows(
        "select a.decision, j.status::text, (select count(*) from holdfast.approval_decision d where d.approval_id = a.id) as voices"
        "  from holdfast.approval a join holdfast.job j on j.id = a.job_id where a.id = any(%s)",
        [approval_id for _, approval_id in gates],
    )
    return Counter((row["decision"], row["status"], row["voices"]) for row in rows)


def test_of_an_approval_and_a_denial_at_once_exactly_one_counts(
    pair: list[Machine], lasting: Machine
) -> None:
    gates = many_asked(lasting, ROUNDS)

    firsts = race(pair, [approves, denies], gates)

    assert set(firsts) <= {(True, False), (False, True)}
    assert ends(lasting, gates) == {
        ("approved", "WAITING_FOR_APPROVAL", 1): firsts[True, False],
        ("denied", "FAILED", 1): firsts[False, True],
    }


def test_of_two_tokens_at_once_exactly_one_counts_and_the_other_is_told(
    pair: list[Machine], lasting: Machine
) -> None:
    gates = many_asked(lasting, ROUNDS // 4)
    secrets = {(gate, who): mint(lasting, gate, who) for _, gate in gates for who in ("ann", "ben")}
    told: list[tuple[str, str]] = []

    def by_token(who: str) -> Side:
        def side(machine: Machine, _job: UUID, approval_id: UUID) -> bool:
            answer = try_token(machine, approval_id, secrets[approval_id, who])
            told.append((answer["result"], "me" if answer["decided_by"] == who else "the other"))
            return bool(answer["result"] == "decided")

        return side

    firsts = race(pair, [by_token("ann"), by_token("ben")], gates)

    assert set(firsts) <= {(True, False), (False, True)}
    assert set(told) == {("decided", "me"), ("already", "the other")}


def test_the_quorum_is_reached_by_one_of_two_approvals_at_once(pair: list[Machine], lasting: Machine) -> None:
    gates = many_asked(lasting, ROUNDS // 4, quorum=2)

    def also_approves(machine: Machine, _job: UUID, approval_id: UUID) -> bool:
        return bool(decide(machine, approval_id, "ben")["result"] == "decided")

    firsts = race(pair, [approves, also_approves], gates)

    assert set(firsts) <= {(True, False), (False, True)}
    assert ends(lasting, gates) == {("approved", "WAITING_FOR_APPROVAL", 2): len(gates)}


def test_of_a_decision_and_the_clock_exactly_one_counts(pair: list[Machine], lasting: Machine) -> None:
    # Each deadline is milliseconds away: a decision comes a little before it or a little after, and a sweep meanwhile.
    claimed = many_claimed(lasting, ROUNDS)
    done = Event()

    def sweep_all_along() -> int:
        swept = 0
        while not done.is_set():
            swept += pair[1].sweep()["expired"]
        return swept

    with ThreadPoolExecutor(1) as threads:
        sweeping = threads.submit(sweep_all_along)
        try:
            answers = [
                decide(
                    pair[0], ask(pair[0], row, expires_in=0.001 * (nth % 8) + 0.0001)["approval_id"], "ann"
                )
                for nth, row in enumerate(claimed)
            ]
        finally:
            done.set()
        swept = sweeping.result()

    told = Counter((answer["result"], answer["decision"], answer["decided_by"]) for answer in answers)
    assert set(told) == {("decided", "approved", "ann"), ("already", "expired", "system")}
    assert 0 < swept <= told["already", "expired", "system"]
    found = lasting.rows(
        "select a.decision, j.status::text, count(*) as jobs, max(j.seq) as moves"
        "  from holdfast.approval a join holdfast.job j on j.id = a.job_id group by 1, 2 order by 1"
    )
    assert [tuple(row.values()) for row in found] == [
        ("approved", "WAITING_FOR_APPROVAL", told["decided", "approved", "ann"], 3),
        ("expired", "FAILED", told["already", "expired", "system"], 4),
    ]


def test_of_a_denial_and_a_cancel_exactly_one_counts(pair: list[Machine], lasting: Machine) -> None:
    gates = many_asked(lasting, ROUNDS)

    firsts = race(pair, [denies, cancels], gates)

    assert set(firsts) <= {(True, False), (False, True)}
    assert ends(lasting, gates) == {
        ("denied", "FAILED", 1): firsts[True, False],
        ("cancelled", "CANCELLED", 0): firsts[False, True],
    }


def test_an_approval_after_a_cancel_never_counts(pair: list[Machine], lasting: Machine) -> None:
    gates = many_asked(lasting, ROUNDS // 4)

    firsts = race(pair, [approves, cancels], gates)

    # An approved job can still be cancelled, but a cancelled one is not approved any more.
    found = ends(lasting, gates)
    assert {cancelled for _, cancelled in firsts} == {True}
    assert found == {
        ("approved", "CANCELLED", 1): firsts[True, True],
        ("cancelled", "CANCELLED", 0): firsts[False, True],
    }
    assert lasting.claim(lasting.worker(), ROUNDS) == []


def test_an_approval_and_a_claim_at_once_lose_nothing(pair: list[Machine], lasting: Machine) -> None:
    gates = many_asked(lasting, ROUNDS // 4)
    worker = lasting.worker()
    taken: set[UUID] = set()

    def claims(machine: Machine, _job: UUID, _approval: UUID) -> bool:
        taken.update(row["id"] for row in machine.claim(worker, 5))
        return True

    race(pair, [approves, claims], gates)
    taken.update(row["id"] for row in lasting.claim(worker, ROUNDS))

    assert taken == {job_id for job_id, _ in gates}
    assert {lasting.status(job_id) for job_id, _ in gates} == {Status.RUNNING}
