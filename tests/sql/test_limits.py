"""What a producer may ask for is bounded: a value that no worker could handle is refused at the door."""

import psycopg
import pytest


@pytest.fixture
def producer(login: psycopg.Connection) -> psycopg.Connection:
    login.execute(
        """select holdfast.register_tasks('[{"name": "work", "queue": "mine", "max_retries": 7}]')"""
    )
    return login


@pytest.mark.parametrize(
    "options",
    [
        '"timeout": 9.2e12',
        '"run_at": "infinity"',
        '"run_at": "-infinity"',
        '"run_in": 9.2e15',
        '"requested_by": "%s"' % ("x" * 501),
        '"trace_parent": "%s"' % ("x" * 501),
        '"metadata": {"note": "%s"}' % ("x" * 70_000),
        '"metadata": {"numbers": [1e131000, 1e131000, 1e131000]}',
    ],
)
def test_an_option_that_no_worker_could_handle_is_refused(producer: psycopg.Connection, options: str) -> None:
    wanted = '[{"task": "work", "payload": {}, ' + options + "}]"

    with pytest.raises(psycopg.Error) as refused:
        producer.execute("select * from holdfast.enqueue_many(%s::jsonb)", [wanted])

    assert refused.value.sqlstate == "HF005"


def test_a_retention_beyond_all_calendars_is_refused(producer: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        producer.execute("""select holdfast.register_tasks('[{"name": "old", "retention": 3.2e11}]')""")


def test_a_producers_declaration_never_overrides_what_a_worker_registered(
    producer: psycopg.Connection, owner: psycopg.Connection
) -> None:
    producer.execute(
        """select holdfast.declare_tasks('[{"name": "work", "queue": "theirs", "max_retries": 0}]')"""
    )

    found = owner.execute("select queue, max_retries from holdfast.task where name = 'work'").fetchone()
    assert found == ("mine", 7)


def test_a_due_job_that_somebody_holds_is_not_asked_for_again_and_again(
    producer: psycopg.Connection, owner: psycopg.Connection, holdfast_db: object
) -> None:
    producer.execute("""select holdfast.enqueue('work', p_run_in => interval '0.001 s')""")
    with owner.transaction():
        owner.execute("select 1 from holdfast.job for update")

        admitted = producer.execute(
            "select entered, next_in from (select (holdfast.admit_due(10)).*) as a (entered, next_in)"
        )

        assert admitted.fetchone() == (0, None)
