"""What an audit reads: of deliveries and events as much as belongs to what it looks at, however many there are; it writes nothing."""

import pytest

from guarantees.past import Past
from holdfast.domain.audit import Finding
from holdfast.domain.errors import DatabaseUnavailable
from holdfast.store import audit
from holdfast.store.call import Call, perform_sync
from holdfast.store.connection import Database, Session
from holdfast.store.enqueue import register_tasks
from holdfast.testing import ScratchDatabase
from sql.support import Machine

# Rows of a table and entries of its indexes that this transaction has read so far.
READ = """
select sum(pg_stat_get_xact_tuples_returned(c.oid))
  from pg_class c
 where c.oid = %(table)s::regclass or c.oid in (select i.indexrelid from pg_index i where i.indrelid = %(table)s::regclass)
"""
MANY = 3000


def read_by(machine: Machine, table: str, calls: list[Call[list[Finding]]]) -> int:
    """Count what calls read of a table that the planner takes for a large one."""
    machine.run(f"analyze {table}")
    machine.run("set local enable_seqscan = off")
    before = _read(machine, table)
    for call in calls:
        assert perform_sync(machine.connection, call) == []
    return _read(machine, table) - before


def _read(machine: Machine, table: str) -> int:
    ((read,),) = machine.connection.execute(READ, {"table": table}).fetchall()
    return int(read)


def test_of_deliveries_those_are_read_that_made_the_jobs(past: Past) -> None:
    job = past.ids["delivered"]
    with past.machine.connection.transaction(force_rollback=True):
        past.machine.run(
            "insert into holdfast.webhook_delivery (id, endpoint, event_id, type, status, body, jobs)"
            f" select holdfast.new_id(), 'stripe', 'many ' || n, 'paid', 'handled', '', array[holdfast.new_id()] from generate_series(1, {MANY}) as n"
        )

        read = read_by(past.machine, "holdfast.webhook_delivery", audit.about_jobs(audit.Range(job, job)))

    assert read < MANY / 10


def test_the_events_of_a_channel_are_not_read_to_look_at_channels(past: Past) -> None:
    with past.machine.connection.transaction(force_rollback=True):
        past.machine.run(
            "insert into holdfast.feed (channel, id, at, kind, data)"
            f" select c.name, c.last_id + n, holdfast.clock(), 'x', '{{}}' from holdfast.channel c, generate_series(1, {MANY}) as n"
            " where c.name = 'subject:org:done'"
        )
        past.machine.run(
            f"update holdfast.channel set last_id = last_id + {MANY} where name = 'subject:org:done'"
        )

        read = read_by(past.machine, "holdfast.feed", audit.about_no_job())

    assert read < MANY / 10


def test_nothing_can_be_written_while_an_audit_looks(holdfast_db: ScratchDatabase) -> None:
    session = Session(Database(holdfast_db.owner_url, "test"), "holdfast test")
    try:
        with pytest.raises(DatabaseUnavailable, match="read-only transaction"):
            audit.look_at_server(session, "a write", [register_tasks([{"name": "t"}])])
    finally:
        session.close()
