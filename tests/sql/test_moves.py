"""Every pair of statuses: what the machine allows, and what it refuses whoever asks."""

from itertools import product

import pytest

from holdfast.domain.states import LEGAL_MOVES, Status
from sql.support import TERMINAL, Machine

PAIRS = [(old, new) for old, new in product(Status, Status) if old is not new]
LEGAL = [(old, new) for old, new in PAIRS if new in LEGAL_MOVES[old]]
ILLEGAL = {
    old: [new for before, new in PAIRS if before is old and new not in LEGAL_MOVES[old]] for old in Status
}

WRITERS = {
    "owner": "set local role holdfast_owner",
    "superuser": "set local role none",
    "replica": "set local session_replication_role = replica",
}


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest, each_machine: Machine) -> Machine:
    """Give everybody who could write the table at all."""
    each_machine.run(WRITERS[request.param])
    return each_machine


def test_python_and_sql_have_the_same_legal_moves(each_machine: Machine) -> None:
    legal = each_machine.rows(
        "select a::text as old, b::text as new from unnest(enum_range(null::holdfast.job_status)) as a,"
        " unnest(enum_range(null::holdfast.job_status)) as b where holdfast.is_legal(a, b)"
    )

    assert {(Status(row["old"]), Status(row["new"])) for row in legal} == set(LEGAL)


def test_python_and_sql_have_the_same_statuses_in_the_same_order(each_machine: Machine) -> None:
    statuses = each_machine.value("select enum_range(null::holdfast.job_status)::text[]")

    assert statuses == [status.value for status in Status]


def test_python_and_sql_agree_on_what_is_terminal(each_machine: Machine) -> None:
    terminal = each_machine.rows(
        "select s::text from unnest(enum_range(null::holdfast.job_status)) as s where holdfast.is_terminal(s)"
    )

    assert [row["s"] for row in terminal] == [status.value for status in TERMINAL]


@pytest.mark.parametrize(("old", "new"), LEGAL)
def test_a_legal_move_is_made_and_recorded(writer: Machine, old: Status, new: Status) -> None:
    job_id = writer.job_in(old)
    before = writer.job(job_id)

    writer.move(job_id, new, reason="because")

    after = writer.job(job_id)
    assert after["status"] == new.value
    recorded = writer.history(job_id)[-1]
    assert recorded["seq"] == after["seq"] == before["seq"] + 1
    assert (recorded["from_status"], recorded["to_status"]) == (old.value, new.value)
    assert recorded["attempt"] == after["attempt"] == before["attempt"] + (new is Status.RUNNING)
    assert (recorded["reason"], recorded["at"]) == ("because", after["updated_at"])
    assert (after["finished_at"] is not None) == new.is_terminal


@pytest.mark.parametrize("old", ILLEGAL)
def test_an_illegal_move_is_refused_and_leaves_no_trace(writer: Machine, old: Status) -> None:
    job_id = writer.job_in(old)
    before, history = writer.job(job_id), writer.history(job_id)

    for new in ILLEGAL[old]:
        with writer.refused("HF001", f"job {job_id} cannot move from {old} to {new}"):
            writer.move(job_id, new)

    assert writer.job(job_id) == before
    assert writer.history(job_id) == history


@pytest.mark.parametrize("status", [status for status in Status if not status.is_terminal])
def test_staying_in_a_status_is_no_move(writer: Machine, status: Status) -> None:
    job_id = writer.job_in(status)
    history = writer.history(job_id)

    writer.run("update holdfast.job set status = status, label = 'renamed' where id = %s", job_id)

    assert writer.job(job_id)["label"] == "renamed"
    assert writer.history(job_id) == history


CHANGES_OF_A_TERMINAL_ROW = [
    "status = status, result = '1'",
    'error = \'{"type": "Other"}\'',
    "reason = 'rewritten'",
    "label = 'renamed'",
    "priority = 5",
    "max_retries = 4",
    "retry_count = 1",
    "crash_count = 1",
    "attempt = 9",
    "seq = 9",
    "claim_id = gen_random_uuid()",
    "updated_at = clock_timestamp()",
    "finished_at = finished_at - interval '1 day'",
    "metadata = '{}'",
    "tags = '[]'",
    "queue = 'other'",
    "suspect = true",
    "timeout = '1 s'",
    "trace_parent = 'x'",
]


@pytest.mark.parametrize("status", TERMINAL)
def test_a_terminal_job_never_changes_again(machine: Machine, status: Status) -> None:
    job_id = machine.job_in(status)
    before = machine.job(job_id)

    for change in CHANGES_OF_A_TERMINAL_ROW:
        with machine.refused("HF001", f"job {job_id} is {status} and never changes again"):
            machine.run(f"update holdfast.job set {change} where id = %s", job_id)

    assert machine.job(job_id) == before


def test_a_terminal_job_never_changes_for_a_replica_either(machine: Machine) -> None:
    job_id = machine.job_in(Status.FAILED)
    machine.run("set local session_replication_role = replica")

    with machine.refused("HF001", "never changes again"):
        machine.run("update holdfast.job set reason = 'rewritten' where id = %s", job_id)


def test_a_result_is_not_rewritten_in_another_notation(machine: Machine) -> None:
    job_id = machine.job_in(Status.RUNNING)
    machine.run(
        "update holdfast.job set status = 'COMPLETED', holder = null, result = '{\"sum\": 1.0}' where id = %s",
        job_id,
    )

    with machine.refused("HF001", "never changes again"):
        machine.run("update holdfast.job set result = '{\"sum\": 1.00}' where id = %s", job_id)


@pytest.mark.parametrize("status", TERMINAL)
def test_a_terminal_job_may_give_up_its_key(machine: Machine, status: Status) -> None:
    job_id = machine.job_in(status, key="k", key_scope="ever")
    history = machine.history(job_id)

    machine.run("update holdfast.job set key_held = false where id = %s", job_id)

    assert machine.job(job_id)["key_held"] is False
    assert machine.history(job_id) == history


@pytest.mark.parametrize("status", TERMINAL)
def test_a_terminal_job_cannot_take_its_key_again(machine: Machine, status: Status) -> None:
    job_id = machine.job_in(status, key="k", key_scope="ever")
    machine.run("update holdfast.job set key_held = false where id = %s", job_id)

    machine.run("update holdfast.job set key_held = true where id = %s", job_id)

    assert machine.job(job_id)["key_held"] is False
