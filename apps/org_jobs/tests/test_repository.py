"""The small repository interface, without any worker."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from apps.org_jobs.repository import ClaimedJob, HoldfastRepository, NotClaimed
from apps.org_jobs.rules import MAX_ATTEMPTS, WORDS, backoff_seconds, can_retry
from apps.org_jobs.tasks import app
from holdfast import BadPayload, Job, LeaseLost, Status, UnknownTask
from holdfast.testing import ScratchDatabase

ANN = {"contacts": [{"email": "ann@example.com", "name": "Ann"}]}
ANN_TURNED = {"contacts": [{"name": "Ann", "email": "ann@example.com"}]}


def job_of(job_id: UUID) -> Job:
    (job,) = app.jobs(f"id:{job_id}").jobs
    return job


def status_of(job_id: UUID) -> str:
    return WORDS[job_of(job_id).status]


# -- enqueue and claim -----------------------------------------------------------------------------------------------------


def test_a_claimed_job_has_what_was_enqueued(repository: HoldfastRepository) -> None:
    job_id = repository.enqueue("import_contacts", "acme", ANN)

    assert repository.claim(5) == [ClaimedJob(job_id, "import_contacts", "acme", ANN, attempts=1)]
    assert status_of(job_id) == "running"


def test_a_job_without_an_organisation_is_global(repository: HoldfastRepository) -> None:
    repository.enqueue("forget_contacts", None, {"days": 30})

    assert [job.org_id for job in repository.claim(1)] == [None]


def test_no_more_are_claimed_than_asked_for_and_none_twice(repository: HoldfastRepository) -> None:
    queued = {repository.enqueue("forget_contacts", "acme", {"days": days}) for days in range(5)}

    first, second, third = repository.claim(2), repository.claim(2), repository.claim(2)

    assert [len(jobs) for jobs in (first, second, third)] == [2, 2, 1]
    assert {job.id for job in (*first, *second, *third)} == queued


def test_a_job_is_not_claimed_before_its_time(
    repository: HoldfastRepository, database: ScratchDatabase
) -> None:
    run_at = datetime.now(UTC) + timedelta(hours=1)
    job_id = repository.enqueue("forget_contacts", "acme", {"days": 1}, run_at)

    assert repository.claim(1) == []
    assert job_of(job_id).due_at == run_at
    database.clock.advance(timedelta(hours=1))
    assert [job.id for job in repository.claim(1)] == [job_id]


def test_unknown_types_and_unfit_payloads_are_refused(repository: HoldfastRepository) -> None:
    with pytest.raises(UnknownTask, match="import_contacts"):
        repository.enqueue("import", "acme", {})
    with pytest.raises(BadPayload):
        repository.enqueue("forget_contacts", "acme", {"days": "soon"})


# -- mark ------------------------------------------------------------------------------------------------------------------


def test_success_ends_a_job(repository: HoldfastRepository) -> None:
    job_id = repository.enqueue("forget_contacts", "acme", {"days": 1})
    repository.claim(1)

    repository.mark_success(job_id)

    assert status_of(job_id) == "success"


def test_failures_wait_as_the_table_says_until_the_fifth_attempt_ends_the_job(
    repository: HoldfastRepository, database: ScratchDatabase
) -> None:
    job_id = repository.enqueue("forget_contacts", "acme", {"days": 1})

    for attempts in range(1, MAX_ATTEMPTS):
        (claimed,) = repository.claim(1)
        assert claimed.attempts == attempts
        assert repository.mark_failure(job_id, f"error {attempts}") == "queued"
        job = job_of(job_id)
        assert job.error is not None
        assert job.error["message"] == f"error {attempts}"
        assert job.due_at is not None
        waits = backoff_seconds(attempts)
        assert (job.due_at - job.updated_at).total_seconds() == pytest.approx(waits, abs=0.05)
        assert can_retry("queued", job.attempt)
        assert repository.claim(1) == []
        database.clock.advance(waits)

    (claimed,) = repository.claim(1)
    assert repository.mark_failure(job_id, "the last one") == "failed"
    assert not can_retry("failed", claimed.attempts)


def test_what_nobody_claimed_cannot_be_marked(repository: HoldfastRepository) -> None:
    job_id = repository.enqueue("forget_contacts", "acme", {"days": 1})

    for unclaimed in (job_id, uuid4()):
        with pytest.raises(NotClaimed, match=str(unclaimed)):
            repository.mark_success(unclaimed)
        with pytest.raises(NotClaimed, match=str(unclaimed)):
            repository.mark_failure(unclaimed, "never ran")
    assert status_of(job_id) == "queued"


def test_what_another_repository_claimed_cannot_be_marked(repository: HoldfastRepository) -> None:
    job_id = repository.enqueue("forget_contacts", "acme", {"days": 1})
    HoldfastRepository(app).claim(1)

    with pytest.raises(NotClaimed):
        repository.mark_success(job_id)
    assert status_of(job_id) == "running"


def test_a_job_is_marked_once(repository: HoldfastRepository) -> None:
    job_id = repository.enqueue("forget_contacts", "acme", {"days": 1})
    repository.claim(1)
    repository.mark_success(job_id)

    with pytest.raises(NotClaimed):
        repository.mark_failure(job_id, "after all")
    assert status_of(job_id) == "success"


def test_an_attempt_that_no_longer_owns_its_job_changes_nothing(repository: HoldfastRepository) -> None:
    job_id = repository.enqueue("forget_contacts", "acme", {"days": 1})
    repository.claim(1)
    app.cancel(job_id, actor="operator")

    with pytest.raises(LeaseLost):
        repository.mark_success(job_id)
    assert job_of(job_id).status is Status.CANCELLED
    with pytest.raises(NotClaimed):
        repository.mark_success(job_id)


def test_the_token_of_an_attempt_is_nobodys_business(repository: HoldfastRepository) -> None:
    assert {field.name for field in fields(ClaimedJob)} == {"id", "type", "org_id", "payload", "attempts"}


# -- dedupe ----------------------------------------------------------------------------------------------------------------


def test_a_queued_twin_is_given_instead_of_a_second_job(
    repository: HoldfastRepository, database: ScratchDatabase
) -> None:
    first = repository.enqueue("import_contacts", "acme", ANN, dedupe=True)

    assert repository.enqueue("import_contacts", "acme", ANN_TURNED, dedupe=True) == first
    assert len(database.jobs()) == 1


def test_a_running_twin_is_given_too_and_so_is_one_that_waits_to_be_tried_again(
    repository: HoldfastRepository,
) -> None:
    first = repository.enqueue("import_contacts", "acme", ANN, dedupe=True)

    repository.claim(1)
    assert repository.enqueue("import_contacts", "acme", ANN, dedupe=True) == first
    repository.mark_failure(first, "later")
    assert repository.enqueue("import_contacts", "acme", ANN, dedupe=True) == first


def test_a_job_that_has_ended_is_no_twin(repository: HoldfastRepository) -> None:
    first = repository.enqueue("import_contacts", "acme", ANN, dedupe=True)
    repository.claim(1)
    repository.mark_success(first)

    assert repository.enqueue("import_contacts", "acme", ANN, dedupe=True) != first


def test_without_dedupe_the_same_is_queued_twice(repository: HoldfastRepository) -> None:
    assert repository.enqueue("import_contacts", "acme", ANN) != repository.enqueue(
        "import_contacts", "acme", ANN
    )


@pytest.mark.parametrize("payload", [ANN, {"contacts": [{"email": "x" * 600}]}], ids=["short", "long"])
def test_another_organisations_equal_payload_is_another_job(
    repository: HoldfastRepository, payload: dict[str, Any]
) -> None:
    # An organisation that is called global is not everybody.
    ids = [
        repository.enqueue("import_contacts", org_id, payload, dedupe=True)
        for org_id in ("acme", "globex", None, "global")
    ]

    assert len(set(ids)) == 4
    assert repository.enqueue("import_contacts", "acme", payload, dedupe=True) == ids[0]


# -- turns -----------------------------------------------------------------------------------------------------------------


def test_claims_take_turns_between_organisations(repository: HoldfastRepository) -> None:
    for days in range(20):
        repository.enqueue("forget_contacts", "loud", {"days": days})
    repository.enqueue("forget_contacts", "quiet", {"days": 1})

    assert "quiet" in {job.org_id for job in repository.claim(2)}
