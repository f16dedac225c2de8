"""Whose rows a caller may touch: what the policies hide, what the functions refuse, and what is left when a transaction ends."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase, TestServer
from sql.support import Machine, machine_on

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
    "step": "(job_id, name, kind, attempt, started_at, finished_at) values (%(job)s, 's', 'step', 1, now(), now())",
    "checkpoint": "values (%(job)s, 1, now(), '1')",
    "progress": "values (%(job)s, 1, now(), 1)",
    "wait": "(job_id, event) values (%(job)s, 'e')",
    "dependency": "(needs, job_id, position) values (gen_random_uuid(), %(job)s, 1)",
    "activity": "(job_id, at, xid, kind, actor) values (%(job)s, now(), 1, 'k', 'a')",
    "dispatch": "(job_id, attempt, claim_id, executor, inputs, created_at, heartbeat_limit, run_limit, retry_in)"
    " values (%(job)s, 1, gen_random_uuid(), 'x', '{}', now(), '1 s', '1 s', '1 s')",
    "slot": "values (%(job)s, %(tenant)s, 1)",
    "rate_slot": "values (%(tenant)s, 1, %(job)s, null, '1 s')",
    "event": "(name, tenant, payload, emitted_by) values ('e', %(tenant)s, '1', 'a')",
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
}
# Sums over all tenants: for nobody who is bound to one.
SUMS = {
    "statistic": "values (now(), 'default', 't', 1, 1, 1, 1, 1, 1, 1, 1, '1 s', 1, '1 s')",
    "timing": "values (now(), 'default', 't', 'wait', 1, 1)",
    "tally": "values ('default', 't', 'PENDING', 1, 0)",
    "rate_wait": "values ('k', now())",
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


@pytest.mark.parametrize("table", ["job", "job_history", *ROWS])
@pytest.mark.parametrize(
    ("setting", "seen"),
    [(None, 0), ("", 0), ("nobody", 0), ("acme", 1), ("*", 2)],
    ids=["unset", "empty", "no tenant", "own", "all"],
)
def test_a_reader_sees_the_rows_of_whom_it_says_and_of_nobody_else(
    reader: Machine, table: str, setting: str | None, seen: int
) -> None:
    reader.run("set local role holdfast_api")
    if setting == "*":
        reader.run("select holdfast.enter('*')")
    elif setting is not None:
        reader.run("select set_config('holdfast.tenant', %s, true)", setting)

    assert reader.count(f"holdfast.{table}") == seen


@pytest.mark.parametrize("table", SUMS)
def test_sums_over_all_tenants_are_hidden_from_who_is_bound_to_one(reader: Machine, table: str) -> None:
    reader.run("select holdfast.enter('acme')")
    bound = reader.count(f"holdfast.{table}")
    reader.run("select holdfast.enter('*')")

    assert (bound, reader.count(f"holdfast.{table}")) == (0, 1)


@pytest.mark.parametrize(("setting", "seen"), [(None, 0), ("", 0), ("acme", 1), ("*", 2)])
@pytest.mark.parametrize("table", ["job_overview", "history_overview", "usage", "quota", "tenant"])
def test_a_viewer_sees_what_it_says_too(reader: Machine, table: str, setting: str | None, seen: int) -> None:
    reader.run("set local role holdfast_viewer")
    if setting is not None:
        reader.run("select set_config('holdfast.tenant', %s, true)", setting)

    assert reader.count(f"holdfast.{table}") == seen


@pytest.mark.parametrize("login", ["superuser", "owner", "application"])
def test_whoever_enters_for_a_tenant_is_bound_whatever_its_login_may(
    two_tenants: ScratchDatabase, login: str
) -> None:
    url = two_tenants.url if login == "application" else two_tenants.owner_url
    with machine_on(url) as machine, machine.connection.transaction(force_rollback=True):
        if login == "owner":
            machine.run("set local session authorization holdfast_owner")
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="may act as holdfast_api"):
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


# -- functions -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def bound(lasting: Machine, holdfast_db: ScratchDatabase) -> Iterator[Machine]:
    """Give an application's login that has entered for acme."""
    with psycopg.connect(holdfast_db.url) as connection:
        connection.execute("select holdfast.enter('acme')")
        yield Machine(connection)


def refused(machine: Machine, statement: str, *parameters: object) -> str | None:
    """Try a statement; gives the SQLSTATE of its refusal."""
    try:
        with machine.connection.transaction(force_rollback=True):
            machine.run(statement, *parameters)
    except psycopg.Error as error:
        return error.sqlstate
    return None


NO_JOB, NO_APPROVAL, NO_SCHEDULE, NOT_YOURS = "HF009", "HF020", "HF061", "HF015"


@pytest.mark.parametrize("other", ["globex", None], ids=["another tenant's", "nobody's"])
def test_a_bound_caller_steers_its_own_jobs_and_finds_no_others(
    lasting: Machine, bound: Machine, other: str | None
) -> None:
    open_ones = {tenant: lasting.enqueue(tenant=tenant) for tenant in ("acme", other)}
    failed = {tenant: lasting.job_in(Status.FAILED, tenant=tenant) for tenant in ("acme", other)}

    for statement, jobs in (
        ("select holdfast.cancel(%s)", open_ones),
        ("select holdfast.retry(%s)", failed),
    ):
        assert refused(bound, statement, jobs["acme"]) is None
        assert refused(bound, statement, jobs[other]) == NO_JOB
    assert [
        bound.value("select status from holdfast.job_outcome(%s)", failed[t]) for t in ("acme", other)
    ] == [
        "FAILED",
        None,
    ]
    assert lasting.status(open_ones[other]) is Status.PENDING


def test_a_bound_caller_enqueues_for_its_own_tenant_only(lasting: Machine, bound: Machine) -> None:
    own, foreign = lasting.enqueue(tenant="acme"), lasting.enqueue(tenant="globex")

    def job(**options: object) -> Jsonb:
        return Jsonb(
            [{"id": str(lasting.value("select holdfast.new_id()")), "task": "t", "payload": {}, **options}]
        )

    enqueue = "select * from holdfast.enqueue_many(%s)"
    assert refused(bound, enqueue, job(tenant="acme", after=[str(own)], parent=str(own))) is None
    assert refused(bound, enqueue, job(tenant="globex")) == NOT_YOURS
    assert refused(bound, enqueue, job(payload={"$encrypted": {}})) == NOT_YOURS
    assert refused(bound, enqueue, job(tenant="acme", parent=str(foreign))) == NOT_YOURS
    assert refused(bound, enqueue, job(tenant="acme", after=[str(foreign)])) == "HF005"


def test_what_a_bound_caller_enqueues_for_nobody_is_its_own_tenants(lasting: Machine, bound: Machine) -> None:
    job_id = bound.enqueue()
    bound.connection.commit()

    assert lasting.job(job_id)["tenant"] == "acme"


def test_an_id_that_another_tenant_has_says_nothing_of_its_job(lasting: Machine, bound: Machine) -> None:
    lasting.register("secret.task")
    foreign = lasting.enqueue("secret.task", tenant="globex")

    with pytest.raises(psycopg.Error, match="is taken by another job") as taken:
        bound.enqueue(tenant="acme", id=foreign)

    assert "secret" not in str(taken.value)


def test_a_bound_caller_decides_what_its_own_jobs_ask(lasting: Machine, bound: Machine) -> None:
    asked = {}
    for tenant in ("acme", "globex"):
        job = lasting.job_in(Status.WAITING_FOR_APPROVAL, tenant=tenant)
        row = ROWS["approval"].replace("'{}', 1, false", "'{ann}', 1, false")
        asked[tenant] = lasting.connection.execute(
            f"insert into holdfast.approval {row} returning id", {"job": job}
        ).fetchone()[0]  # type: ignore[index]

    decide = "select (holdfast.decide(%s, 'ann', 'approve')).result"
    assert bound.value(decide, asked["globex"]) == "unknown"
    mint = "select holdfast.mint_token(%s, 'ann', sha256('x'))"
    assert refused(bound, mint, asked["acme"]) is None
    assert refused(bound, mint, asked["globex"]) == NO_APPROVAL


def test_a_bound_caller_has_schedules_of_its_own(lasting: Machine, bound: Machine) -> None:
    def schedule(name: str, tenant: str | None) -> Jsonb:
        options = {"tenant": tenant} if tenant else {}
        return Jsonb({"name": name, "task": "t", "every": 3600, "options": options})

    for name, tenant in (("theirs", "globex"), ("everybodys", None), ("ours", "acme")):
        lasting.run("select holdfast.create_schedule(%s)", schedule(name, tenant))

    create = "select holdfast.create_schedule(%s, true)"
    assert refused(bound, create, schedule("ours", "acme")) is None
    assert refused(bound, create, schedule("new", "globex")) == NOT_YOURS
    assert refused(bound, create, schedule("theirs", "acme")) == NO_SCHEDULE
    for function in ("pause_schedule", "resume_schedule", "run_schedule"):
        assert refused(bound, f"select holdfast.{function}('ours')") is None
        for name in ("theirs", "everybodys"):
            assert refused(bound, f"select holdfast.{function}(%s)", name) == NO_SCHEDULE
    assert bound.value("select holdfast.delete_schedule('theirs')") is False


@pytest.mark.parametrize(
    "statement",
    [
        "select holdfast.pause_queue('default')",
        "select holdfast.resume_queue('default')",
        "select holdfast.limit_queue('default', 1)",
        "select holdfast.pause_task('t')",
        "select holdfast.resume_task('t')",
        "select holdfast.set_flag('f', true)",
        "select holdfast.set_tenant_weight('acme', 100)",
        "select holdfast.set_quota('acme', null, 'day', 'enqueued', null, 1000000)",
        "select holdfast.mute_rule('r', true)",
        "select holdfast.notify('[]')",
        "select holdfast.create_operation(gen_random_uuid(), 'globex', 'cancel', 'q', 'a', null, '{}', '[]')",
        "select holdfast.create_person('ann', 'x', 'admin', 'acme', 'a')",
        "select holdfast.set_role('ann', 'admin', null)",
        "select holdfast.set_password('ann', 'x')",
        "select holdfast.disable_person('ann')",
        "select holdfast.enable_person('ann')",
        "select holdfast.emit('e')",
        "select holdfast.emit('e', p_tenant => 'globex')",
        "select holdfast.publish('tenant:globex', 'k')",
        "select holdfast.publish('news', 'k')",
        "select holdfast.create_key('i', sha256('x'), 'n', 'globex', '{admin}', null, 'a')",
        "select holdfast.create_key('i', sha256('x'), 'n', null, '{admin}', null, 'a')",
        "select holdfast.begin_request('globex', 'k', sha256('x'))",
        "select holdfast.begin_request('', 'k', sha256('x'))",
        "select holdfast.record_action('a', null, 'b', null, 'globex', null, null)",
    ],
)
def test_a_bound_caller_changes_nothing_that_is_everybodys_or_anothers(
    bound: Machine, statement: str
) -> None:
    assert refused(bound, statement) == NOT_YOURS


def test_a_bound_caller_emits_publishes_and_keeps_answers_for_its_own_tenant(reader: Machine) -> None:
    reader.run("select holdfast.enter('acme')")
    for statement in (
        "select holdfast.emit('e', p_tenant => 'acme')",
        "select holdfast.publish('tenant:acme', 'k')",
        "select holdfast.create_key('i', sha256('x'), 'n', 'acme', '{read}', null, 'a')",
        "select holdfast.begin_request('acme', 'k', sha256('x'))",
        "select holdfast.record_action('a', null, 'b', null, 'acme', null, null)",
    ):
        assert refused(reader, statement) is None


def test_of_a_subject_that_two_tenants_have_a_bound_reader_sees_its_own_jobs_events(
    lasting: Machine, bound: Machine
) -> None:
    jobs = {tenant: lasting.enqueue(tenant=tenant, subject="order") for tenant in ("acme", "globex")}
    lasting.run("select holdfast.open_channel('tenant:globex')")
    lasting.run("select holdfast.project()")
    lasting.run("select holdfast.cancel(%s)", jobs["globex"])
    lasting.run("select holdfast.project()")

    read = "select job_id from holdfast.read_feed(%s)"
    assert {row["job_id"] for row in lasting.rows(read, "subject:order")} == set(jobs.values())
    assert {row["job_id"] for row in bound.rows(read, "subject:order")} == {jobs["acme"]}
    assert lasting.rows(read, "tenant:globex") != []
    assert bound.rows(read, "tenant:globex") == []


def test_what_a_bound_caller_sets_in_motion_goes_through(lasting: Machine, bound: Machine) -> None:
    """Alerts are told by jobs of our own, which belong to no tenant."""
    lasting.run('select holdfast.register_alerts(\'a\', \'[{"name": "c", "kind": "email"}]\', \'[]\')')
    lasting.register("holdfast.notify.c")
    job = lasting.job_in(Status.WAITING_FOR_APPROVAL, tenant="acme")
    bound.run("reset role")  # the triggers of a table run as whoever writes it
    row = ROWS["approval"].replace("'{}', 1, false", "'{ann@example.com}', 1, false")
    with lasting.connection.transaction():
        lasting.run("select set_config('holdfast.tenant', 'acme', true)")
        lasting.connection.execute(f"insert into holdfast.approval {row}", {"job": job})
        assert lasting.value("select current_setting('holdfast.tenant')") == "acme"

    assert lasting.value("select count(*) from holdfast.job where task = 'holdfast.notify.c'") == 1


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


# -- attacks of each role: what tests/sql/test_rights.py does not try --------------------------------------------------------

DENIED = "42501"


@pytest.mark.parametrize(
    "statement",
    [
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
    ],
)
@pytest.mark.parametrize(
    "role",
    ["producer", "worker", "api", "unbound", "viewer", "maint"],
)
def test_no_role_gets_around_the_policies(two_tenants: ScratchDatabase, role: str, statement: str) -> None:
    with machine_on(two_tenants.owner_url) as machine, machine.connection.transaction(force_rollback=True):
        machine.run(f"set local session authorization holdfast_{role}")

        assert refused(machine, statement) == DENIED


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
    for table in ("api_key", "request", "approver", "feed"):
        assert refused(reader, f"select from holdfast.{table}") == DENIED


def test_ids_are_never_guessed_from_errors(bound: Machine, lasting: Machine) -> None:
    foreign: UUID = lasting.enqueue(tenant="globex")
    answers = {refused(bound, "select holdfast.cancel(%s)", job) for job in (foreign, uuid4())}

    assert answers == {NO_JOB}
