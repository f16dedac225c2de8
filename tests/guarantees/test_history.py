"""The database itself refuses what breaks a job's story, also for the schema's owner and with triggers told to look away."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest

from guarantees.hands import Hands

Refused = Callable[[str], str | None]


@pytest.fixture
def job(login: psycopg.Connection[Any]) -> UUID:
    """A completed job with a whole history."""
    hands = Hands(login)
    (job,) = hands.enqueue()
    hands.complete(hands.claim()[0])
    return job


@pytest.fixture
def refused(owner: psycopg.Connection[Any], job: UUID) -> Refused:
    """Try a statement about the job; answers the SQLSTATE it was refused with."""

    def attempt(statement: str) -> str | None:
        try:
            with owner.transaction():
                owner.execute(statement, {"job": job})
        except psycopg.Error as error:
            return error.sqlstate
        return None

    return attempt


@pytest.fixture(params=["origin", "replica"])
def role(request: pytest.FixtureRequest, owner: psycopg.Connection[Any]) -> str:
    """Replica: how replication, and whoever wants to, walks past ordinary triggers."""
    owner.execute(f"set session_replication_role = {request.param}")
    return str(request.param)


def test_a_terminal_job_never_moves_again(refused: Refused, role: str) -> None:
    assert (
        refused(
            "update holdfast.job set status = 'RETRY', due_at = holdfast.clock(), finished_at = null, result = null where id = %(job)s"
        )
        == "HF001"
    )


def test_a_terminal_job_never_changes_again(refused: Refused, role: str) -> None:
    assert refused("""update holdfast.job set result = '"forged"' where id = %(job)s""") == "HF001"


def test_a_payload_never_changes(refused: Refused, role: str) -> None:
    assert refused("""update holdfast.job set payload = '{"forged": true}' where id = %(job)s""") in {
        "HF001",
        "HF003",
    }


def test_a_waiting_jobs_payload_never_changes(
    owner: psycopg.Connection[Any], login: psycopg.Connection[Any], role: str
) -> None:
    (waiting,) = Hands(login).enqueue()

    with pytest.raises(psycopg.Error) as refusal:
        owner.execute("""update holdfast.job set payload = '{"forged": true}' where id = %s""", (waiting,))

    assert refusal.value.sqlstate == "HF003"


def test_a_job_cannot_skip_its_running(
    owner: psycopg.Connection[Any], login: psycopg.Connection[Any], role: str
) -> None:
    (waiting,) = Hands(login).enqueue()

    with pytest.raises(psycopg.Error) as refusal:
        owner.execute(
            "update holdfast.job set status = 'COMPLETED', claim_order = null, finished_at = holdfast.clock() where id = %s",
            (waiting,),
        )

    assert refusal.value.sqlstate == "HF001"


def test_counters_change_only_with_the_status(
    owner: psycopg.Connection[Any], login: psycopg.Connection[Any], role: str
) -> None:
    (waiting,) = Hands(login).enqueue()

    with pytest.raises(psycopg.Error) as refusal:
        owner.execute("update holdfast.job set attempt = 7 where id = %s", (waiting,))

    assert refusal.value.sqlstate == "HF001"


def test_a_job_is_born_pending(owner: psycopg.Connection[Any], role: str) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        owner.execute(
            "insert into holdfast.job (task, status, claim_order, finished_at) "
            "values ('by_hand', 'COMPLETED', null, holdfast.clock())"
        )

    assert refusal.value.sqlstate == "HF001"


@pytest.mark.parametrize(
    "statement",
    [
        "update holdfast.job_history set reason = 'forged' where job_id = %(job)s",
        "delete from holdfast.job_history where job_id = %(job)s",
        "truncate holdfast.job_history",
        "delete from holdfast.job where id = %(job)s",
        "truncate holdfast.job",
    ],
)
def test_history_and_jobs_are_append_only(refused: Refused, role: str, statement: str) -> None:
    assert refused(statement) == "HF003"


@pytest.mark.parametrize(
    "statement",
    [
        "update {} set reason = 'forged' where job_id = %(job)s",
        "delete from {} where job_id = %(job)s",
        "truncate {}",
    ],
)
def test_every_partition_of_the_history_is_append_only_by_itself(
    owner: psycopg.Connection[Any], refused: Refused, role: str, job: UUID, statement: str
) -> None:
    found = owner.execute(
        "select tableoid::regclass::text from holdfast.job_history where job_id = %s", (job,)
    ).fetchone()
    assert found is not None

    assert refused(statement.format(found[0])) == "HF003"


def test_every_partition_refuses_truncation(
    owner: psycopg.Connection[Any], refused: Refused, role: str
) -> None:
    partitions = [name for (name,) in owner.execute(
        "select inhrelid::regclass::text from pg_inherits where inhparent = 'holdfast.job_history'::regclass")]  # fmt: skip

    assert len(partitions) > 1
    assert {refused(f"truncate {name}") for name in partitions} == {"HF003"}


def test_a_move_is_recorded_whatever_role_the_session_plays(
    owner: psycopg.Connection[Any], login: psycopg.Connection[Any], role: str
) -> None:
    (waiting,) = Hands(login).enqueue()

    owner.execute(
        "update holdfast.job set status = 'CANCELLED', claim_order = null where id = %s", (waiting,)
    )

    moves = owner.execute(
        "select seq, to_status::text from holdfast.job_history where job_id = %s order by seq", (waiting,)
    ).fetchall()
    assert moves == [(1, "PENDING"), (2, "CANCELLED")]
