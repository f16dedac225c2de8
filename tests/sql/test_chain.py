"""The chain over a job's history: each move binds what it says to all that was said before, and its head stands on the job's row."""

import hashlib
import json
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.store import audit
from holdfast.store.call import perform_sync
from holdfast.store.connection import Database
from holdfast.store.migrate import migrate
from holdfast.testing import ScratchDatabase
from sql.support import Machine, Row, machine_on, meanwhile, until_it_waits, until_somebody_waits

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def microseconds(at: datetime | None) -> bytes:
    return struct.pack(">q", 1 - 2**63 if at is None else (at - EPOCH) // timedelta(microseconds=1))


def computed(rows: list[Row]) -> bytes:
    """Compute the head of a history in another language than the database does: what the decision record says, and nothing else."""
    head: bytes = rows[0]["job_id"].bytes
    for row in rows:
        words = f"{row['to_status']} {row['actor']}{row['reason'] or ''}{row['metadata'] or ''}"
        lengths = struct.pack(">ii", len(row["actor"]), -1 if row["reason"] is None else len(row["reason"]))
        said = microseconds(row["at"]) + struct.pack(">q", row["xid"]) + lengths + words.encode()
        head = hashlib.sha256(head + microseconds(row["since"]) + said).digest()
    return head


def rows_of(machine: Machine, job_id: UUID) -> list[Row]:
    return machine.rows(
        "select job_id, seq, to_status, since, at, xid, actor, reason, metadata::text from holdfast.job_history where job_id = %s order by seq",
        job_id,
    )


def assert_chained(machine: Machine, job_id: UUID) -> None:
    rows = rows_of(machine, job_id)
    heads = machine.rows("select seq, head from holdfast.heads(%s, %s)", job_id, job_id)
    assert [(row["seq"], bytes(row["head"])) for row in heads] == [
        (seq, computed(rows[:seq])) for seq in range(1, len(rows) + 1)
    ]
    assert machine.job(job_id)["chain"] == computed(rows)


@pytest.mark.parametrize("status", list(Status))
def test_a_history_ends_in_the_head_on_its_jobs_row(each_machine: Machine, status: Status) -> None:
    assert_chained(each_machine, each_machine.job_in(status, payload={"to": "Zoë"}, requested_by="Zoë ☎"))


def test_what_workers_do_is_chained_as_it_is_told(each_machine: Machine) -> None:
    each_machine.register(max_retries=3)
    worker = each_machine.worker("w ë")
    job_id = each_machine.enqueue(run_in=timedelta(seconds=5))
    each_machine.advance(10)
    each_machine.rows("select * from holdfast.admit_due(10)")
    (claimed,) = each_machine.claim(worker)
    each_machine.settle(worker, claimed, outcome="failed", error={"type": "Boom", "message": "ö"}, reason="r")
    (claimed,) = each_machine.claim(worker)
    each_machine.complete(worker, claimed)

    assert each_machine.path(job_id)[-1] is Status.COMPLETED
    assert_chained(each_machine, job_id)


def test_many_births_of_one_call_are_chained_each_with_what_it_tells(machine: Machine) -> None:
    machine.register()
    machine.register("limited", options={"limits": [{"key": "one", "max": 1}]})
    others: list[dict[str, Any]] = [
        {},
        {"requested_by": "ann"},
        {"run_in": 60},
        {"run_at": "2020-01-01T00:00:00Z"},
        {"after": [str(machine.enqueue())]},
        {"task": "limited"},
    ]
    jobs = [
        {"id": str(machine.value("select holdfast.new_id()")), "task": "t", "payload": {}, **other}
        for other in others
        for _ in range(4)
    ]  # more than five: they go another way

    for row in machine.enqueue_many(jobs):
        assert_chained(machine, row["job_id"])


def test_a_job_that_is_born_by_hand_is_chained_too(machine: Machine) -> None:
    machine.register()
    (row,) = machine.rows(
        "insert into holdfast.job (task, queue, payload, reason, claim_order) values ('t', 'default', '{}', 'by hand', holdfast.clock()) returning id"
    )

    assert_chained(machine, row["id"])


def test_a_replica_chains_births_and_moves_too(machine: Machine) -> None:
    machine.register()
    machine.run("set session_replication_role = replica")

    born, moved = machine.enqueue(), machine.job_in(Status.FAILED)

    assert_chained(machine, born)
    assert_chained(machine, moved)


def test_a_reason_that_a_running_job_keeps_is_told_when_it_completes(machine: Machine) -> None:
    machine.register()
    worker = machine.worker()
    job_id = machine.enqueue()
    (claimed,) = machine.claim(worker)
    machine.run("update holdfast.job set reason = 'alone' where id = %s", job_id)

    machine.complete(worker, claimed)

    assert machine.history(job_id)[-1]["reason"] == "alone"
    assert_chained(machine, job_id)


def test_an_approvals_way_on_is_chained_with_who_decided(machine: Machine) -> None:
    machine.register()
    worker = machine.worker()
    job_id = machine.enqueue()
    (claimed,) = machine.claim(worker)
    machine.ask("ask", claimed, "gate", None, Jsonb({"question": "May it?"}), None)
    approval = machine.value("select id from holdfast.approval where job_id = %s", job_id)
    machine.rows("select * from holdfast.decide(%s, 'ann', 'approve', 'yes')", approval)

    machine.claim(worker)

    assert machine.history(job_id)[-1]["metadata"]["approval"]["by"] == "ann"
    assert_chained(machine, job_id)


@pytest.mark.parametrize(
    "setting",
    ["timezone = 'Asia/Kathmandu'", "datestyle = 'German, DMY'", "client_encoding = 'LATIN1'", "extra_float_digits = -15", "bytea_output = 'escape'", "intervalstyle = 'sql_standard'"],
)  # fmt: skip
def test_a_head_is_the_same_whatever_a_session_has_set(each_machine: Machine, setting: str) -> None:
    job_id = each_machine.job_in(Status.FAILED, requested_by="Zoë")
    before = bytes(each_machine.value("select holdfast.head_of(%s)", job_id))

    each_machine.run(f"set local {setting}")

    after: bytes = each_machine.value("select encode(holdfast.head_of(%s), 'hex')", job_id)
    assert str(after) == before.hex()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c", None), ("a", "bc", None)),
        (("a", None, None), ("a", "", None)),
        (("a", "b7", None), ("a", "b", 7)),
        (("a 7", None, None), ("a ", None, 7)),
    ],
)
def test_words_that_stand_elsewhere_say_something_else(
    each_machine: Machine, one: tuple[Any, ...], other: tuple[Any, ...]
) -> None:
    """Actor, reason and metadata are hashed one behind the other: how long each is says where it ends."""
    said = "select encode(holdfast.said('FAILED', 'epoch', 1, %s, %s, %s), 'hex')"

    first, second = (
        each_machine.value(said, actor, reason, None if metadata is None else Jsonb(metadata))
        for actor, reason, metadata in (one, other)
    )

    assert first != second


# -- histories from before there were chains ------------------------------------------------------------------------------


def without_a_chain(machine: Machine, *jobs: UUID) -> None:
    """Make jobs what they were before there were chains."""
    machine.run("alter table holdfast.job disable trigger guard_stay")
    machine.run("update holdfast.job set chain = null, came_from = null where id = any (%s)", list(jobs))
    machine.run("alter table holdfast.job enable always trigger guard_stay")


def moved_by_hand(machine: Machine, job_id: UUID) -> None:
    machine.move(job_id, Status.CANCELLED)


def claimed_when_due(machine: Machine) -> tuple[UUID, Row]:
    machine.advance(61)
    machine.rows("select * from holdfast.admit_due(10)")
    worker = machine.worker()
    (claimed,) = machine.claim(worker)
    return worker, claimed


def moved_by_a_worker(machine: Machine, _: UUID) -> None:
    worker, claimed = claimed_when_due(machine)
    assert machine.complete(worker, claimed) == []


def completed_by_a_worker(machine: Machine, job_id: UUID) -> None:
    worker, claimed = claimed_when_due(machine)
    without_a_chain(machine, job_id)
    assert machine.complete(worker, claimed) == []


@pytest.mark.parametrize("move", [moved_by_hand, moved_by_a_worker, completed_by_a_worker])
def test_a_job_from_before_gets_the_chain_of_its_whole_history_with_its_next_move(
    machine: Machine, move: Callable[[Machine, UUID], None]
) -> None:
    machine.register()
    job_id = machine.job_in(Status.RETRY)
    without_a_chain(machine, job_id)

    move(machine, job_id)

    assert_chained(machine, job_id)


def test_an_upgrade_leaves_ended_jobs_without_a_chain_and_gives_the_others_one(
    holdfast_db: ScratchDatabase,
) -> None:
    with machine_on(holdfast_db.owner_url) as machine:
        machine.register()
        ended, lives = machine.job_in(Status.FAILED), machine.job_in(Status.RUNNING)
        machine.run("alter table holdfast.job drop column chain cascade")
        machine.run("delete from holdfast.installed where what in ('0027_chain', 'chain')")
        machine.run("update holdfast.installed set checksum = 'older' where what = 'functions'")
        assert migrate(Database(holdfast_db.owner_url, "test")) == ["0027_chain", "functions"]

        machine.move(lives, Status.COMPLETED)

        assert_chained(machine, lives)
        assert_chained(machine, machine.job_in(Status.CANCELLED))
        assert machine.job(ended)["chain"] is None
        assert perform_sync(machine.connection, audit.chain(audit.EVERYTHING)) == []
        assert perform_sync(machine.connection, audit.unchained(audit.EVERYTHING)) == 1


def test_a_move_during_an_upgrade_is_of_before_it(holdfast_db: ScratchDatabase) -> None:
    """Since when there are chains is read with the lock that keeps everybody else from moving jobs."""
    with meanwhile(holdfast_db) as (mover, _), ThreadPoolExecutor(1) as thread:
        mover.execute("update holdfast.installed set checksum = 'older' where what = 'functions'")
        mover.execute("delete from holdfast.installed where what = 'chain'")
        mover.commit()
        mover.execute("lock table holdfast.job in row exclusive mode")
        migrated = thread.submit(migrate, Database(holdfast_db.owner_url, "test"))
        until_somebody_waits(holdfast_db)
        (moved,) = mover.execute("select clock_timestamp()").fetchone() or ()
        mover.commit()
        assert migrated.result() == ["functions"]

        assert mover.execute(
            "select at > %s from holdfast.installed where what = 'chain'", (moved,)
        ).fetchone() == (True,)


def test_since_when_there_are_chains_stays_when_functions_are_applied_again(
    holdfast_db: ScratchDatabase,
) -> None:
    since = "select at from holdfast.installed where what = 'chain'"
    with machine_on(holdfast_db.owner_url) as machine:
        before = machine.value(since)
        machine.run("update holdfast.installed set checksum = 'older' where what = 'functions'")

        assert migrate(Database(holdfast_db.owner_url, "test")) == ["functions"]

        assert machine.value(since) == before


# To take the first one's chain away with the guards off would lock the table, and the second would wait for that instead.
FORGET = """
create function public.forget_chain() returns trigger language plpgsql as $$
begin
  new.chain := null;
  return new;
end $$;
create trigger then_forget_chain before update on holdfast.job for each row when (new.status = 'RETRY') execute function public.forget_chain();
"""


def test_two_who_move_a_job_without_a_chain_link_one_behind_the_other(holdfast_db: ScratchDatabase) -> None:
    """The second waits for the job's lock, and must then see the row that the first wrote."""
    retried = "update holdfast.job set status = 'RETRY', holder = null, due_at = holdfast.clock(), deadline_at = null where id = %s"
    with machine_on(holdfast_db.owner_url) as machine, meanwhile(holdfast_db) as (first, ask):
        machine.register()
        job_id = machine.job_in(Status.RUNNING)
        without_a_chain(machine, job_id)
        machine.run(FORGET)
        first.execute(retried, (job_id,))
        second = ask(
            "update holdfast.job set status = 'CANCELLED', due_at = null, claim_order = null where id = %s returning id",
            job_id,
        )
        until_it_waits(holdfast_db, second)
        first.commit()

        assert str(job_id) in second.result()
        assert_chained(machine, job_id)


def test_what_json_says_is_hashed_as_the_database_writes_it(machine: Machine) -> None:
    """Numbers as jsonb keeps them, keys in its order."""
    machine.register()
    job_id = machine.job_in(Status.RUNNING)
    machine.move(job_id, Status.FAILED, error=Jsonb({"type": "X", "b": 1.10, "a": [1e3, None, "\u0001é☎"]}))

    assert json.loads(rows_of(machine, job_id)[-1]["metadata"])["a"] == [1e3, None, "\u0001é☎"]
    assert_chained(machine, job_id)
