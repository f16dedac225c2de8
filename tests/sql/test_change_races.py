"""Changes of jobs while others claim, end and change them: nobody gets two of one, none is lost, and nobody waits for ever."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase, TestServer
from sql.asking import ask as ask_of
from sql.gates import admit, held, limited, slots
from sql.racing import Side, copy_of, prepared, race
from sql.support import Machine, Row, machine_on, meanwhile, until_somebody_waits

MANY = 300
ALL = "select j.id::uuid as job_id, j.seq from holdfast.job j"
CLAIMS = "select string_agg(c.id::text, '') from holdfast.claim((select w.id from holdfast.worker w), gen_random_uuid(), '{queue}', '{{t}}', 1) as c"


@pytest.fixture
def two(lasting: Machine) -> Machine:
    lasting.register("other", queue="slow")
    return lasting


Question = tuple[str, *tuple[object, ...]]  # with its parameters


def one_behind_the_other(
    database: ScratchDatabase, hold: Question, first: Question, second: Question
) -> list[str]:
    """Let two ask while somebody holds what both need, and then let go; what they were told."""
    with meanwhile(database) as (holder, ask):
        Machine(holder).run(*hold)
        asked = []
        for already, question in enumerate((first, second)):
            asked.append(ask(*question))
            until_somebody_waits(database, already + 1)
        holder.commit()
        return [one.result() for one in asked]


def runs(chunk: UUID) -> Question:
    """Run the only chunk of an operation."""
    return ("select done, skipped from holdfast.run_chunk(%s, 1)", chunk)


def test_a_job_that_is_claimed_meanwhile_keeps_its_priority_for_the_next_attempt(
    two: Machine, holdfast_db: ScratchDatabase
) -> None:
    job_id, worker = two.enqueue(), two.worker()
    with meanwhile(holdfast_db) as (claimer, ask):
        claimer.execute("select * from holdfast.claim(%s, %s, 'default', '{t}', 1)", [worker, uuid4()])
        asked = ask("select holdfast.reprioritise(%s, 7)", job_id)
        until_somebody_waits(holdfast_db, 1)
        claimer.commit()

        assert asked.result() == "[('',)]"

    row = two.job(job_id)
    assert (row["status"], row["priority"], row["claim_order"]) == (Status.RUNNING, 7, None)


def test_a_job_that_is_claimed_meanwhile_is_not_moved(two: Machine, holdfast_db: ScratchDatabase) -> None:
    job_id, worker = two.enqueue(), two.worker()
    with meanwhile(holdfast_db) as (claimer, ask):
        claimer.execute("select * from holdfast.claim(%s, %s, 'default', '{t}', 1)", [worker, uuid4()])
        asked = ask("select holdfast.move_to_queue(%s, 'slow')", job_id)
        until_somebody_waits(holdfast_db, 1)
        claimer.commit()

        assert asked.result() == "HF001"

    assert two.job(job_id)["queue"] == "default"


def test_a_claim_passes_over_what_is_being_moved_and_finds_it_in_its_new_line(
    two: Machine, holdfast_db: ScratchDatabase
) -> None:
    job_id, worker = two.enqueue(), two.worker()
    with meanwhile(holdfast_db) as (mover, _ask):
        mover.execute("select holdfast.move_to_queue(%s, 'slow')", [job_id])
        assert two.claim(worker) == two.claim(worker, queue="slow") == []
        mover.commit()

    assert two.claim(worker) == []
    assert [row["id"] for row in two.claim(worker, queue="slow")] == [job_id]


def test_a_job_that_ends_meanwhile_is_left_as_it_is(two: Machine, holdfast_db: ScratchDatabase) -> None:
    job_id = two.enqueue()
    with meanwhile(holdfast_db) as (canceller, ask):
        canceller.execute("select holdfast.cancel(%s)", [job_id])
        asked = [
            ask("select holdfast.reprioritise(%s, 7)", job_id),
            ask("select holdfast.move_to_queue(%s, 'slow')", job_id),
        ]
        until_somebody_waits(holdfast_db, 2)
        canceller.commit()

        assert [one.result() for one in asked] == ["HF001", "HF001"]


def test_a_job_that_is_retried_meanwhile_is_not_deleted(two: Machine, holdfast_db: ScratchDatabase) -> None:
    job_id = two.job_in(Status.FAILED)
    while two.one("select * from holdfast.project()")["more"]:
        pass
    with meanwhile(holdfast_db) as (retrier, ask):
        retrier.execute("select holdfast.retry(%s)", [job_id])
        asked = ask("select holdfast.delete_job(%s)", job_id)
        until_somebody_waits(holdfast_db, 1)
        retrier.commit()

        assert asked.result() == "HF001"

    assert two.count() == 2


def _chunk(machine: Machine, action: str, jobs: list[UUID]) -> UUID:
    made = machine.value("select holdfast.new_id()")
    machine.run(
        "select holdfast.begin_operation(%s, null, %s, null, %s, 'x', 'ana', null, %s, '[{\"name\": \"holdfast.bulk\"}]')",
        made, action, "slow" if action == "move" else None, jobs,
    )  # fmt: skip
    return UUID(str(made))


def test_two_operations_whose_jobs_wait_for_each_others_slots_do_not_deadlock(
    two: Machine, holdfast_db: ScratchDatabase
) -> None:
    two.value("select holdfast.limit_queue('default', 1)")
    holder, common, waiter = two.enqueue(), two.enqueue("other"), two.enqueue()
    admit(two)
    assert slots(two, "queue:default") == {1: holder}
    gives = _chunk(two, "move", [holder, common])  # its slot goes to the waiter, which is locked from then on
    wants = _chunk(two, "cancel", [common, waiter])

    hold = ("select from holdfast.job where id = %s for update", common)
    assert one_behind_the_other(holdfast_db, hold, runs(wants), runs(gives)) == ["[(2, 0)]", "[(1, 1)]"]


def test_two_operations_whose_jobs_hold_what_each_others_waiters_need_do_not_deadlock(
    two: Machine, holdfast_db: ScratchDatabase
) -> None:
    two.register(options={"limits": [{"key": "{first}", "max": 1}, {"key": "{then}", "max": 1}]})
    keys = [("a", "b"), ("c", "x"), ("d", "e"), ("f", "y")]
    gives_a, holds_x, gives_d, holds_y = (
        two.enqueue(payload=dict(zip(("first", "then"), each, strict=True))) for each in keys
    )
    admit(two)
    for freed, wanted in (
        ("a", "y"),
        ("d", "x"),
    ):  # each goes from a key that one operation frees to one that the other holds
        two.enqueue(payload={"first": freed, "then": wanted})
    admit(two)
    one, other = _chunk(two, "cancel", [gives_a, holds_x]), _chunk(two, "cancel", [gives_d, holds_y])

    hold = ("select from holdfast.slot where job_id = any(%s) for key share", [holds_x, holds_y])
    assert one_behind_the_other(holdfast_db, hold, runs(one), runs(other)) == ["[(2, 0)]", "[(2, 0)]"]


def _child(machine: Machine, parent: Row) -> UUID:
    jobs = Jsonb([{"task": "t", "payload": {}}])
    (made,) = machine.ask("enqueue_children", parent, "parts", "", jobs, None)["enqueue_children"]
    return UUID(str(made))


@pytest.mark.parametrize("tie", ["children", "followers"])
def test_two_operations_that_cancel_what_hangs_on_each_others_jobs_do_not_deadlock(
    two: Machine, holdfast_db: ScratchDatabase, tie: str
) -> None:
    one, other = two.enqueue(), two.enqueue()
    if tie == "children":
        claimed = {row["id"]: row for row in two.claim(two.worker())}
        of_one, of_other = (_child(two, claimed[parent]) for parent in (one, other))
    else:
        of_one, of_other = (
            two.enqueue_many([{"task": "t", "payload": {}, "after": [str(needed)]}])[0]["job_id"]
            for needed in (one, other)
        )
    first = _chunk(two, "cancel", [one, of_other])
    second = _chunk(two, "cancel", [other, of_one])

    # Whoever has locked its jobs stops here, before it touches one.
    hold = ("lock table holdfast.slot in exclusive mode",)
    assert one_behind_the_other(holdfast_db, hold, runs(first), runs(second)) == ["[(2, 0)]", "[(1, 1)]"]


@pytest.mark.parametrize("older", ["replaced too", "to run after"])
def test_a_call_that_replaces_several_and_an_operation_that_cancels_them_do_not_deadlock(
    two: Machine, holdfast_db: ScratchDatabase, older: str
) -> None:
    old, young = two.enqueue(key="z"), two.enqueue(key="a")
    if older == "replaced too":
        calls: list[dict[str, object]] = [{"key": key, "on_conflict": "replace"} for key in ("a", "z")]
    else:
        calls = [{"key": "a", "on_conflict": "replace", "after": [str(old)], "on_parent_failure": "run"}]
    replaces = (
        "select string_agg(e.created::text, ' ') from holdfast.enqueue_many(%s) as e",
        Jsonb([{"task": "t", "payload": {}, **call} for call in calls]),
    )

    hold = ("select from holdfast.job where id = %s for update", old)
    cancels = runs(_chunk(two, "cancel", [old, young]))
    assert one_behind_the_other(holdfast_db, hold, cancels, replaces) == [
        "[(2, 0)]",
        f"[('{' '.join(['true'] * len(calls))}',)]",
    ]


def test_two_operations_that_retry_jobs_with_common_keys_do_not_deadlock(
    two: Machine, holdfast_db: ScratchDatabase
) -> None:
    """Whatever the order is in which their jobs were made: keys are taken in one order."""
    one, other = (
        _chunk(two, "retry", [two.job_in(Status.FAILED, key=key) for key in keys]) for keys in ("cba", "abc")
    )

    with meanwhile(holdfast_db) as (holder, ask):
        Machine(holder).enqueue(key="b")
        asked = []
        for number, chunk in enumerate((one, other), 1):
            asked.append(ask(*runs(chunk)))
            until_somebody_waits(holdfast_db, number)
        holder.rollback()
        assert [each.result() for each in asked] == ["[(3, 0)]", "[(0, 3)]"]


def test_approvals_given_together_do_not_deadlock_with_what_frees_and_takes_slots(
    two: Machine, holdfast_db: ScratchDatabase
) -> None:
    limited(two)
    worker = two.worker()
    late, asks = (two.enqueue(payload={"user_id": user}) for user in (1, 2))
    admit(two)
    claimed = {row["id"]: row for row in two.claim(worker)}
    gates = [
        ask_of(two, claimed[late], bulk=True, expires_in=0.001)["approval_id"],
        ask_of(two, claimed[asks], bulk=True)["approval_id"],
    ]
    waiter = two.enqueue(payload={"user_id": 1})
    admit(two)
    assert held(two, waiter) == "limit:user:1"  # which the late one gives it: nobody decided in time
    wants = _chunk(two, "cancel", [asks, waiter])

    hold = ("select from holdfast.job where id = %s for update", asks)
    approve = ("select result from holdfast.approve_together(%s, '{0,0}', 'ann')", gates)
    assert one_behind_the_other(holdfast_db, hold, runs(wants), approve) == [
        "[(2, 0)]",
        "[('already',), ('already',)]",
    ]


@pytest.fixture(scope="module")
def waiting_jobs(holdfast_server: TestServer) -> Iterator[str]:
    def enqueue(machine: Machine) -> None:
        machine.register("other", queue="slow")
        machine.worker(lease=3600)
        machine.enqueue_many([{"task": "t", "payload": {}} for _ in range(MANY)])

    with prepared(holdfast_server, enqueue) as url:
        yield url


def test_whoever_claims_and_whoever_moves_never_have_the_same_job(waiting_jobs: str) -> None:
    moves = Side("select coalesce(holdfast.move_to_queue(e.job_id, 'slow')::text, '')")
    with copy_of(waiting_jobs) as url:
        race(url, moves, Side(CLAIMS.format(queue="default")), entries=ALL)

        with machine_on(url) as machine:
            found = machine.rows(
                "select queue, status::text, count(*) as n from holdfast.job group by 1, 2 order by 1, 2"
            )
    kinds = {(row["queue"], row["status"]) for row in found}
    assert kinds == {("default", "RUNNING"), ("slow", "PENDING")}
    assert sum(row["n"] for row in found) == MANY


def test_a_limited_queue_holds_its_limit_while_many_are_moved_there_and_claimed(waiting_jobs: str) -> None:
    moves = Side("select coalesce(holdfast.move_to_queue(e.job_id, 'slow')::text, '')")
    claims = Side(CLAIMS.format(queue="slow"), before="perform holdfast.admit_due(100)")
    with copy_of(waiting_jobs) as url:
        with machine_on(url) as machine:
            machine.value("select holdfast.limit_queue('slow', 3)")
        race(url, moves, claims, moves, entries=ALL, must_meet=False)

        with machine_on(url) as machine:
            machine.run("select holdfast.admit_due(1000)")
            running = machine.value("select count(*) from holdfast.job where status = 'RUNNING'")
            taken = slots(machine, "queue:slow")
            told = machine.value("select count(*) from holdfast.activity where kind = 'job.moved'")
    assert running == 3
    assert sorted(taken) == [1, 2, 3]
    assert told == MANY


def test_a_priority_that_changes_all_the_time_loses_no_job(waiting_jobs: str) -> None:
    changes = Side("select coalesce(holdfast.reprioritise(e.job_id, (e.nth % 201) - 100)::text, '')")
    with copy_of(waiting_jobs) as url:
        race(url, changes, Side(CLAIMS.format(queue="default")), entries=ALL)

        with machine_on(url) as machine:
            left = machine.rows(
                "select * from holdfast.claim((select w.id from holdfast.worker w), gen_random_uuid(), 'default', '{t}', 1000)"
            )
            often = machine.value("select max(attempt) from holdfast.job")
            running = machine.value("select count(*) from holdfast.job where status = 'RUNNING'")
    assert (running, often) == (MANY, 1)
    assert len(left) < MANY
