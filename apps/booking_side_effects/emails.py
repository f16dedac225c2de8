"""The e-mails: what they say, and how they are sent."""

from collections.abc import Callable, Sequence
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from typing import TypeAlias
from uuid import UUID

import aiosmtplib

from apps.booking_side_effects.bookings import Booking
from apps.booking_side_effects.links import pdf_link
from apps.booking_side_effects.settings import Settings
from holdfast import Fail

Writer: TypeAlias = Callable[[Booking, Settings], EmailMessage]

LOOPBACK = frozenset({"127.0.0.1", "localhost"})  # everywhere else, password and mail travel encrypted
# What a mail server answers when the address is to blame: no such mailbox, not here, not an address.
INVALID_ADDRESS = frozenset({501, 513, 550, 551, 553})


def customer_confirmation(booking: Booking, settings: Settings) -> EmailMessage:
    """Tell the customer that the booking is confirmed."""
    text = (
        f"Hello {booking.customer_name},\n\n"
        f"your booking {booking.id} is confirmed: {booking.machine}, {booking.starts_on} to {booking.ends_on}.\n"
        f"We have received {_euros(booking.total_cents)}. Your invoice follows in another e-mail.\n"
    )
    return _written([booking.customer_email], f"Your booking {booking.id} is confirmed", text, settings)


def internal_confirmation(booking: Booking, settings: Settings) -> EmailMessage:
    """Tell operations what was booked."""
    text = (
        f"{booking.machine}, {booking.starts_on} to {booking.ends_on}, {_euros(booking.total_cents)}\n"
        f"Flags: {', '.join(booking.flags) or 'none'}\n"
        f"{settings.public_url}/ops/bookings/{booking.id}\n"
    )
    return _written(settings.email_admin_to, f"Booking {booking.id} is paid", text, settings)


def invoice_ready(booking: Booking, settings: Settings) -> EmailMessage:
    """Give the customer a link to the invoice."""
    text = (
        f"Hello {booking.customer_name},\n\n"
        f"your invoice {booking.invoice_number} is ready. This link opens it for 72 hours:\n"
        f"{pdf_link(settings, booking.id, booking.read_at)}\n"
    )
    return _written([booking.customer_email], f"Your invoice {booking.invoice_number}", text, settings)


async def send(message: EmailMessage, job_id: UUID, settings: Settings) -> None:
    """Send a message. An invalid address fails for good; whatever else goes wrong may go well a minute later."""
    # The same for every attempt of a job, so that a mailbox can tell a repeat.
    message["Message-ID"] = f"<{job_id}@{settings.email_from.rpartition('@')[2]}>"
    try:
        await aiosmtplib.send(
            message,
            hostname=settings.smtp_host,
            port=settings.smtp_port,
            username=settings.smtp_user,
            password=settings.smtp_password,
            start_tls=settings.smtp_host not in LOOPBACK,
            timeout=settings.smtp_timeout,
        )
    except aiosmtplib.SMTPRecipientsRefused as error:
        if all(one.code in INVALID_ADDRESS for one in error.recipients):
            raise Fail("the mail server says that the e-mail address is invalid") from error
        raise
    except aiosmtplib.SMTPResponseException as error:
        if error.code in INVALID_ADDRESS:
            raise Fail("the mail server says that the e-mail address is invalid") from error
        raise


def _written(to: Sequence[str], subject: str, text: str, settings: Settings) -> EmailMessage:
    if not to:
        raise Fail("nobody is named to send it to: is EMAIL_ADMIN_TO set?")
    message = EmailMessage()
    message["From"] = settings.email_from
    message["To"] = [_address(one) for one in to]
    message["Subject"] = subject
    message.set_content(text)
    return message


def _address(text: str) -> Address:
    try:
        address = Address(addr_spec=text)
    except (HeaderParseError, ValueError, IndexError) as error:
        raise Fail("the e-mail address is invalid") from error
    if not address.username or "." not in address.domain:
        raise Fail("the e-mail address is invalid")
    return address


def _euros(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02} EUR"
