"""What people do by hand: retry a failed job as a new one, cancel one that has not ended."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from sql.gates import held, in_line
from sql.support import Machine, refused


def retry(machine: Machine, job_id: UUID, actor: str | None = "ann", new_id: UUID | None = None) -> UUID:
    made: UUID = machine.value("select holdfast.retry(%s, %s, null, %s)", job_id, actor, new_id)
    return made


# -- retry -------------------------------------------------------------------------------------------------------------------


def test_a_retry_is_a_new_job_that_names_the_old_one(each_machine: Machine) -> None:
    given: dict[str, Any] = {
        "payload": {"a": 1}, "queue": "mail", "priority": 5, "key": "k", "key_scope": "success", "tenant": "acme", "subject": "s:1",
        "tags": Jsonb(["x"]), "label": "A title", "metadata": Jsonb({"m": 1}),
    }  # fmt: skip
    old = each_machine.job_in(Status.FAILED, **given)

    new = retry(each_machine, old)

    job = each_machine.job(new)
    assert (job["retry_of"], job["status"], job["attempt"], job["retry_count"]) == (old, "PENDING", 0, 0)
    copied = (
        "task",
        "payload",
        "queue",
        "priority",
        "key",
        "key_scope",
        "tenant",
        "subject",
        "tags",
        "label",
        "metadata",
        "max_retries",
    )
    before = each_machine.job(old)
    assert {name: job[name] for name in copied} == {name: before[name] for name in copied}
    (birth,) = each_machine.history(new)
    assert (birth["actor"], birth["reason"], birth["metadata"]) == (
        "ann",
        "retried by hand",
        {"retry_of": str(old)},
    )


def test_a_retried_jobs_row_and_history_stay_as_they_were(machine: Machine) -> None:
    old = machine.job_in(Status.FAILED)
    before = machine.job(old), machine.history(old)

    retry(machine, old)

    assert (machine.job(old), machine.history(old)) == before


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.FAILED])
def test_only_a_failed_job_is_retried(machine: Machine, status: Status) -> None:
    job_id = machine.job_in(status)

    with machine.refused("HF008", f"job {job_id} is {status}; only a FAILED job can be retried"):
        retry(machine, job_id)


def test_a_job_that_does_not_exist_is_not_retried(machine: Machine) -> None:
    with machine.refused("HF009", "no job has the id"):
        retry(machine, uuid4())


def test_a_second_retry_is_refused_and_names_the_first(machine: Machine) -> None:
    old = machine.job_in(Status.FAILED)
    new = retry(machine, old)

    with machine.refused("HF008", f"job {old} was already retried as {new}"):
        retry(machine, old)


def test_a_retry_whose_answer_was_lost_can_be_repeated(machine: Machine) -> None:
    old, new_id = machine.job_in(Status.FAILED), machine.value("select holdfast.new_id()")

    assert retry(machine, old, new_id=new_id) == retry(machine, old, new_id=new_id) == new_id


def test_a_retry_under_an_id_that_is_taken_is_refused(machine: Machine) -> None:
    old, other = machine.job_in(Status.FAILED), machine.enqueue()

    with machine.refused("HF007", f"job id {other} is taken"):
        retry(machine, old, new_id=other)


def fail(machine: Machine, job_id: UUID) -> UUID:
    machine.move(job_id, Status.RUNNING)
    machine.move(job_id, Status.FAILED)
    return job_id


@pytest.mark.parametrize("cap", [0, 1, 3])
def test_retries_by_hand_are_capped_along_the_chain(machine: Machine, cap: int) -> None:
    machine.register("t", manual_retries=cap)
    job_id = machine.job_in(Status.FAILED)

    for _ in range(cap):
        job_id = fail(machine, retry(machine, job_id))

    with machine.refused("HF008", f"retried by hand {cap} times"):
        retry(machine, job_id)


def test_chains_of_other_jobs_do_not_count(machine: Machine) -> None:
    machine.register("t", manual_retries=1)
    fail(machine, retry(machine, machine.job_in(Status.FAILED, subject="s:1")))

    retry(machine, machine.job_in(Status.FAILED, subject="s:1"))


def test_a_cap_per_subject_counts_all_jobs_of_the_subject(machine: Machine) -> None:
    machine.register("t", "u", manual_retries=2, manual_retries_per="subject")
    for task in ("t", "u"):
        retry(machine, machine.job_in(Status.FAILED, task, subject="s:1", tenant="acme"))
    third = machine.job_in(Status.FAILED, subject="s:1", tenant="acme")

    with machine.refused("HF008", "retried by hand 2 times"):
        retry(machine, third)


def test_a_cap_per_subject_leaves_other_subjects_and_tenants_alone(machine: Machine) -> None:
    machine.register("t", manual_retries=1, manual_retries_per="subject")
    for other in (
        {"subject": "s:1", "tenant": "acme"},
        {"subject": "s:2", "tenant": "acme"},
        {"subject": "s:1"},
        {},
    ):
        retry(machine, machine.job_in(Status.FAILED, **other))


def undone(machine: Machine, job_id: UUID) -> UUID:
    """Give a job a clean-up that has failed."""
    undoing: UUID = machine.value(
        "insert into holdfast.job (task, subject, compensates) values ('t', 's:1', %s) returning id::uuid",
        job_id,
    )
    return fail(machine, undoing)


def test_a_clean_up_that_is_retried_neither_uses_up_nor_needs_the_cap_of_its_subject(
    machine: Machine,
) -> None:
    machine.register("t", manual_retries=1, manual_retries_per="subject")
    first = machine.job_in(Status.FAILED, subject="s:1")
    cleaning = retry(machine, undone(machine, first))
    machine.move(cleaning, Status.RUNNING)
    machine.move(cleaning, Status.COMPLETED)

    second = fail(machine, retry(machine, first))
    retry(machine, undone(machine, second))

    with machine.refused("HF008", "retried by hand 1 times"):
        retry(machine, second)


def test_a_clean_up_that_was_retried_on_a_machine_whose_clock_is_behind_counts_as_the_newest(
    machine: Machine,
) -> None:
    first = machine.job_in(Status.FAILED)
    failed_one = undone(machine, first)
    behind = machine.value(
        "select (left(holdfast.uuid_at(holdfast.clock() - interval '1 hour')::text, 14) || '7001-8000-000000000001')::uuid"
    )
    cleaning = retry(machine, failed_one, new_id=behind)
    assert cleaning < failed_one
    assert not refused(machine, "select holdfast.retry(%s)", first)
    waiting = retry(machine, first)
    assert held(machine, waiting) == f"compensation {cleaning}"

    machine.move(cleaning, Status.RUNNING)
    machine.move(cleaning, Status.COMPLETED)

    assert waiting in in_line(machine)


def test_a_retry_takes_the_key_over_from_the_old_job(machine: Machine) -> None:
    old = machine.job_in(Status.FAILED, key="k", key_scope="ever")

    new = retry(machine, old)

    assert (machine.job(old)["key_held"], machine.job(new)["key_held"]) == (False, True)


def test_a_retry_is_refused_while_another_job_holds_the_key(machine: Machine) -> None:
    old = machine.job_in(Status.FAILED, key="k")
    holder = machine.enqueue(key="k")

    with machine.refused("HF008", f"job {holder} holds its key"):
        retry(machine, old)


def test_a_refused_retry_leaves_the_key_where_it_was(machine: Machine) -> None:
    machine.register("t", manual_retries=0)
    old = machine.job_in(Status.FAILED, key="k", key_scope="ever")

    with machine.refused("HF008"):
        retry(machine, old)

    assert machine.job(old)["key_held"] is True


def test_a_job_whose_task_is_gone_is_not_retried(machine: Machine) -> None:
    machine.register("gone")
    old = machine.job_in(Status.FAILED, "gone")
    machine.run("delete from holdfast.task where name = 'gone'")

    with machine.refused("HF008", "'gone' is not registered any more"):
        retry(machine, old)


def test_a_retried_job_is_claimable_at_once(machine: Machine) -> None:
    new = retry(machine, machine.job_in(Status.FAILED))

    assert [row["id"] for row in machine.claim(machine.worker())] == [new]


# -- cancel ------------------------------------------------------------------------------------------------------------------


def cancel(machine: Machine, job_id: UUID) -> str:
    status: str = machine.value("select holdfast.cancel(%s, 'ann', 'not needed')", job_id)
    return status


@pytest.mark.parametrize("status", [status for status in Status if not status.is_terminal])
def test_a_job_that_has_not_ended_can_be_cancelled(each_machine: Machine, status: Status) -> None:
    job_id = each_machine.job_in(status)

    assert cancel(each_machine, job_id) == "CANCELLED"

    recorded = each_machine.history(job_id)[-1]
    assert (recorded["from_status"], recorded["to_status"]) == (status.value, "CANCELLED")
    assert (recorded["actor"], recorded["reason"]) == ("ann", "not needed")


def test_a_cancelled_job_is_claimed_by_nobody(machine: Machine) -> None:
    cancel(machine, machine.enqueue())
    cancel(machine, machine.enqueue(run_in="1 hour"))

    assert machine.claim(machine.worker()) == []


def test_cancelling_twice_is_no_error_and_one_row(machine: Machine) -> None:
    job_id = machine.enqueue()
    cancel(machine, job_id)

    assert cancel(machine, job_id) == "CANCELLED"
    assert machine.path(job_id) == [Status.PENDING, Status.CANCELLED]


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED])
def test_a_job_that_has_ended_cannot_be_cancelled(machine: Machine, status: Status) -> None:
    job_id = machine.job_in(status)

    with machine.refused("HF001", f"job {job_id} is {status} and cannot be cancelled any more"):
        cancel(machine, job_id)


def test_a_job_that_does_not_exist_cannot_be_cancelled(machine: Machine) -> None:
    with machine.refused("HF009", "no job has the id"):
        cancel(machine, uuid4())


def test_whoever_runs_a_cancelled_job_is_told(app_login: Machine, lasting: Machine) -> None:
    job_id = app_login.enqueue()
    app_login.claim(app_login.worker())
    lasting.run("listen holdfast_cancel")

    cancel(app_login, job_id)

    assert [note.payload for note in lasting.connection.notifies(timeout=0.5)] == [str(job_id)]


def test_an_api_login_cancels_and_retries(app_login: Machine, lasting: Machine) -> None:
    failed = lasting.job_in(Status.FAILED)

    cancel(app_login, retry(app_login, failed))

    assert lasting.value("select count(*) from holdfast.job where status = 'CANCELLED'") == 1
