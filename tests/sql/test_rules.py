"""What a row must say in each status, what never changes, and whose clock counts."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from sql.support import TERMINAL, Machine

ACTIVE = tuple(status for status in Status if not status.is_terminal)
NOT_RUNNING = tuple(status for status in ACTIVE if status is not Status.RUNNING)


# -- consistency of a status with its columns ------------------------------------------------------------------------------

NOT_IN_LINE = "not in line, not due and not held back"
WRONG_ROWS: list[tuple[Status, str, str]] = [
    (
        Status.RUNNING,
        "status = 'RETRY', holder = null, due_at = now(), retry_count = 4",
        "retry_count stays between 0 and max_retries",
    ),
    (
        Status.RUNNING,
        "status = 'RETRY', holder = null, due_at = now(), retry_count = -1",
        "retry_count stays between 0 and max_retries",
    ),
    (Status.PENDING, "max_retries = -1", "count_is_within_100"),
    (Status.PENDING, "max_retries = 101", "count_is_within_100"),
    (Status.PENDING, "priority = 101", "priority_is_within_100"),
    (Status.PENDING, "priority = -101", "priority_is_within_100"),
    (Status.RUNNING, "status = 'RETRY', holder = null", "RETRY needs a time"),
    (Status.PENDING, "claim_order = null", "otherwise it would wait for ever"),
    (Status.WAITING, "due_at = null", "otherwise it would wait for ever"),
    (Status.WAITING_FOR_APPROVAL, "due_at = now()", "waits for a person is not due"),
    (Status.RETRY, "due_at = null", "RETRY needs a time"),
    (Status.RUNNING, "due_at = now()", NOT_IN_LINE),
    (Status.RUNNING, "claim_order = now()", NOT_IN_LINE),
    (Status.RUNNING, "held_by = 'limit'", NOT_IN_LINE),
    (
        Status.RETRY,
        "status = 'RUNNING', holder = gen_random_uuid(), claim_id = gen_random_uuid()",
        NOT_IN_LINE,
    ),
    (Status.RETRY, "status = 'FAILED', error = '{}'", NOT_IN_LINE),
    (Status.RUNNING, "status = 'COMPLETED', holder = null, due_at = now()", NOT_IN_LINE),
    (Status.PENDING, "status = 'CANCELLED'", NOT_IN_LINE),
    (
        Status.RUNNING,
        "status = 'WAITING_FOR_APPROVAL', holder = null",
        "an approval exactly while it is WAITING_FOR_APPROVAL",
    ),
    (
        Status.WAITING_FOR_APPROVAL,
        "approval_id = null",
        "an approval exactly while it is WAITING_FOR_APPROVAL",
    ),
    (
        Status.PENDING,
        "approval_id = gen_random_uuid()",
        "an approval exactly while it is WAITING_FOR_APPROVAL",
    ),
    (
        Status.RUNNING,
        "approval_id = gen_random_uuid()",
        "an approval exactly while it is WAITING_FOR_APPROVAL",
    ),
    (
        Status.WAITING_FOR_APPROVAL,
        "status = 'CANCELLED'",
        "an approval exactly while it is WAITING_FOR_APPROVAL",
    ),
    (Status.RUNNING, "status = 'FAILED', holder = null", "FAILED needs an error"),
    (Status.RUNNING, "status = 'FAILED', holder = null, error = 'null'", "an error is a JSON object"),
    (Status.RUNNING, "status = 'FAILED', holder = null, error = '\"boom\"'", "an error is a JSON object"),
    (Status.RUNNING, "status = 'FAILED', holder = null, error = '[]'", "an error is a JSON object"),
    (Status.RUNNING, "holder = null", "a holder exactly while it is RUNNING"),
    (
        Status.PENDING,
        "claim_order = null, status = 'RUNNING', claim_id = gen_random_uuid()",
        "a holder exactly while it is RUNNING",
    ),
    (Status.RUNNING, "status = 'COMPLETED'", "a holder exactly while it is RUNNING"),
    (Status.PENDING, "holder = gen_random_uuid()", "a holder exactly while it is RUNNING"),
    (Status.RETRY, "holder = gen_random_uuid()", "a holder exactly while it is RUNNING"),
    (Status.PENDING, "deadline_at = now()", "only a RUNNING job has a deadline"),
    (Status.RUNNING, "result = '1'", "only a COMPLETED job has a result"),
    (
        Status.RUNNING,
        "status = 'FAILED', holder = null, error = '{}', result = '1'",
        "only a COMPLETED job has a result",
    ),
    (Status.PENDING, "tags = '{}'", "tags_are_a_list"),
    (Status.PENDING, "metadata = '[]'", "it_is_an_object"),
    (Status.PENDING, "queue = ''", "name_has_1_to_200_characters"),
    (Status.PENDING, "queue = repeat('x', 201)", "name_has_1_to_200_characters"),
]


def sqlstate_of(rule: str) -> str:
    """A rule about one value is a domain's constraint, a rule between columns a sentence of ours."""
    return "23514" if "_" in rule.split(maxsplit=1)[0] and " " not in rule else "HF001"


@pytest.mark.parametrize(("status", "change", "rule"), WRONG_ROWS)
def test_a_row_that_contradicts_its_status_is_refused(
    machine: Machine, status: Status, change: str, rule: str
) -> None:
    job_id = machine.job_in(status)

    with machine.refused(sqlstate_of(rule), rule):
        machine.run(f"update holdfast.job set {change} where id = %s", job_id)


@pytest.mark.parametrize(("status", "change", "rule"), WRONG_ROWS[:10])
def test_a_replica_may_not_write_a_wrong_row_either(
    machine: Machine, status: Status, change: str, rule: str
) -> None:
    job_id = machine.job_in(status)
    machine.run("set local session_replication_role = replica")

    with machine.refused(sqlstate_of(rule), rule):
        machine.run(f"update holdfast.job set {change} where id = %s", job_id)


@pytest.mark.parametrize("status", ACTIVE)
def test_an_active_job_cannot_be_given_an_end(machine: Machine, status: Status) -> None:
    job_id = machine.job_in(status)

    with machine.refused("HF001", "change only with its status"):
        machine.run("update holdfast.job set finished_at = now() where id = %s", job_id)


def test_the_rule_behind_the_guard_stands_too(machine: Machine) -> None:
    # The guard sets finished_at itself; the rule is what remains when somebody disables the guard.
    job_id = machine.job_in(Status.PENDING)
    machine.run("alter table holdfast.job disable trigger guard_move")

    with machine.refused("HF001", "finished_at exactly when it has ended"):
        machine.run(
            "update holdfast.job set status = 'CANCELLED', claim_order = null, seq = 2 where id = %s", job_id
        )


def test_retries_may_use_up_their_maximum(machine: Machine) -> None:
    job_id = machine.job_in(Status.RUNNING)

    machine.run(
        "update holdfast.job set status = 'RETRY', holder = null, due_at = now(), retry_count = max_retries where id = %s",
        job_id,
    )

    assert machine.job(job_id)["retry_count"] == 3


@pytest.mark.parametrize("status", NOT_RUNNING)
def test_the_numbers_of_a_job_change_only_with_its_status(machine: Machine, status: Status) -> None:
    job_id = machine.job_in(status)

    for change in (
        "attempt = attempt + 1",
        "seq = seq + 1",
        "claim_id = gen_random_uuid()",
        "retry_count = 1",
        "ready_at = now()",
        "started_at = now()",
        "crash_count = 1",
        "chain = sha256(chain)",
        "chain = null",
    ):
        with machine.refused("HF001", "change only with its status"):
            machine.run(f"update holdfast.job set {change} where id = %s", job_id)


# -- birth -----------------------------------------------------------------------------------------------------------------


def test_a_hand_written_insert_gets_an_id_times_and_a_history(machine: Machine) -> None:
    ids = [machine.value("insert into holdfast.job (task) values ('t') returning id") for _ in range(50)]

    for job_id in ids:
        job = machine.job(job_id)
        assert job["created_at"] <= job["updated_at"] == machine.history(job_id)[0]["at"]
        assert machine.path(job_id) == [Status.PENDING]


@pytest.mark.parametrize(
    "columns",
    [
        "status => 'RUNNING', holder => gen_random_uuid(), claim_id => gen_random_uuid()",
        "status => 'COMPLETED', finished_at => clock_timestamp()",
        "status => 'RETRY', due_at => clock_timestamp()",
        "status => 'WAITING'",
        "status => 'WAITING_FOR_APPROVAL', approval_id => gen_random_uuid()",
        "status => 'FAILED', error => '{}', finished_at => clock_timestamp()",
        "status => 'CANCELLED', finished_at => clock_timestamp()",
        "attempt => 1",
        "seq => 2",
        "retry_count => 1",
        "ready_at => clock_timestamp()",
        "started_at => clock_timestamp()",
        "crash_count => 1",
        "suspect => true",
        "claim_id => gen_random_uuid()",
        "came_from => 'RUNNING'",
    ],
)
@pytest.mark.parametrize("role", ["origin", "replica"])
def test_a_job_is_born_pending_and_unclaimed(machine: Machine, columns: str, role: str) -> None:
    names, values = zip(*(part.split(" => ") for part in columns.split(", ")), strict=True)
    machine.run(f"set local session_replication_role = {role}")

    with machine.refused("HF001", "must be born PENDING"):
        machine.run(f"insert into holdfast.job (task, {', '.join(names)}) values ('t', {', '.join(values)})")


@pytest.mark.parametrize("job_id", [uuid4(), UUID("6fa459ea-ee8a-11ca-894e-db77e160355e"), UUID(int=0)])
def test_an_id_is_a_uuid_version_7(machine: Machine, job_id: UUID) -> None:
    with machine.refused("23514", '"id_is_a_uuid_version_7"'):
        machine.run("insert into holdfast.job (id, task) values (%s, 't')", job_id)


def test_ids_made_one_after_the_other_are_in_order(each_machine: Machine) -> None:
    ids = each_machine.rows(
        "select holdfast.new_id() as id from generate_series(1, 200) where pg_sleep(0.00001) is not null"
    )

    made = [row["id"] for row in ids]
    assert [identity.version for identity in made] == [7] * 200
    assert made == sorted(made)


def test_a_new_id_carries_the_time_of_the_clock(each_machine: Machine) -> None:
    answer = each_machine.one("select holdfast.new_id() as id, holdfast.uuid_at(holdfast.clock()) as now")

    assert abs((answer["id"].int >> 80) - (answer["now"].int >> 80)) < 1000


@pytest.mark.parametrize(
    ("columns", "values", "rule"),
    [
        ("key_held", "true", "a key has a scope, and only a key can be held"),
        ("key", "'k'", "a key has a scope, and only a key can be held"),
        ("key_scope", "'ever'", "a key has a scope, and only a key can be held"),
        ("key, key_scope", "'k', 'sometimes'", "key_scope_is_known"),
        ("payload", "'[]'", "it_is_an_object"),
        ("payload", "'null'", "it_is_an_object"),
        ("payload", "jsonb_build_object('a', repeat('x', 2100000))", "it_is_small"),
        ("tenant", "''", "name_has_1_to_200_characters"),
        ("subject", "''", "long_name_has_1_to_500_characters"),
        ("label", "repeat('x', 501)", "long_name_has_1_to_500_characters"),
    ],
)
def test_a_job_is_not_born_with_what_it_must_not_have(
    machine: Machine, columns: str, values: str, rule: str
) -> None:
    with machine.refused(sqlstate_of(rule), rule):
        machine.run(f"insert into holdfast.job (task, {columns}) values ('t', {values})")


# -- what never changes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        "payload = '{\"a\": 2}'",
        "payload = '{\"a\": 1.0}'",
        "task = 'other'",
        "tenant = 'other'",
        "tenant = null",
        "subject = 'other'",
        "created_at = created_at - interval '1 day'",
        "requested_by = 'somebody else'",
        "retry_of = id",
        "key = 'other'",
        "key_scope = 'ever'",
        "id = holdfast.new_id()",
    ],
)
@pytest.mark.parametrize("status", [Status.PENDING, Status.RUNNING, Status.COMPLETED])
def test_what_a_job_is_never_changes(machine: Machine, status: Status, change: str) -> None:
    job_id = machine.job_in(
        status, payload={"a": 1}, tenant="acme", subject="s:1", key="k", requested_by="ann"
    )

    with pytest.raises(Exception, match="never change") as refused, machine.connection.transaction():
        machine.run(f"update holdfast.job set {change} where id = %s", job_id)

    assert getattr(refused.value, "sqlstate", None) in {"HF003", "HF001"}


def test_the_payload_does_not_change_together_with_a_move(machine: Machine) -> None:
    job_id = machine.job_in(Status.PENDING)

    with machine.refused("HF003", "never change"):
        machine.run(
            "update holdfast.job set status = 'CANCELLED', claim_order = null, payload = '{\"a\": 2}' where id = %s",
            job_id,
        )


def test_the_payload_does_not_change_for_a_replica_either(machine: Machine) -> None:
    job_id = machine.job_in(Status.PENDING)
    machine.run("set local session_replication_role = replica")

    with machine.refused("HF003", "never change"):
        machine.run("update holdfast.job set payload = '{\"a\": 2}' where id = %s", job_id)


def test_the_payload_does_not_change_by_an_insert_that_meets_it(machine: Machine) -> None:
    job_id = machine.job_in(Status.PENDING)

    with machine.refused("HF003", "never change"):
        machine.run(
            "insert into holdfast.job (id, task) values (%s, 't') on conflict (id) do update set payload = '{\"a\": 2}'",
            job_id,
        )


# -- whose clock counts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "offset", ["- interval '1 hour'", "+ interval '1 hour'", "- interval '1 millisecond'"]
)
@pytest.mark.parametrize("table", ["status", "label"])
def test_the_database_sets_updated_at_whatever_the_writer_says(
    machine: Machine, offset: str, table: str
) -> None:
    job_id = machine.job_in(Status.PENDING)
    before = machine.value("select holdfast.clock()")

    change = {"status": "status = 'CANCELLED', claim_order = null", "label": "label = 'x'"}[table]
    machine.run(
        f"update holdfast.job set {change}, updated_at = clock_timestamp() {offset} where id = %s", job_id
    )

    assert before <= machine.job(job_id)["updated_at"] <= machine.value("select holdfast.clock()")


@pytest.mark.parametrize("status", TERMINAL)
def test_the_database_sets_finished_at_whatever_the_writer_says(machine: Machine, status: Status) -> None:
    job_id = machine.job_in(Status.RUNNING)
    before = machine.value("select holdfast.clock()")

    machine.run(
        "update holdfast.job set status = %s, holder = null, error = '{}', finished_at = '2001-01-01' where id = %s",
        status.value, job_id,
    )  # fmt: skip

    job = machine.job(job_id)
    assert job["finished_at"] == job["updated_at"] == machine.history(job_id)[-1]["at"]
    assert before <= job["finished_at"] <= machine.value("select holdfast.clock()")


@pytest.mark.parametrize(
    "offset", ["- interval '1 day'", "- interval '1 second'", "+ interval '1 second'", "+ interval '1 day'"]
)
@pytest.mark.parametrize("columns", ["created_at", "updated_at", "created_at, updated_at"])
def test_a_job_is_not_born_at_another_time_than_now(machine: Machine, columns: str, offset: str) -> None:
    values = ", ".join("at" for _ in columns.split(","))

    with machine.refused("HF001", "the clock's own times"):
        machine.run(
            f"with t as materialized (select clock_timestamp() {offset} as at)"
            f" insert into holdfast.job (task, {columns}) select 't', {values} from t"
        )


def test_a_clock_that_steps_back_does_not_take_a_job_back_in_time(machine: Machine) -> None:
    machine.advance(100)
    job_id = machine.job_in(Status.RUNNING)
    machine.advance(-100)

    machine.run("update holdfast.job set label = 'x' where id = %s", job_id)
    machine.move(job_id, Status.COMPLETED)

    times = [row["at"] for row in machine.history(job_id)]
    assert times == sorted(times)


# -- the guard's short cut for moves that are written as they must be --------------------------------------------------------

CLAIMED = (
    "status = 'RUNNING', claim_order = null, due_at = null, approval_id = null, holder = gen_random_uuid()"
)
COMPLETED = "status = 'COMPLETED', holder = null"
READY = "select holdfast.ready_since(%s, %s)"
# The clock is read once, as claim and complete do: two readings are two times.
REWRITTEN = (
    "with t as materialized (select holdfast.clock() as at) update holdfast.job set {} from t where id = %s"
)


def rightly(change: str, **other: str) -> str:
    """Write a move as claim and complete do, in every respect that is not given otherwise."""
    columns = {
        "came_from": "status",
        "seq": "seq + 1",
        "updated_at": "t.at",
        "attempt": "attempt + 1" if change == CLAIMED else "attempt",
        "claim_id": "gen_random_uuid()" if change == CLAIMED else "claim_id",
        "finished_at": "null" if change == CLAIMED else "t.at",
        "ready_at": "holdfast.ready_since(claim_order, priority)" if change == CLAIMED else "ready_at",
        "started_at": "t.at" if change == CLAIMED else "started_at",
        "chain": "sha256(chain)",  # another head: of which history it is, the condition does not ask
        **other,
    }
    return ", ".join([change, *(f"{name} = {value}" for name, value in columns.items())])


@pytest.mark.parametrize(
    ("status", "change"),
    [
        (Status.PENDING, rightly(CLAIMED, seq="seq + 5")),
        (Status.PENDING, rightly(CLAIMED, seq="seq")),
        (Status.PENDING, rightly(CLAIMED, came_from="'RETRY'")),
        (Status.PENDING, rightly(CLAIMED, came_from="null")),
        (Status.PENDING, rightly(CLAIMED, chain="chain")),
        (Status.PENDING, rightly(CLAIMED, chain="null")),
        (Status.PENDING, rightly(CLAIMED, ready_at="null")),
        (Status.PENDING, rightly(CLAIMED, started_at="created_at")),
        (Status.PENDING, rightly(CLAIMED, attempt="attempt + 2")),
        (Status.PENDING, rightly(CLAIMED, attempt="attempt")),
        (Status.PENDING, rightly(CLAIMED, attempt="0")),
        (Status.PENDING, rightly(CLAIMED, finished_at="holdfast.clock()")),
        (Status.PENDING, rightly(CLAIMED, updated_at="holdfast.clock() - interval '5 seconds'")),
        (Status.PENDING, rightly(CLAIMED, updated_at="holdfast.clock() + interval '5 seconds'")),
        (Status.PENDING, rightly(CLAIMED, updated_at="'infinity'")),
        (Status.RETRY, rightly(CLAIMED, updated_at="created_at")),
        (Status.WAITING, rightly(CLAIMED, came_from="'PENDING'")),
        (Status.WAITING_FOR_APPROVAL, rightly(CLAIMED, seq="1")),
        (Status.RUNNING, rightly(COMPLETED, seq="seq - 1")),
        (Status.RUNNING, rightly(COMPLETED, chain="chain")),
        (Status.RUNNING, rightly(COMPLETED, started_at="null")),
        (Status.RUNNING, rightly(COMPLETED, attempt="attempt + 1")),
        (Status.RUNNING, rightly(COMPLETED, attempt="attempt - 1")),
        (Status.RUNNING, rightly(COMPLETED, claim_id="gen_random_uuid()")),
        (Status.RUNNING, rightly(COMPLETED, claim_id="null")),
        (Status.RUNNING, rightly(COMPLETED, finished_at="null")),
        (Status.RUNNING, rightly(COMPLETED, finished_at="created_at")),
        (Status.RUNNING, rightly(COMPLETED, updated_at="holdfast.clock() - interval '50 seconds'", finished_at="holdfast.clock() - interval '50 seconds'")),
        (Status.RUNNING, rightly(COMPLETED, updated_at="holdfast.clock() + interval '1 minute'", finished_at="holdfast.clock() + interval '1 minute'")),
        (Status.RUNNING, rightly("status = 'WAITING', holder = null, held_by = 'x'", finished_at="null")),
        (Status.RUNNING, rightly("status = 'CANCELLED', holder = null", finished_at="'infinity'")),
    ],
)  # fmt: skip
def test_a_move_that_is_almost_well_written_is_put_right(
    machine: Machine, status: Status, change: str
) -> None:
    job_id = machine.job_in(status)
    before = machine.job(job_id)
    machine.advance(60)
    start = machine.value("select holdfast.clock()")

    machine.run(REWRITTEN.format(change), job_id)

    job, recorded = machine.job(job_id), machine.history(job_id)[-1]
    runs = job["status"] == "RUNNING"
    assert job["seq"] == recorded["seq"] == before["seq"] + 1
    assert recorded["from_status"] == before["status"]
    assert job["attempt"] == before["attempt"] + runs
    assert (job["claim_id"] == before["claim_id"]) is not runs
    assert start <= job["updated_at"] <= start + timedelta(seconds=10)
    assert job["finished_at"] == (job["updated_at"] if Status(job["status"]).is_terminal else None)
    assert job["started_at"] == (job["updated_at"] if runs else before["started_at"])
    assert job["ready_at"] == (
        machine.value(READY, before["claim_order"], before["priority"]) if runs else before["ready_at"]
    )
    assert job["chain"] == machine.value("select holdfast.head_of(%s)", job_id)


@pytest.mark.parametrize(
    ("status", "change", "words"),
    [
        (Status.WAITING, rightly(COMPLETED), "cannot move from WAITING to COMPLETED"),
        (Status.PENDING, rightly(COMPLETED, came_from="'RUNNING'"), "cannot move from PENDING to COMPLETED"),
        (Status.FAILED, rightly(CLAIMED), "cannot move from FAILED to RUNNING"),
        (Status.FAILED, rightly(CLAIMED, came_from="'RETRY'"), "cannot move from FAILED to RUNNING"),
        (Status.RETRY, rightly(CLAIMED, claim_id="claim_id"), "without a claim id of its own"),
        (Status.PENDING, rightly(CLAIMED, claim_id="null"), "without a claim id of its own"),
        (Status.RETRY, rightly(CLAIMED, claim_id="null"), "without a claim id of its own"),
    ],
)
def test_a_wrong_move_is_refused_however_well_it_is_written(
    machine: Machine, status: Status, change: str, words: str
) -> None:
    job_id = machine.job_in(status)

    with machine.refused("HF001", words):
        machine.run(REWRITTEN.format(change), job_id)


@pytest.mark.parametrize(("scope", "held"), [("active", False), ("success", True), ("ever", True)])
@pytest.mark.parametrize("change", [COMPLETED, rightly(COMPLETED), rightly(COMPLETED, key_held="true")])
def test_a_completed_job_holds_its_key_as_the_scope_says(
    machine: Machine, change: str, scope: str, *, held: bool
) -> None:
    job_id = machine.job_in(Status.RUNNING, key="k", key_scope=scope)

    machine.run(REWRITTEN.format(change), job_id)

    assert machine.job(job_id)["key_held"] is held


def test_a_job_does_not_take_a_key_that_it_gave_up(machine: Machine) -> None:
    job_id = machine.job_in(Status.RUNNING, key="k", key_scope="ever")
    machine.run("update holdfast.job set key_held = false where id = %s", job_id)

    machine.run(REWRITTEN.format(rightly(COMPLETED, key_held="true")), job_id)

    assert machine.job(job_id)["key_held"] is False


def test_a_claimed_job_keeps_its_fence_when_it_ends(machine: Machine) -> None:
    job_id = machine.job_in(Status.RUNNING)
    claim_id = machine.job(job_id)["claim_id"]

    machine.move(job_id, Status.FAILED, error=Jsonb({"type": "X"}))

    assert machine.job(job_id)["claim_id"] == claim_id


# What a table has once, and a second row that says the same.
ONCE = {
    "job_pkey": "insert into holdfast.job (id, task, queue, payload) select id, task, queue, payload from holdfast.job",
    "job_retried_once": "insert into holdfast.job (id, task, queue, payload, retry_of) select holdfast.new_id(), task, queue, payload, %(job)s"
    " from holdfast.job, generate_series(1, 2)",
    "attempt_pkey": "insert into holdfast.attempt (job_id, attempt, worker, outcome) select %(job)s, 1, 'w', 'failed' from generate_series(1, 2)",
    "step_pkey": "insert into holdfast.step (job_id, name, kind, attempt, started_at, finished_at)"
    " select %(job)s, 's', 'step', 1, now(), now() from generate_series(1, 2)",
    "slot_has_one_holder": "insert into holdfast.slot (job_id, key, n) select holdfast.new_id(), 'k', 1 from generate_series(1, 2)",
    "approval_is_asked_once": "insert into holdfast.approval"
    " (job_id, attempt, name, question, facts, approvers, quorum, self_approval, bound_hash, asked_at, on_expiry)"
    " select %(job)s, 1, 'n', 'q', '{}', '{}', 1, false, 'h', now(), 'fail' from generate_series(1, 2)",
    "dispatch_is_one_an_attempt": "insert into holdfast.dispatch"
    " (job_id, attempt, claim_id, executor, inputs, created_at, heartbeat_limit, run_limit, retry_in)"
    " select %(job)s, 1, gen_random_uuid(), 'x', '{}', now(), '1 s', '1 s', '1 s' from generate_series(1, 2)",
    "rate_slot_pkey": "insert into holdfast.rate_slot (key, n, job_id, period) select 'k', 1, holdfast.new_id(), '1 s' from generate_series(1, 2)",
    "slot_pkey": "insert into holdfast.slot (job_id, key) select %(job)s, 'k' from generate_series(1, 2)",
    "dependency_pkey": "insert into holdfast.dependency (needs, job_id, position) select %(job)s, '00000000-0000-7000-8000-000000000001', nth"
    " from generate_series(1, 2) as nth",
    "wait_pkey": "insert into holdfast.wait (job_id, event) select %(job)s, 'e' || nth from generate_series(1, 2) as nth",
    "checkpoint_pkey": "insert into holdfast.checkpoint (job_id, attempt, at, value) select %(job)s, nth, now(), '{}' from generate_series(1, 2) as nth",
    "log_part_pkey": "insert into holdfast.log_part (job_id, attempt, first, worker, lines) select %(job)s, 1, 0, 'w', '[]' from generate_series(1, 2)",
    "approver_pkey": "insert into holdfast.approver (approval_id, name, token_hash, minted_at)"
    " select holdfast.uuid_at(now()), 'a', sha256(nth::text::bytea), now() from generate_series(1, 2) as nth",
    "approval_decision_pkey": "insert into holdfast.approval_decision (approval_id, who, decision, how, at, bound_hash)"
    " select holdfast.uuid_at(now()), 'a', 'approve', 'person', now(), 'h' from generate_series(1, 2)",
    "operation_chunk_pkey": "insert into holdfast.operation_chunk (operation_id, nth, jobs)"
    " select holdfast.uuid_at(now()), 1, array[%(job)s]::uuid[] from generate_series(1, 2)",
}


@pytest.mark.parametrize("what", ONCE)
def test_what_there_is_once_is_there_once_whoever_writes(machine: Machine, what: str) -> None:
    job = machine.enqueue()

    with machine.refused("23505", what):
        machine.connection.execute(ONCE[what], {"job": job})


def test_a_move_stands_once_in_the_history_whoever_writes(machine: Machine) -> None:
    job = machine.enqueue()
    machine.run("create temp table by_hand (job_id uuid)")
    # Nothing but a trigger may write there.
    machine.run(
        "create function pg_temp.tell_again() returns trigger language plpgsql as $$ begin"
        " insert into holdfast.job_history select h.* from holdfast.job_history h where h.job_id = new.job_id; return null; end $$"
    )
    machine.run(
        "create trigger tell_again after insert on by_hand for each row execute function pg_temp.tell_again()"
    )

    with machine.refused("23505", "job_history_"):
        machine.run("insert into by_hand values (%s)", job)
