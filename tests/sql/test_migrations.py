"""Migrations: once each, in order, by one migrator at a time, with whatever rights it has; and a script that does the same."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import sql

from holdfast.domain.errors import SchemaMismatch
from holdfast.domain.states import Status
from holdfast.embedded import Binaries, find_binaries
from holdfast.store.connection import Database
from holdfast.store.databases import create_database, url_of
from holdfast.store.migrate import (
    SchemaState,
    _script,
    _setup,
    as_script,
    compare,
    migrate,
    read_state,
    steps,
)
from holdfast.testing import ScratchDatabase, TestServer, snapshot
from sql.support import Connection, Machine, database_for, machine_on, until_it_waits


def state_of(url: str) -> SchemaState:
    with psycopg.connect(url, autocommit=True) as connection:
        return read_state(connection)


def binaries_of(url: str) -> Binaries:
    with psycopg.connect(url) as connection:
        return find_binaries(connection.info.server_version // 10_000)


@pytest.fixture
def each_empty(each_server: TestServer) -> Iterator[ScratchDatabase]:
    """Give a database without our schema, on each server."""
    with each_server.database(migrated=False) as database:
        yield database


# -- steps -----------------------------------------------------------------------------------------------------------------


def test_an_empty_database_is_brought_up_to_date(each_empty: ScratchDatabase) -> None:
    before = state_of(each_empty.owner_url)

    applied = migrate(Database(each_empty.owner_url, "test"))

    after = state_of(each_empty.owner_url)
    assert [step.name for step in before.pending] == applied == [step.name for step in steps()]
    assert (before.is_current, after.is_current, after.has_roles) == (False, True, True)


# As the first release had them: with other answers than today.
FIRST_RELEASE = """
create function holdfast.definitions(jsonb) returns table (name text) language sql as $$ select ''::text $$;
create function holdfast.sweep(p_limit int default 1000, out died bigint, out returned bigint, out overdue bigint) language sql
  as $$ select 0::bigint, 0::bigint, 0::bigint $$;
create function holdfast.wanted(jsonb, timestamptz) returns table (nth bigint) language sql as $$ select 0::bigint $$;
"""


def test_a_database_of_the_first_release_is_brought_up_to_date(each_empty: ScratchDatabase) -> None:
    first, *rest = steps()
    with psycopg.connect(each_empty.owner_url, autocommit=True) as owner:
        owner.execute(_setup("roles") + _script(first))
        owner.execute(FIRST_RELEASE)

    applied = migrate(Database(each_empty.owner_url, "test"))

    assert applied == [step.name for step in rest]
    assert state_of(each_empty.owner_url).is_current


def test_a_second_migration_does_nothing(each_db: ScratchDatabase) -> None:
    assert migrate(Database(each_db.owner_url, "test")) == []


def test_jobs_run_from_birth_to_end_on_a_migrated_database(each_db: ScratchDatabase) -> None:
    with machine_on(each_db.url) as app, machine_on(each_db.owner_url) as owner:
        app.register("t")
        worker, job_id = app.worker(), app.enqueue()
        (claimed,) = app.claim(worker)
        app.complete(worker, claimed, result="1")

        assert owner.path(job_id) == [Status.PENDING, Status.RUNNING, Status.COMPLETED]


def test_the_tables_have_statistics_after_migrating(each_empty: ScratchDatabase) -> None:
    migrate(Database(each_empty.owner_url, "test"))

    with machine_on(each_empty.owner_url) as machine:
        unknown = machine.rows(
            "select relname from pg_class where relnamespace = 'holdfast'::regnamespace and relkind = 'r' and reltuples < 0"
            " and relname in ('job', 'task', 'queue', 'worker', 'attempt')"
        )
    assert unknown == []


def test_a_migration_whose_text_has_changed_is_refused(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.run("update holdfast.installed set checksum = 'other' where what = '0001_jobs'")

    with pytest.raises(SchemaMismatch, match="0001_jobs was applied with another content"):
        migrate(Database(holdfast_db.owner_url, "test"))


def test_a_newer_schema_is_refused(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    lasting.run("insert into holdfast.installed (what, checksum) values ('9999_future', 'x')")

    with pytest.raises(
        SchemaMismatch, match="9999_future, which this release does not know: upgrade Holdfast"
    ):
        migrate(Database(holdfast_db.owner_url, "test"))


def test_functions_are_applied_again_when_they_have_changed(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.run(
        "create or replace function holdfast.is_legal(p_from holdfast.job_status, p_to holdfast.job_status) returns boolean language sql return true"
    )
    lasting.run("update holdfast.installed set checksum = 'older' where what = 'functions'")

    applied = migrate(Database(holdfast_db.owner_url, "test"))

    assert applied == ["functions"]
    assert lasting.value("select holdfast.is_legal('COMPLETED', 'RUNNING')") is False


def test_functions_are_applied_again_while_jobs_are_there(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    job_id = lasting.job_in(Status.COMPLETED)
    lasting.run("update holdfast.installed set checksum = 'older' where what = 'functions'")

    migrate(Database(holdfast_db.owner_url, "test"))

    assert lasting.path(job_id) == [Status.PENDING, Status.RUNNING, Status.COMPLETED]


def test_a_step_that_fails_leaves_nothing_of_itself(holdfast_server: TestServer) -> None:
    with holdfast_server.database(migrated=False) as database, machine_on(database.owner_url) as machine:
        machine.run("create schema holdfast authorization holdfast_owner")
        machine.run("create table holdfast.worker (a int)")

        with pytest.raises(psycopg.errors.DuplicateTable):
            migrate(Database(database.owner_url, "test"))

        assert machine.value("select to_regtype('holdfast.job_status')") is None


def test_what_is_missing_newer_or_changed_is_said_in_a_sentence() -> None:
    current = {step.name: step.checksum for step in steps()}

    assert compare(current).problem() is None
    assert "run: holdfast db migrate" in str(compare({}).problem())
    assert "upgrade Holdfast" in str(compare({**current, "9999_x": ""}).problem())
    assert "restore the released file" in str(compare({**current, "0001_jobs": ""}).problem())


# -- at once ---------------------------------------------------------------------------------------------------------------


def test_four_migrators_of_one_database_apply_each_step_once(each_empty: ScratchDatabase) -> None:
    with ThreadPoolExecutor(4) as threads:
        applied = list(threads.map(lambda _: migrate(Database(each_empty.owner_url, "test")), range(4)))

    assert sorted(name for names in applied for name in names) == sorted(step.name for step in steps())
    assert state_of(each_empty.owner_url).is_current


def test_a_migrator_waits_for_another(holdfast_db: ScratchDatabase) -> None:
    with psycopg.connect(holdfast_db.owner_url) as other, ThreadPoolExecutor(1) as threads:
        other.execute("select pg_advisory_xact_lock(hashtextextended('holdfast:migrate', 0))")
        migrating = threads.submit(lambda: str(migrate(Database(holdfast_db.owner_url, "test"))))
        until_it_waits(holdfast_db, migrating)
        waits = not migrating.done()
        other.commit()

        assert (waits, migrating.result()) == (True, "[]")


def test_two_databases_of_a_fresh_server_are_migrated_at_once(fresh_server: str) -> None:
    urls = [create_database(fresh_server, f"holdfast_test_{n}") for n in range(3)]

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda url: migrate(Database(url, "test")), urls))

    assert all(state_of(url).is_current and state_of(url).has_roles for url in urls)


# -- rights of the migrator ------------------------------------------------------------------------------------------------


def run_a_job(url: str) -> list[Status]:
    with machine_on(url) as machine:
        machine.register("t")
        worker, job_id = machine.worker(), machine.enqueue()
        machine.complete(worker, *machine.claim(worker))
        machine.sweep()
        machine.one("select * from holdfast.upkeep()")
        return machine.path(job_id)


def test_a_login_that_may_not_make_roles_migrates_and_does_everything_itself(each_server: TestServer) -> None:
    with database_for(each_server.admin_url, "nocreaterole") as url:
        migrate(Database(url, "test"))

        assert (state_of(url).is_current, state_of(url).has_roles) == (True, False)
        assert run_a_job(url) == [Status.PENDING, Status.RUNNING, Status.COMPLETED]


def test_a_set_up_with_one_role_says_so(holdfast_server: TestServer) -> None:
    with database_for(holdfast_server.admin_url, "nocreaterole") as url:
        said = psql(url, as_script(state_of(url).pending))

    assert "may not create roles" in said
    assert "single-role set-up" in said


def test_the_rules_hold_in_a_set_up_with_one_role(holdfast_server: TestServer) -> None:
    with database_for(holdfast_server.admin_url, "nocreaterole") as url:
        migrate(Database(url, "test"))
        run_a_job(url)

        with machine_on(url) as machine:
            with machine.refused("HF003", "append-only"):
                machine.run("delete from holdfast.job_history")
            with machine.refused("HF001", "never changes again"):
                machine.run("update holdfast.job set reason = 'x'")


def test_a_login_that_may_make_roles_migrates_a_fresh_server_without_being_superuser(
    fresh_server: str,
) -> None:
    with database_for(fresh_server, "createrole") as url:
        migrate(Database(url, "test"))

        state = state_of(url)
        assert (state.is_current, state.owner) == (True, "holdfast_owner")
        with machine_on(url) as machine:
            machine.run("set role holdfast_owner")
            machine.register("t")
            assert machine.path(machine.enqueue()) == [Status.PENDING]
        with psycopg.connect(fresh_server, autocommit=True) as admin:
            admin.execute(
                sql.SQL("reassign owned by holdfast_owner to {}").format(sql.Identifier(admin.info.user))
            )
        _forget_roles(url, fresh_server)


def test_who_is_bound_to_no_tenant_sees_all_where_nobody_made_the_role_for_it_and_when_another_database_does(
    fresh_server: str,
) -> None:
    roles = ("owner", "producer", "worker", "api", "viewer", "maint")
    with (
        psycopg.connect(fresh_server, autocommit=True) as admin,
        database_for(fresh_server, "nocreaterole") as url,
    ):
        login = sql.Identifier(psycopg.conninfo.conninfo_to_dict(url)["user"])  # type: ignore[arg-type]
        for role in roles:
            admin.execute(sql.SQL("create role {}").format(sql.Identifier(f"holdfast_{role}")))
        admin.execute(
            sql.SQL("grant holdfast_owner to {0}; create role app login password 'x'").format(login)
        )
        admin.execute("grant holdfast_api to app")
        migrate(Database(url, "test"))
        with machine_on(url) as machine:
            machine.run("set role holdfast_owner")
            machine.register("t")
            for tenant in ("acme", "globex"):
                machine.enqueue(tenant=tenant)

        before = what_is_seen(url_of(url, user="app", password="x"))
        migrate(Database(create_database(fresh_server, "holdfast_test_other"), "test"))
        after = what_is_seen(url_of(url, user="app", password="x"))

    assert before == after == {"*": 2, "acme": 1}


def what_is_seen(url: str) -> dict[str, int]:
    """Count the jobs that a login sees for all tenants, and for one."""
    seen = {}
    with machine_on(url) as machine:
        for tenant in ("*", "acme"):
            with machine.connection.transaction():
                machine.run("select holdfast.enter(%s)", tenant)
                seen[tenant] = machine.count()
    return seen


def _forget_roles(url: str, admin_url: str) -> None:
    """Drop what the login granted, so that it can be dropped itself."""
    with psycopg.connect(url_of(url, **_who(admin_url)), autocommit=True) as admin:
        admin.execute("drop schema holdfast cascade")
        for role in ("owner", "producer", "worker", "api", "viewer", "maint"):
            admin.execute(
                sql.SQL("drop owned by {0}; drop role {0}").format(sql.Identifier(f"holdfast_{role}"))
            )


def _who(url: str) -> dict[str, str]:
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return {name: str(parts[name]) for name in ("user", "password") if parts.get(name)}


def test_a_login_that_may_make_roles_migrates_a_server_whose_roles_others_made(
    each_server: TestServer,
) -> None:
    with database_for(each_server.admin_url, "createrole") as url:
        migrate(Database(url, "test"))

        assert state_of(url).is_current


def test_the_logins_that_were_given_roles_keep_them_when_functions_are_applied_again(
    app_login: Machine, lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.run("update holdfast.installed set checksum = 'older' where what = 'functions'")

    migrate(Database(holdfast_db.owner_url, "test"))

    assert lasting.path(app_login.enqueue()) == [Status.PENDING]


# -- the same by a script --------------------------------------------------------------------------------------------------


def psql(url: str, script: str) -> str:
    """Run a script as a person would; answers with what psql says."""
    command = [
        binaries_of(url).path("psql"),
        "--no-psqlrc",
        "--quiet",
        "--set=ON_ERROR_STOP=1",
        f"--dbname={url}",
        "--file=-",
    ]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def months(connection: Connection) -> list[tuple[str, str]]:
    return connection.execute(
        "select c.relname, pg_get_expr(c.relpartbound, c.oid) from pg_class c where c.relname ~ '^job_history_\\d{6}$' order by 1"
    ).fetchall()


def test_the_script_makes_the_same_schema_as_migrate(
    each_empty: ScratchDatabase, each_db: ScratchDatabase
) -> None:
    psql(each_empty.owner_url, as_script(state_of(each_empty.owner_url).pending))

    binaries = binaries_of(each_db.owner_url)
    assert snapshot.dump(each_empty.owner_url, binaries) == snapshot.dump(each_db.owner_url, binaries)
    assert state_of(each_empty.owner_url).is_current
    with psycopg.connect(each_empty.owner_url) as one, psycopg.connect(each_db.owner_url) as other:
        assert months(one) == months(other) != []


def test_the_script_of_what_is_already_there_is_empty(holdfast_db: ScratchDatabase) -> None:
    assert as_script(state_of(holdfast_db.owner_url).pending) == ""


def test_a_script_that_is_run_twice_changes_nothing_more(holdfast_db: ScratchDatabase) -> None:
    functions = [step for step in steps() if step.name == "functions"]
    before = snapshot.dump(holdfast_db.owner_url, binaries_of(holdfast_db.owner_url))

    psql(holdfast_db.owner_url, as_script(functions))

    assert snapshot.dump(holdfast_db.owner_url, binaries_of(holdfast_db.owner_url)) == before


def test_schema_sql_says_what_the_migrations_make(holdfast_db: ScratchDatabase) -> None:
    binaries = binaries_of(holdfast_db.owner_url)
    if binaries.major != snapshot.MAJOR:
        pytest.skip(
            f"NOT RUN: schema.sql is PostgreSQL {snapshot.MAJOR}'s, and this server is {binaries.major}"
        )

    now = snapshot.dump(holdfast_db.owner_url, binaries)

    assert now == snapshot.SCHEMA_FILE.read_text("utf-8"), "the schema has changed; run: scripts/snapshot"
