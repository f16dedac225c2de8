"""A small shop: one task of each kind. Written as a user would write it."""

import asyncio
import logging
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta

from holdfast import Context, Dispatch, Executor, Fail, Holdfast, RunRef

app = Holdfast()
log = logging.getLogger("shop")


@dataclass
class Welcome:
    """What a new customer is told."""

    customer: str
    text: str


@app.task()
async def welcome(customer: str) -> Welcome:
    """Do something instant."""
    return Welcome(customer, f"Hello {customer}!")


@app.task(timeout=timedelta(minutes=5))
async def render_report(ctx: Context, pages: int, seconds_a_page: float = 0.2) -> str:
    """Do something slow; a second attempt finds the pages that the first one rendered."""
    for page in range(1, pages + 1):
        log.info("page %s of %s", page, pages)
        if ctx.attempt == 1:
            await asyncio.sleep(seconds_a_page)
    return f"{pages} pages, attempt {ctx.attempt}"


@app.task(retries=4, backoff=[0.3, 0.6, 1.2])
async def call_bank(ctx: Context, failures: int = 1) -> int:
    """Talk to a bank that does not answer at first."""
    if ctx.retry_count < failures:
        log.warning("no answer, try %s", ctx.attempt)
        raise TimeoutError("the bank did not answer")
    return ctx.attempt


@app.task(retries=1, backoff=[0.2])
async def charge_expired_card(card: str) -> None:
    """Fail, always, and say that trying again is useless."""
    raise Fail(f"card {card} has expired")


@app.task(executor="process")
def count_primes(below: int) -> int:
    """Burn CPU in a process of its own."""
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, below))


@app.task(queue="reminders")
async def remind(text: str) -> str:
    """Run later: enqueued with run_in."""
    return text


async def reserve(what: str, seconds: float) -> str:
    """Reserve something; it takes a while."""
    await asyncio.sleep(seconds)
    return f"{what} reserved"


async def release(reservation: str) -> None:
    """Give a reservation back."""
    log.info("%s: given back", reservation)


@app.task(retries=0)
async def book_trip(ctx: Context, *, hotel_takes: float = 0.2, card_works: bool = True) -> list[str]:
    """Do several things, each once, however often the worker dies; undo them when the trip cannot be paid."""
    flight = await ctx.step("flight", reserve, "flight", 0.1, compensate=release)
    await ctx.progress(1, 2, "flight reserved")
    hotel = await ctx.step(
        "hotel", reserve, "hotel", hotel_takes if ctx.attempt == 1 else 0, compensate=release
    )
    await ctx.progress(2, 2, "hotel reserved")
    if not card_works:
        raise Fail("the card was declined")
    return [flight, hotel]


@app.task(retries=0)
async def refund(ctx: Context, amount: int) -> str:
    """Ask a person first."""
    decision = await ctx.approval(
        "large refund", question=f"Refund {amount} €?", facts={"amount": amount}, approvers=["ana", "ben"]
    )
    return f"refunded {amount}, approved by {decision.decided_by}"


class Runner(Executor):
    """Starts a program of its own for each job, as a CI system would; the program reports by signed callbacks."""

    async def start(self, dispatch: Dispatch) -> RunRef | None:
        """Start it and turn away: what becomes of it, it says itself."""
        about = {
            "DEMO_CALLBACK_URL": dispatch.callback_url,
            "DEMO_CALLBACK_SECRET": self.secrets()[0],
        }
        command = [sys.executable, "-m", "holdfast.interfaces.demo.runner", dispatch.inputs["region"]]
        subprocess.Popen(command, env={**os.environ, **about})  # noqa: ASYNC220 - it is not waited for
        return None


app.executor(Runner("runner"))


@app.task(retries=0, heartbeat_limit=30, run_limit=60)
async def install(ctx: Context, region: str) -> None:
    """Hand the work to somebody outside, and occupy no worker until they report."""
    await ctx.dispatch("runner", region=region)
