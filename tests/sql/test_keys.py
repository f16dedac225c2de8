"""Keys: one job at a time, as long as the scope says, and what a second one gets."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.gates import limited
from sql.support import Machine, machine_on, meanwhile, until_somebody_waits
from world.often import times

ROUNDS = times(40, 400)
# Whether a job in this status still keeps a second one with its key away.
BLOCKS = {
    "active": {status: not status.is_terminal for status in Status},
    "success": {status: not status.is_terminal or status is Status.COMPLETED for status in Status},
    "ever": dict.fromkeys(Status, True),
}


@pytest.mark.parametrize(("scope", "status"), list(product(BLOCKS, Status)))
def test_a_key_is_held_as_long_as_its_scope_says(machine: Machine, scope: str, status: Status) -> None:
    first = machine.job_in(status, key="k", key_scope=scope)

    second = machine.enqueue(key="k", key_scope=scope)

    assert (second == first) is BLOCKS[scope][status]
    assert machine.job(first)["key_held"] is BLOCKS[scope][status]


@pytest.mark.parametrize("status", Status)
def test_policy_raise_names_the_job_that_holds_the_key(machine: Machine, status: Status) -> None:
    first = machine.job_in(status, key="k", key_scope="ever")

    with machine.refused("HF006", f"job {first} ({status}) already holds the key 'k'"):
        machine.enqueue(key="k", on_conflict="raise")


def test_policy_replace_puts_the_new_job_in_place_of_one_that_has_not_started(machine: Machine) -> None:
    first = machine.enqueue(payload={"version": 1}, key="k", run_in="1 hour")

    second = machine.enqueue(payload={"version": 2}, key="k", on_conflict="replace")

    assert second != first
    assert machine.status(first) is Status.CANCELLED
    assert machine.history(first)[-1]["reason"] == f"replaced by {second}"
    assert (machine.job(first)["key_held"], machine.job(second)["key_held"]) == (False, True)


def test_policy_replace_says_that_it_made_the_job(machine: Machine) -> None:
    machine.enqueue(key="k")

    (answer,) = machine.enqueue_many([{"task": "t", "payload": {}, "key": "k", "on_conflict": "replace"}])

    assert answer["created"] is True


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.PENDING])
def test_policy_replace_returns_a_job_that_has_started(machine: Machine, status: Status) -> None:
    first = machine.job_in(status, key="k", key_scope="ever")

    second = machine.enqueue(key="k", key_scope="ever", on_conflict="replace")

    assert second == first
    assert machine.status(first) is status


def test_policy_replace_of_an_ever_key_moves_the_key_to_the_new_job(machine: Machine) -> None:
    first = machine.enqueue(key="k", key_scope="ever")

    second = machine.enqueue(key="k", key_scope="ever", on_conflict="replace")

    assert machine.enqueue(key="k", key_scope="ever") == second != first


def test_keys_are_scoped_by_tenant_and_by_task(machine: Machine) -> None:
    machine.register("u")

    ids = {
        machine.enqueue(key="k"),
        machine.enqueue("u", key="k"),
        machine.enqueue(key="k", tenant="a"),
        machine.enqueue(key="k", tenant="b"),
    }

    assert len(ids) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
        ('{"x": {"a": 1, "b": [{"c": 1, "d": 2}]}}', '{ "x" : {"b": [{"d": 2, "c": 1}], "a": 1} }'),
        ('{"a": "\\u00e9"}', '{"a": "é"}'),
    ],
)
@pytest.mark.parametrize("fields", [[], ["a", "x"]])
def test_a_key_of_the_payload_does_not_depend_on_the_order_of_its_members(
    machine: Machine, one: str, other: str, fields: list[str]
) -> None:
    machine.register("once", unique_by=fields)

    first, second = (
        machine.value("select holdfast.enqueue('once', %s::jsonb)", text) for text in (one, other)
    )

    assert first == second


@pytest.mark.parametrize("payload", ['{"a": [2, 1]}', '{"a": [1]}', '{"a": null}', "{}", '{"a": "1"}'])
def test_another_payload_is_another_key(machine: Machine, payload: str) -> None:
    machine.register("once", unique_by=["a"])
    first = machine.enqueue("once", {"a": [1, 2]})

    assert machine.value("select holdfast.enqueue('once', %s::jsonb)", payload) != first


def test_a_key_of_some_fields_looks_at_no_others(machine: Machine) -> None:
    machine.register("once", unique_by=["a"])

    assert machine.enqueue("once", {"a": 1, "b": 1}) == machine.enqueue("once", {"a": 1, "b": 2})


def test_a_key_of_ones_own_goes_before_the_tasks(machine: Machine) -> None:
    machine.register("once", unique_by=[])

    assert machine.enqueue("once", {"a": 1}, key="mine") != machine.enqueue("once", {"a": 1})


def test_the_same_key_twice_in_one_batch_makes_one_job(machine: Machine) -> None:
    answers = machine.enqueue_many([{"task": "t", "payload": {"n": n}, "key": "k"} for n in range(10)])

    assert len({answer["job_id"] for answer in answers}) == 1
    assert [answer["created"] for answer in answers].count(True) == 1
    assert machine.count() == 1


def test_policy_raise_in_a_batch_leaves_none_of_it(machine: Machine) -> None:
    machine.enqueue(key="k")
    before = machine.count()

    with machine.refused("HF006", "already holds the key"):
        machine.enqueue_many(
            [{"task": "t", "payload": {}}, {"task": "t", "payload": {}, "key": "k", "on_conflict": "raise"}]
        )

    assert machine.count() == before


def test_a_key_that_looks_like_sql_is_only_a_key(machine: Machine) -> None:
    key = "'; drop table holdfast.job; --"

    with machine.refused("HF006"):
        machine.enqueue(key=key)
        machine.enqueue(key=key, on_conflict="raise")


# -- at once -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["return", "replace"])
def test_64_enqueues_of_one_key_at_once_leave_one_job(
    lasting: Machine, holdfast_db: ScratchDatabase, policy: str
) -> None:
    sent_away: list[str] = []

    def enqueue(turns: int) -> list[object]:
        with machine_on(holdfast_db.url) as producer:
            try:
                return [producer.enqueue(key="k", on_conflict=policy) for _ in range(turns)]
            except psycopg.errors.SerializationFailure as refusal:
                sent_away.append(str(refusal))
                return []

    with ThreadPoolExecutor(16) as threads:
        answers = [job_id for ids in threads.map(enqueue, [4] * 16) for job_id in ids]

    assert sent_away == []
    alive = lasting.rows("select id from holdfast.job where status = 'PENDING'")
    assert len(answers) == 64
    assert len(alive) == 1
    if policy == "return":
        assert {row["id"] for row in alive} == set(answers)


def test_batches_with_common_keys_in_opposite_order_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    # New keys in every round, then the same again: taking keys and meeting their holders both lock rows.
    def produce(turn: int) -> int:
        with machine_on(holdfast_db.url) as producer:
            for number in range(ROUNDS):
                keys = [f"{number}-{place}" for place in range(8)]
                ordered = keys if turn % 2 else keys[::-1]
                batch: list[dict[str, Any]] = [
                    {"task": "t", "payload": {}, "key": key, "on_conflict": ("return", "replace")[turn // 2]}
                    for key in ordered
                ]
                producer.enqueue_many(batch)
        return ROUNDS

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(produce, range(4))) == [ROUNDS] * 4

    assert lasting.value("select count(*) from holdfast.job where key_held") == 8 * ROUNDS
    assert (
        lasting.value(
            "select count(*) from (select key from holdfast.job where key_held group by key having count(*) > 1) as twice"
        )
        == 0
    )


def _call(*jobs: dict[str, Any]) -> tuple[str, Jsonb]:
    return (
        "select string_agg(e.created::text, ' ' order by e.nth) from holdfast.enqueue_many(%s) as e",
        Jsonb([{"task": "t", "payload": {}, **job} for job in jobs]),
    )


def _batch(policy: str, *keys: str) -> tuple[str, Jsonb]:
    return _call(*[{"key": key, "on_conflict": policy} for key in keys])


def _deadlocks(machine: Machine) -> int:
    """Count the deadlocks in this database, also those of which nobody was told."""
    number: int = machine.value("select deadlocks from pg_stat_database where datname = current_database()")
    return number


THREE, TWO = "[('true true true',)]", "[('true true',)]"


@pytest.mark.parametrize(
    ("policy", "told"),  # what they are told, whichever lets go
    [
        ("return", [(THREE, "[('false false',)]"), ("[('false false true',)]", TWO)]),
        ("replace", [(THREE, TWO)]),
        ("raise", [(THREE, "HF006"), ("HF006", TWO)]),
    ],
)
def test_batches_with_common_keys_of_which_one_becomes_free_meanwhile_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase, policy: str, told: list[tuple[str, str]]
) -> None:
    holds_a = lasting.enqueue(key="a")
    with meanwhile(holdfast_db) as (holder, ask):
        Machine(holder).enqueue(key="c")
        one = ask(*_batch(policy, "a", "b", "c"))  # has passed a, and taken b
        until_somebody_waits(holdfast_db, 1)
        lasting.run("select holdfast.cancel(%s)", holds_a)
        other = ask(*_batch(policy, "a", "b"))  # takes a
        until_somebody_waits(holdfast_db, 2)
        holder.rollback()
        assert (one.result(), other.result()) in told

    assert lasting.value("select count(*) from holdfast.job where key_held and key in ('a', 'b')") == 2


def test_whatever_the_order_of_a_batch_is_its_keys_are_taken_in_one(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    before = _deadlocks(lasting)
    with meanwhile(holdfast_db) as (holder, ask):
        Machine(holder).enqueue(key="b")
        one = ask(*_batch("return", "c", "b", "a"))
        until_somebody_waits(holdfast_db, 1)
        other = ask(*_batch("return", "a", "b", "c"))
        until_somebody_waits(holdfast_db, 2)
        holder.rollback()
        assert (one.result(), other.result()) == (THREE, "[('false false false',)]")

    assert _deadlocks(lasting) == before


def test_two_that_replace_the_same_keys_of_which_one_becomes_free_meanwhile_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    holds_a, holds_b = lasting.enqueue(key="a"), lasting.enqueue(key="b")
    with meanwhile(holdfast_db) as (holder, ask):
        Machine(holder).run("select from holdfast.job where id = %s for update", holds_a)
        one = ask(*_batch("replace", "a", "b"))  # has its turn at both
        until_somebody_waits(holdfast_db, 1)
        lasting.run("select holdfast.cancel(%s)", holds_b)
        other = ask(*_batch("replace", "a", "b"))  # takes b, and waits for its turn at a
        until_somebody_waits(holdfast_db, 2)
        holder.rollback()
        assert (one.result(), other.result()) == (TWO, TWO)

    assert lasting.value("select count(*) from holdfast.job where key_held") == 2


def test_a_call_that_replaces_a_job_and_one_that_is_after_it_do_not_deadlock_over_its_key(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    first, holds_k, last = lasting.enqueue(), lasting.enqueue(key="k"), lasting.enqueue()
    replaces = {"key": "k", "on_conflict": "replace", "after": [str(first), str(last)]}
    with meanwhile(holdfast_db) as (holder, ask), psycopg.connect(holdfast_db.owner_url) as other_holder:
        Machine(holder).run("select from holdfast.job where id = %s for update", holds_k)
        Machine(other_holder).run("select from holdfast.job where id = %s for update", last)
        one = ask(*_call(replaces))  # has the first, and waits for who holds the key
        until_somebody_waits(holdfast_db, 1)
        Machine(holder).run("select holdfast.cancel(%s)", holds_k)
        holder.commit()
        until_somebody_waits(holdfast_db, 1)
        other = ask(*_call({"key": "k", "after": [str(first)]}))  # takes the key, and waits for the first
        until_somebody_waits(holdfast_db, 2)
        other_holder.rollback()
        told = {one.result(), other.result()}

    assert told in (
        {"[('true',)]", "[('false',)]"},
        {"[('true',)]"},
    )  # the newer is replaced, or is there already
    assert lasting.value("select count(*) from holdfast.job where key_held") == 1


def test_a_call_with_a_key_under_a_refusing_limit_and_a_batch_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    limited(lasting, "desk", most=5, policy="reject")
    holds_k, holds_r = lasting.enqueue("desk", {"user_id": 2}, key="k"), lasting.enqueue(key="r")
    batch: list[dict[str, Any]] = [
        {"task": "desk", "payload": {"user_id": 1}},
        {"key": "r", "on_conflict": "replace"},
        {"task": "desk", "payload": {"user_id": 3}, "key": "k"},
    ]
    with meanwhile(holdfast_db) as (holder, ask):
        Machine(holder).run("select from holdfast.job where id = %s for update", holds_r)
        one = ask(*_call(*batch))  # has looked at user 1, and waits for who holds r
        until_somebody_waits(holdfast_db, 1)
        lasting.run("select holdfast.cancel(%s)", holds_k)
        other = ask(
            *_call({"task": "desk", "payload": {"user_id": 1}, "key": "k"})
        )  # takes k, and comes for user 1
        until_somebody_waits(holdfast_db, 2)
        holder.rollback()

        assert {one.result(), other.result()} in (
            {THREE, "[('false',)]"},
            {"[('true true false',)]", "[('true',)]"},
        )


def test_who_holds_what_another_transaction_waits_for_is_told_soon(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    """What was enqueued before in the same transaction is not let go: to come again helps nobody."""
    before = _deadlocks(lasting)
    with (
        psycopg.connect(holdfast_db.owner_url) as one,
        psycopg.connect(holdfast_db.owner_url) as other,
        ThreadPoolExecutor(1) as threads,
    ):
        for connection, keys in ((one, "ab"), (other, "cd")):
            statement, jobs = _batch("return", *keys)
            connection.execute(statement.encode(), [jobs])
        asked = threads.submit(_told, one, *_batch("return", "c", "d"))
        until_somebody_waits(holdfast_db, 1)
        told = {_told(other, *_batch("return", "a", "b")), asked.result()}

    assert told == {"40P01", "true true"}
    assert _deadlocks(lasting) - before <= 4  # each of them twice


def _told(connection: psycopg.Connection, statement: str, jobs: Jsonb) -> str:
    """Ask in the connection's transaction, which ends with the answer."""
    try:
        ((answer,),) = connection.execute(statement.encode(), [jobs]).fetchall()
        connection.commit()
    except psycopg.Error as refusal:
        connection.rollback()
        return str(refusal.sqlstate)
    return str(answer)


def refusal_of_retry(url: str, job_id: UUID) -> str | None:
    with machine_on(url) as api:
        try:
            api.value("select holdfast.retry(%s)", job_id)
        except psycopg.Error as error:
            return error.sqlstate
    return None


def test_a_manual_retry_and_an_enqueue_of_its_key_leave_one_holder(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    failed = [lasting.job_in(Status.FAILED, key=f"k{n}") for n in range(20)]

    def retry() -> set[str | None]:
        return {refusal_of_retry(holdfast_db.url, job_id) for job_id in failed}

    def enqueue() -> None:
        with machine_on(holdfast_db.url) as producer:
            for number in range(20):
                producer.enqueue(key=f"k{number}", tags=Jsonb(["second"]))

    with ThreadPoolExecutor(2) as threads:
        retried, enqueued = threads.submit(retry), threads.submit(enqueue)
        refusals = retried.result()
        enqueued.result()

    assert refusals <= {None, "HF008"}
    holders = lasting.rows("select key, count(*) from holdfast.job where key_held group by key")
    assert sorted(row["count"] for row in holders) == [1] * 20
