"""The cron route, and that workers, cron and kick are safe together."""

import asyncio
import hmac
import importlib
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from apps.booking_side_effects import story
from apps.booking_side_effects.app import app
from apps.booking_side_effects.tests.house import House

PATH = "/api/cron/process-booking-jobs"
SECRET = {"x-cron-secret": story.CRON_SECRET}


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_call_works_and_answers_what_it_did(
    house: House, client: httpx.AsyncClient, method: str
) -> None:
    await house.paid()

    answer = await client.request(method, PATH, headers=SECRET)

    told = answer.json()
    as_of = datetime.fromisoformat(told.pop("asOfUtc"))
    assert (answer.status_code, told) == (200, {"ok": True, "processed": 4, "remainingPending": 0})
    assert as_of.utcoffset() == timedelta()
    assert abs(as_of - datetime.now(UTC)) < timedelta(minutes=1)
    assert len(house.mailbox.messages) == 3


async def test_the_secret_may_stand_in_the_query(house: House, client: httpx.AsyncClient) -> None:
    answer = await client.get(PATH, params={"token": story.CRON_SECRET})

    assert (answer.status_code, answer.json()["ok"]) == (200, True)


async def test_without_the_secret_it_is_401_and_nothing_is_done(
    house: House, client: httpx.AsyncClient
) -> None:
    await house.paid()

    answers = [await client.get(PATH), await client.post(PATH)]
    for given in ("", "wrong", story.CRON_SECRET[:-1], story.CRON_SECRET + "-"):
        answers += [
            await client.post(PATH, headers={"x-cron-secret": given}),
            await client.get(PATH, params={"token": given}),
        ]

    assert {answer.status_code for answer in answers} == {401}
    assert set(house.statuses().values()) == {"PENDING"}


async def test_without_a_secret_in_the_environment_everybody_is_refused(
    house: House, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRON_SECRET")

    assert (await client.get(PATH, params={"token": ""})).status_code == 401


async def test_the_secret_is_compared_in_constant_time(
    house: House, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = []

    def compare(given: bytes, wanted: bytes) -> bool:
        lengths.append((len(given), len(wanted)))
        return hmac.compare_digest(given, wanted)

    web = importlib.import_module("apps.booking_side_effects.web")
    monkeypatch.setattr(web, "compare_digest", compare)

    for given in ("x", story.CRON_SECRET, "x" * 500):
        await client.get(PATH, params={"token": given})

    assert lengths == [(32, 32)] * 3


async def test_a_call_does_ten_jobs_at_most(house: House, client: httpx.AsyncClient) -> None:
    for _ in range(5):
        await house.paid()

    first = (await client.post(PATH, headers=SECRET)).json()
    second = (await client.post(PATH, headers=SECRET)).json()

    assert (first["processed"], second["processed"], second["remainingPending"]) == (10, 10, 0)
    assert 0 < first["remainingPending"] <= 10
    assert len(house.mailbox.messages) == 15


async def test_what_waits_for_its_next_attempt_is_pending_too(
    house: House, client: httpx.AsyncClient
) -> None:
    house.invoicing.at_register.tell("closed")
    await house.paid()

    told = (await client.post(PATH, headers=SECRET)).json()

    assert (told["processed"], told["remainingPending"]) == (3, 1)


async def test_the_cron_route_fails_what_has_an_unknown_type(
    house: House, client: httpx.AsyncClient, forgotten: str
) -> None:
    told = (await client.post(PATH, headers=SECRET)).json()

    assert (told["processed"], told["remainingPending"]) == (1, 0)
    assert house.job(forgotten).status == "FAILED"


async def test_workers_cron_and_kick_are_safe_together(house: House, client: httpx.AsyncClient) -> None:
    bookings = [story.book() for _ in range(6)]
    worker = asyncio.create_task(app.run_worker(handle_signals=False, poll=0.05))
    try:
        await asyncio.gather(
            *(house.stripe.send(story.payment(house.stripe, booking), times=2) for booking in bookings),
            *(client.post(PATH, headers=SECRET) for _ in range(4)),
        )
        await house.until(lambda: len(house.mailbox.messages) >= 18)
        await house.until(lambda: set(house.statuses().values()) == {"COMPLETED"})
    finally:
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)

    assert len(house.mailbox.messages) == 18
    assert len(house.invoicing.documents) == 6
    assert len(house.database.jobs()) == 24
