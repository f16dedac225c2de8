"""The auditor's own test of the guards: those of a release are found in place, and whoever takes one away or walks around it is found.

Each deed is done as an owner or superuser can do it, and taken back afterwards.
"""

from collections.abc import Iterator

import pytest

from guarantees.audit import Seeded, assert_said, broken_guards, named
from guarantees.test_audit import CORRUPTIONS, MISTOLD, UNREST
from holdfast.domain.audit import RULES
from holdfast.testing import TestServer
from sql.support import Machine, machine_on
from world.without import WITHOUT


def granted(roles: str, options: str) -> str:
    """Grant a role with options, where the server knows them; before 16 it does not, and gives all of it."""
    return f"""do $$ begin
       execute 'grant {roles}' || case when current_setting('server_version_num')::int < 160000 then '' else ' with {options}' end; end $$"""


def made_anew(table: str, policy: str, how: str) -> str:
    """Make a policy once more, for the same roles and rows."""
    return f"""do $$ declare v_rows text; v_roles text; begin
       select pg_get_expr(p.polqual, p.polrelid), (select string_agg(r::regrole::text, ', ') from unnest(p.polroles) as r) into v_rows, v_roles
         from pg_policy p where p.polrelid = 'holdfast.{table}'::regclass and p.polname = '{policy}'; drop policy {policy} on holdfast.{table}; execute format('create policy {policy} on holdfast.{table} {how} to %s using (%s)', v_roles, v_rows); end $$"""


# Guards that somebody took away, weakened or walked around.
UNGUARDED: list[Seeded] = [
    ("H01", "a guard is switched off", "alter table holdfast.job disable trigger guard_move",
     "trigger job.guard_move is not as this release made it, or is switched off or not valid"),
    ("H01", "a guard no longer stands above replication", "alter table holdfast.job enable trigger guard_stay",
     "trigger job.guard_stay is not as this release made it, or is switched off or not valid"),
    ("H01", "a guard goes", "drop trigger identity_is_immutable on holdfast.job",
     "trigger job.identity_is_immutable is missing"),
    ("H01", "a guard looks at less", """
     drop trigger approval_is_decided_once on holdfast.approval;
     create trigger approval_is_decided_once before update of decided_by on holdfast.approval for each row execute function holdfast.refuse('x');
     alter table holdfast.approval enable always trigger approval_is_decided_once""",
     "trigger approval.approval_is_decided_once is not as this release made it, or is switched off or not valid"),
    ("H01", "a month of the history is unguarded", "alter table holdfast.%(month)s disable trigger history_is_kept",
     "job_history_… lacks its guard history_is_kept, or it is not enabled ALWAYS"),
    ("H01", "a month's guards can be walked past", """
     alter table holdfast.%(month)s enable trigger history_is_append_only;
     alter table holdfast.%(month)s enable replica trigger history_is_not_truncated;
     drop trigger history_is_written_by_moves on holdfast.%(month)s""",
     "job_history_… lacks its guard history_is_append_only, or it is not enabled ALWAYS",
     "job_history_… lacks its guard history_is_not_truncated, or it is not enabled ALWAYS",
     "job_history_… lacks its guard history_is_written_by_moves, or it is not enabled ALWAYS"),
    ("H01", "somebody adds a trigger", """
     create trigger mine before insert on holdfast.job for each row execute function holdfast.refuse('x')""",
     "trigger job.mine is not of this release"),
    ("H01", "a month's guard looks away", """
     drop trigger history_is_written_by_moves on holdfast.%(month)s;
     create trigger history_is_written_by_moves before insert on holdfast.%(month)s for each statement when (false)
       execute function holdfast.refuse('history is written by the moves themselves: INSERT is refused');
     alter table holdfast.%(month)s enable always trigger history_is_written_by_moves""",
     "trigger job_history_….history_is_written_by_moves is not of this release"),
    ("H01", "a month has a trigger of its own", """
     create trigger mine before insert on holdfast.%(month)s for each row execute function holdfast.refuse('x')""",
     "trigger job_history_….mine is not of this release"),
    ("H01", "a rule swallows what is deleted", "create rule swallow as on delete to holdfast.flag do instead nothing",
     "rule flag.swallow is not of this release"),
    ("H01", "a rule swallows what a month is told", "create rule swallow as on insert to holdfast.%(month)s do instead nothing",
     "rule job_history_….swallow is not of this release"),
    ("H01", "a rule swallows what a view is told", "create rule swallow as on insert to holdfast.history_overview do instead nothing",
     "rule history_overview.swallow is not of this release"),
    ("H02", "something else ends with the temporary schema", """
     alter function holdfast.cancel reset search_path;
     alter function holdfast.cancel set my.path = 'holdfast, pg_temp'""",
     "holdfast.cancel(uuid,text,text) runs with the owner's rights and pins no search_path that ends with pg_temp"),
    ("H02", "a function with the owner's rights can be led astray", "alter function holdfast.cancel reset search_path",
     "holdfast.cancel(uuid,text,text) runs with the owner's rights and pins no search_path that ends with pg_temp"),
    ("H02", "the temporary schema is not the last", "alter function holdfast.cancel set search_path = pg_temp, pg_catalog, holdfast",
     "holdfast.cancel(uuid,text,text) runs with the owner's rights and pins no search_path that ends with pg_temp"),
    ("H03", "a function is everybody's", "grant execute on function holdfast.upkeep to public",
     "holdfast.upkeep(integer) is everybody's to call"),
    ("H03", "a new function is everybody's", "create function holdfast.mine() returns int language sql return 1",
     "holdfast.mine() is everybody's to call"),
    ("H03", "an aggregate is everybody's", "create aggregate holdfast.mine(int) (sfunc = int4pl, stype = int)",
     "holdfast.mine(integer) is everybody's to call"),
    ("H03", "a table is everybody's", "grant select on holdfast.job to public",
     "job is everybody's to select"),
    ("H03", "a column is everybody's", "grant select (payload) on holdfast.job to public",
     "payload of job is everybody's to select"),
    ("H03", "the schema is everybody's", "grant usage on schema holdfast to public",
     "the schema is everybody's: usage"),
    ("H04", "a constraint is not validated", "alter table holdfast.worker add constraint c check (pid > 0) not valid",
     "constraint c has not been validated"),
    ("H05", "row security is off", "alter table holdfast.job disable row level security",
     "row security job is not as this release made it, or is switched off or not valid"),
    ("H05", "row security is off where the history is, and binds the owner", """
     alter table holdfast.job_history disable row level security;
     alter table holdfast.job force row level security""",
     "row security job_history is not as this release made it, or is switched off or not valid",
     "row security job is not as this release made it, or is switched off or not valid"),
    ("H05", "policies are made anew, and are others", f"""
     {made_anew("approval", "own_rows", "as restrictive for select")};
     {made_anew("job", "own_rows", "for all")}""",
     "policy approval.own_rows is not as this release made it, or is switched off or not valid",
     "policy job.own_rows is not as this release made it, or is switched off or not valid"),
    ("H05", "more may ask for all rows", "alter policy all_rows_when_asked on holdfast.job to holdfast_viewer, holdfast_producer",
     "policy job.all_rows_when_asked is not as this release made it, or is switched off or not valid"),
    ("H05", "what is called all rows is something else", f"""
     {made_anew("job", "all_rows", "as restrictive for select")};
     {made_anew("approval", "all_rows", "for all")};
     alter policy all_rows on holdfast.attempt using (false);
     create policy mine on holdfast.job for select to holdfast_unbound using (true)""",
     "policy job.all_rows is not of this release",
     "policy approval.all_rows is not of this release",
     "policy attempt.all_rows is not of this release",
     "policy job.mine is not of this release"),
    ("H05", "a month's policy lets everything through", "alter policy own_rows on holdfast.%(month)s using (true)",
     "policy job_history_….own_rows is not of this release"),
    ("H05", "tables are named like months", """
     create table holdfast.job_history_mine (n int);
     create table holdfast.old_job_history_202601 (n int);
     alter table holdfast.job_history_mine owner to holdfast_owner;
     alter table holdfast.old_job_history_202601 owner to holdfast_owner""",
     "row security job_history_mine is not of this release",
     "row security old_job_history_202601 is not of this release"),
    ("H05", "a policy lets everything through", "alter policy own_rows on holdfast.approval using (true)",
     "policy approval.own_rows is not as this release made it, or is switched off or not valid"),
    ("H05", "a policy is added", "create policy mine on holdfast.job for select to holdfast_api using (true)",
     "policy job.mine is not of this release"),
    ("H05", "a policy lets writes through", "create policy mine on holdfast.flag for update to holdfast_api using (true) with check (true)",
     "policy flag.mine is not of this release"),
    ("H05", "a policy is for everybody", "alter policy own_rows on holdfast.job to public",
     "policy job.own_rows is not as this release made it, or is switched off or not valid"),
    ("H05", "a policy that lets all through is for more", "alter policy all_rows on holdfast.job to holdfast_unbound, holdfast_api",
     "policy job.all_rows is not of this release"),
    ("H05", "a policy goes", "drop policy own_rows on holdfast.job",
     "policy job.own_rows is missing"),
    ("H05", "a month has a policy of its own", "create policy mine on holdfast.%(month)s for select to holdfast_viewer using (true)",
     "policy job_history_….mine is not of this release"),
    ("H05", "a new table has rows of tenants", "create table holdfast.mine (tenant text); alter table holdfast.mine owner to holdfast_owner",
     "mine has rows of tenants and no row level security"),
    ("H05", "a new table has rows of jobs, in parts", """
     create table holdfast.mine (job_id uuid) partition by list (job_id);
     alter table holdfast.mine owner to holdfast_owner""",
     "mine has rows of tenants and no row level security"),
    ("H06", "a worker may write", "grant update on holdfast.job to holdfast_worker",
     "holdfast_worker may update job"),
    ("H06", "a worker may do everything else, and so may another", """
     grant insert, delete, truncate, references, trigger on holdfast.job to holdfast_worker;
     grant insert (payload), references (payload) on holdfast.job to holdfast_api""",
     *(f"holdfast_worker may {what} job" for what in ("insert", "delete", "truncate", "references", "trigger")),
     *(f"holdfast_api may {what} columns of job" for what in ("insert", "references"))),
    ("H06", "a column may be written", "grant update (payload) on holdfast.job to holdfast_api",
     "holdfast_api may update columns of job"),
    ("H06", "a column may be read", "grant select (payload) on holdfast.job to holdfast_viewer",
     "rights on table job are: holdfast_api may select, holdfast_viewer may select its column payload; this release gives: holdfast_api may select"),
    ("H06", "a producer may decide", "grant execute on function holdfast.decide to holdfast_producer",
     "rights on function holdfast.decide(uuid,text,text,text,text,text) are: holdfast_api may execute, holdfast_producer may execute; this release gives: holdfast_api may execute"),
    ("H06", "a viewer may read tokens' digests", "grant select on holdfast.approver to holdfast_viewer",
     "rights on table approver are: holdfast_viewer may select; this release gives: none"),
    ("H06", "a role may count anew", "grant usage on sequence holdfast.refusal to holdfast_api",
     "rights on sequence refusal are: holdfast_api may select, holdfast_api may usage; this release gives: holdfast_api may select"),
    ("H06", "a role may pass on what it may", "grant execute on function holdfast.cancel to holdfast_api with grant option",
     "rights on function holdfast.cancel(uuid,text,text) are: holdfast_api may execute and pass it on, holdfast_unbound may execute; this release gives: holdfast_api may execute"),
    ("H06", "a role may let others read", "grant select on holdfast.job to holdfast_api with grant option",
     "rights on table job are: holdfast_api may select and pass it on, holdfast_unbound may select; this release gives: holdfast_api may select"),
    ("H06", "a role may put things into the schema", "grant create on schema holdfast to holdfast_worker",
     "rights on schema holdfast are: holdfast_api may usage, holdfast_maint may usage, holdfast_producer may usage, holdfast_viewer may usage, holdfast_worker may create, holdfast_worker may usage; this release gives: holdfast_api may usage, holdfast_maint may usage, holdfast_producer may usage, holdfast_viewer may usage, holdfast_worker may usage"),
    ("H06", "a month may be read by itself", "grant select on holdfast.%(month)s to holdfast_viewer",
     "rights on table job_history_… are: holdfast_viewer may select; this release gives: none"),
    ("H06", "whoever is bound to nobody may more than others", "grant select on holdfast.approver to holdfast_unbound",
     "rights on table approver are: holdfast_unbound may select; this release gives: none"),
    ("H06", "a right is gone", "revoke execute on function holdfast.cancel from holdfast_api",
     "rights on function holdfast.cancel(uuid,text,text) are: holdfast_unbound may execute; this release gives: holdfast_api may execute"),
    ("H06", "a login acts as the owner", "grant holdfast_owner to holdfast_worker",
     "holdfast_worker, whom applications log in as or through, may act as holdfast_owner, who owns everything"),
    ("H06", "a login acts as the owner, both through groups", """
     create role crew_login login;
     create role crew;
     grant holdfast_worker to crew;
     grant crew to crew_login;
     create role keepers;
     grant holdfast_owner to keepers;
     grant keepers to crew""",
     "crew_login, whom applications log in as or through, may act as holdfast_owner, who owns everything"),
    ("H06", "a login acts as a superuser", """
     create role crew_login login;
     grant holdfast_worker to crew_login;
     create role chief superuser;
     grant chief to crew_login""",
     "crew_login, whom applications log in as or through, may act as chief, who is a superuser"),
    ("H06", "a login writes every table", """
     create role crew_login login;
     grant holdfast_worker, pg_write_all_data to crew_login""",
     "crew_login, whom applications log in as or through, may act as pg_write_all_data, who writes every table"),
    ("H06", "a login reads every table", """
     create role crew_login login;
     grant holdfast_worker, pg_read_all_data to crew_login""",
     "crew_login, whom applications log in as or through, may act as pg_read_all_data, who reads every table"),
    ("H06", "a login runs programs on the server and reaches its files", """
     create role crew_login login;
     grant holdfast_worker, pg_execute_server_program, pg_read_server_files, pg_write_server_files to crew_login""",
     *(f"crew_login, whom applications log in as or through, may act as {role}, who reaches the server's own files and programs"
       for role in ("pg_execute_server_program", "pg_read_server_files", "pg_write_server_files"))),
    ("H06", "a login acts as the owner when it says so, or without saying so", f"""
     create role sometimes login;
     create role always login;
     grant holdfast_worker to sometimes, always;
     {granted("holdfast_owner to sometimes", "inherit false, set true")};
     {granted("holdfast_owner to always", "inherit true, set false")}""",
     "sometimes, whom applications log in as or through, may act as holdfast_owner, who owns everything",
     "always, whom applications log in as or through, may act as holdfast_owner, who owns everything"),
    ("H06", "a viewer steps out of the bounds", granted("holdfast_unbound to holdfast_viewer", "inherit false"),
     "holdfast_viewer may act as holdfast_unbound, as only holdfast_api may, and that without inheriting it"),
    ("H06", "out of the bounds without a word", """
     alter role holdfast_api inherit;
     revoke holdfast_unbound from holdfast_api;
     grant holdfast_unbound to holdfast_api""",
     "holdfast_api may act as holdfast_unbound, as only holdfast_api may, and that without inheriting it"),
    ("H06", "the owner can log in", "alter role holdfast_owner login",
     "holdfast_owner can log in, and is nobody's login"),
    ("H06", "whoever is bound to nobody can log in", "alter role holdfast_unbound login",
     "holdfast_unbound can log in, and is nobody's login"),
    ("H06", "roles walk past the policies", """
     alter role holdfast_viewer bypassrls;
     alter role holdfast_producer bypassrls;
     alter role holdfast_api bypassrls;
     alter role holdfast_maint bypassrls""",
     *(f"holdfast_{role}, whom applications log in as or through, walks past row level security"
       for role in ("viewer", "producer", "api", "maint"))),
    ("H06", "a table belongs to somebody else", "alter table holdfast.flag owner to current_user",
     "flag belongs to …, and the schema to holdfast_owner"),
    ("H06", "the history, a view and a sequence belong to somebody else", """
     alter table holdfast.job_history owner to current_user;
     alter view holdfast.history_overview owner to current_user;
     alter sequence holdfast.refusal owner to current_user""",
     *(f"{thing} belongs to …, and the schema to holdfast_owner" for thing in ("job_history", "history_overview", "refusal"))),
    ("H06", "a function belongs to somebody else", "alter function holdfast.cancel owner to current_user",
     "function holdfast.cancel(uuid,text,text) belongs to …, and the schema to holdfast_owner"),
    ("H08", "a function is rewritten", """
     create or replace function holdfast.is_legal(p_from holdfast.job_status, p_to holdfast.job_status) returns boolean
     language sql immutable parallel safe return true""",
     "function holdfast.is_legal(holdfast.job_status,holdfast.job_status) is not as this release made it, or is switched off or not valid"),
    ("H08", "a rule is left out", "select pg_temp.without('holdfast.hold_fence', 'and v_job.claim_id = p_claim_id')",
     "function holdfast.hold_fence(uuid,integer,uuid) is not as this release made it, or is switched off or not valid"),
    ("H08", "the clock is moved", """
     create or replace function holdfast.clock() returns timestamptz language sql volatile parallel safe return clock_timestamp() + interval '1 hour'""",
     "function holdfast.clock() is not as this release made it, or is switched off or not valid"),
    ("H08", "a procedure is added", "create procedure holdfast.mine() language sql begin atomic select 1; end",
     "function holdfast.mine() is not of this release"),
    ("H08", "a view shows every tenant's", """
     create or replace view holdfast.history_overview as
       select h.job_id, h.seq, h.from_status, h.to_status, h.attempt, h.at, h.actor from holdfast.job_history h""",
     "view history_overview is not as this release made it, or is switched off or not valid"),
    ("H08", "a view is added", "create view holdfast.mine as select id, payload from holdfast.job",
     "view mine is not of this release"),
    ("H08", "a view is read with others' rights, and another is kept", """
     alter view holdfast.history_overview set (security_invoker = true);
     create materialized view holdfast.mine as select 1 as n""",
     "view history_overview is not as this release made it, or is switched off or not valid",
     "view mine is not of this release"),
    ("H08", "a function goes", "drop function holdfast.forget_nonces",
     "function holdfast.forget_nonces(integer) is missing"),
    ("H09", "a unique index goes", "drop index holdfast.job_key",
     "unique index job_key is missing"),
    ("H09", "a unique index covers less", """
     drop index holdfast.job_retried_once;
     create unique index job_retried_once on holdfast.job (retry_of) where retry_of is not null and finished_at is null""",
     "unique index job_retried_once is not as this release made it, or is switched off or not valid"),
    ("H09", "an index goes", "drop index holdfast.activity_of_job",
     "index activity_of_job is missing"),
    ("H09", "indexes are not ready, or not valid", """
     update pg_index set indisvalid = false where indexrelid = 'holdfast.job_key'::regclass;
     update pg_index set indisready = false where indexrelid = 'holdfast.activity_of_job'::regclass""",
     "unique index job_key is not as this release made it, or is switched off or not valid",
     "index activity_of_job is not as this release made it, or is switched off or not valid"),
    ("H09", "keys and a domain's rule go", """
     alter table holdfast.device drop constraint device_person_fkey;
     alter table holdfast.sleeper drop constraint sleeper_pkey;
     alter domain holdfast.key_scope drop constraint key_scope_is_known""",
     "constraint device.device_person_fkey is missing",
     "constraint sleeper.sleeper_pkey is missing",
     "constraint key_scope.key_scope_is_known is missing"),
    ("H09", "a constraint goes", "alter table holdfast.slot drop constraint slot_has_one_holder",
     "constraint slot.slot_has_one_holder is missing"),
    ("H09", "a constraint allows more", """
     alter table holdfast.flag drop constraint flag_percent_is_a_share;
     alter table holdfast.flag add constraint flag_percent_is_a_share check (percent >= 0)""",
     "constraint flag.flag_percent_is_a_share is not as this release made it, or is switched off or not valid"),
]  # fmt: skip


# What is wrong where roles are kept apart, and nobody's business where they are not.
LOOSE = """alter role holdfast_viewer bypassrls;
     alter role holdfast_owner login;
     grant holdfast_unbound to holdfast_viewer;
     drop policy own_rows on holdfast.approval;
     alter table holdfast.job disable row level security"""
# What an operator or upkeep may do beside the release's own.
UNSUSPICIOUS: list[tuple[str, str]] = [
    ("an index", "create index mine on holdfast.job (label)"),
    ("a month that upkeep made", """
     set local role holdfast_owner;
     select holdfast.ensure_history_partition('2099-01-01');
     reset role"""),
    ("what others have in other schemas", """
     create schema others authorization holdfast_owner;
     grant usage on schema others to holdfast_api, public;
     create table others.mine (tenant text, n int);
     alter table others.mine add constraint c check (n > 0) not valid;
     alter table others.mine enable row level security;
     create policy mine on others.mine for select to holdfast_viewer using (true);
     create trigger mine before insert on others.mine for each row execute function holdfast.refuse('x');
     create rule mine as on delete to others.mine do instead nothing;
     create view others.seen as select n from others.mine;
     create function others.mine() returns int language sql security definer return 1;
     create table others.open (tenant text);
     grant select, insert on others.mine to holdfast_viewer, public;
     grant select (n), update (n) on others.mine to holdfast_viewer, public;
     grant execute on function others.mine() to holdfast_api"""),
    ("a role of their own, which reads", """
     create role reporter login;
     grant pg_read_all_data to reporter;
     grant usage on schema holdfast to reporter;
     grant select on holdfast.job to reporter;
     grant select (payload) on holdfast.job to reporter;
     grant execute on function holdfast.upkeep to reporter"""),
    ("a group that nobody logs in through", """
     create role crew;
     grant holdfast_worker, pg_read_all_data to crew"""),
    ("who made a role, and can neither act as it nor has what it has", """
     do $$ begin
       if current_setting('server_version_num')::int >= 160000 then execute 'grant holdfast_owner to holdfast_worker with admin true, inherit false, set false'; end if; end $$"""),
    ("one who owns everything, whatever roles another database has", f"""
     reassign owned by holdfast_owner to current_user;
     {LOOSE}"""),
    ("an owner without the other roles, whatever those do", f"""
     alter role holdfast_api rename to somebody;
     {LOOSE}"""),
    ("a column that came and went", """
     alter table holdfast.flag add column mine int;
     grant select (mine) on holdfast.flag to holdfast_viewer;
     alter table holdfast.flag drop column mine"""),
]  # fmt: skip


@pytest.fixture(scope="module")
def machine(holdfast_server: TestServer) -> Iterator[Machine]:
    with holdfast_server.database() as database, machine_on(database.owner_url) as machine:
        yield machine


def test_a_release_has_all_its_guards(machine: Machine) -> None:
    with machine.connection.transaction():
        assert broken_guards(machine.connection) == []


@pytest.mark.parametrize("seeded", UNGUARDED, ids=named)
def test_every_guard_that_is_missed_is_found(machine: Machine, seeded: Seeded) -> None:
    with machine.connection.transaction(force_rollback=True):
        machine.run(WITHOUT)
        do(machine, seeded[2])

        assert_said(seeded, broken_guards(machine.connection))


def do(machine: Machine, statements: str) -> None:
    month = machine.value(
        "select max(c.relname) from pg_class c where c.relname ~ '^job_history_[0-9]{6}$' and c.relkind = 'r'"
    )
    for statement in statements.split(";\n"):
        machine.run(statement.replace("%(month)s", month))


@pytest.mark.parametrize(("deed", "statements"), UNSUSPICIOUS, ids=[deed for deed, _ in UNSUSPICIOUS])
def test_what_the_operator_has_beside_the_releases_own_is_no_finding(
    machine: Machine, deed: str, statements: str
) -> None:
    with machine.connection.transaction(force_rollback=True):
        do(machine, statements)

        assert broken_guards(machine.connection) == [], deed


# What is said of something once, and by whom it was done, and nothing more.
SAID_ONCE: list[tuple[str, str]] = [
    ("H06 rights on table approver are: holdfast_viewer may select; this release gives: none", "grant select on holdfast.approver to holdfast_viewer"),
    ("H03 job is everybody's to insert", "grant insert on holdfast.job to public"),
    ("H06 flag belongs to crew, and the schema to holdfast_owner", """
     create role crew;
     grant create, usage on schema holdfast to crew;
     alter table holdfast.flag owner to crew;
     grant insert, update (percent) on holdfast.flag to holdfast_owner;
     grant update (percent) on holdfast.flag to crew"""),
]  # fmt: skip


@pytest.mark.parametrize(("said", "statements"), SAID_ONCE, ids=[said for said, _ in SAID_ONCE])
def test_what_is_found_is_said_once_and_of_nobody_else(machine: Machine, said: str, statements: str) -> None:
    with machine.connection.transaction(force_rollback=True):
        do(machine, statements)

        assert broken_guards(machine.connection) == [(said, None)]


# What it takes a server of its own to break.
ELSEWHERE = {"H10", "I01", "I02", "I03", "I04", "I05", "I06"}


def test_every_rule_is_broken_by_something_here() -> None:
    seeded = {code for code, *_ in (*CORRUPTIONS, *UNREST, *MISTOLD, *UNGUARDED)}

    assert seeded | ELSEWHERE == RULES.keys()
