"""What is written down stays as it was written, whoever connects: every table that says so, every way, every role."""

from uuid import UUID

import pytest
from psycopg import sql

from sql.asking import asked, decide
from sql.support import Machine
from sql.test_history import ROLES

# A row of each table that is append-only, for triggers that look at rows.
_BY_HAND = """
insert into holdfast.feed (channel, id, kind, data, at) values ('subject:s', 1, 'tick', '{}', holdfast.clock());
insert into holdfast.schedule_run (schedule, slot, last_slot, outcome, at, actor) values ('s', '2030-01-01', '2030-01-01', 'missed', holdfast.clock(), 'w');
insert into holdfast.audit (actor, action) values ('ann', 'job.cancel');
"""
_APPEND_ONLY = """
select t.tgrelid::regclass::text as name
  from pg_trigger t
 where t.tgname ~ '_is_append_only$' and t.tgrelid::regclass::text !~ 'job_history'
 order by 1
"""
TABLES = ("activity", "approval_decision", "attempt", "audit", "feed", "schedule_run", "step")
WAYS = {
    "update": "update {table} set {column} = {column}",
    "delete": "delete from {table}",
    "truncate": "truncate {table} cascade",
    "meet": "merge into {table} x using (select 1) as one on true when matched then delete",
}


def write_everything(machine: Machine) -> None:
    """Leave a row in each of the tables."""
    gate = asked(machine)
    decide(machine, gate.approval_id, "ann", "deny", "no")
    worker, job_id = machine.worker(), machine.enqueue()
    (claimed,) = machine.claim(worker)
    assert claimed["id"] == UUID(str(job_id))
    machine.ask("save_step", claimed, "s", "step", "", "1", False, 1, 0.1)  # noqa: FBT003 - as the function has it
    machine.settle(worker, claimed, outcome="failed", error={"type": "Boom"})
    machine.run(_BY_HAND)


def test_all_tables_that_say_so_are_tried(machine: Machine) -> None:
    found = [row["name"].removeprefix("holdfast.") for row in machine.rows(_APPEND_ONLY)]

    assert tuple(found) == TABLES


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("table", TABLES)
def test_what_is_written_down_stays(machine: Machine, table: str, way: str, role: str) -> None:
    write_everything(machine)
    column = machine.value(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum = 1", f"holdfast.{table}"
    )
    machine.run(role)
    statement = sql.SQL(WAYS[way]).format(
        table=sql.Identifier("holdfast", table), column=sql.Identifier(column)
    )

    assert machine.count(f"holdfast.{table}") >= 1
    with machine.refused("HF003", "append-only"):
        machine.run(statement.as_string(machine.connection))
