"""What a caller that is bound to a tenant may do: functions run as the owner, whom no policy binds, and look themselves."""

import re
from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.store.connection import Database
from holdfast.store.migrate import migrate
from holdfast.testing import ScratchDatabase, TestServer
from sql.asking import asked
from sql.support import Machine, database_for, machine_on, refused

# What a job asks, of a person who may answer.
APPROVAL = (
    "insert into holdfast.approval"
    " (job_id, attempt, name, question, facts, approvers, quorum, self_approval, bound_hash, asked_at, on_expiry)"
    " values (%s, 1, 'n', 'q', '{}', %s, 1, false, 'h', now(), 'fail') returning id"
)

NO_JOB, NO_APPROVAL, NO_SCHEDULE, NO_KEY, NOT_YOURS, NOT_APART = (
    "HF009",
    "HF020",
    "HF061",
    "HF071",
    "HF015",
    "HF016",
)

# Functions that look at no tenant, because something else says who may: nobody has entered for a tenant when they are called.
UNGUARDED = {
    **dict.fromkeys(("find_key", "use_key", "has_callers"), "who comes is not known yet"),
    **dict.fromkeys(
        ("find_person", "take_tries", "begin_session", "find_session", "end_session"), "a person logs in"
    ),
    **dict.fromkeys(
        ("begin_webhook", "fail_webhook", "end_replay"), "a sender's signature; the endpoint has a tenant"
    ),
    "declare_tasks": "tasks are everybody's, and who enqueues says what they are",
}
# The last ones look, and give only what is the caller's business.
_GUARDS = re.compile(
    r"holdfast\.(may_touch|may_see|require_own|require_unbound|bound_tenant"
    r"|lock_job|lock_key|find_schedule|open_approval|open_channel|enqueue_many|begin_operation)\("
)


def test_every_function_that_a_caller_may_call_looks_whose_a_thing_is(each_machine: Machine) -> None:
    functions = each_machine.rows(
        "select p.proname, coalesce(pg_get_functiondef(p.oid), '') as text,"
        " p.prosecdef and has_function_privilege('holdfast_api', p.oid, 'execute') as is_open"
        " from pg_proc p where p.pronamespace = 'holdfast'::regnamespace and p.prokind = 'f'"
    )
    blind = {
        row["proname"]
        for row in functions
        # Its own name, with which its text begins, says nothing of what it does.
        if row["is_open"] and not set(_GUARDS.findall(row["text"])) - {row["proname"]}
    }

    assert blind == set(UNGUARDED)


@pytest.fixture
def bound(lasting: Machine, holdfast_db: ScratchDatabase) -> Iterator[Machine]:
    """Give an application's login that has entered for acme."""
    with psycopg.connect(holdfast_db.url) as connection:
        connection.execute("select holdfast.enter('acme')")
        yield Machine(connection)


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
    for statement in (
        "select status from holdfast.job_outcome(%s)",
        "select holdfast.job_report(%s) ->> 'status'",
    ):
        assert [bound.value(statement, failed[t]) for t in ("acme", other)] == ["FAILED", None]
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
        asked[tenant] = lasting.value(APPROVAL, job, ["ann"])

    decide = "select (holdfast.decide(%s, 'ann', 'approve')).result"
    assert bound.value(decide, asked["globex"]) == "unknown"
    together = "select result from holdfast.approve_together(array[%s]::uuid[], '{h}', 'ann')"
    assert bound.value(together, asked["globex"]) == "unknown"
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
    edit = """select holdfast.edit_schedule(%s, '{"every": 60}')"""
    assert refused(bound, edit, "ours") is None
    assert refused(bound, edit, "theirs") == refused(bound, edit, "everybodys") == NO_SCHEDULE
    for function in ("pause_schedule", "resume_schedule", "run_schedule"):
        assert refused(bound, f"select holdfast.{function}('ours')") is None
        for name in ("theirs", "everybodys"):
            assert refused(bound, f"select holdfast.{function}(%s)", name) == NO_SCHEDULE
    assert bound.value("select holdfast.delete_schedule('theirs')") is False


EVERYBODYS = (
    "select holdfast.pause_queue('default')",
    "select holdfast.resume_queue('default')",
    "select holdfast.limit_queue('default', 1)",
    "select holdfast.wish_of_worker(gen_random_uuid(), 'stop', 'a', null)",
    "select holdfast.pause_task('t')",
    "select holdfast.resume_task('t')",
    "select holdfast.set_flag('f', true)",
    "select holdfast.set_tenant_weight('acme', 100)",
    "select holdfast.set_quota('acme', null, 'day', 'enqueued', null, 1000000)",
    "select holdfast.mute_rule('r', true)",
    "select holdfast.notify('[]')",
    "select holdfast.create_operation(gen_random_uuid(), 'globex', 'cancel', 'q', 'a', null, '{}', '[]')",
    "select holdfast.begin_operation(gen_random_uuid(), 'globex', 'delete', null, null, 'q', 'a', null, '{}', '[]')",
    "select holdfast.begin_operation(gen_random_uuid(), null, 'delete', null, null, 'q', 'a', null, '{}', '[{\"name\": \"holdfast.bulk\"}]')",
    "select holdfast.save_view('globex', null, 'v', '', '', '7d', 'a')",
    "select holdfast.save_view(null, 'a', 'v', '', '', '7d', 'a')",
    "select holdfast.delete_view('globex', null, 'v')",
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
)


def test_a_bound_caller_changes_nothing_that_is_everybodys_or_anothers(bound: Machine) -> None:
    answers = {statement: refused(bound, statement) for statement in EVERYBODYS}

    assert answers == dict.fromkeys(EVERYBODYS, NOT_YOURS)


def test_a_bound_caller_emits_publishes_and_keeps_answers_for_its_own_tenant(bound: Machine) -> None:
    for statement in (
        "select holdfast.emit('e', p_tenant => 'acme')",
        "select holdfast.publish('tenant:acme', 'k')",
        "select holdfast.create_key('i', sha256('x'), 'n', 'acme', '{read}', null, 'a')",
        "select holdfast.begin_request('acme', 'k', sha256('x'))",
        "select holdfast.record_action('a', null, 'b', null, 'acme', null, null)",
    ):
        assert refused(bound, statement) is None


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
    with lasting.connection.transaction():
        lasting.run("select set_config('holdfast.tenant', 'acme', true)")
        lasting.run(APPROVAL, job, ["ann@example.com"])
        assert lasting.value("select current_setting('holdfast.tenant')") == "acme"

    assert lasting.value("select count(*) from holdfast.job where task = 'holdfast.notify.c'") == 1


def test_ids_are_never_guessed_from_errors(bound: Machine, lasting: Machine) -> None:
    foreign: UUID = lasting.enqueue(tenant="globex")
    calls = ("cancel(%s)", "reprioritise(%s, 1)", "move_to_queue(%s, 'default')", "delete_job(%s)")
    answers = {refused(bound, f"select holdfast.{call}", job) for call in calls for job in (foreign, uuid4())}

    assert answers == {NO_JOB}


# -- what a bound caller could learn or reach by detours ---------------------------------------------------------------------


def test_an_operation_that_names_anothers_jobs_leaves_them_alone_when_it_is_carried_out(
    lasting: Machine, bound: Machine
) -> None:
    jobs = {tenant: lasting.enqueue(tenant=tenant) for tenant in ("acme", "globex", None)}
    operation = lasting.value("select holdfast.new_id()")
    bound.run(
        "select holdfast.create_operation(%s, 'acme', 'cancel', 'q', 'ann', null, %s, %s)",
        operation, list(jobs.values()), Jsonb([{"name": "holdfast.bulk"}]),
    )  # fmt: skip
    bound.connection.commit()

    counts = lasting.one("select * from holdfast.run_chunk(%s, 1)", operation)

    assert (counts["done"], counts["skipped"]) == (1, 2)
    assert {tenant: lasting.status(job) for tenant, job in jobs.items()} == {
        "acme": Status.CANCELLED,
        "globex": Status.PENDING,
        None: Status.PENDING,
    }
    assert lasting.job(operation)["tenant"] == "acme"


def test_a_bound_caller_replays_its_own_deliveries_and_reports_for_its_own_runs(
    lasting: Machine, bound: Machine
) -> None:
    ids = {tenant: lasting.enqueue(tenant=tenant) for tenant in ("acme", "globex")}
    for tenant, job in ids.items():
        lasting.run(
            "insert into holdfast.webhook_delivery (id, endpoint, event_id, type, tenant, status, body)"
            " values (%s, 'e', %s::text, 't', %s::text, 'handled', '{}')", job, tenant, tenant,
        )  # fmt: skip
        lasting.run(
            "insert into holdfast.dispatch (job_id, attempt, claim_id, executor, inputs, created_at, heartbeat_limit, run_limit,"
            " retry_in) values (%s, 1, %s, 'x', '{}', now(), '1 s', '1 s', '1 s')", job, job,
        )  # fmt: skip
    replay = "select holdfast.begin_replay(%s, 'ann')"
    report = "select holdfast.callback(%(job)s, 1, %(job)s, 'x', 'started', null, sha256('x'), '{}')"

    assert {tenant: bound.value(replay, job) for tenant, job in ids.items()} == {"acme": 1, "globex": None}
    answers = {
        tenant: bound.connection.execute(report, {"job": job}).fetchone()[0]  # type: ignore[index]
        for tenant, job in ids.items()
    }
    assert answers == {"acme": "stale_attempt", "globex": "not_found"}


def test_a_bound_caller_follows_its_own_jobs_and_channels(lasting: Machine, bound: Machine) -> None:
    jobs = {tenant: lasting.enqueue(tenant=tenant, subject="order") for tenant in ("acme", "globex")}
    for tenant in jobs:
        lasting.run("select holdfast.open_channel(%s)", f"tenant:{tenant}")
    for _ in range(2):  # what is there, and then what that was read behind
        lasting.run("select holdfast.project()")
    read = "select distinct job_id from holdfast.read_channels(%s, %s, %s, 100) where job_id is not null"

    followed = {t: bound.rows("select * from holdfast.follow_job(%s)", job) != [] for t, job in jobs.items()}
    moves = {
        row["job_id"]
        for row in bound.rows(
            "select job_id from holdfast.read_jobs(%s, '{0,0}', '{0,0}', 100)", list(jobs.values())
        )
    }
    told = {
        said: {row["job_id"] for row in bound.rows(read, ["subject:order"], [said], [0])}
        for said in ("acme", "globex", "*")  # for whom the caller says that it reads
    }

    assert followed == {"acme": True, "globex": False}
    assert moves == {jobs["acme"]}
    assert told == {"acme": {jobs["acme"]}, "globex": set(), "*": set()}


def test_a_limit_that_tenants_share_does_not_tell_whose_job_fills_it(
    lasting: Machine, bound: Machine
) -> None:
    options = {"limits": [{"key": "one", "max": 1, "policy": "reject"}]}
    lasting.register("gated", options=options)
    theirs = lasting.enqueue("gated", tenant="globex")

    with pytest.raises(psycopg.Error) as foreign:
        bound.enqueue("gated")
    bound.connection.rollback()
    with pytest.raises(psycopg.Error, match=str(theirs)):
        lasting.enqueue("gated")

    assert foreign.value.sqlstate == "HF012"
    assert str(theirs) not in str(foreign.value)
    assert foreign.value.diag.message_detail == '{"job": null, "key": "one"}'


def test_keys_of_jobs_and_of_requests_are_each_tenants_own(lasting: Machine, bound: Machine) -> None:
    theirs = lasting.enqueue(tenant="globex", key="order-1")
    lasting.run("select * from holdfast.begin_request('globex', 'k', sha256('x'))")
    lasting.run("select holdfast.keep_answer('globex', 'k', 200, 'theirs')")

    ours = bound.enqueue(key="order-1", on_conflict="raise")

    assert ours != theirs
    assert bound.rows("select * from holdfast.begin_request('acme', 'k', sha256('x'))") == []


def test_a_list_of_keys_does_not_go_on_behind_anothers(lasting: Machine, bound: Machine) -> None:
    create = "select holdfast.create_key(%s, sha256('x'), 'n', %s, '{read}', null, 'a')"
    lasting.run(create, "theirs", "globex")
    lasting.run(create, "ours", "acme")
    behind = "select holdfast.list_keys(%s, null, %s, 10)"

    for said in ("acme", None):  # whom the caller says it is bound to, and what the database knows
        assert refused(bound, behind, said, "ours") is None
        assert refused(bound, behind, said, "theirs") == refused(bound, behind, said, "nobodys") == "HF005"


def test_a_bound_caller_finds_no_keys_but_its_own(lasting: Machine, bound: Machine) -> None:
    for tenant in ("acme", "globex"):
        lasting.run(
            "select holdfast.create_key(%s, sha256('x'), 'n', %s, '{read}', null, 'a')", tenant, tenant
        )

    listed = bound.rows("select id from holdfast.list_keys(null, null, null, 10)")
    revoked = [
        refused(bound, "select holdfast.revoke_key(%s, null)", tenant) for tenant in ("acme", "globex")
    ]

    assert [row["id"] for row in listed] == ["acme"]
    assert revoked == [None, NO_KEY]


def test_a_bound_caller_learns_nothing_of_what_holds_anothers_job_back(
    lasting: Machine, bound: Machine
) -> None:
    jobs = {tenant: lasting.enqueue(tenant=tenant) for tenant in ("acme", "globex")}
    facts = "select holdfast.hold_facts(%s, 'limit:one') ->> 'taken'"

    assert {tenant: bound.value(facts, job) for tenant, job in jobs.items()} == {"acme": "0", "globex": None}


def test_a_bound_caller_waits_for_nobody_when_it_is_to_run_after_anothers_job(
    lasting: Machine, bound: Machine, holdfast_db: ScratchDatabase
) -> None:
    theirs = lasting.enqueue(tenant="globex")
    job = Jsonb([{"task": "t", "payload": {}, "after": [str(theirs)]}])

    with machine_on(holdfast_db.owner_url) as holder, holder.connection.transaction():
        holder.run("select from holdfast.job where id = %s for update", theirs)
        bound.run("set local lock_timeout = '1s'")

        assert refused(bound, "select * from holdfast.enqueue_many(%s)", job) == "HF005"


@pytest.mark.parametrize(
    "statement",
    [
        "select holdfast.create_key('i', sha256('x'), 'n', '*', '{admin}', null, 'a')",
        "select holdfast.create_person('ann', '$argon2id$', 'admin', '*', 'a')",
        "select holdfast.set_role('ann', 'admin', '*')",
        "select holdfast.enqueue('t', '{}', p_tenant => '*')",
    ],
)
def test_no_tenant_is_called_as_all_of_them_are(lasting: Machine, statement: str) -> None:
    assert refused(lasting, statement) == "HF005"


def test_a_database_with_one_role_serves_everybody_but_who_is_bound(holdfast_server: TestServer) -> None:
    with database_for(holdfast_server.admin_url, "nocreaterole") as url:
        migrate(Database(url, "test"))
        with machine_on(url) as machine, machine.connection.transaction():
            machine.register("t")
            machine.enqueue(tenant="acme")
            key = "select holdfast.create_key('i', sha256('x'), 'n', %s, '{read}', null, 'a')"

            assert refused(machine, "select holdfast.enter('acme')") == NOT_APART
            assert refused(machine, key, "acme") == NOT_APART
            assert refused(machine, key, None) is None
            machine.run("select holdfast.enter('*')")
            assert machine.count() == 1


@pytest.mark.parametrize(
    "held", ["holdfast.job h where h.id", "holdfast.slot h where h.job_id"], ids=["jobs", "slots"]
)
def test_a_bound_caller_waits_for_nobody_who_is_at_anothers_jobs(
    lasting: Machine, bound: Machine, holdfast_db: ScratchDatabase, held: str
) -> None:
    gate = asked(lasting, enqueued={"tenant": "globex"})
    lasting.run("insert into holdfast.slot (job_id, key, n) values (%s, 'one', 1)", gate.job_id)
    together = "select result from holdfast.approve_together(array[%s]::uuid[], '{h}', 'ann')"

    with machine_on(holdfast_db.owner_url) as holder, holder.connection.transaction():
        assert holder.run(f"select from {held} = %s for update", gate.job_id) == 1
        bound.run("set local lock_timeout = '1s'")

        assert refused(bound, together, gate.approval_id) is None
