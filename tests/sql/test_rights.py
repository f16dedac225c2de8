"""Who may do what: real logins, one for each role, against every function and every table."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from psycopg import sql

from holdfast.domain.errors import NotAllowed
from holdfast.domain.search import parse
from holdfast.domain.states import Status
from holdfast.store.access import database_clock
from holdfast.store.call import Call, perform_alone_sync
from holdfast.store.connection import Database
from holdfast.store.databases import url_of
from holdfast.store.migrate import migrate
from holdfast.store.project import quotas, usage
from holdfast.store.search import find_jobs
from holdfast.store.tenants import tenant_weights
from holdfast.testing import ScratchDatabase, TestServer
from sql.support import Connection, Machine, machine_on

ROLES = (
    "holdfast_producer",
    "holdfast_worker",
    "holdfast_api",
    "holdfast_unbound",
    "holdfast_viewer",
    "holdfast_maint",
)
NOBODY = "nobody"

_API = {"holdfast_api", "holdfast_unbound"}
_READERS = {"holdfast_worker", *_API, "holdfast_viewer"}
_ENQUEUERS = {"holdfast_producer", "holdfast_worker", *_API}
_WORKER = {"holdfast_worker"}
_KEEPERS = {"holdfast_worker", "holdfast_maint"}

# Every function that anybody but the owner may call. What is not named here is nobody's.
MAY_CALL: dict[str, set[str]] = {
    "enqueue": _ENQUEUERS,
    "enqueue_many": _ENQUEUERS,
    "declare_tasks": _ENQUEUERS,
    "job_outcome": _ENQUEUERS,
    "job_report": _ENQUEUERS,
    "register_tasks": _WORKER,
    "register_worker": _WORKER,
    "claim": _WORKER,
    "claim_suspect": _WORKER,
    "recover_claim": _WORKER,
    "beat": _WORKER,
    "fall_asleep": _WORKER,
    "stay_awake": _WORKER,
    "retire_worker": _WORKER,
    "complete": _WORKER,
    "settle": _WORKER,
    "save_logs": _WORKER,
    "admit_due": _KEEPERS,
    "sweep": _KEEPERS,
    "upkeep": _KEEPERS,
    "keep_up": _KEEPERS,
    **dict.fromkeys(
        (
            "save_step",
            "saved_steps",
            "save_checkpoint",
            "last_checkpoint",
            "report_progress",
            "complete_here",
            "is_completed_by",
            "sleep_until",
            "wait_for_event",
            "wait_for_jobs",
            "job_outcomes",
            "enqueue_children",
            "results_of",
            "acknowledge_stop",
            "copies_payload_of",
        ),
        _WORKER,
    ),
    "emit": _ENQUEUERS,
    "register_alerts": _WORKER,
    "begin_delivery": _WORKER,
    "end_delivery": _WORKER,
    "evaluate_alerts": _KEEPERS,
    "notify": _ENQUEUERS,
    "mute_rule": _API,
    "is_own_task": _API,
    "cancel": _API,
    "retry": _API,
    "reprioritise": _API,
    "move_to_queue": _API,
    "delete_job": _API,
    "pause_queue": _API,
    "resume_queue": _API,
    "pause_task": _API,
    "resume_task": _API,
    "set_flag": _API,
    "limit_queue": _API,
    "hold_facts": _API,
    "rollout_position": {*_ENQUEUERS, "holdfast_viewer"},
    "rollout_bucket": {*_ENQUEUERS, "holdfast_viewer"},
    "register_schedules": _WORKER,
    "due_schedules": _WORKER,
    "fire_schedule": _WORKER,
    "create_schedule": _API,
    "edit_schedule": _API,
    "delete_schedule": _API,
    "pause_schedule": _API,
    "resume_schedule": _API,
    "run_schedule": _API,
    "set_tenant_weight": _API,
    "ask": _WORKER,
    "decide": _API,
    "approve_together": _API,
    "decide_by_token": _API,
    "look_by_token": _API,
    "mint_token": {"holdfast_worker", *_API},
    **dict.fromkeys(("find_key", "create_key", "begin_request", "keep_answer", "record_action"), _API),
    **{key: {"holdfast_viewer", *_API} for key in ("seen_tenant", "may_see")},
    **{key: set(ROLES) for key in ("enter", "has_roles", "may_act_as")},
    "begin_operation": _API,
    "create_operation": _API,
    "wish_of_worker": _API,
    "save_view": _API,
    "delete_view": _API,
    "run_chunk": _WORKER,
    **dict.fromkeys(
        ("begin_webhook", "end_replay", "fail_webhook", "begin_replay", "leave", "jobs_of"), _API
    ),
    **dict.fromkeys(("use_key", "rotate_key", "revoke_key", "list_keys", "has_callers"), _API),
    **dict.fromkeys(
        (
            "create_person",
            "list_people",
            "set_role",
            "set_password",
            "disable_person",
            "enable_person",
            "find_person",
            "take_tries",
            "begin_session",
            "find_session",
            "end_session",
        ),
        _API,
    ),
    **dict.fromkeys(
        (
            "broken_rule",
            "bound_hash",
            "person",
            "limits_of",
            "filled_key",
            "has_slot",
            "flag_share",
            "is_native",
            "said",
            "linked",
            "heads",
            "running_in",
            "cluster",
            "queue_at",
            "event_kind",
            "channel_tenant",
        ),
        _API,
    ),
    "project": _KEEPERS,
    "publish": _ENQUEUERS,
    "read_feed": {"holdfast_viewer", *_API},
    "open_channel": _API,
    **dict.fromkeys(("follow_channel", "read_channels", "follow_job", "read_jobs"), _API),
    "set_quota": _API,
    "bucket_floor": {"holdfast_viewer", *_API},
    "bucket_middle": {"holdfast_viewer", *_API},
    "clock": _READERS,
    "uuid_at": _READERS,
    "is_terminal": _READERS,
    "hand_over": _WORKER,
    "take_dispatches": _WORKER,
    "dispatch_sent": _WORKER,
    "dispatch_failed": _WORKER,
    "dispatch_cancelled": _WORKER,
    "callback": {"holdfast_worker", *_API},
    "check_run": _ENQUEUERS,
    "hidden_of": {"holdfast_worker", *_API},
}

# Every table and view that anybody but the owner may read. Nobody writes any of them.
MAY_READ: dict[str, set[str]] = {
    "installed": set(ROLES),
    "task": set(ROLES),
    "queue": set(ROLES),
    "worker": set(ROLES),
    "job": _API,
    "job_history": _API,
    "attempt": _API,
    "log_part": _API,
    "dispatch": _API,
    "sleeper": _API,
    **dict.fromkeys(("step", "checkpoint", "progress", "wait", "dependency", "event", "activity"), _API),
    "upkeep": _API,
    "flag": _API,
    "slot": _API,
    "rate_slot": _API,
    "rate_wait": _API,
    "schedule": _API,
    "schedule_run": _API,
    "approval": _API,
    "approval_decision": _API,
    **dict.fromkeys(("feed", "channel", "left_over", "callback_nonce"), _API),
    **dict.fromkeys(("alert_channel", "alert_rule", "alert", "notification"), _API),
    "audit": _API,
    "operation": _API,
    "operation_chunk": _API,
    "saved_view": _API,
    "webhook_delivery": _API,
    "job_overview": {"holdfast_viewer", *_API},
    "history_overview": {"holdfast_viewer", *_API},
    "tenant": {"holdfast_viewer", *_API},
    **{
        key: {"holdfast_viewer", *_API}
        for key in ("statistic", "timing", "duration", "tally", "usage", "storage", "quota", "projection")
    },
}


# Not for longer than this module: logins are the whole server's, and one that may act as a role is a finding of other tests.
@pytest.fixture(scope="module")
def as_role(holdfast_server: TestServer) -> Iterator[dict[str, Connection]]:
    """Give a connection of an unprivileged login for each role, and of one with no role, on one database."""
    names = {role: f"holdfast_test_{secrets.token_hex(4)}_{role}" for role in (*ROLES, NOBODY)}
    with ExitStack() as stack:
        database = stack.enter_context(holdfast_server.database())
        admin = stack.enter_context(psycopg.connect(database.owner_url, autocommit=True))
        for role, name in names.items():
            admin.execute(sql.SQL("create role {} login password 'x'").format(sql.Identifier(name)))
            stack.callback(admin.execute, sql.SQL("drop role {}").format(sql.Identifier(name)))
            if role != NOBODY:
                admin.execute(sql.SQL("grant {} to {}").format(sql.Identifier(role), sql.Identifier(name)))
        yield {
            role: stack.enter_context(
                psycopg.connect(url_of(database.owner_url, user=name, password="x"), autocommit=True)
            )
            for role, name in names.items()
        }


def functions(connection: Connection) -> list[tuple[str, str]]:
    """Name every function of the schema, with a call of it that is all nulls."""
    rows = connection.execute(
        "select p.proname, format('select holdfast.%I(%s)', p.proname,"
        " (select string_agg('null::' || a::regtype, ', ') from unnest(p.proargtypes) as a))"
        " from pg_proc p where p.pronamespace = (select oid from pg_namespace where nspname = 'holdfast') order by 1"
    ).fetchall()
    return [(name, call) for name, call in rows]


def outcome(connection: Connection, statement: str) -> str:
    """Try a statement; answers with its SQLSTATE, and leaves nothing behind."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(statement)
    except psycopg.Error as error:
        return error.sqlstate or "?"
    return "00000"


DENIED = "42501"


@pytest.mark.parametrize("role", [*ROLES, NOBODY])
def test_each_role_may_call_its_functions_and_no_others(
    as_role: dict[str, Connection], connection: Connection, role: str
) -> None:
    allowed = {name for name, call in functions(connection) if outcome(as_role[role], call) != DENIED}

    assert allowed == {name for name, roles in MAY_CALL.items() if role in roles}


def relations(connection: Connection) -> list[str]:
    rows = connection.execute(
        "select c.relname from pg_class c where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p', 'v')"
    )
    return [name for (name,) in rows]


@pytest.mark.parametrize("role", [*ROLES, NOBODY])
def test_each_role_may_read_its_tables_and_no_others(
    as_role: dict[str, Connection], connection: Connection, role: str
) -> None:
    tables = relations(connection)

    allowed = {name for name in tables if outcome(as_role[role], f"select from holdfast.{name}") != DENIED}

    assert allowed == {name for name, roles in MAY_READ.items() if role in roles}


@pytest.mark.parametrize(
    "statement",
    [
        "insert into holdfast.{0} default values",
        "update holdfast.{0} set {1} = null",
        "delete from holdfast.{0}",
        "truncate holdfast.{0}",
        "lock table holdfast.{0} in access exclusive mode",
        "create trigger mine before update on holdfast.{0} execute function suppress_redundant_updates_trigger()",
        "alter table holdfast.{0} disable trigger all",
        "drop table holdfast.{0}",
    ],
)
@pytest.mark.parametrize("role", [*ROLES, NOBODY])
def test_no_role_writes_or_changes_any_table(
    as_role: dict[str, Connection], connection: Connection, role: str, statement: str
) -> None:
    columns = connection.execute(
        "select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum = 1"
        " where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p')"
    ).fetchall()

    not_denied = [
        table
        for table, column in columns
        if outcome(as_role[role], statement.format(table, column)) != DENIED
    ]

    assert not_denied == []


@pytest.mark.parametrize("role", ROLES)
def test_no_role_writes_a_single_column_either(each_machine: Machine, role: str) -> None:
    rows = each_machine.rows(
        "select c.relname, p.privilege from pg_class c cross join unnest('{insert, update, references}'::text[]) as p (privilege)"
        " where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p', 'v')"
        " and has_any_column_privilege(%s, c.oid, p.privilege)",
        role,
    )

    assert rows == []


@pytest.mark.parametrize("role", [*ROLES, NOBODY])
@pytest.mark.parametrize(
    "statement",
    [
        "set role holdfast_owner",
        "set session authorization holdfast_owner",
        "set session_replication_role = replica",
        "create table holdfast.mine (a int)",
        "create function holdfast.mine() returns int language sql return 1",
        "create or replace function holdfast.clock() returns timestamptz language sql return now()",
        "drop function holdfast.guard_move()",
        "alter function holdfast.claim reset search_path",
        "grant execute on function holdfast.upkeep to public",
        "drop schema holdfast cascade",
    ],
)
def test_no_role_becomes_the_owner_or_changes_the_schema(
    as_role: dict[str, Connection], role: str, statement: str
) -> None:
    answer = outcome(as_role[role], statement)

    # A grant by somebody without the right to grant is a warning in PostgreSQL, and gives nothing.
    assert answer == DENIED or (
        statement.startswith("grant") and answer == "00000" and _nobody_may_upkeep(as_role[NOBODY])
    )


def _nobody_may_upkeep(nobody: Connection) -> bool:
    return outcome(nobody, "select holdfast.upkeep()") == DENIED


def test_nothing_is_executable_by_public(each_machine: Machine) -> None:
    open_to_all = each_machine.rows(
        "select p.proname from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a"
        " where p.pronamespace = 'holdfast'::regnamespace and a.grantee = 0"
    )

    assert open_to_all == []


def test_nothing_is_readable_by_public(each_machine: Machine) -> None:
    open_to_all = each_machine.rows(
        "select c.relname from pg_class c, aclexplode(c.relacl) as a where c.relnamespace = 'holdfast'::regnamespace and a.grantee = 0"
        " union all select 'schema' from pg_namespace n, aclexplode(n.nspacl) as a where n.nspname = 'holdfast' and a.grantee = 0"
    )

    assert open_to_all == []


def test_a_function_that_the_owner_adds_is_not_executable_by_public(each_machine: Machine) -> None:
    each_machine.run("set local role holdfast_owner")
    each_machine.run("create function holdfast.later() returns int language sql return 1")

    assert (
        each_machine.value("select has_function_privilege('public', 'holdfast.later()', 'execute')") is False
    )


def test_everything_belongs_to_an_owner_that_cannot_log_in(each_machine: Machine) -> None:
    owners = each_machine.rows(
        "select distinct o::text from (select relowner::regrole from pg_class where relnamespace = 'holdfast'::regnamespace"
        " union all select proowner::regrole from pg_proc where pronamespace = 'holdfast'::regnamespace"
        " union all select nspowner::regrole from pg_namespace where nspname = 'holdfast') as owners (o)"
    )

    assert owners == [{"o": "holdfast_owner"}]
    assert (
        each_machine.value(
            "select rolcanlogin or rolsuper or rolbypassrls from pg_roles where rolname = 'holdfast_owner'"
        )
        is False
    )


def test_every_function_with_the_owners_rights_pins_its_search_path_with_the_temporary_schema_last(
    each_machine: Machine,
) -> None:
    rows = each_machine.rows(
        "select p.proname, coalesce((select substring(c from 'search_path=(.*)') from unnest(p.proconfig) as c where c like 'search_path=%'), '') as path"
        " from pg_proc p where p.pronamespace = 'holdfast'::regnamespace and p.prosecdef"
    )

    assert {row["path"] for row in rows} == {"pg_catalog, holdfast, pg_temp"}


def test_every_function_whose_names_are_looked_up_when_it_runs_pins_its_search_path(
    each_machine: Machine,
) -> None:
    rows = each_machine.rows(
        "select p.proname from pg_proc p where p.pronamespace = 'holdfast'::regnamespace and p.prosqlbody is null"
        " and not exists (select from unnest(p.proconfig) as c where c = 'search_path=pg_catalog, holdfast, pg_temp')"
    )

    assert rows == []


# -- names that others made first -----------------------------------------------------------------------------------------


SHADOWS = """
create temp table job (like holdfast.job);
create temp table task (name text);
create temp table worker (id uuid, name text);
create temp table sleeper (queue text);
create temp table job_history (job_id uuid);
create temp view attempt as select 1 / 0 as job_id;
create function pg_temp.clock() returns timestamptz language plpgsql as $$ begin raise exception 'shadowed'; end $$;
create function pg_temp.clock_timestamp() returns timestamptz language plpgsql as $$ begin raise exception 'shadowed'; end $$;
grant all on all tables in schema pg_temp to public;
"""


def test_temporary_names_change_nothing(app_login: Machine, lasting: Machine) -> None:
    app_login.run(SHADOWS)
    app_login.run("set search_path = pg_temp, pg_catalog")

    worker, job_id = app_login.worker(), app_login.enqueue(key="k")
    (claimed,) = app_login.claim(worker)
    app_login.complete(worker, claimed, result="1", logs="[]")

    assert lasting.path(job_id) == [Status.PENDING, Status.RUNNING, Status.COMPLETED]
    assert app_login.value("select count(*) from pg_temp.job") == 0


EVIL = """
create function evil.boom(text, text) returns boolean language plpgsql as $$ begin raise exception 'hijacked'; end $$;
create function evil.boom(uuid, uuid) returns boolean language plpgsql as $$ begin raise exception 'hijacked'; end $$;
create function evil.boom(int, int) returns boolean language plpgsql as $$ begin raise exception 'hijacked'; end $$;
create function evil.boom(timestamptz, timestamptz) returns boolean language plpgsql as $$ begin raise exception 'hijacked'; end $$;
create function evil.boom(jsonb, text) returns text language plpgsql as $$ begin raise exception 'hijacked'; end $$;
create operator evil.= (leftarg = text, rightarg = text, function = evil.boom);
create operator evil.= (leftarg = uuid, rightarg = uuid, function = evil.boom);
create operator evil.<> (leftarg = text, rightarg = text, function = evil.boom);
create operator evil.= (leftarg = int, rightarg = int, function = evil.boom);
create operator evil.< (leftarg = int, rightarg = int, function = evil.boom);
create operator evil.<= (leftarg = timestamptz, rightarg = timestamptz, function = evil.boom);
create operator evil.>= (leftarg = timestamptz, rightarg = timestamptz, function = evil.boom);
create operator evil.->> (leftarg = jsonb, rightarg = text, function = evil.boom);
create function evil.jsonb_typeof(jsonb) returns text language plpgsql as $$ begin raise exception 'hijacked'; end $$;
create function evil.clock_timestamp() returns timestamptz language plpgsql as $$ begin raise exception 'hijacked'; end $$;
create function evil.length(text) returns int language plpgsql as $$ begin raise exception 'hijacked'; end $$;
create function evil.set_config(text, text, boolean) returns text language plpgsql as $$ begin raise exception 'hijacked'; end $$;
create table evil.job (id uuid);
"""


def test_operators_and_functions_in_front_of_the_path_change_nothing(
    app_login: Machine, lasting: Machine
) -> None:
    lasting.run(f'create schema evil authorization "{app_login.value("select session_user::text")}"')
    app_login.run(EVIL)
    app_login.run("set search_path = evil, pg_catalog")

    worker = app_login.worker()
    first, second = app_login.enqueue(key="k"), app_login.enqueue()
    claimed = app_login.claim(worker)
    app_login.complete(worker, claimed[0])
    app_login.settle(worker, claimed[1], outcome="failed", error={"type": "X"}, delay=0)
    app_login.value("select holdfast.cancel(%s::uuid)", second)
    app_login.sweep()

    assert lasting.path(first)[-1] is Status.COMPLETED
    assert lasting.path(second)[-1] is Status.CANCELLED


def test_an_upgrade_binds_to_no_operator_that_somebody_else_made(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    # A better match than PostgreSQL's own for an enum: without a pinned path the owner's functions would call it.
    lasting.run("grant usage on schema holdfast to public")
    lasting.run(
        "create function public.yes(holdfast.job_status, holdfast.job_status) returns boolean language sql return true"
    )
    lasting.run(
        "create operator public.= (leftarg = holdfast.job_status, rightarg = holdfast.job_status, function = public.yes)"
    )
    lasting.run("update holdfast.installed set checksum = 'older' where what = 'functions'")

    migrate(Database(url_of(holdfast_db.owner_url, options="-csearch_path=public"), "test"))

    assert lasting.value("select holdfast.is_legal('COMPLETED', 'RUNNING')") is False
    bound = lasting.rows(
        "select d.classid::regclass::text, d.objid from pg_depend d where d.refobjid = 'public.yes'::regproc"
        " or d.refobjid = (select oid from pg_operator where oprcode = 'public.yes'::regproc)"
    )
    assert [row for row in bound if row["classid"] != "pg_operator"] == []


def test_nobody_without_a_role_gets_as_far_as_the_schema(as_role: dict[str, Connection]) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="schema holdfast"):
        as_role[NOBODY].execute("select holdfast.clock()")


# -- what a viewer sees ----------------------------------------------------------------------------------------------------


def test_a_viewer_sees_no_payload_result_or_error_text(
    lasting: Machine, holdfast_server: TestServer, holdfast_db: ScratchDatabase
) -> None:
    worker = lasting.worker()
    lasting.enqueue(payload={"card": "hunter2"}, metadata=psycopg.types.json.Jsonb({"card": "hunter2"}))
    lasting.settle(
        worker,
        *lasting.claim(worker),
        outcome="failed",
        recoverable=False,
        error={"type": "Boom", "message": "hunter2"},
    )
    with machine_on(holdfast_db.owner_url) as viewer:
        viewer.run("set role holdfast_viewer")
        viewer.run("set holdfast.tenant = '*'")

        seen = (
            viewer.rows("select * from holdfast.job_overview"),
            viewer.rows("select * from holdfast.history_overview"),
        )

    assert "hunter2" not in str(seen)
    assert len(seen[0]) == 1
    assert len(seen[1]) == 3


LOOKS: dict[str, tuple[Call[Any], set[str]]] = {
    "usage": (usage(None, None, None, None), {"holdfast_api", "holdfast_viewer"}),
    "quotas": (quotas(None), {"holdfast_api", "holdfast_viewer"}),
    "weights": (tenant_weights(), {"holdfast_api", "holdfast_viewer"}),
    "jobs": (find_jobs(parse("")), {"holdfast_api"}),
    "clock": (database_clock(), {"holdfast_worker", "holdfast_api", "holdfast_viewer"}),
}


@pytest.mark.parametrize("role", [role for role in ROLES if role != "holdfast_unbound"])
def test_a_login_of_each_role_looks_at_what_it_may_through_our_own_calls(
    as_role: dict[str, Connection], role: str
) -> None:
    def may(call: Call[Any]) -> bool:
        try:
            perform_alone_sync(as_role[role], call)
        except NotAllowed:
            return False
        return True

    allowed = {what for what, (call, _) in LOOKS.items() if may(call)}

    assert allowed == {what for what, (_, roles) in LOOKS.items() if role in roles}
