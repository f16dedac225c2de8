"""The record: what a job is, and what the database refuses whoever writes. Plain SQL by the schema's owner, as somebody with psql would."""

from typing import Any
from uuid import UUID

import pytest

from apps.agent_workflows.app import app
from apps.agent_workflows.tests.plane import Plane

LEGAL = {
    "PENDING": {"RUNNING", "CANCELLED"},
    "RUNNING": {"COMPLETED", "FAILED", "RETRY", "WAITING_FOR_APPROVAL", "CANCELLED"},
    "RETRY": {"RUNNING", "FAILED", "CANCELLED"},
    "WAITING_FOR_APPROVAL": {"RUNNING", "FAILED", "CANCELLED"},
    "COMPLETED": set(),
    "FAILED": set(),
    "CANCELLED": set(),
}
ILLEGAL = [(old, new) for old in LEGAL for new in LEGAL if new not in LEGAL[old] and new != old]
TERMINAL = ["COMPLETED", "FAILED", "CANCELLED"]


@pytest.fixture(scope="module")
def jobs(shared: Plane) -> dict[str, UUID]:
    """Give a job in each status, brought there by the product itself."""
    made: dict[str, UUID] = {}
    made["CANCELLED"] = shared.start()
    assert shared.cancel(made["CANCELLED"]).status_code == 200
    made["COMPLETED"] = shared.start()
    shared.work()
    for status, trouble in (("FAILED", "unknown"), ("RETRY", "limited")):
        shared.tools.script.tell(trouble)
        made[status] = shared.start()
        shared.work()
    made["WAITING_FOR_APPROVAL"] = shared.start(tidy=True)
    shared.work()
    made["RUNNING"] = shared.start()
    (claimed,) = app.claim(1)
    assert claimed.id == made["RUNNING"]
    made["PENDING"] = shared.start()
    assert {status: shared.job(job_id)["status"] for status, job_id in made.items()} == {
        status: status for status in made
    }
    return made


def refused(plane: Plane, text: str, *values: Any) -> str:
    """Run SQL that the database must refuse; gives what it says."""
    with pytest.raises(Exception, match=r".") as refusal, plane.owner.transaction() as connection:
        connection.execute(text, values)
    return str(refusal.value)


# -- what it is ------------------------------------------------------------------------------------------------------------


def test_the_status_is_an_enum_and_the_columns_are_there(shared: Plane) -> None:
    statuses = shared.rows("select unnest(enum_range(null::holdfast.job_status))::text")
    columns = shared.rows(
        "select column_name::text from information_schema.columns where table_schema = 'holdfast' and table_name = 'job'"
    )

    assert {status for (status,) in statuses} == {*LEGAL, "WAITING"}
    assert {
        "id", "status", "payload", "retry_count", "max_retries", "due_at", "approval_id", "error", "created_at", "updated_at",
        "finished_at", "holder", "priority", "tags",
    } <= {column for (column,) in columns}  # fmt: skip


def test_the_application_makes_the_id_a_uuid_of_version_7(jobs: dict[str, UUID]) -> None:
    assert {job_id.version for job_id in jobs.values()} == {7}


def test_hand_written_sql_gets_an_id_and_defaults_from_the_database(
    shared: Plane, jobs: dict[str, UUID]
) -> None:
    ((job_id, *defaults),) = shared.rows(
        "insert into holdfast.job (task) values ('run_agent') returning id, status::text, retry_count, max_retries, error"
    )

    assert job_id.version == 7
    assert defaults == ["PENDING", 0, 3, None]


def test_the_checkpoint_is_null_before_the_first_step(shared: Plane, jobs: dict[str, UUID]) -> None:
    pending = shared.rows("select holdfast.last_checkpoint(%s)", jobs["PENDING"])
    completed = shared.rows("select holdfast.last_checkpoint(%s)::jsonb", jobs["COMPLETED"])

    assert pending == [(None,)]
    assert completed == [({"steps": ["1 search", "2 read", "3 read", "4 write"]},)]


def test_a_payload_is_an_object(shared: Plane) -> None:
    assert "it_is_an_object" in refused(
        shared, "insert into holdfast.job (task, payload) values ('run_agent', '[]')"
    )


def test_the_history_has_its_columns_and_a_first_entry_without_a_previous_status(
    shared: Plane, jobs: dict[str, UUID]
) -> None:
    rows = shared.rows(
        "select job_id, seq, from_status::text, to_status::text, metadata, at is not null from holdfast.job_history"
        " where job_id = %s order by seq",
        jobs["COMPLETED"],
    )

    assert rows == [
        (jobs["COMPLETED"], 1, None, "PENDING", None, True),
        (jobs["COMPLETED"], 2, "PENDING", "RUNNING", None, True),
        (jobs["COMPLETED"], 3, "RUNNING", "COMPLETED", None, True),
    ]


# -- what is refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("old", "new"), ILLEGAL)
def test_an_illegal_move_is_refused(shared: Plane, jobs: dict[str, UUID], old: str, new: str) -> None:
    said = refused(
        shared,
        "update holdfast.job set status = %s, claim_id = gen_random_uuid(), error = '{}' where id = %s",
        new,
        jobs[old],
    )

    assert f"job {jobs[old]} cannot move from {old} to {new}" in said


@pytest.mark.parametrize("status", TERMINAL)
def test_a_terminal_row_never_changes_again(shared: Plane, jobs: dict[str, UUID], status: str) -> None:
    for change in (
        "finished_at = null",
        "due_at = now()",
        "retry_count = 1",
        "error = '{}'",
        "reason = 'I say so'",
    ):
        said = refused(shared, f"update holdfast.job set {change} where id = %s", jobs[status])

        assert f"is {status} and never changes again" in said


RUNNING_AGAIN = "status = 'RUNNING', holder = gen_random_uuid(), claim_id = gen_random_uuid()"
BROKEN = [
    ("RUNNING", "status = 'RETRY', holder = null, due_at = now(), retry_count = 4", "retry_count stays between 0 and max_retries"),
    ("RUNNING", "status = 'RETRY', holder = null, due_at = now(), retry_count = -1", "retry_count stays between 0 and max_retries"),
    ("PENDING", "max_retries = -1", "count_is_within_100"),
    ("PENDING", "max_retries = 101", "count_is_within_100"),
    ("RUNNING", "status = 'RETRY', holder = null", "RETRY needs a time"),
    ("RETRY", "due_at = null, claim_order = null", "RETRY needs a time"),
    ("RUNNING", "due_at = now()", "not due"),
    ("RETRY", RUNNING_AGAIN, "not due"),
    ("WAITING_FOR_APPROVAL", "due_at = now()", "not due"),
    ("RUNNING", "status = 'WAITING_FOR_APPROVAL', holder = null", "has an approval exactly while it is WAITING_FOR_APPROVAL"),
    ("WAITING_FOR_APPROVAL", "approval_id = null", "has an approval exactly while it is WAITING_FOR_APPROVAL"),
    ("PENDING", "approval_id = gen_random_uuid()", "has an approval exactly while it is WAITING_FOR_APPROVAL"),
    ("WAITING_FOR_APPROVAL", f"{RUNNING_AGAIN}, approval_id = null", "which nobody has decided"),
    ("RUNNING", "status = 'FAILED', holder = null", "FAILED needs an error"),
    ("RUNNING", "holder = null", "a holder exactly while it is RUNNING"),
    ("PENDING", "holder = gen_random_uuid()", "a holder exactly while it is RUNNING"),
    ("PENDING", "finished_at = now()", "change only with its status"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "change", "rule"), BROKEN)
def test_a_row_that_contradicts_its_status_is_refused(
    shared: Plane, jobs: dict[str, UUID], status: str, change: str, rule: str
) -> None:
    assert rule in refused(shared, f"update holdfast.job set {change} where id = %s", jobs[status])


@pytest.mark.parametrize("status", LEGAL)
def test_a_changed_payload_is_refused_in_every_status(
    shared: Plane, jobs: dict[str, UUID], status: str
) -> None:
    said = refused(
        shared,
        """update holdfast.job set payload = payload || '{"topic": "minutes"}' where id = %s""",
        jobs[status],
    )

    assert "never change" in said


def test_the_applications_own_login_may_not_write_the_table_at_all(
    shared: Plane, jobs: dict[str, UUID]
) -> None:
    with pytest.raises(Exception, match="permission denied for table job"), app.transaction() as connection:
        connection.execute("update holdfast.job set priority = 1 where id = %s", (jobs["PENDING"],))


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        (
            "update holdfast.job_history set reason = 'nicer' where job_id = %s",
            "append-only: UPDATE is refused",
        ),
        ("delete from holdfast.job_history where job_id = %s", "append-only: DELETE is for retention only"),
        ("delete from holdfast.job where id = %s", "DELETE"),
    ],
)
def test_history_is_append_only(shared: Plane, jobs: dict[str, UUID], statement: str, rule: str) -> None:
    assert rule in refused(shared, statement, jobs["COMPLETED"])
