"""Workers that are killed at random, in a world that misbehaves: one invoice a booking, and no e-mail missing."""

import asyncio
import os
import random
from collections import Counter
from typing import Any

import pytest

from apps._stage import Stage, staged
from apps._world import invoicing, mail, stripe
from apps._world.script import Script
from apps.booking_side_effects import story
from apps.booking_side_effects.app import app
from apps.booking_side_effects.story import World
from holdfast.testing import ScratchDatabase

_UNFINISHED = """
select count(*)
  from booking_side_effects.booking
 where confirmation_email_sent_at is null or internal_email_sent_at is null or invoice_email_sent_at is null
"""
SEEDS = range(int(os.environ.get("CHAOS_TIMES", "2")))
BOOKINGS = 4
ROUNDS = 3


@pytest.mark.parametrize("seed", SEEDS)
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
        booked = [story.book(customer_email=f"customer-{number}@example.com") for number in range(BOOKINGS)]
        payments = [story.payment(account, booking) for booking in booked]

        for _ in range(ROUNDS):
            with stage.worker() as worker:
                await asyncio.gather(*(account.deliver(chance.choice(payments)) for _ in range(BOOKINGS)))
                await asyncio.sleep(chance.uniform(0, 1.5))
                worker.kill()
            with app.ticking:  # as below: the kick may be at work
                holdfast_db.clock.advance(61)
        await _calm_down(stage, world, payments)

        issued = Counter(document["reference"] for document in service.documents)
        assert issued == {f"booking-{booking}": 1 for booking in booked}
        for number in range(BOOKINGS):
            subjects = {str(message["subject"]) for message in mailbox.to(f"customer-{number}@example.com")}
            assert len(subjects) == 2, subjects
        assert len({str(message["subject"]) for message in mailbox.to(story.OPERATIONS)}) == BOOKINGS


async def _calm_down(stage: Stage, world: World, payments: list[dict[str, Any]]) -> None:
    """Let the world be well, every payment arrive, and operators retry what has failed, until all is done."""
    world.invoicing.script, world.mailbox.script = Script(), Script()
    with stage.worker():
        await asyncio.gather(*(world.stripe.deliver(payment) for payment in payments))
        await stage.until("all is done", lambda: _is_done(stage))


async def _is_done(stage: Stage) -> bool:
    open_jobs = [job for job in stage.database.jobs() if job.finished_at is None]
    # Only while nothing runs and nothing can start: to whoever is at work, a minute in a moment would be a frozen process.
    if open_jobs and all(job.due_at is not None and job.due_at > job.now for job in open_jobs):
        with app.ticking:
            stage.database.clock.advance(61)
    for job in stage.database.jobs(status="FAILED"):
        if job.retried_as is None:
            await app.aretry(job.id, actor="operator", reason="the world is well again")
    async with app.atransaction() as conn:
        (unfinished,) = await (await conn.execute(_UNFINISHED)).fetchone()
    return bool(unfinished == 0)
