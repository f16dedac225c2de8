"""The products' run: how long a customer waits for an e-mail, for a workspace, and for a job's start behind a neighbour's."""

import argparse
import asyncio
import datetime as dt
import os
import random
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import httpx
from benchmarks.products import report
from benchmarks.server import running_server

from apps._stage import Stage, staged, until
from apps.booking_side_effects import story as booking
from apps.org_jobs import story as org_jobs
from apps.org_jobs.tasks import app as jobs
from apps.org_jobs.tasks import forget_contacts
from apps.workspace_access import story as workspace
from apps.workspace_access.web import PREFIX
from benchmarks import run as runs
from holdfast import Job
from holdfast.testing import TestServer

WARM_UP = 5
LONGEST_PAUSE = 0.3  # before each: a customer comes when nothing is going on
EMAILS = 3
LOUD = 100_000

Sample = dict[str, float]
Use = Callable[[Stage, Any, int], Awaitable[Sample]]


def milliseconds_since(began: float) -> float:
    """Say how long ago that was."""
    return (time.monotonic() - began) * 1000


async def pay(stage: Stage, world: booking.World, number: int) -> Sample:
    """Pay for a booking, and wait for the mail."""
    world.stripe.endpoint = f"{stage.url}/webhooks/v1/stripe"
    customer = f"customer-{number}@example.com"
    world.mailbox.messages.clear()  # to look through all mail there ever was would be what is measured
    event = booking.payment(world.stripe, booking.book(customer_email=customer))
    await asyncio.sleep(random.uniform(0, LONGEST_PAUSE))
    began = time.monotonic()
    await world.stripe.send(event)
    await until("the booking is confirmed by mail", lambda: world.mailbox.to(customer))
    confirmed = milliseconds_since(began)
    await until("all mail is there", lambda: len(world.mailbox.messages) >= EMAILS)
    return {"booking_confirmation": confirmed, "booking_all": milliseconds_since(began)}


async def approve(stage: Stage, _world: workspace.World, _number: int) -> Sample:
    """Let both sides approve a match, and wait for the workspace."""
    async with httpx.AsyncClient(base_url=stage.url) as http:
        given = await workspace.matched()
        await decide(http, given, "advisor")
        await asyncio.sleep(random.uniform(0, LONGEST_PAUSE))
        began = time.monotonic()
        await decide(http, given, "client")
        await until("the workspace is ready", lambda: is_ready(http, given))
        return {"workspace_ready": milliseconds_since(began)}


async def decide(http: httpx.AsyncClient, given: workspace.Given, side: str) -> None:
    """Approve as the advisor or as the client."""
    who = given.advisor if side == "advisor" else given.owner
    path = f"{PREFIX}/matches/{given.match}/{side}-decision"
    answer = await http.post(path, json={"decision": "approved"}, headers={"x-user-id": str(who)})
    answer.raise_for_status()


async def is_ready(http: httpx.AsyncClient, given: workspace.Given) -> bool:
    """Look as the dashboard does."""
    shown = (await http.get(f"{given.path}/active-match")).raise_for_status().json()
    return bool(shown["data"]["workspaceStatus"] == "ready")


async def queue_behind(_stage: Stage, _world: org_jobs.World, number: int) -> Sample:
    """Queue one organisation's job while another's wait, and look when it was started, by the database's clock."""
    if number == 0:
        loud = forget_contacts.using(tenant="loud")
        await jobs.aenqueue_many([loud.job(1 + days) for days in range(LOUD)])
    handle = await forget_contacts.using(tenant="quiet").aenqueue(number + 1)
    job = await until("the job has started", lambda: started(handle.id))
    if not jobs.jobs("status:pending", tenant="loud", limit=1).jobs:
        raise RuntimeError("nobody was in front of it any more: measure fewer times")
    return {"start_behind_100000": (job.started_at - job.created_at).total_seconds() * 1000}


def started(job_id: UUID) -> Job | None:
    """Look whether a job has started."""
    job = jobs.job(job_id)
    return job if job is not None and job.started_at else None


def measure(server: TestServer, name: str, story: Any, use: Use, times: int) -> list[Sample]:
    """Put a product on, with one worker in a process of its own, and use it one customer after the other."""

    async def take(stage: Stage, world: Any) -> list[Sample]:
        return [await use(stage, world, number) for number in range(WARM_UP + times)][WARM_UP:]

    with (
        server.database() as database,
        story.world() as world,
        staged(name, database, world.environment) as stage,
        stage.worker(),
    ):
        return asyncio.run(take(stage, world))


def main() -> None:
    """Measure, write, print."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(prog="scripts/bench --apps", description=__doc__)
    parser.add_argument("--times", type=int, default=100, help="how many customers of each (default 100)")
    times = parser.parse_args().times
    with running_server() as durable:
        server = TestServer(durable.url("postgres"))
        taken = [
            *measure(server, "booking_side_effects", booking, pay, times),
            *measure(server, "workspace_access", workspace, approve, times),
            *measure(server, "org_jobs", org_jobs, queue_behind, times),
        ]
        server.close()
        results = {
            "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), "commit": runs.commit(), "times": times, "warm_up": WARM_UP,
            "machine": runs.machine(durable.folder), "niceness": os.nice(0), "postgresql": durable.settings(),
            "samples": {goal.key: [round(one[goal.key], 1) for one in taken if goal.key in one] for goal in report.GOALS},
        }  # fmt: skip
    is_whole = times >= parser.get_default("times")
    runs.publish("products", results, report.table(results), is_whole=is_whole)


if __name__ == "__main__":
    main()
