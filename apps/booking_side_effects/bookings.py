"""Bookings as rows: found, confirmed, stamped. Every function works in its caller's transaction."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from apps.booking_side_effects.app import app
from holdfast import Fail

VAT = 23

# Which stamp says that the e-mail of a job was sent.
STAMPS = {
    "send_customer_confirmation": "confirmation_email_sent_at",
    "send_internal_confirmation": "internal_email_sent_at",
    "send_invoice_ready": "invoice_email_sent_at",
}

_FIND = """
select id, status, machine, starts_on, ends_on, customer_name, customer_email, billing_name, billing_address, tax_number,
       net_cents, flags, payment_intent, invoice_number, invoice_pdf_url,
       confirmation_email_sent_at, internal_email_sent_at, invoice_email_sent_at, holdfast.clock()
  from booking_side_effects.booking
 where id = %s
"""
_CONFIRM = """
update booking_side_effects.booking
   set status = 'CONFIRMED', payment_intent = %s
 where id = %s and status = 'PENDING'
"""
_STORE_INVOICE = """
update booking_side_effects.booking
   set invoice_number = %s, invoice_pdf_url = %s
 where id = %s and invoice_number is null
"""


@dataclass(frozen=True, slots=True)
class Booking:
    """One row, and when it was read."""

    id: int
    status: str
    machine: str
    starts_on: date
    ends_on: date
    customer_name: str
    customer_email: str
    billing_name: str
    billing_address: str
    tax_number: str | None
    net_cents: int
    flags: list[str]
    payment_intent: str | None
    invoice_number: str | None
    invoice_pdf_url: str | None
    confirmation_email_sent_at: datetime | None
    internal_email_sent_at: datetime | None
    invoice_email_sent_at: datetime | None
    read_at: datetime

    @property
    def vat_cents(self) -> int:
        """The tax, rounded to the cent."""
        return (self.net_cents * VAT + 50) // 100

    @property
    def total_cents(self) -> int:
        """What the customer pays."""
        return self.net_cents + self.vat_cents

    def sent_at(self, job_type: str) -> datetime | None:
        """Say when the e-mail of a type was sent."""
        sent: datetime | None = getattr(self, STAMPS[job_type])
        return sent


async def find(conn: Any, booking_id: int) -> Booking | None:
    """Find a booking."""
    row = await (await conn.execute(_FIND, (booking_id,))).fetchone()
    return None if row is None else Booking(*row)


async def load(booking_id: int) -> Booking:
    """Give a job the booking that it is about."""
    async with app.atransaction() as conn:
        booking = await find(conn, booking_id)
    if booking is None:
        raise Fail(f"booking {booking_id} does not exist")
    return booking


async def has_invoice(booking_id: int) -> bool:
    """Whether number and link of the invoice are there."""
    return (await load(booking_id)).invoice_number is not None


async def confirm(conn: Any, booking_id: int, payment_intent: str) -> None:
    """Confirm a booking that is paid; one that was confirmed before stays as it is."""
    await conn.execute(_CONFIRM, (payment_intent, booking_id))


async def store_invoice(conn: Any, booking_id: int, number: str, pdf_url: str) -> None:
    """Keep the invoice's number and link; those that are there stay."""
    await conn.execute(_STORE_INVOICE, (number, pdf_url, booking_id))


async def stamp(conn: Any, booking_id: int, job_type: str) -> None:
    """Say that an e-mail was sent, only where nobody has said so."""
    column = STAMPS[job_type]
    await conn.execute(
        f"update booking_side_effects.booking set {column} = holdfast.clock() where id = %s and {column} is null",  # noqa: S608 - one of our three columns # nosec B608
        (booking_id,),
    )


async def clear_stamp(conn: Any, booking_id: int, job_type: str) -> None:
    """Forget that an e-mail was sent, so that it can be sent again."""
    column = STAMPS[job_type]
    await conn.execute(
        f"update booking_side_effects.booking set {column} = null where id = %s",  # noqa: S608 - one of our three columns # nosec B608
        (booking_id,),
    )
