"""From Stripe's event to a confirmed booking, its jobs, and what the customer has a moment later."""

import asyncio
import importlib
import time
from collections.abc import Iterator

import httpx
import pytest

from apps.booking_side_effects import story
from apps.booking_side_effects.app import app
from apps.booking_side_effects.tests.house import House
from holdfast.testing import ScratchDatabase

MADE_BY_PAYMENT = {"issue_invoice", "send_customer_confirmation", "send_internal_confirmation"}


@pytest.fixture
def still() -> Iterator[None]:
    """Let the kick find the process at work already, so that it does nothing."""
    with app.ticking:
        yield


async def test_a_paid_checkout_confirms_the_booking_and_makes_three_jobs(
    house: House, client: httpx.AsyncClient, still: None
) -> None:
    booking = story.book()

    answers = await house.stripe.send(story.payment(house.stripe, booking))

    assert answers == [200]
    assert (await house.booking(booking)).status == "CONFIRMED"
    assert set(house.statuses()) == MADE_BY_PAYMENT
    assert house.job("issue_invoice").payload["stripePaymentIntentId"] == f"pi_{booking}"
    assert {job.subject for job in house.database.jobs()} == {f"booking:{booking}"}


async def test_events_that_come_again_and_at_once_make_nothing_twice(
    house: House, client: httpx.AsyncClient, still: None
) -> None:
    booking = story.book()
    first, second = (story.payment(house.stripe, booking) for _ in range(2))

    answers = [*await house.stripe.send(first, times=5), *await house.stripe.send(second, times=2)]

    assert set(answers) == {200}
    assert len(house.database.jobs()) == 3


async def test_a_checkout_whose_money_has_not_come_confirms_nothing(
    house: House, client: httpx.AsyncClient
) -> None:
    booking = story.book()

    answers = await house.stripe.send(story.payment(house.stripe, booking, payment_status="unpaid"))

    assert answers == [200]
    assert (await house.booking(booking)).status == "PENDING"
    assert house.database.jobs() == []


async def test_a_payment_of_no_booking_is_refused_and_kept_for_the_operator(
    house: House, client: httpx.AsyncClient
) -> None:
    answers = await house.stripe.send(story.payment(house.stripe, 999))

    kept = await house.engine("select status from holdfast.webhook_delivery")
    assert (answers, kept) == ([500], [("failed",)])


async def test_an_event_that_stripe_did_not_sign_is_refused(house: House, client: httpx.AsyncClient) -> None:
    body, headers = house.stripe.signed(story.payment(house.stripe, story.book()))

    answer = await client.post(house.stripe.endpoint, content=body + b" ", headers=headers)

    assert answer.status_code == 401


async def test_the_webhook_waits_for_no_service(
    house: House, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for timeout in ("INVOICING_TIMEOUT", "SMTP_TIMEOUT"):
        monkeypatch.setenv(timeout, "2")
    house.invoicing.at_register.tell("silent")
    house.mailbox.script.tell("silent", "silent")

    answers = await house.stripe.send(story.payment(house.stripe, story.book()))

    assert answers == [200]
    assert {job.finished_at for job in house.database.jobs()} == {None}


async def test_the_kick_does_everything_at_once_where_no_worker_runs(
    house: House, client: httpx.AsyncClient
) -> None:
    await house.stripe.send(story.payment(house.stripe, story.book()))

    await house.until(lambda: len(house.mailbox.messages) == 3)

    assert len(house.invoicing.documents) == 1


async def test_a_kick_that_goes_wrong_does_not_fail_the_webhook(
    house: House, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> int:
        raise RuntimeError("no")

    web = importlib.import_module("apps.booking_side_effects.web")
    monkeypatch.setattr(web, "process", broken)

    answers = await house.stripe.send(story.payment(house.stripe, story.book()))

    await house.until(lambda: "webhook:after_failed" in caplog.text)
    assert answers == [200]
    assert set(house.statuses().values()) == {"PENDING"}


async def test_a_kick_that_does_not_end_delays_nothing_and_is_ended(
    house: House, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    began = []

    async def endless() -> int:
        began.append(time.monotonic())
        await asyncio.Event().wait()
        return 0

    web = importlib.import_module("apps.booking_side_effects.web")
    monkeypatch.setattr(web, "process", endless)

    answers = await house.stripe.send(story.payment(house.stripe, story.book()))
    is_at_it = "webhook:after_failed" not in caplog.text
    await house.until(lambda: "webhook:after_failed" in caplog.text)

    assert (answers, is_at_it) == ([200], True)
    assert time.monotonic() - began[0] >= 2


def test_the_tables_can_be_made_twice(house: House, holdfast_db: ScratchDatabase) -> None:
    importlib.import_module("apps.booking_side_effects.app").prepare()
