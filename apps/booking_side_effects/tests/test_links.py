"""A link opens one booking's invoice, for 72 hours, and nothing else opens it."""

import base64
import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from apps.booking_side_effects import links, story
from apps.booking_side_effects.app import app
from apps.booking_side_effects.settings import Settings
from apps.booking_side_effects.tests.house import House

HOUR = 3600.0


@pytest.fixture
async def link(house: House, client: httpx.AsyncClient) -> str:
    """Give the link that the customer was sent."""
    await house.paid()
    await house.work()
    return story.link_in(house.mailbox)


async def test_the_link_in_the_e_mail_opens_the_invoice(
    house: House, client: httpx.AsyncClient, link: str
) -> None:
    answer = await client.get(link)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.content.startswith(b"%PDF")


async def test_the_link_opens_for_72_hours_and_not_longer(
    house: House, client: httpx.AsyncClient, link: str
) -> None:
    house.advance(72 * HOUR - 60)
    before = (await client.get(link)).status_code
    house.advance(120)

    assert (before, (await client.get(link)).status_code) == (200, 403)


async def test_a_token_opens_no_other_booking(house: House, client: httpx.AsyncClient, link: str) -> None:
    other = await house.paid()
    await house.work()
    token = link.partition("?t=")[2]

    answer = await client.get(f"/api/invoices/{other}/pdf", params={"t": token})

    assert answer.status_code == 403


async def test_a_link_without_a_valid_token_opens_nothing(
    house: House, client: httpx.AsyncClient, link: str
) -> None:
    address, _, token = link.partition("?t=")
    header, claims, proof = token.split(".")
    nobodys = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    later = (
        base64.urlsafe_b64encode(json.dumps({"sub": "invoice:1", "exp": 9e9}).encode()).rstrip(b"=").decode()
    )
    forged = links.sign("a secret that is not ours", 1, datetime.now(UTC) + timedelta(hours=1))
    tokens = [
        "",
        "x",
        "..",
        "é.é.é",
        f"{nobodys}.{claims}.",
        f"{header}.{later}.{proof}",
        f"{header}.{claims}.",
        forged,
    ]

    answers = [(await client.get(address, params={"t": one})).status_code for one in tokens]

    assert answers == [403] * len(tokens)


async def test_who_has_no_token_does_not_learn_which_bookings_exist(
    house: House, client: httpx.AsyncClient, link: str
) -> None:
    answers = [await client.get(f"/api/invoices/{number}/pdf") for number in (1, 999)]

    assert [(one.status_code, one.text) for one in answers] == [(403, answers[0].text)] * 2


async def test_our_key_goes_to_the_invoicing_service_only(
    house: House, client: httpx.AsyncClient, link: str
) -> None:
    async with app.atransaction() as conn:
        await conn.execute(
            "update booking_side_effects.booking set invoice_pdf_url = %s", (str(client.base_url),)
        )

    assert (await client.get(link)).status_code == 502


async def test_a_valid_token_of_a_booking_without_invoice_finds_none(
    house: House, client: httpx.AsyncClient
) -> None:
    booking = story.book()
    token = links.sign(Settings.read().link_secret, booking, datetime.now(UTC) + timedelta(hours=1))

    assert (await client.get(f"/api/invoices/{booking}/pdf", params={"t": token})).status_code == 404
