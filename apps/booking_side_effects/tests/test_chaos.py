"""Workers that are killed at random, in a world that misbehaves: one invoice a booking, and no e-mail missing."""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from apps._chaos import LONG, times
from apps._stage import Stage, staged, until
from apps._world import invoicing, mail, stripe
from apps._world.mail import Mailbox
from apps._world.script import Script
from apps.booking_side_effects import story
from apps.booking_side_effects.app import app
from apps.booking_side_effects.story import World
from holdfast import Job
from holdfast.testing import ScratchDatabase

BOOKINGS = 4
ROUNDS = 3 if LONG else 2


@pytest.mark.parametrize("seed", times(short=1, long=50))
async def test_killed_workers_and_a_bad_world_leave_one_invoice_and_every_e_mail(
    holdfast_db: ScratchDatabase, seed: int
) -> None:
    chance = random.Random(seed)
    accounts = Script(seed, {"lost": 0.15, "unavailable": 0.1, "closed": 0.1})
    letters = Script(seed + 1, {"lost": 0.1, "later": 0.1})
    with (
        stripe.simulated() as account,
        invoicing.simulated(accounts) as service,
        mail.simulated(letters) as mailbox,
        staged("booking_side_effects", holdfast_db, story.environment(service, mailbox)) as stage,
    ):
        world = World(account, service, mailbox)
        account.endpoint = f"{stage.url}/webhooks/v1/stripe"
        booked = [
            story.book(customer_email=f"customer-{number}@example.com") for number in range(1, BOOKINGS + 1)
        ]
        assert booked == [*range(1, BOOKINGS + 1)]
        payments = [story.payment(account, booking) for booking in booked]

        with app.ticking:  # the work is the workers' to do, and no kick's
            for _ in range(ROUNDS):
                await asyncio.gather(*(account.deliver(chance.choice(payments)) for _ in range(BOOKINGS)))
                await _kill_a_worker(stage, [accounts, letters], chance.randint(1, 8))
                holdfast_db.clock.advance(61)
        await _calm_down(stage, world, payments)

        issued = Counter(document["reference"] for document in service.documents)
        assert issued == {f"booking-{booking}": 1 for booking in booked}
        for booking in booked:
            _every_e_mail_went_out(stage, mailbox, booking)


async def _kill_a_worker(stage: Stage, world: list[Script], more: int) -> None:
    """Let a worker meet the world a few times, or have nothing left to do now, and kill it."""
    enough = sum(script.asked for script in world) + more
    with stage.worker() as worker:
        await until(
            "it has worked",
            lambda: (
                sum(script.asked for script in world) >= enough or not app.jobs("status:pending,running").jobs
            ),
        )
        worker.kill()


def _every_e_mail_went_out(stage: Stage, mailbox: Mailbox, booking: int) -> None:
    """Each at least once, and again only where an attempt ended between sending and stamping."""
    to_customer = Counter(str(one["subject"]) for one in mailbox.to(f"customer-{booking}@example.com"))
    told = {
        "send_customer_confirmation": to_customer.pop(f"Your booking {booking} is confirmed", 0),
        "send_internal_confirmation": len(mailbox.about(f"Booking {booking} is paid")),
        "send_invoice_ready": sum(to_customer.values()),
    }
    for job_type, copies in told.items():
        jobs = [job for job in stage.database.jobs(task=job_type) if job.subject == f"booking:{booking}"]
        assert 1 <= copies <= sum(job.attempt - _refusals(job) for job in jobs), (job_type, copies)


def _refusals(job: Job) -> int:
    """Count the attempts that the mail server refused: they sent nothing."""
    return sum("451" in attempt.error["message"] for attempt in app.attempts(job.id) if attempt.error)


async def _calm_down(stage: Stage, world: World, payments: list[dict[str, Any]]) -> None:
    """Let the world be well, every payment arrive, and operators retry what has failed."""
    world.invoicing.at_register = world.invoicing.at_post = world.mailbox.script = Script()
    await asyncio.gather(*(world.stripe.deliver(payment) for payment in payments))
    with app.ticking:  # no kick is at work: to whoever is, minutes in a moment would be a frozen process
        await stage.settle()
        for job in stage.database.jobs(status="FAILED"):
            if job.retried_as is None:
                await app.aretry(job.id, actor="operator", reason="the world is well again")
        await stage.settle()
