"""What the database writes by itself: times, history, partitions; and the one way by which anything goes."""

import pytest

from apps.agent_workflows.tests.plane import Plane


def test_the_times_and_the_history_row_are_the_databases_own(plane: Plane) -> None:
    job_id = plane.start()
    before = plane.rows("select holdfast.clock()")[0][0]

    ((updated_at, finished_at),) = plane.rows(
        "update holdfast.job set status = 'CANCELLED', claim_order = null, updated_at = '2000-01-01', finished_at = '2000-01-01'"
        " where id = %s returning updated_at, finished_at",
        job_id,
    )

    assert before < updated_at == finished_at
    assert plane.path(job_id) == ["PENDING", "CANCELLED"]


def test_a_transition_that_is_rolled_back_leaves_no_history(plane: Plane) -> None:
    job_id = plane.start()

    def change_our_mind() -> None:
        with plane.owner.transaction() as connection:
            connection.execute(
                "update holdfast.job set status = 'CANCELLED', claim_order = null where id = %s", (job_id,)
            )
            assert connection.execute(
                "select count(*) from holdfast.job_history where job_id = %s", (job_id,)
            ).fetchone() == (2,)
            raise KeyError

    with pytest.raises(KeyError):
        change_our_mind()

    assert plane.path(job_id) == ["PENDING"]


def test_deleting_a_job_takes_its_history_with_it_and_only_retention_deletes(plane: Plane) -> None:
    job_id = plane.start()
    plane.work()
    plane.clock.advance(91 * 86_400)
    plane.work(projector=True)  # what is to go is counted first
    kept = "select (select count(*) from holdfast.job where id = %s), (select count(*) from holdfast.job_history where job_id = %s)"
    plane.rows("select holdfast.upkeep()")
    without_retention = plane.rows(kept, job_id, job_id)
    plane.rows(
        "update holdfast.task set retention = interval '90 days' where name = 'run_agent' returning name"
    )
    plane.rows("select holdfast.upkeep()")

    assert without_retention == [(1, 3)]
    assert plane.rows(kept, job_id, job_id) == [(0, 0)]


def test_history_is_partitioned_by_month_ahead_of_time(plane: Plane) -> None:
    partitions = (
        "select inhrelid::regclass::text from pg_inherits where inhparent = 'holdfast.job_history'::regclass"
    )
    before = {name for (name,) in plane.rows(partitions)}
    plane.clock.advance(62 * 86_400)
    plane.rows("select holdfast.upkeep()")  # as workers do now and then

    after = {name for (name,) in plane.rows(partitions)}

    ((month,),) = plane.rows("select to_char(holdfast.clock() + interval '1 month', 'YYYYMM')")
    assert f"holdfast.job_history_{month}" in after
    assert after - before
