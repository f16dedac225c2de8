"""One job per booking and type, three attempts a minute apart, and what is tried again."""

import asyncio

import pytest

from apps.booking_side_effects import story, tasks
from apps.booking_side_effects.tests.house import House
from holdfast.testing import crash_at

CONFIRMATION = "send_customer_confirmation"


# -- one job per booking and type ------------------------------------------------------------------------------------------


async def test_creating_jobs_again_while_they_are_pending_changes_nothing(house: House) -> None:
    booking = await house.paid()
    before = [(job.id, job.updated_at) for job in house.database.jobs()]

    await house.pay(booking)

    assert [(job.id, job.updated_at) for job in house.database.jobs()] == before


async def test_creating_jobs_again_while_they_run_changes_nothing(house: House) -> None:
    booking = await house.paid()
    with crash_at("claimed"):
        await house.work()
    assert "RUNNING" in house.statuses().values()

    await house.pay(booking)

    assert len(house.database.jobs()) == 3


async def test_creating_jobs_again_when_they_have_completed_changes_nothing(house: House) -> None:
    booking = await house.paid()
    await house.work()

    await house.pay(booking)
    await house.work()

    assert set(house.statuses().values()) == {"COMPLETED"}
    assert len(house.database.jobs()) == 4
    assert len(house.mailbox.messages) == 3


async def test_a_job_that_failed_is_queued_afresh(house: House) -> None:
    house.mailbox.script.tell("invalid", "invalid")
    booking = await house.paid()
    await house.work()
    assert house.job(CONFIRMATION).status == "FAILED"

    await house.pay(booking)
    await house.work()

    assert [str(job.status) for job in house.database.jobs(task=CONFIRMATION)] == ["FAILED", "COMPLETED"]
    assert len(house.database.jobs(task="issue_invoice")) == 1


async def test_the_database_keeps_it_to_one_job_when_many_create_at_once(house: House) -> None:
    booking = story.book()

    await asyncio.gather(*(house.pay(booking) for _ in range(8)))

    assert len(house.database.jobs()) == 3


# -- attempts --------------------------------------------------------------------------------------------------------------


async def test_a_job_has_three_attempts_a_flat_minute_apart_and_then_fails_with_its_error(
    house: House,
) -> None:
    house.invoicing.at_register.tell("unavailable", "unavailable", "unavailable")
    await house.paid()
    await house.work()

    for attempt in (1, 2):
        job = house.job("issue_invoice")
        assert (job.status, job.attempt) == ("RETRY", attempt)
        assert job.due_at is not None
        assert round((job.due_at - job.updated_at).total_seconds()) == 60
        house.advance(60)
        await house.work()

    job = house.job("issue_invoice")
    assert (job.status, job.attempt) == ("FAILED", 3)
    assert job.error is not None
    assert "503" in job.error["message"]


@pytest.mark.parametrize("place", ["at_register", "at_post"])
async def test_trouble_of_the_invoicing_service_is_tried_again(
    house: House, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    getattr(house.invoicing, place).tell("closed", "forbidden", "silent", "unavailable")
    with monkeypatch.context() as impatient:
        impatient.setenv("INVOICING_TIMEOUT", "0.5")
        for _ in range(4):
            await house.paid()
        await house.work()
    first = {job.status for job in house.database.jobs(task="issue_invoice")}

    await house.work_for_minutes(1)

    assert first == {"RETRY"}
    assert {job.status for job in house.database.jobs(task="issue_invoice")} == {"COMPLETED"}
    assert len(house.invoicing.documents) == 4


async def test_errors_of_the_mail_service_are_tried_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.mailbox.script.tell(*["later", "lost", "silent"] * 2)
    with monkeypatch.context() as impatient:
        impatient.setenv("SMTP_TIMEOUT", "0.5")
        impatient.setenv("INVOICING_ENABLED", "false")
        for _ in range(3):
            await house.paid()
        await house.work()
    first = {job.status for job in house.database.jobs() if job.task != "issue_invoice"}

    await house.work_for_minutes(1)

    assert first == {"RETRY"}
    assert {job.status for job in house.database.jobs()} == {"COMPLETED"}


async def test_a_mail_service_that_is_away_is_tried_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP_PORT", "1")
    await house.paid()

    await house.work()

    assert house.job(CONFIRMATION).status == "RETRY"


async def test_an_invalid_address_fails_at_once(house: House) -> None:
    for address in ("", "nobody", "a@b", "a b@example.com", "a@example.com\nBcc: c@example.com"):
        await house.paid(customer_email=address)

    await house.work()

    for job in house.database.jobs(task=CONFIRMATION):
        assert (job.status, job.attempt) == ("FAILED", 1)
        assert job.error is not None
        assert "invalid" in job.error["message"]
    internal = house.database.jobs(task="send_internal_confirmation")
    assert [job.status for job in internal] == ["COMPLETED"] * 5


async def test_an_address_that_the_mail_server_calls_invalid_fails_at_once(house: House) -> None:
    house.mailbox.script.tell("invalid", "invalid")
    await house.paid()

    await house.work()

    job = house.job(CONFIRMATION)
    assert (job.status, job.attempt) == ("FAILED", 1)


# -- switches --------------------------------------------------------------------------------------------------------------


async def test_with_the_invoicing_switch_off_the_job_is_a_recorded_no_op(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INVOICING_ENABLED", "false")
    await house.paid()

    await house.work()

    job = house.job("issue_invoice")
    assert (job.status, job.result) == ("COMPLETED", tasks.SWITCHED_OFF)
    assert (house.invoicing.documents, house.invoicing.clients) == ([], [])
    assert "send_invoice_ready" not in house.statuses()


async def test_without_send_emails_true_it_is_a_dry_run_that_says_so(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    for switch in ("false", "", "True", None):
        monkeypatch.delenv("SEND_EMAILS", raising=False)
        if switch is not None:
            monkeypatch.setenv("SEND_EMAILS", switch)
        booking = await house.paid()

        await house.work()

        job = house.job(CONFIRMATION)
        assert (job.status, job.result) == ("COMPLETED", tasks.DRY_RUN)
        assert (await house.booking(booking)).confirmation_email_sent_at is None
    assert house.mailbox.messages == []


# -- types that nobody knows -----------------------------------------------------------------------------------------------


async def test_a_job_of_an_unknown_type_fails_and_says_so(house: House, forgotten: str) -> None:
    await tasks.adopt_unknown_types()

    await house.work()

    job = house.job(forgotten)
    assert (job.status, job.attempt) == ("FAILED", 1)
    assert job.error is not None
    assert job.error["message"] == "Unknown job type: send_fax"
