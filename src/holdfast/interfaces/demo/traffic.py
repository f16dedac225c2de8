"""Steady sample traffic, and a line a second that says what comes of it."""

import asyncio
import random
import sys
from collections.abc import Callable

from holdfast.domain.health import capped
from holdfast.domain.states import Status
from holdfast.interfaces.demo import app as shop
from holdfast.store.overview import completed_within, status_counts

PAUSE = 0.25
RATE_WINDOW = 5.0
_dice = random.Random()  # noqa: S311 - sample data
_NAMES = ("ana", "ben", "chen", "dora", "emil")
_SHOWN = (Status.PENDING, Status.RUNNING, Status.RETRY, Status.COMPLETED, Status.FAILED, Status.CANCELLED)


async def send_traffic() -> None:
    """Enqueue a little of everything until cancelled."""
    while True:
        for send in _dice.choices(_KINDS, _WEIGHTS, k=_dice.randint(1, 3)):
            await send()
        await asyncio.sleep(PAUSE)


async def _welcome() -> None:
    await shop.welcome.using(label="welcome mail", requested_by="demo").aenqueue(_dice.choice(_NAMES))


async def _report() -> None:
    await shop.render_report.using(label="monthly report").aenqueue(_dice.randint(1, 8))


async def _bank() -> None:
    await shop.call_bank.using(tenant="acme").aenqueue(_dice.randint(0, 2))


async def _card() -> None:
    await shop.charge_expired_card.using(tenant="acme", tags=["card"]).aenqueue("4711")


async def _primes() -> None:
    await shop.count_primes.aenqueue(20_000)


async def _later() -> None:
    await shop.remind.using(run_in=5).aenqueue("stand up")


_KINDS = (_welcome, _report, _bank, _card, _primes, _later)
_WEIGHTS = (10, 3, 3, 1, 1, 2)


async def tell_summary(write: Callable[[str], None]) -> None:
    """Write a line a second: counts by status, and the rate; over the last line where a person watches."""
    begin, end = ("\r\x1b[K", "") if sys.stderr.isatty() else ("", "\n")
    while True:
        counts = await shop.app.link.aperform(status_counts())
        done = await shop.app.link.aperform(completed_within(RATE_WINDOW))
        told = "  ".join(f"{status} {capped(counts[status])}" for status in _SHOWN)
        write(f"{begin}{told}  {done / RATE_WINDOW:.1f}/s{end}")
        await asyncio.sleep(1.0)
