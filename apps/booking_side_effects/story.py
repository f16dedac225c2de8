"""The two stories that show the product at work: a payment, and an invoice whose answer was lost."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from apps._stage import Stage, until, verify
from apps._world import invoicing as _invoicing
from apps._world import mail as _mail
from apps._world import stripe as _stripe
from apps._world.invoicing import Invoicing
from apps._world.mail import Mailbox
from apps._world.stripe import Stripe
from apps.booking_side_effects.app import app

CUSTOMER = "ana@example.com"
OPERATIONS = "ops@example.com"
CRON_SECRET = "the cron service knows this"  # noqa: S105 - of the demo, on loopback

_BOOK = """
insert into booking_side_effects.booking
       (machine, starts_on, ends_on, customer_name, customer_email, billing_name, billing_address, tax_number, net_cents, flags)
values (%(machine)s, '2026-07-01', '2026-07-03', 'Ana', %(customer_email)s, 'Ana Lda', 'Rua 1, Lisboa', %(tax_number)s, %(net_cents)s, %(flags)s)
returning id
"""


@dataclass(slots=True)
class World:
    """Whom the product talks to."""

    stripe: Stripe
    invoicing: Invoicing
    mailbox: Mailbox
    environment: dict[str, str] = field(default_factory=dict)


@contextmanager
def world() -> Iterator[World]:
    """Run the world for as long as the block lasts."""
    with _stripe.simulated() as stripe, _invoicing.simulated() as invoicing, _mail.simulated() as mailbox:
        yield World(stripe, invoicing, mailbox, environment(invoicing, mailbox))


def environment(invoicing: Invoicing, mailbox: Mailbox) -> dict[str, str]:
    """Give the settings that point the product at a world."""
    return {
        "HOLDFAST_WEBHOOK_SECRET_STRIPE": _stripe.SECRET,
        "PUBLIC_URL": "http://127.0.0.1",
        "PDF_LINK_SECRET": "only the product knows this one",
        "CRON_SECRET": CRON_SECRET,
        "INVOICING_ENABLED": "true",
        "INVOICING_URL": invoicing.url,
        "INVOICING_KEY": _invoicing.KEY,
        "INVOICING_TIMEOUT": "2",
        "SEND_EMAILS": "true",
        "SMTP_PORT": str(mailbox.port),
        "EMAIL_ADMIN_TO": f"{OPERATIONS}, boss@example.com",
    }


def book(**facts: Any) -> int:
    """Book a machine, as the product's own page does; nobody has paid yet."""
    given = {
        "machine": "Excavator",
        "customer_email": CUSTOMER,
        "tax_number": "501234567",
        "net_cents": 10_001,
        "flags": [],
    }
    with app.transaction() as connection:
        return int(connection.execute(_BOOK, {**given, **facts}).fetchone()[0])


def payment(stripe: Stripe, booking_id: int, **facts: Any) -> dict[str, Any]:
    """Let Stripe say that a booking was paid."""
    session = {"id": f"cs_{booking_id}", "payment_status": "paid", "payment_intent": f"pi_{booking_id}"}
    return stripe.event(_stripe.COMPLETED, {**session, "metadata": {"bookingId": str(booking_id)}, **facts})


def link_in(mailbox: Mailbox) -> str:
    """Find the newest link to an invoice."""
    texts = [message.get_content() for message in mailbox.to(CUSTOMER)]
    return str(re.findall(r"http://\S+/api/invoices/\S+", "".join(texts))[-1])


async def happy(stage: Stage, world: World) -> str:
    """Pay; the customer has a confirmation and an invoice that opens, operations have theirs, all of it once."""
    world.stripe.endpoint = f"{stage.url}/webhooks/v1/stripe"
    booking = book(flags=["delivery"])

    answers = await world.stripe.send(payment(world.stripe, booking), times=3)
    await until("all e-mails are there", lambda: len(world.mailbox.messages) >= 3)  # noqa: PLR2004 - the three

    verify(answers == [200, 200, 200], f"Stripe was answered {answers}")
    verify(len(world.mailbox.messages) == 3, "an e-mail was sent twice")  # noqa: PLR2004 - the three
    verify(len(world.invoicing.documents) == 1, "there is not exactly one invoice")
    async with httpx.AsyncClient() as client:
        opened = await client.get(f"{stage.url}{_path(link_in(world.mailbox))}")
        forged = await client.get(f"{stage.url}/api/invoices/{booking}/pdf")
    verify(opened.content.startswith(b"%PDF"), f"the link gave {opened.status_code}")
    verify(forged.status_code == httpx.codes.FORBIDDEN, "the invoice opens without a token")
    return "payment sent three times: 1 invoice, 3 e-mails, its link opens the PDF and no other does"


async def failing(stage: Stage, world: World) -> str:
    """Lose the answer to the posted invoice: a minute later it is looked up, not issued again."""
    booking, before = book(), len(world.mailbox.messages)
    world.invoicing.at_post.tell("lost")  # the document is issued, and nobody hears of it

    await world.stripe.deliver(payment(world.stripe, booking))
    await until("the answer is lost", lambda: _issue_status(stage) == "RETRY")
    stage.database.clock.advance(61)
    await until("the invoice is e-mailed", lambda: len(world.mailbox.messages) >= before + 3)

    issued = world.invoicing.with_reference(f"booking-{booking}")
    verify(len(issued) == 1, f"{len(issued)} invoices were issued for one booking")
    return (
        "answer to the posted invoice lost: found again by its reference a minute later, 1 invoice, e-mailed"
    )


def _issue_status(stage: Stage) -> str:
    return str(stage.database.jobs(task="issue_invoice")[-1].status)


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3]
