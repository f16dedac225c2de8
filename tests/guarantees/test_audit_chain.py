"""The auditor's own test of the chain: a history that was written anew with care, head and all, is found by what was kept of it elsewhere."""

from contextlib import closing
from typing import Any

import pytest

from guarantees.audit import Seeded, assert_said, broken_rules, codes, named
from guarantees.conftest import Stage
from guarantees.past import Past
from guarantees.shop import fail_once, note
from guarantees.test_audit import corrupt, meant
from holdfast import Holdfast
from holdfast.domain.heads import Head
from holdfast.interfaces.auditing import Audit
from holdfast.store import audit
from holdfast.store.call import perform_sync
from holdfast.store.connection import Database, Session
from sql.support import Machine

ANEW = "update holdfast.job set chain = holdfast.head_of(id) where id = %(done)s"

# Everything else that the auditor looks at fits together again.
REWRITTEN: list[Seeded] = [
    ("H07", "who did it is rewritten, and so is the head", f"""
     update holdfast.job_history set actor = 'ann' where job_id = %(done)s and seq = 2;
     {ANEW}""",
     "its history up to row 3 is not the one whose head was kept"),
    ("H07", "a life is made shorter, and so is its chain", """
     delete from holdfast.attempt where job_id = %(stopped)s;
     delete from holdfast.job_history where job_id = %(stopped)s and seq > 1;
     update holdfast.job set status = 'PENDING', seq = 1, attempt = 0, finished_at = null, started_at = null, claim_order = updated_at,
       ready_at = null, claim_id = null, chain = holdfast.head_of(id), last_holder = null, reason = null where id = %(stopped)s""",
     "the head of row 3 was kept, and its history has no such row"),
]  # fmt: skip


def kept_of(machine: Machine) -> list[Head]:
    return perform_sync(machine.connection, audit.heads(audit.EVERYTHING))


def against(machine: Machine, kept: list[Head]) -> list[tuple[str, Any]]:
    found = perform_sync(machine.connection, audit.against(kept))
    return [(f"{each.code} {each.what}", each.job_id) for each in found]


@pytest.mark.parametrize("seeded", REWRITTEN, ids=named)
def test_a_history_that_was_rewritten_with_its_head_is_found_by_what_was_kept(
    past: Past, seeded: Seeded
) -> None:
    kept = kept_of(past.machine)
    assert against(past.machine, kept) == []
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(past, seeded[2])

        assert "H07" not in codes(broken_rules(past.machine.connection))
        assert_said(seeded, against(past.machine, kept), meant(past, seeded[2]))


def test_heads_are_of_all_jobs_as_their_rows_have_them(past: Past) -> None:
    rows = past.machine.rows("select id::uuid as id, seq, chain from holdfast.job order by id")

    assert kept_of(past.machine) == [Head(row["id"], row["seq"], row["chain"].hex()) for row in rows]


def test_jobs_that_went_on_since_are_no_finding(past: Past) -> None:
    kept = kept_of(past.machine)
    with past.machine.connection.transaction(force_rollback=True):
        for name in ("running", "sleeping", "listening"):
            assert past.machine.value("select holdfast.cancel(%s, 'ann', 'no more')", past.ids[name])

        assert against(past.machine, kept) == []
        assert kept_of(past.machine) != kept


def test_heads_that_were_kept_beside_a_busy_worker_stay_on_their_histories(
    stage: Stage, shop: Holdfast
) -> None:
    """Each walk keeps heads of jobs in the middle of their lives, and whatever they do later goes on from there."""
    stage.worker(concurrency=20)
    kept: list[list[Head]] = []
    with closing(Session(Database(stage.database.url, "test"), "holdfast audit")) as session:
        while len(kept) < 10 or stage.counts().get("COMPLETED", 0) < 200:
            shop.enqueue_many([note.using(subject="org:1").job(n) for n in range(20)])
            shop.enqueue_many([fail_once.job() for _ in range(3)])
            later = note.using(run_in=60).enqueue(0)
            heads: list[Head] = []
            assert list(Audit(session, chains=True, keep=heads.append).findings()) == []
            kept.append(heads)
            stage.owner.execute("select holdfast.cancel(%s, 'Zoë ☎', 'no more')", (later.id,))

        for heads in kept:
            assert audit.look(session, "heads", [audit.against(heads), audit.gone(heads)]) == [[], []]


def test_a_job_that_is_gone_is_named_and_is_no_finding(past: Past) -> None:
    kept = kept_of(past.machine)
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(
            past,
            """
     delete from holdfast.job_history where job_id = %(cancelled)s;
     delete from holdfast.job where id = %(cancelled)s""",
        )

        assert against(past.machine, kept) == []
        assert perform_sync(past.machine.connection, audit.gone(kept)) == [past.ids["cancelled"]]


def test_a_job_without_a_chain_is_kept_too_by_its_history(past: Past) -> None:
    kept = kept_of(past.machine)
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(past, "update holdfast.job set chain = null where id = %(done)s")
        assert kept_of(past.machine) == kept

        corrupt(past, "update holdfast.job_history set actor = 'ann' where job_id = %(done)s and seq = 1")
        assert [job for _, job in against(past.machine, kept)] == [past.ids["done"]]
