"""The invoicing service, as the product calls it: it issues what it is asked to issue, so ask first what it has issued."""

import ssl
from dataclasses import dataclass
from typing import Any

import httpx

from apps.booking_side_effects.bookings import VAT, Booking
from apps.booking_side_effects.settings import Settings

TLS = ssl.create_default_context()  # made once: it reads every certificate there is


class RegisterClosed(Exception):
    """The register takes no documents now; it may later."""


@dataclass(frozen=True, slots=True)
class Issued:
    """An invoice that exists."""

    number: str
    pdf_url: str


def connect(settings: Settings) -> httpx.AsyncClient:
    """Make a client of the service."""
    return httpx.AsyncClient(
        base_url=settings.invoicing_url,
        headers={"x-api-key": settings.invoicing_key},
        timeout=settings.invoicing_timeout,
        verify=TLS,
    )


async def find_or_create_client(service: httpx.AsyncClient, booking: Booking) -> int:
    """Give the id of the customer there, who is known by the tax number or else by the e-mail address."""
    known_by = {"tax_number": booking.tax_number} if booking.tax_number else {"email": booking.customer_email}
    found = (await service.get("/clients", params=known_by)).raise_for_status().json()
    if not found:
        client = {
            "name": booking.billing_name,
            "address": booking.billing_address,
            "email": booking.customer_email,
            "tax_number": booking.tax_number,
        }
        found = [(await service.post("/clients", json=client)).raise_for_status().json()]
    return int(found[0]["id"])


async def check_register(service: httpx.AsyncClient) -> None:
    """Refuse to go on while the register is closed."""
    if not (await service.get("/register")).raise_for_status().json()["open"]:
        raise RegisterClosed("the register is closed")


def build_document(
    booking: Booking, client_id: int, document_type: str, payment_intent: str
) -> dict[str, Any]:
    """Write the invoice. Its reference is the booking's, not the job's: there is one invoice, however many jobs there were."""
    rental = f"{booking.machine}, {booking.starts_on} to {booking.ends_on}"
    return {
        "type": document_type,
        "reference": f"booking-{booking.id}",
        "client_id": client_id,
        "payment": payment_intent,
        "lines": [{"description": rental, "net_cents": booking.net_cents, "vat": VAT}],
        "net_cents": booking.net_cents,
        "vat_cents": booking.vat_cents,
        "total_cents": booking.total_cents,
    }


async def post_once(service: httpx.AsyncClient, document: dict[str, Any]) -> Issued:
    """Post a document, unless the service has one with its reference: then an earlier attempt did not live to hear of it."""
    asked = await service.get("/documents", params={"reference": document["reference"]})
    found = asked.raise_for_status().json()
    issued = (
        found[0] if found else (await service.post("/documents", json=document)).raise_for_status().json()
    )
    return Issued(issued["number"], issued["pdf_url"])


async def fetch_pdf(settings: Settings, link: str) -> bytes:
    """Fetch an invoice; our key goes to the service and nowhere else."""
    if not link.startswith(f"{settings.invoicing_url}/"):
        raise httpx.UnsupportedProtocol("the stored link leads elsewhere")
    async with connect(settings) as service:
        return (await service.get(link)).raise_for_status().content
