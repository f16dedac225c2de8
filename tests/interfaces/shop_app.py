import asyncio
import logging
import time
from datetime import timedelta

from holdfast import Context, Fail, Holdfast

app = Holdfast()
empty = Holdfast()
not_an_app = "a text"


@app.task(queue="billing", retries=4, backoff=[60])
async def charge(amount: int) -> dict[str, int]:
    logging.getLogger("shop").info("charging %s", amount)
    if amount > 100:
        raise TimeoutError("the bank did not answer")
    return {"charged": amount}


@app.task(retries=0)
async def refuse(why: str = "no") -> None:
    raise Fail(why)


@app.task(timeout=timedelta(minutes=5))
async def slow(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "slept"


@app.task()
def hang(seconds: float) -> None:
    time.sleep(seconds)  # a thread that nobody can stop


@app.task(retries=0)
async def refund(ctx: Context, amount: int, quorum: int = 1) -> str:
    decision = await ctx.approval(
        "large",
        question=f"Refund {amount} €?\x1b[31m",
        facts={"amount": amount, "invoice": "2030-17", "\x1b]0;owned\x07": "\r\nfake"},
        approvers=["ann", "ben"],
        quorum=quorum,
        expires_in=timedelta(hours=2),
    )
    return decision.decided_by
