"""The three e-mails: who gets them, what they say, and that a stamp keeps each to one."""

import pytest

from apps.booking_side_effects import bookings, story, tasks
from apps.booking_side_effects.app import app
from apps.booking_side_effects.tests.house import House


async def test_the_customer_is_told_that_the_booking_is_confirmed(house: House) -> None:
    booking = await house.paid()

    await house.work()

    (message,) = house.mailbox.about(f"booking {booking} is confirmed")
    assert message["to"] == story.CUSTOMER
    assert "Excavator, 2026-07-01 to 2026-07-03" in message.get_content()
    assert "123.01 EUR" in message.get_content()
    assert (await house.booking(booking)).confirmation_email_sent_at is not None


async def test_operations_get_the_ops_link_and_the_bookings_flags(house: House) -> None:
    booking = await house.paid(flags=["delivery", "night"])

    await house.work()

    (message,) = house.mailbox.about(f"Booking {booking} is paid")
    assert message["to"] == "ops@example.com, boss@example.com"
    assert "Flags: delivery, night" in message.get_content()
    assert f"/ops/bookings/{booking}" in message.get_content()
    assert (await house.booking(booking)).internal_email_sent_at is not None


async def test_the_customer_gets_a_link_to_the_invoice(house: House) -> None:
    booking = await house.paid()

    await house.work()

    (message,) = house.mailbox.about("Your invoice FR 2026/1")
    assert message["to"] == story.CUSTOMER
    assert f"/api/invoices/{booking}/pdf?t=" in message.get_content()
    assert (await house.booking(booking)).invoice_email_sent_at is not None


async def test_an_e_mail_whose_stamp_is_set_is_not_sent(house: House) -> None:
    booking = await house.paid()
    async with app.atransaction() as conn:
        for job_type in bookings.STAMPS:
            await bookings.stamp(conn, booking, job_type)

    await house.work()

    assert house.mailbox.messages == []
    assert {house.job(job_type).result for job_type in bookings.STAMPS} == {tasks.ALREADY_SENT}


async def test_a_stamp_is_set_only_where_there_is_none(house: House) -> None:
    booking = await house.paid()
    await house.work()
    before = await house.booking(booking)
    house.advance(3600)

    async with app.atransaction() as conn:
        for job_type in bookings.STAMPS:
            await bookings.stamp(conn, booking, job_type)

    after = await house.booking(booking)
    assert [before.sent_at(one) for one in bookings.STAMPS] == [after.sent_at(one) for one in bookings.STAMPS]


async def test_a_worker_killed_between_send_and_stamp_sends_again_with_the_same_id(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.mailbox.script.tell("held", "held")
    monkeypatch.setenv("INVOICING_ENABLED", "false")  # two e-mails, not three
    booking = await house.paid()
    worker = house.start_worker()

    await house.until(lambda: len(house.mailbox.messages) == 2)
    assert (await house.booking(booking)).confirmation_email_sent_at is None
    worker.kill()
    worker.wait()
    house.advance(60)  # the lease ends
    await house.work()

    first, second = house.mailbox.about(f"booking {booking} is confirmed")
    assert first["message-id"] == second["message-id"]
    assert (await house.booking(booking)).confirmation_email_sent_at is not None


async def test_a_message_that_was_taken_unheard_comes_again_with_the_same_id(house: House) -> None:
    house.mailbox.script.tell("lost", "lost")
    booking = await house.paid()

    await house.work_for_minutes(1)

    first, second = house.mailbox.about(f"booking {booking} is confirmed")
    assert first["message-id"] == second["message-id"]
