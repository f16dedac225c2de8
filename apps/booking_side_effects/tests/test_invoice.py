"""The invoice: issued once, with the right facts, whatever happens between post and store."""

import pytest

from apps.booking_side_effects import story, tasks
from apps.booking_side_effects.app import app
from apps.booking_side_effects.settings import Settings
from apps.booking_side_effects.tests.house import House
from holdfast import Configuration


async def test_the_invoice_is_issued_with_the_bookings_facts_and_stored_on_it(house: House) -> None:
    booking = await house.paid(net_cents=10_001)

    await house.work()

    (document,) = house.invoicing.documents
    assert document["type"] == "FR"
    assert document["reference"] == f"booking-{booking}"
    assert document["payment"] == f"pi_{booking}"
    assert document["lines"] == [
        {"description": "Excavator, 2026-07-01 to 2026-07-03", "net_cents": 10_001, "vat": 23}
    ]
    assert (document["net_cents"], document["vat_cents"], document["total_cents"]) == (10_001, 2_300, 12_301)
    stored = await house.booking(booking)
    assert (stored.invoice_number, stored.invoice_pdf_url) == (document["number"], document["pdf_url"])
    assert house.job("issue_invoice").result == document["number"]


async def test_the_document_type_is_fr_or_ft(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INVOICING_DOCUMENT_TYPE", "FT")
    await house.paid()

    await house.work()

    assert house.invoicing.documents[0]["type"] == "FT"
    monkeypatch.setenv("INVOICING_DOCUMENT_TYPE", "FS")
    with pytest.raises(Configuration, match="FR or FT"):
        Settings.read()


async def test_the_client_is_made_once_and_then_found_by_tax_number(house: House) -> None:
    for address in ("ana@example.com", "other@example.com"):
        await house.paid(tax_number="501234567", customer_email=address)
        await house.work()

    (client,) = house.invoicing.clients
    assert (client["tax_number"], client["email"], client["name"]) == (
        "501234567",
        "ana@example.com",
        "Ana Lda",
    )
    assert [document["client_id"] for document in house.invoicing.documents] == [client["id"]] * 2


async def test_a_client_without_tax_number_is_found_by_e_mail(house: House) -> None:
    house.invoicing.clients.append({"id": 1, "email": "ana@example.com", "tax_number": None})
    await house.paid(tax_number=None, customer_email="ana@example.com")

    await house.work()

    assert len(house.invoicing.clients) == 1
    assert house.invoicing.documents[0]["client_id"] == 1


async def test_nothing_is_posted_while_the_register_is_closed(house: House) -> None:
    house.invoicing.at_register.tell("closed", "closed", "closed")
    await house.paid()

    await house.work_for_minutes(2)

    assert house.job("issue_invoice").status == "FAILED"
    assert house.invoicing.documents == []


async def test_an_invoice_that_is_on_the_booking_is_not_issued_again(house: House) -> None:
    booking = await house.paid()
    await house.work()

    again = await tasks.resend(booking, "issue_invoice", by="ben", reason="to be sure")
    await house.work()

    assert await app.ahandle(again).status() == "COMPLETED"
    assert len(house.invoicing.documents) == 1
    assert len(house.database.jobs(task="send_invoice_ready")) == 1


async def test_the_completion_queues_the_e_mail_about_it(house: House) -> None:
    await house.paid()
    await house.work()

    ready, issued = house.job("send_invoice_ready"), house.job("issue_invoice")
    assert ready.status == "COMPLETED"
    assert ready.created_at <= (issued.finished_at or ready.created_at)


async def test_the_e_mail_waits_until_number_and_link_exist(house: House) -> None:
    house.invoicing.at_register.tell("closed")
    booking = await house.paid()
    async with app.atransaction() as conn:
        early = tasks.send_invoice_ready.using(subject=f"booking:{booking}").job(booking)
        await tasks.create_jobs(conn, booking, [early])
    await house.work()
    waiting = house.job("send_invoice_ready")

    await house.work_for_minutes(1)

    assert (waiting.status, waiting.retry_count) == ("WAITING", 0)
    assert house.job("send_invoice_ready").status == "COMPLETED"
    assert len(house.database.jobs(task="send_invoice_ready")) == 1
    assert "/api/invoices/" in story.link_in(house.mailbox)


async def test_an_answer_that_is_lost_after_the_post_does_not_issue_a_second_invoice(house: House) -> None:
    house.invoicing.at_post.tell("lost")
    booking = await house.paid()

    await house.work_for_minutes(1)

    (document,) = house.invoicing.documents
    assert (await house.booking(booking)).invoice_number == document["number"]


async def test_a_worker_killed_between_post_and_store_does_not_issue_a_second_invoice(house: House) -> None:
    house.invoicing.at_post.tell("held")
    booking = await house.paid()
    worker = house.start_worker()

    await house.until(lambda: len(house.invoicing.documents) == 1)
    assert (await house.booking(booking)).invoice_number is None
    worker.kill()
    worker.wait()
    house.advance(60)  # the lease ends
    await house.work()

    (document,) = house.invoicing.documents
    assert (await house.booking(booking)).invoice_number == document["number"]
    assert house.job("issue_invoice").retry_count == 0


async def test_a_second_job_of_the_booking_finds_the_invoice_that_the_first_did_not_hear_of(
    house: House,
) -> None:
    house.invoicing.at_post.tell("lost")
    house.invoicing.at_register.tell(None, "closed", "closed")
    booking = await house.paid()
    await house.work_for_minutes(2)
    assert house.job("issue_invoice").status == "FAILED"

    await house.pay(booking)
    await house.work()

    assert house.job("issue_invoice").status == "COMPLETED"
    assert len(house.invoicing.documents) == 1
