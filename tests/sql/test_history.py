"""One row per transition, written by the database, and never taken back."""

from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.support import Machine


def partitions(machine: Machine) -> list[str]:
    rows = machine.rows(
        "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'holdfast.job_history'::regclass order by 1"
    )
    return [row["name"] for row in rows]


# -- what is written -------------------------------------------------------------------------------------------------------


def test_a_birth_is_the_first_row(each_machine: Machine) -> None:
    job_id = each_machine.enqueue(requested_by="ann")

    (birth,) = each_machine.history(job_id)
    assert (birth["seq"], birth["from_status"], birth["to_status"], birth["attempt"]) == (
        1,
        None,
        "PENDING",
        0,
    )
    assert birth["actor"] == "ann"
    assert birth["at"] == each_machine.job(job_id)["created_at"]


def test_seq_has_no_gaps_and_the_rows_are_a_legal_path(each_machine: Machine) -> None:
    job_id = each_machine.enqueue()
    path = [Status.RUNNING, Status.RETRY, Status.RUNNING, Status.WAITING, Status.RUNNING, Status.COMPLETED]

    for status in path:
        each_machine.move(job_id, status)

    rows = each_machine.history(job_id)
    assert [row["seq"] for row in rows] == list(range(1, 8))
    assert [row["from_status"] for row in rows] == [None] + [row["to_status"] for row in rows[:-1]]
    assert [row["to_status"] for row in rows] == ["PENDING", *path]
    assert [row["attempt"] for row in rows] == [0, 1, 1, 2, 2, 3, 3]


def test_every_row_carries_the_transaction_that_wrote_it(each_machine: Machine) -> None:
    job_id = each_machine.job_in(Status.COMPLETED)

    xid = each_machine.value("select pg_current_xact_id()::text::bigint")
    assert {row["xid"] for row in each_machine.history(job_id)} == {xid}


def test_a_start_says_since_when_it_could_and_an_end_since_when_it_ran(each_machine: Machine) -> None:
    worker = each_machine.worker()
    job_id = each_machine.enqueue(priority=7)
    born = each_machine.job(job_id)["created_at"]
    each_machine.advance(5)
    (claimed,) = each_machine.claim(worker)
    started = each_machine.job(job_id)["updated_at"]
    each_machine.advance(60)
    each_machine.run(
        "update holdfast.job set deadline_at = null where id = %s", job_id
    )  # an update in between
    each_machine.complete(worker, claimed)

    job = each_machine.job(job_id)
    assert (job["ready_at"], job["started_at"]) == (born, started)
    assert [row["since"] for row in each_machine.history(job_id)] == [None, born, started]


def test_a_delayed_job_is_ready_when_it_is_due(each_machine: Machine) -> None:
    worker = each_machine.worker()
    job_id = each_machine.enqueue(run_in="1 hour")
    each_machine.advance(3700)
    each_machine.run("select holdfast.admit_due(10)")
    each_machine.claim(worker)

    job = each_machine.job(job_id)
    assert (job["ready_at"] - job["created_at"]).total_seconds() == 3600


def test_a_subtransaction_is_recorded_under_its_transaction(machine: Machine) -> None:
    job_id = machine.enqueue()

    with machine.connection.transaction():
        machine.move(job_id, Status.CANCELLED)

    assert machine.history(job_id)[-1]["xid"] == machine.value("select pg_current_xact_id()::text::bigint")


def test_moved_and_unmoved_rows_of_one_update_are_told_apart(each_machine: Machine) -> None:
    moving = [each_machine.enqueue(), each_machine.job_in(Status.RETRY)]
    staying = [
        each_machine.enqueue(),
        each_machine.job_in(Status.RUNNING),
        each_machine.job_in(Status.WAITING),
    ]
    before = {job_id: len(each_machine.history(job_id)) for job_id in moving + staying}

    each_machine.run(
        "update holdfast.job set status = case when id = any(%s) then 'CANCELLED' else status end, label = 'touched',"
        " claim_order = case when id = any(%s) then null else claim_order end,"
        " due_at = case when id = any(%s) then null else due_at end, reason = 'all at once' where id = any(%s)",
        moving, moving, moving, moving + staying,
    )  # fmt: skip

    written = {job_id: len(each_machine.history(job_id)) - before[job_id] for job_id in moving + staying}
    assert written == {**dict.fromkeys(moving, 1), **dict.fromkeys(staying, 0)}


def test_an_update_after_a_move_writes_no_second_row(machine: Machine) -> None:
    job_id = machine.job_in(Status.RUNNING)

    for _ in range(3):
        machine.run("update holdfast.job set label = 'x', came_from = 'PENDING' where id = %s", job_id)

    assert machine.path(job_id) == [Status.PENDING, Status.RUNNING]


def test_giving_up_a_key_after_the_end_writes_no_second_row(machine: Machine) -> None:
    job_id = machine.job_in(Status.COMPLETED, key="k", key_scope="ever")

    machine.run("update holdfast.job set key_held = false, came_from = 'RUNNING' where id = %s", job_id)

    assert machine.path(job_id) == [Status.PENDING, Status.RUNNING, Status.COMPLETED]


def test_a_job_cannot_move_twice_in_one_statement_without_both_rows(machine: Machine) -> None:
    job_id = machine.enqueue()

    machine.run(
        "with first as (update holdfast.job set status = 'CANCELLED', claim_order = null where id = %s returning id)"
        " update holdfast.job j set status = 'RUNNING', claim_order = null, holder = gen_random_uuid(), claim_id = gen_random_uuid()"
        " from first where j.id = first.id",
        job_id,
    )

    assert len(machine.path(job_id)) == machine.job(job_id)["seq"] == 2


def test_a_merge_is_recorded_as_any_update(each_machine: Machine) -> None:
    job_id = each_machine.enqueue()

    each_machine.run(
        "merge into holdfast.job j using (select %s::uuid as id) as s on j.id = s.id"
        " when matched then update set status = 'CANCELLED', claim_order = null",
        job_id,
    )

    assert each_machine.path(job_id) == [Status.PENDING, Status.CANCELLED]


def test_an_insert_that_meets_its_row_is_recorded_as_any_update(machine: Machine) -> None:
    job_id = machine.enqueue()

    machine.run(
        "insert into holdfast.job (id, task) values (%s, 't') on conflict (id) do update set status = 'CANCELLED', claim_order = null",
        job_id,
    )

    assert machine.path(job_id) == [Status.PENDING, Status.CANCELLED]


def test_a_replica_writes_history_too(machine: Machine) -> None:
    machine.run("set local session_replication_role = replica")

    job_id = machine.job_in(Status.COMPLETED)

    assert machine.path(job_id) == [Status.PENDING, Status.RUNNING, Status.COMPLETED]


def test_a_retry_says_how_often_and_when(machine: Machine) -> None:
    job_id = machine.job_in(Status.RUNNING)

    machine.run(
        "update holdfast.job set status = 'RETRY', holder = null, due_at = now(), retry_count = 1, crash_count = 2,"
        ' error = \'{"type": "Boom", "traceback": "long"}\' where id = %s',
        job_id,
    )

    metadata = machine.history(job_id)[-1]["metadata"]
    due_at = machine.value("select to_jsonb(due_at) from holdfast.job where id = %s", job_id)
    assert metadata == {"retry_count": 1, "crash_count": 2, "due_at": due_at, "error": {"type": "Boom"}}


def test_a_failure_says_the_error_without_its_traceback(machine: Machine) -> None:
    job_id = machine.job_in(Status.FAILED)

    assert machine.history(job_id)[-1]["metadata"] == {"type": "Boom", "message": "no"}


@pytest.mark.parametrize("status", Status)
def test_history_never_holds_a_payload(machine: Machine, status: Status) -> None:
    job_id = machine.job_in(
        status, payload={"secret": "hunter2"}, metadata=Jsonb({"secret": "hunter2"}), tags=Jsonb(["hunter2"])
    )

    text = machine.value(
        "select string_agg(h::text, ' ') from holdfast.job_history h where job_id = %s", job_id
    )
    assert "hunter2" not in text


# -- actors ----------------------------------------------------------------------------------------------------------------


def test_the_actor_is_who_logged_in_when_nobody_says_otherwise(app_login: Machine, lasting: Machine) -> None:
    job_id = app_login.enqueue()

    assert lasting.history(job_id)[0]["actor"] == app_login.value("select session_user::text")


def test_a_session_may_name_the_person_it_acts_for(app_login: Machine, lasting: Machine) -> None:
    # So a history's actor is what the application says; only the owner of the schema vouches for more than that.
    app_login.run("set holdfast.actor = 'ann@example.org'")

    job_id = app_login.enqueue()

    assert lasting.history(job_id)[0]["actor"] == "ann@example.org"


def test_a_setting_does_not_put_words_into_a_workers_mouth(app_login: Machine, lasting: Machine) -> None:
    app_login.run("set holdfast.actor = 'forged'")
    worker = app_login.worker("worker-1")
    job_id = app_login.enqueue(requested_by="ann")

    (claimed,) = app_login.claim(worker)
    app_login.complete(worker, claimed)

    assert [row["actor"] for row in lasting.history(job_id)] == ["ann", "worker-1", "worker-1"]


def test_a_setting_does_not_forge_who_sweeps_or_cancels(
    app_login: Machine, lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    app_login.run("set holdfast.actor = 'forged'")
    worker = app_login.worker()
    swept, cancelled = (
        app_login.enqueue(requested_by="ann"),
        app_login.enqueue(requested_by="ann", run_in="1 day"),
    )
    app_login.claim(worker)
    holdfast_db.clock.advance(60)

    app_login.sweep()
    app_login.value("select holdfast.cancel(%s)", cancelled)

    assert lasting.history(swept)[-1]["actor"] == "sweeper"
    assert lasting.history(cancelled)[-1]["actor"] == app_login.value("select session_user::text")


def test_a_goodbye_is_recorded_under_the_workers_name(app_login: Machine, lasting: Machine) -> None:
    worker = app_login.worker("worker-1")
    job_id = app_login.enqueue()
    app_login.claim(worker)

    app_login.value("select holdfast.retire_worker(%s)", worker)

    assert lasting.history(job_id)[-1]["actor"] == "worker-1"


def test_a_retry_by_hand_is_recorded_under_who_retried_not_who_asked_first(machine: Machine) -> None:
    job_id = machine.job_in(Status.FAILED, requested_by="ann")

    retried = machine.value("select holdfast.retry(%s)", job_id)

    assert machine.history(retried)[0]["actor"] == machine.value("select session_user::text")


# -- append-only -----------------------------------------------------------------------------------------------------------

TAMPERING = {
    "update": "update {table} set actor = 'nobody' where job_id = %s",
    "upsert": "insert into {table} as h select * from holdfast.job_history where job_id = %s limit 1"
    " on conflict (job_id, seq) do update set actor = 'nobody'",
    "delete": "delete from {table} where job_id = %s",
    "truncate": "truncate {table}",
}
ROLES = (
    "set local role holdfast_owner",
    "set local role none",
    "set local session_replication_role = replica",
)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("way", TAMPERING)
def test_history_is_append_only(each_machine: Machine, way: str, role: str) -> None:
    job_id = each_machine.job_in(Status.COMPLETED)
    before = each_machine.history(job_id)
    each_machine.run(role)

    for table in ["holdfast.job_history", *partitions(each_machine)]:
        if way in {"update", "delete"} and not each_machine.value(
            f"select count(*) from {table} where job_id = %s", job_id
        ):
            continue
        if way == "upsert" and table not in {"holdfast.job_history", home_of(each_machine, job_id)}:
            continue
        with each_machine.refused("HF003", "history is "):
            statement = TAMPERING[way].format(table=table)
            each_machine.run(statement, *([job_id] if "%s" in statement else []))

    assert each_machine.history(job_id) == before


def home_of(machine: Machine, job_id: UUID) -> str:
    name: str = machine.value(
        "select distinct tableoid::regclass::text from holdfast.job_history where job_id = %s", job_id
    )
    return name


ODD_CLOCK = UUID("f0000000-0000-7000-8000-000000000001")  # an id from the year 10328


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("way", TAMPERING)
def test_history_of_an_odd_clock_is_append_only_too(each_machine: Machine, way: str, role: str) -> None:
    each_machine.enqueue(id=ODD_CLOCK)
    each_machine.run(role)

    assert home_of(each_machine, ODD_CLOCK) == "holdfast.job_history_rest"
    with each_machine.refused("HF003", "history is "):
        statement = TAMPERING[way].format(table="holdfast.job_history_rest")
        each_machine.run(statement, *([ODD_CLOCK] if "%s" in statement else []))


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("way", TAMPERING)
def test_a_month_made_by_upkeep_is_guarded_like_the_first(each_machine: Machine, way: str, role: str) -> None:
    each_machine.advance(3600 * 24 * 150)
    months = set(partitions(each_machine))
    each_machine.one("select * from holdfast.upkeep()")
    job_id = each_machine.enqueue()
    home = home_of(each_machine, job_id)
    each_machine.run(role)

    assert home in set(partitions(each_machine)) - months
    with each_machine.refused("HF003", "history is "):
        statement = TAMPERING[way].format(table=home)
        each_machine.run(statement, *([job_id] if "%s" in statement else []))


@pytest.mark.parametrize("role", ROLES)
def test_history_is_written_by_moves_only(each_machine: Machine, role: str) -> None:
    job_id = each_machine.enqueue()
    home = home_of(each_machine, job_id)
    each_machine.run(role)

    for table in ("holdfast.job_history", home):
        with each_machine.refused("HF003", "history is written by the moves themselves"):
            each_machine.run(
                f"insert into {table} (job_id, seq, to_status, attempt, at, xid, actor) values (%s, 2, 'COMPLETED', 1, now(), 1, 'forged')",
                job_id,
            )


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "statement",
    [
        "update holdfast.attempt set outcome = 'fine'",
        "delete from holdfast.attempt",
        "truncate holdfast.attempt",
    ],
)
def test_attempts_are_append_only(machine: Machine, statement: str, role: str) -> None:
    worker = machine.worker()
    machine.enqueue()
    machine.settle(worker, *machine.claim(worker), outcome="failed", error={"type": "Boom"})
    machine.run(role)

    with machine.refused("HF003", "attempts are append-only"):
        machine.run(statement)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "statement", ["delete from holdfast.job", "truncate holdfast.job", "truncate holdfast.job cascade"]
)
@pytest.mark.parametrize("status", [Status.PENDING, Status.COMPLETED])
def test_jobs_are_kept(machine: Machine, statement: str, role: str, status: Status) -> None:
    machine.job_in(status)
    machine.run(role)

    with machine.refused("HF003", "jobs are kept"):
        machine.run(statement)


def test_a_retention_mark_of_another_transaction_opens_nothing(machine: Machine) -> None:
    machine.job_in(Status.COMPLETED)
    machine.run("set holdfast.retention = '1'")

    with machine.refused("HF003", "jobs are kept"):
        machine.run("delete from holdfast.job")


def test_not_even_a_forged_retention_mark_removes_a_job_that_has_not_ended(machine: Machine) -> None:
    machine.job_in(Status.RUNNING)
    machine.value("select set_config('holdfast.retention', pg_current_xact_id()::text, true)")

    with machine.refused("HF003", "has not ended"):
        machine.run("delete from holdfast.job")
