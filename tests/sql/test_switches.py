"""Pauses of tasks, flags and rollout: jobs are held back, never failed, and run when the reason is gone."""

import hashlib
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from holdfast.domain.rollout import rollout_bucket, rollout_position
from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.gates import admit, held, in_line, slots
from sql.support import Machine, meanwhile, until_it_waits


def pause(machine: Machine, task: str = "t", reason: str | None = None, seconds: int | None = None) -> None:
    machine.value(
        "select holdfast.pause_task(%s, 'ana', %s, make_interval(secs => %s))", task, reason, seconds
    )


def resume(machine: Machine, task: str = "t") -> bool:
    was: bool = machine.value("select holdfast.resume_task(%s)", task)
    return was


def switch(machine: Machine, enabled: bool | None, percent: int | None = None) -> None:
    machine.value("select holdfast.set_flag('NEW', %s, %s, 'ana', 'because')", enabled, percent)


# -- pause ------------------------------------------------------------------------------------------------------------------


def test_a_paused_task_is_not_claimed_from_the_next_claim_on(each_machine: Machine) -> None:
    each_machine.register("t", "other")
    each_machine.enqueue("t")
    other = each_machine.enqueue("other")
    worker = each_machine.worker()

    pause(each_machine)

    claimed = each_machine.claim(worker, tasks=("t", "other"))
    assert [row["id"] for row in claimed] == [other]
    assert each_machine.claim(worker, tasks=("t",)) == []


def test_a_suspect_of_a_paused_task_is_not_claimed_either(machine: Machine) -> None:
    machine.enqueue()
    first = machine.worker()
    machine.claim(first)
    machine.fall_silent(first)
    machine.sweep()
    pause(machine)

    assert machine.claim_suspect(machine.worker()) == []
    resume(machine)
    assert len(machine.claim_suspect(machine.worker())) == 1


def test_jobs_of_a_paused_task_leave_the_line_and_come_back_to_their_places(each_machine: Machine) -> None:
    jobs = [each_machine.enqueue(priority=n) for n in range(3)]
    places = [each_machine.job(job)["claim_order"] for job in jobs]
    pause(each_machine)

    admit(each_machine)

    assert in_line(each_machine) == set()
    assert {held(each_machine, job) for job in jobs} == {"task:t"}
    assert resume(each_machine) is True
    assert [each_machine.job(job)["claim_order"] for job in jobs] == places


def test_a_pause_ends_by_itself(machine: Machine) -> None:
    job = machine.enqueue()
    pause(machine, seconds=60)
    admit(machine)
    assert in_line(machine) == set()

    machine.advance(61)
    admit(machine)

    assert in_line(machine) == {job}
    assert len(machine.claim(machine.worker())) == 1


def test_resuming_what_was_not_paused_says_so(machine: Machine) -> None:
    assert resume(machine) is False


def test_a_second_pause_keeps_its_beginning_and_takes_the_new_reason(machine: Machine) -> None:
    pause(machine, reason="one")
    began = machine.value("select paused_at from holdfast.task where name = 't'")
    machine.advance(10)

    pause(machine, reason="two")

    row = machine.one("select paused_at, paused_by, pause_reason from holdfast.task where name = 't'")
    assert row == {"paused_at": began, "paused_by": "ana", "pause_reason": "two"}


@pytest.mark.parametrize("function", ["pause_task", "resume_task"])
def test_an_unknown_task_is_named(machine: Machine, function: str) -> None:
    with machine.refused("HF004", "nonsense"):
        machine.value(f"select holdfast.{function}('nonsense')")


def test_registering_a_task_again_does_not_resume_it(machine: Machine) -> None:
    pause(machine)

    machine.register("t", priority=5)

    assert machine.claim(machine.worker()) == []
    assert machine.value("select paused_at is not null from holdfast.task where name = 't'")


def test_a_paused_retry_stays_a_retry(machine: Machine) -> None:
    job = machine.job_in(Status.RETRY)
    machine.advance(61)
    admit(machine)
    pause(machine)

    admit(machine)

    assert held(machine, job) == "task:t"
    assert machine.status(job) is Status.RETRY
    resume(machine)
    assert in_line(machine) == {job}


def test_a_paused_job_that_never_started_gives_its_slot_to_others(machine: Machine) -> None:
    limits = {"limits": [{"key": "shared", "max": 1}]}
    machine.register("t", "other", options=limits)
    first = machine.enqueue("t")
    admit(machine)
    second = machine.enqueue("other")
    admit(machine)
    assert held(machine, second) == "limit:shared"

    pause(machine)
    admit(machine)

    assert in_line(machine) == {second}
    resume(machine)
    assert held(machine, first) == "limit:shared"


@pytest.mark.parametrize("off", ["task", "flag"])
def test_a_retry_that_is_kept_back_gives_its_slot_of_a_limited_queue_to_others(
    machine: Machine, off: str
) -> None:
    machine.register("t", options={"flag": "NEW"})
    machine.register("other")
    machine.value("select holdfast.limit_queue('default', 1)")
    job = retry_in_line(machine)
    other = machine.enqueue("other")
    admit(machine)
    assert held(machine, other) == "limit:queue:default"

    pause(machine) if off == "task" else switch(machine, enabled=False)
    admit(machine)

    assert (in_line(machine), slots(machine, "queue:default")) == ({other}, {1: other})
    resume(machine) if off == "task" else switch(machine, enabled=True)
    assert held(machine, job) == "limit:queue:default"
    machine.move(other, Status.CANCELLED)
    assert in_line(machine) == {job}


@pytest.mark.parametrize(("released", "others"), [(True, 1), (False, 0)])
def test_a_retry_that_is_kept_back_keeps_the_slots_that_its_limit_keeps_over_a_wait(
    machine: Machine, *, released: bool, others: int
) -> None:
    limits = {"limits": [{"key": "shared", "max": 1, "release_while_waiting": released}]}
    machine.register("t", "other", options=limits)
    job = retry_in_line(machine)
    other = machine.enqueue("other")
    admit(machine)

    pause(machine)
    admit(machine)

    assert held(machine, job) == "task:t"
    assert len(in_line(machine) & {other}) == others


def test_a_paused_suspect_gives_its_slot_of_a_limited_queue_to_others(machine: Machine) -> None:
    machine.register("t", "other")
    machine.value("select holdfast.limit_queue('default', 1)")
    job = machine.enqueue()
    admit(machine)
    worker = machine.worker()
    machine.claim(worker)
    machine.fall_silent(worker)
    machine.sweep()
    admit(machine)
    assert in_line(machine) == {job}
    other = machine.enqueue("other")

    pause(machine)
    admit(machine)

    assert in_line(machine) == {other}
    resume(machine)
    machine.move(other, Status.CANCELLED)
    assert [row["id"] for row in machine.claim_suspect(machine.worker())] == [job]


def retry_in_line(machine: Machine) -> UUID:
    """Make a job that failed once and stands in line again."""
    job = machine.enqueue()
    admit(machine)
    worker = machine.worker()
    (claimed,) = machine.claim(worker)
    machine.settle(worker, claimed, outcome="failed", error={"type": "Boom"}, delay=0)
    admit(machine)
    assert in_line(machine) == {job}
    return job


def test_a_long_line_of_a_paused_task_leaves_in_batches(machine: Machine) -> None:
    machine.enqueue_many([{"task": "t", "payload": {}} for _ in range(250)])
    pause(machine)

    assert admit(machine, 100)["next_in"] == 0
    assert len(in_line(machine)) == 150
    admit(machine, 100)
    admit(machine, 100)
    assert in_line(machine) == set()

    resume(machine)
    while admit(machine, 100)["next_in"] == 0:
        pass
    assert len(in_line(machine)) == 250


# -- flags ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def flagged(machine: Machine) -> Machine:
    machine.register("t", options={"flag": "NEW", "rollout_by": "project_id"})
    return machine


def test_a_flag_that_exists_nowhere_is_on(flagged: Machine) -> None:
    job = flagged.enqueue(payload={"project_id": "a"})

    admit(flagged)

    assert in_line(flagged) == {job}


def test_jobs_behind_a_flag_that_is_off_stay_queued_and_run_when_it_is_on(flagged: Machine) -> None:
    switch(flagged, enabled=False)
    job = flagged.enqueue(payload={"project_id": "a"})

    admit(flagged)
    flagged.sweep()

    assert held(flagged, job) == "flag:NEW:0"
    assert flagged.status(job) is Status.PENDING
    switch(flagged, enabled=True)
    assert in_line(flagged) == {job}


def test_switching_off_counts_for_what_is_in_line_already(flagged: Machine) -> None:
    job = flagged.enqueue(payload={"project_id": "a"})
    admit(flagged)

    switch(flagged, enabled=False)

    assert flagged.claim(flagged.worker()) == []
    admit(flagged)
    assert held(flagged, job) == "flag:NEW:0"


def test_a_rollout_lets_the_same_jobs_through_as_python_says(flagged: Machine) -> None:
    names = [str(uuid4()) for _ in range(200)]
    jobs = {name: flagged.enqueue(payload={"project_id": name}) for name in names}
    previous: set[str] = set()

    for percent in (10, 50, 100):
        switch(flagged, enabled=True, percent=percent)
        while admit(flagged)["next_in"] == 0:
            pass
        expected = {name for name in names if rollout_position(name) < percent}
        assert in_line(flagged) == {jobs[name] for name in expected}
        assert previous <= expected
        previous = expected
    assert previous == set(names)


def test_a_lowered_share_takes_jobs_out_of_the_line(flagged: Machine) -> None:
    names = [str(n) for n in range(50)]
    jobs = {name: flagged.enqueue(payload={"project_id": name}) for name in names}
    admit(flagged)

    switch(flagged, enabled=True, percent=50)
    admit(flagged)

    assert in_line(flagged) == {jobs[name] for name in names if rollout_bucket(name) <= 4}


def test_without_rollout_by_the_job_itself_is_the_key(machine: Machine) -> None:
    machine.register("t", options={"flag": "NEW"})
    switch(machine, enabled=True, percent=50)
    jobs = [machine.enqueue() for _ in range(60)]

    admit(machine)

    assert in_line(machine) == {job for job in jobs if rollout_position(job) < 50}


def test_switching_remembers_who_and_why_and_keeps_the_share(machine: Machine) -> None:
    switch(machine, enabled=None, percent=30)
    switch(machine, enabled=False)

    row = machine.one("select enabled, percent, set_by, reason from holdfast.flag where name = 'NEW'")
    assert row == {"enabled": False, "percent": 30, "set_by": "ana", "reason": "because"}


@pytest.mark.parametrize("percent", [-1, 101])
def test_a_share_beyond_all_is_refused(machine: Machine, percent: int) -> None:
    with machine.refused("HF005", str(percent)):
        switch(machine, enabled=True, percent=percent)


@pytest.mark.parametrize("says", ["register_tasks", "declare_tasks"])
def test_a_process_that_starts_does_not_switch_on_what_a_person_switched_off(
    machine: Machine, says: str
) -> None:
    definition = {"name": "t", "options": {"flag": "NEW"}, "flag_is_on": True}
    machine.value("select holdfast.set_flag('NEW', false, null, 'ana', 'an incident')")
    machine.value(f"select holdfast.{says}(%s)", Jsonb([definition]))

    assert machine.one("select enabled, set_by from holdfast.flag") == {"enabled": False, "set_by": "ana"}

    machine.value("select holdfast.set_flag('NEW', true, null, 'ana')")
    machine.value(f"select holdfast.{says}(%s)", Jsonb([definition | {"flag_is_on": False}]))
    assert machine.value("select enabled from holdfast.flag") is False


def test_the_environments_word_is_written_by_workers_and_producers(machine: Machine) -> None:
    definition = {"name": "t", "options": {"flag": "NEW"}}
    machine.enqueue_many([{"task": "t", "payload": {}}], declared=[{**definition, "flag_is_on": False}])
    assert machine.one("select enabled, set_by from holdfast.flag") == {
        "enabled": False,
        "set_by": "environment",
    }

    machine.register("t", options={"flag": "NEW"}, flag_is_on=True)
    assert machine.value("select enabled from holdfast.flag") is True

    machine.register("t", options={"flag": "NEW"})
    assert machine.value("select enabled from holdfast.flag") is True


# -- the hash ---------------------------------------------------------------------------------------------------------------


def test_ten_thousand_ids_have_the_same_position_in_sql_and_in_python(each_machine: Machine) -> None:
    ids = [str(uuid4()) for _ in range(10_000)]

    rows = each_machine.rows(
        "select k, holdfast.rollout_position(k) as p, holdfast.rollout_bucket(k) as b from unnest(%s::text[]) as k",
        ids,
    )

    assert all((row["p"], row["b"]) == (rollout_position(row["k"]), rollout_bucket(row["k"])) for row in rows)
    share = sum(row["p"] < 50 for row in rows) / len(rows)
    assert 0.48 < share < 0.52


@given(st.text().filter(lambda text: "\x00" not in text))
def test_a_position_is_made_of_the_specified_bucket(key: str) -> None:
    bucket = int(hashlib.md5(key.encode()).hexdigest()[-8:], 16) % 10

    assert rollout_bucket(key) == bucket
    assert bucket * 10 <= rollout_position(key) < bucket * 10 + 10


def test_a_job_that_is_cancelled_while_its_task_leaves_its_flag_stays_cancelled(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register(options={"flag": "NEW"})
    switch(lasting, enabled=False)
    job = lasting.enqueue()
    admit(lasting)
    assert held(lasting, job) == "flag:NEW:0"

    with meanwhile(holdfast_db) as (canceller, ask):
        canceller.execute("select holdfast.cancel(%s)", [job])
        asked = ask("select holdfast.register_tasks(%s)", Jsonb([{"name": "t"}]))
        until_it_waits(holdfast_db, asked)
        canceller.commit()

        assert asked.result() == "[('',)]"

    assert lasting.status(job) is Status.CANCELLED
    assert lasting.job(job)["due_at"] is None
