"""The auditor's own test of the chain: a history that was written anew with care, head and all, is found by what was kept of it elsewhere."""

from typing import Any

import pytest

from guarantees.audit import Seeded, assert_said, broken_rules, codes, named
from guarantees.past import Past
from guarantees.test_audit import corrupt, meant
from holdfast.domain.heads import Head
from holdfast.store import audit
from holdfast.store.call import perform_sync
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


def test_a_job_that_is_gone_is_named_and_is_no_finding(past: Past) -> None:
    kept = kept_of(past.machine)
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(past, "delete from holdfast.job where id = %(cancelled)s")

        assert against(past.machine, kept) == []
        assert perform_sync(past.machine.connection, audit.gone(kept)) == [past.ids["cancelled"]]


def test_a_job_without_a_chain_is_kept_too_by_its_history(past: Past) -> None:
    kept = kept_of(past.machine)
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(past, "update holdfast.job set chain = null where id = %(done)s")
        assert kept_of(past.machine) == kept

        corrupt(past, "update holdfast.job_history set actor = 'ann' where job_id = %(done)s and seq = 1")
        assert [job for _, job in against(past.machine, kept)] == [past.ids["done"]]
