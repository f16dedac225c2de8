"""Whose rows a caller may touch: what the policies hide, what the functions refuse, and what is left when a transaction ends."""

from collections.abc import Iterable, Iterator

import psycopg
import pytest
from psycopg.types.json import Jsonb

from holdfast.testing import ScratchDatabase, TestServer
from sql.support import Machine, machine_on, refused
from sql.test_project import project_all
from sql.watching import fail, judge, rule, watch

# Definitions and marks of our own: nothing in them comes from a tenant's jobs.
NOBODYS = {
    "alert_channel",
    "alert_watch",
    "flag",
    "heal",
    "installed",
    "projection",
    "queue",
    "sleeper",
    "task",
    "upkeep",
    "worker",
}

# One row a tenant in every table that a caller of the service may read. history comes with the job.
ROWS = {
    "attempt": "values (%(job)s, 1, 'w', 'failed')",
    "log_part": "values (%(job)s, 1, 0, now(), 'w', '[]')",
    "step": "(job_id, name, kind, attempt, started_at, finished_at) values (%(job)s, 's', 'step', 1, now(), now())",
    "checkpoint": "values (%(job)s, 1, now(), '1')",
    "progress": "values (%(job)s, 1, now(), 1)",
    "wait": "(job_id, event) values (%(job)s, 'e')",
    "dependency": "(needs, job_id, position) values (gen_random_uuid(), %(job)s, 1)",
    "activity": "(job_id, at, xid, kind, actor) values (%(job)s, now(), 1, 'k', 'a')",
    "dispatch": "(job_id, attempt, claim_id, executor, inputs, created_at, heartbeat_limit, run_limit, retry_in)"
    " values (%(job)s, 1, gen_random_uuid(), 'x', '{}', now(), '1 s', '1 s', '1 s')",
    "callback_nonce": "values (%(job)s, 'n', '', 'accepted', now())",
    "left_over": "values (now(), %(job)s, 1, null)",
    "channel": "values ('tenant:' || %(tenant)s::text, 1, now())",
    "feed": "values ('tenant:' || %(tenant)s::text, 1, %(job)s, now(), 'k', '{}')",
    "slot": "values (%(job)s, %(tenant)s, 1)",
    "rate_slot": "values (%(tenant)s, 1, %(job)s, null, '1 s')",
    "event": "(name, tenant, payload, emitted_by) values ('e', %(tenant)s, '1', 'a')",
    "storage": "values (%(tenant)s, 1, 1, 1, 1, 1, 1, now())",
    "usage": "values (current_date, %(tenant)s, 't', 1, 1, 1, 1, 1, 1, 1, 1, 1)",
    "quota": "values (%(tenant)s, null, 'day', 'enqueued', null, 9)",
    "tenant": "values (%(tenant)s, 2)",
    "schedule": "(name, task, options, every, anchor, declared, settled_to, created_at, updated_at)"
    " values (%(tenant)s::text, 't', jsonb_build_object('tenant', %(tenant)s::text), '1 h', now(), false, now(), now(), now())",
    "schedule_run": "values (%(tenant)s, now(), now(), 1, 'fired', now(), %(job)s, 'a')",
    "approval": "(job_id, attempt, name, question, facts, approvers, quorum, self_approval, bound_hash, asked_at, on_expiry)"
    " values (%(job)s, 1, 'n', 'q', '{}', '{}', 1, false, 'h', now(), 'fail')",
    "approval_decision": "select a.id, 'w', 'approve', null, null, 'person', now(), 'h'"
    " from holdfast.approval a where a.job_id = %(job)s",
    "alert_rule": "(name, kind, tenant, severity, channels, app, registered_at)"
    " values (%(tenant)s::text, 'job_failed', %(tenant)s::text, 'info', '{}', 'a', now())",
    "alert": "(rule, about, severity, message, opened_at, last_seen_at)"
    " values (%(tenant)s, 'a', 'info', 'm', now(), now())",
    "notification": "(id, kind, channel, alert_id, job_id, created_at)"
    " select gen_random_uuid(), 'opened', 'c', a.id, gen_random_uuid(), now() from holdfast.alert a where a.rule = %(tenant)s",
    "audit": "(actor, action, tenant) values ('a', 'b', %(tenant)s)",
    "operation": "(id, tenant, action, search, actor, total) values (%(job)s, %(tenant)s, 'cancel', 'q', 'a', 1)",
    "operation_chunk": "(operation_id, nth, jobs) values (%(job)s, 1, array[%(job)s::uuid])",
    "saved_view": "(tenant, owner, name, search, columns, reach, saved_by) values (%(tenant)s, 'ann', 'n', '', '', '7d', 'ann')",
    "webhook_delivery": "(id, endpoint, event_id, type, tenant, status, body)"
    " values (%(job)s, 'e', %(tenant)s::text, 't', %(tenant)s::text, 'handled', '{}')",
}
# Sums over all tenants: for nobody who is bound to one.
SUMS = {
    "statistic": "values (now(), 'default', 't', 1, 1, 1, 1, 1, 1, 1, 1, '1 s', 1, '1 s')",
    "timing": "values (now(), 'default', 't', 'wait', 1, 1)",
    "tally": "values ('default', 't', 'PENDING', 1, 0)",
    "rate_wait": "values ('k', now())",
    "duration": "values ('default', 't', 'wait', 1, 1, 1)",
}


@pytest.fixture(scope="session")
def two_tenants(each_server: TestServer) -> Iterator[ScratchDatabase]:
    """Give a database in which acme and globex have a row each wherever a caller may read, and nobody writes any more."""
    with each_server.database() as database, machine_on(database.owner_url) as owner:
        owner.register("t")
        for tenant in ("acme", "globex"):
            job = owner.enqueue(tenant=tenant, subject="order")
            for table, row in ROWS.items():
                owner.connection.execute(
                    f"insert into holdfast.{table} {row}", {"job": job, "tenant": tenant}
                )
        for table, row in SUMS.items():
            owner.run(f"insert into holdfast.{table} {row}")
        yield database


@pytest.fixture
def reader(two_tenants: ScratchDatabase) -> Iterator[Machine]:
    """Give an application's login, in a transaction that is rolled back."""
    with psycopg.connect(two_tenants.url) as connection:
        yield Machine(connection)
        connection.rollback()


def test_every_table_is_bound_to_tenants_or_has_nothing_of_theirs(each_machine: Machine) -> None:
    tables = each_machine.rows(
        "select c.relname, c.relrowsecurity, exists (select from pg_policy p where p.polrelid = c.oid) as has_policy"
        " from pg_class c where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p')"
    )

    unbound = {row["relname"] for row in tables if not (row["relrowsecurity"] and row["has_policy"])}

    assert unbound == NOBODYS


def test_every_table_that_a_caller_may_read_is_tried_here(each_machine: Machine) -> None:
    readable = each_machine.rows(
        "select c.relname from pg_class c where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p')"
        " and has_table_privilege('holdfast_api', c.oid, 'select')"
    )

    assert {row["relname"] for row in readable} - NOBODYS == {"job", "job_history", *ROWS, *SUMS}


@pytest.mark.parametrize(
    ("setting", "seen"),
    [(None, 0), ("", 0), ("nobody", 0), ("acme", 1), ("*", 2)],
    ids=["unset", "empty", "no tenant", "own", "all"],
)
def test_a_reader_sees_the_rows_of_whom_it_says_and_of_nobody_else(
    reader: Machine, setting: str | None, seen: int
) -> None:
    tables = ("job", "job_history", *ROWS)
    reader.run("set local role holdfast_api")
    if setting == "*":
        reader.run("select holdfast.enter('*')")
    elif setting is not None:
        reader.run("select set_config('holdfast.tenant', %s, true)", setting)

    assert counts(reader, tables) == dict.fromkeys(tables, seen)


def counts(reader: Machine, tables: Iterable[str]) -> dict[str, int]:
    """Count the rows that a reader sees."""
    return {table: reader.count(f"holdfast.{table}") for table in tables}


def test_sums_over_all_tenants_are_hidden_from_who_is_bound_to_one(reader: Machine) -> None:
    reader.run("select holdfast.enter('acme')")
    bound = counts(reader, SUMS)
    reader.run("select holdfast.enter('*')")

    assert bound == dict.fromkeys(SUMS, 0)
    assert counts(reader, SUMS) == dict.fromkeys(SUMS, 1)


@pytest.mark.parametrize(("setting", "seen"), [(None, 0), ("", 0), ("acme", 1), ("*", 2)])
def test_a_viewer_sees_what_it_says_too(reader: Machine, setting: str | None, seen: int) -> None:
    tables = ("job_overview", "history_overview", "usage", "quota", "tenant")
    reader.run("set local role holdfast_viewer")
    if setting is not None:
        reader.run("select set_config('holdfast.tenant', %s, true)", setting)

    assert counts(reader, tables) == dict.fromkeys(tables, seen)


@pytest.mark.parametrize("login", ["superuser", "owner", "application"])
def test_whoever_enters_for_a_tenant_is_bound_whatever_its_login_may(
    two_tenants: ScratchDatabase, login: str
) -> None:
    url = two_tenants.url if login == "application" else two_tenants.owner_url
    with machine_on(url) as machine, machine.connection.transaction(force_rollback=True):
        if login == "owner":
            machine.run("set local session authorization holdfast_owner")
            with machine.refused("HF016", "cannot keep tenants apart for holdfast_owner"):
                machine.run("select holdfast.enter('acme')")
            return
        machine.run("select holdfast.enter('acme')")

        assert machine.count() == 1


def test_nothing_of_it_is_left_for_the_next_who_gets_the_connection(two_tenants: ScratchDatabase) -> None:
    with psycopg.connect(two_tenants.url, autocommit=True) as connection:
        machine = Machine(connection)
        for tenant in ("acme", "*"):
            with connection.transaction():
                machine.run("select holdfast.enter(%s)", tenant)
            with connection.transaction(force_rollback=True):
                machine.run("select holdfast.enter(%s)", tenant)

            assert machine.count() == 0
            assert machine.value("select current_user = session_user") is True


@pytest.mark.parametrize("tenant", [None, ""])
def test_nobody_enters_for_no_tenant(reader: Machine, tenant: str | None) -> None:
    with pytest.raises(psycopg.Error, match="enter needs a tenant") as refused:
        reader.run("select holdfast.enter(%s)", tenant)

    assert refused.value.sqlstate == "HF005"


# -- plans -----------------------------------------------------------------------------------------------------------------


def plan(machine: Machine, where: str) -> str:
    rows = machine.rows(
        f"explain (costs off) select j.id from holdfast.job j where {where} order by j.id desc limit 50"
    )
    return "\n".join(row["QUERY PLAN"] for row in rows)


def test_lists_are_served_by_the_same_indexes_as_without_policies(each_db: ScratchDatabase) -> None:
    with machine_on(each_db.owner_url) as owner:
        owner.register("t")
        jobs = [{"task": "t", "payload": {}, "tenant": f"tenant {n % 500}"} for n in range(3000)]
        owner.run("select count(*) from holdfast.enqueue_many(%s)", Jsonb(jobs))
        owner.run("analyze holdfast.job")
    with psycopg.connect(each_db.url) as connection:
        machine = Machine(connection)
        machine.run("set enable_seqscan = off; set enable_bitmapscan = off")
        machine.run("select holdfast.enter('*')")
        by_status = plan(machine, "j.status = 'FAILED' and j.status <> 'RUNNING'")
        machine.run("select holdfast.enter('tenant 7')")
        own = plan(machine, "true")

    assert "Index Only Scan using job_by_status" in by_status
    assert "Sort" not in by_status
    assert "using job_by_tenant" in own
    assert "Sort" not in own


def test_who_is_bound_is_not_told_how_many_of_others_failed(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    watch(lasting, rule("all", kind="job_failed", period=3600), rule("mine", kind="job_failed", period=3600, tenant="acme"))  # fmt: skip
    fail(lasting, lasting.enqueue(tenant="acme"))
    for _ in range(5):
        fail(lasting, lasting.enqueue(tenant="globex"))
    project_all(lasting)
    judge(lasting)

    with machine_on(holdfast_db.url) as caller, caller.connection.transaction():
        caller.value("select holdfast.enter('acme')")
        seen = caller.rows("select rule, count, message from holdfast.alert")

    assert seen == [{"rule": "mine", "count": 1, "message": "a job of task t FAILED"}]


# -- attacks of each role: what tests/sql/test_rights.py does not try --------------------------------------------------------

DENIED = "42501"


ATTACKS = (
    "do $$ begin update holdfast.job set tenant = 'acme'; end $$",
    "do $$ begin execute 'delete from holdfast.job_history'; end $$",
    "copy holdfast.job from '/etc/hostname'",
    "copy holdfast.job to '/tmp/holdfast-stolen'",
    "copy (select 1) to program 'id'",
    "select lo_import('/etc/hostname')",
    "select lo_export(1, '/tmp/holdfast-stolen')",
    "select pg_read_file('/etc/hostname')",
    "select pg_catalog.set_config('session_replication_role', 'replica', false)",
    "alter table holdfast.job disable row level security",
    "create policy mine on holdfast.job using (true)",
    "drop policy own_rows on holdfast.job",
    "alter role holdfast_api bypassrls",
    "create table holdfast.mine (a int)",
    "create trigger mine before insert on holdfast.audit execute function suppress_redundant_updates_trigger()",
)


@pytest.mark.parametrize("role", ["producer", "worker", "api", "unbound", "viewer", "maint"])
def test_no_role_gets_around_the_policies(two_tenants: ScratchDatabase, role: str) -> None:
    with machine_on(two_tenants.owner_url) as machine, machine.connection.transaction(force_rollback=True):
        machine.run(f"set local session authorization holdfast_{role}")

        assert {attack: refused(machine, attack) for attack in ATTACKS} == dict.fromkeys(ATTACKS, DENIED)


@pytest.mark.parametrize(("setting", "lines"), [(None, 0), ("acme", 1)])
def test_copy_gives_what_select_gives(reader: Machine, setting: str | None, lines: int) -> None:
    if setting:
        reader.run("select holdfast.enter(%s)", setting)
    with reader.connection.cursor().copy("copy holdfast.event to stdout") as copied:
        assert len(list(copied.rows())) == lines


def test_what_one_defines_in_front_changes_no_policy(reader: Machine) -> None:
    reader.run("create function pg_temp.seen_tenant() returns text language sql return '*'")
    reader.run(
        "create function pg_temp.current_setting(text, boolean) returns text language sql return 'globex'"
    )
    reader.run("set local search_path = pg_temp, pg_catalog")
    reader.run("select holdfast.enter('acme')")

    assert reader.rows("select tenant from holdfast.job") == [{"tenant": "acme"}]


def test_digests_of_keys_and_kept_answers_are_read_through_functions_alone(reader: Machine) -> None:
    for table in ("api_key", "request", "approver", "published"):
        assert refused(reader, f"select from holdfast.{table}") == DENIED
