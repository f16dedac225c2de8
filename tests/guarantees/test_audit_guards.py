"""The auditor's own test of the guards: those of a release are found in place, and whoever takes one away or walks around it is found.

Each deed is done as an owner or superuser can do it, and taken back afterwards.
"""

from collections.abc import Iterator

import pytest

from conftest import WITHOUT
from guarantees.audit import broken_guards, codes
from holdfast.testing import TestServer
from sql.support import Machine, machine_on

# Guards that somebody took away, weakened or walked around.
UNGUARDED: list[tuple[str, str, str]] = [
    ("H01", "a guard is switched off", "alter table holdfast.job disable trigger guard_move"),
    ("H01", "a guard no longer stands above replication", "alter table holdfast.job enable trigger guard_stay"),
    ("H01", "a guard goes", "drop trigger identity_is_immutable on holdfast.job"),
    ("H01", "a guard looks at less", """
     drop trigger approval_is_decided_once on holdfast.approval;
     create trigger approval_is_decided_once before update of decided_by on holdfast.approval for each row execute function holdfast.refuse('x');
     alter table holdfast.approval enable always trigger approval_is_decided_once"""),
    ("H01", "a month of the history is unguarded", "alter table holdfast.%(month)s disable trigger history_is_kept"),
    ("H01", "somebody adds a trigger", """
     create trigger mine before insert on holdfast.job for each row execute function holdfast.refuse('x')"""),
    ("H02", "a function with the owner's rights can be led astray", "alter function holdfast.cancel reset search_path"),
    ("H02", "the temporary schema is not the last", "alter function holdfast.cancel set search_path = pg_temp, pg_catalog, holdfast"),
    ("H03", "a function is everybody's", "grant execute on function holdfast.upkeep to public"),
    ("H03", "a table is everybody's", "grant select on holdfast.job to public"),
    ("H04", "a constraint is not validated", "alter table holdfast.worker add constraint c check (pid > 0) not valid"),
    ("H05", "row security is off", "alter table holdfast.job disable row level security"),
    ("H05", "a policy lets everything through", "alter policy own_rows on holdfast.approval using (true)"),
    ("H05", "a new table has rows of tenants", "create table holdfast.mine (tenant text); alter table holdfast.mine owner to holdfast_owner"),
    ("H06", "a worker may write", "grant update on holdfast.job to holdfast_worker"),
    ("H06", "a column may be written", "grant update (payload) on holdfast.job to holdfast_api"),
    ("H06", "a login acts as the owner", "grant holdfast_owner to holdfast_worker"),
    ("H06", "a role walks past the policies", "alter role holdfast_viewer bypassrls"),
    ("H06", "a table belongs to somebody else", "alter table holdfast.flag owner to current_user"),
    ("H08", "a function is rewritten", """
     create or replace function holdfast.is_legal(p_from holdfast.job_status, p_to holdfast.job_status) returns boolean
     language sql immutable parallel safe return true"""),
    ("H08", "a rule is left out", "select pg_temp.without('holdfast.hold_fence', 'and v_job.claim_id = p_claim_id')"),
    ("H08", "the clock is moved", """
     create or replace function holdfast.clock() returns timestamptz language sql volatile parallel safe return clock_timestamp() + interval '1 hour'"""),
    ("H08", "a function goes", "drop function holdfast.forget_nonces"),
    ("H09", "a unique index goes", "drop index holdfast.job_key"),
    ("H09", "a unique index covers less", """
     drop index holdfast.job_retried_once;
     create unique index job_retried_once on holdfast.job (retry_of) where retry_of is not null and finished_at is null"""),
    ("H09", "a constraint goes", "alter table holdfast.slot drop constraint slot_has_one_holder"),
]  # fmt: skip


@pytest.fixture(scope="module")
def machine(holdfast_server: TestServer) -> Iterator[Machine]:
    with holdfast_server.database() as database, machine_on(database.owner_url) as machine:
        yield machine


def test_a_release_has_all_its_guards(machine: Machine) -> None:
    with machine.connection.transaction():
        assert broken_guards(machine.connection) == []


@pytest.mark.parametrize(
    ("code", "deed", "statements"), UNGUARDED, ids=[f"{code} {deed}" for code, deed, _ in UNGUARDED]
)
def test_every_guard_that_is_missed_is_found(machine: Machine, code: str, deed: str, statements: str) -> None:
    month = machine.value(
        "select max(c.relname) from pg_class c where c.relname ~ '^job_history_[0-9]{6}$' and c.relkind = 'r'"
    )
    with machine.connection.transaction(force_rollback=True):
        machine.run(WITHOUT)
        for statement in statements.split(";\n"):
            machine.run(statement.replace("%(month)s", month))

        assert code in codes(broken_guards(machine.connection)), deed


def test_an_index_of_the_operators_own_is_no_finding(machine: Machine) -> None:
    with machine.connection.transaction(force_rollback=True):
        machine.run("create index mine on holdfast.job (label)")

        assert broken_guards(machine.connection) == []
