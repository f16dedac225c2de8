"""The log: structured events, each with jobId, bookingId and type."""

import logging
from typing import Any

import pytest

from apps.booking_side_effects.tests.house import House


def told(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    """Find the lines of an event that are about jobs of bookings."""
    lines = [vars(record) for record in caplog.records if record.getMessage() == event]
    return [line for line in lines if "bookingId" in line]


@pytest.fixture(autouse=True)
def listening(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "holdfast")
    caplog.set_level(logging.INFO, "booking_side_effects")


async def test_the_creation_of_jobs_names_their_types(house: House, caplog: pytest.LogCaptureFixture) -> None:
    booking = await house.paid()

    lines = told(caplog, "jobs:created")
    assert {(line["jobId"], line["bookingId"], line["type"]) for line in lines} == {
        (str(job.id), booking, job.task) for job in house.database.jobs()
    }
    assert all(set(line["types"]) == set(house.statuses()) for line in lines)


async def test_what_exists_already_is_not_told_again(house: House, caplog: pytest.LogCaptureFixture) -> None:
    booking = await house.paid()
    caplog.clear()

    await house.pay(booking)

    assert told(caplog, "jobs:created") == []


async def test_an_attempt_tells_its_number_and_a_completion_how_long_it_took(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    booking = await house.paid()

    await house.work()

    ids = {(str(job.id), booking, job.task) for job in house.database.jobs()}
    begun, ended = told(caplog, "job:processing"), told(caplog, "job:completed")
    assert {(line["jobId"], line["bookingId"], line["type"]) for line in begun} == ids
    assert {(line["jobId"], line["bookingId"], line["type"]) for line in ended} == ids
    assert [line["attempts"] for line in begun] == [1] * 4
    assert all(line["durationMs"] > 0 for line in ended)


async def test_a_failure_tells_its_error_and_how_many_attempts_there_were(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.invoicing.at_register.tell("closed", "closed", "closed")
    booking = await house.paid()

    await house.work_for_minutes(2)

    (line,) = told(caplog, "job:failed")
    assert (line["jobId"], line["bookingId"], line["type"]) == (
        str(house.job("issue_invoice").id),
        booking,
        "issue_invoice",
    )
    assert line["attempts"] == 3
    assert "RegisterClosed" in line["error"]


async def test_an_e_mail_tells_that_it_was_sent_skipped_or_went_wrong(
    house: House, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.mailbox.script.tell("later", "later")
    booking = await house.paid()
    await house.work()
    errors = told(caplog, "email:error")
    await house.work_for_minutes(1)
    sent = told(caplog, "email:sent")
    monkeypatch.setenv("SEND_EMAILS", "false")
    other = await house.paid()
    await house.work()
    skipped = told(caplog, "email:skipped")

    assert {line["type"] for line in sent} == {
        "send_customer_confirmation",
        "send_internal_confirmation",
        "send_invoice_ready",
    }
    assert len(errors) == 2
    assert all("451" in line["error"] for line in errors)
    assert {line["bookingId"] for line in errors + sent} == {booking}
    assert {(line["bookingId"], line["reason"][:7]) for line in skipped} == {(other, "dry run")}
    assert all(line["jobId"] for line in errors + sent + skipped)
