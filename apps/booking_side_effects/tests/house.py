"""The product as its tests use it: with a whole outside world, and time that moves."""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps._stage import until
from apps._world.invoicing import Invoicing
from apps._world.mail import Mailbox
from apps._world.stripe import Stripe
from apps.booking_side_effects import bookings, story, tasks
from apps.booking_side_effects.app import app
from apps.booking_side_effects.bookings import Booking
from holdfast import Job
from holdfast.testing import ScratchDatabase, adrain


@dataclass(frozen=True, slots=True)
class House:
    """What customers, operators and the outside see of the product."""

    database: ScratchDatabase
    stripe: Stripe
    invoicing: Invoicing
    mailbox: Mailbox

    async def paid(self, **facts: Any) -> int:
        """Book and pay; nobody has worked on it yet."""
        booking_id = story.book(**facts)
        await self.pay(booking_id)
        return booking_id

    async def pay(self, booking_id: int) -> None:
        """Pay, as the webhook's handler does it."""
        async with app.atransaction() as conn:
            await tasks.paid(conn, booking_id, f"pi_{booking_id}")

    async def work(self) -> None:
        """Let a worker do what can be done now."""
        await adrain(app, projector=False)

    async def work_for_minutes(self, minutes: int) -> None:
        """Let a worker do what can be done now, and after each of these minutes."""
        await self.work()
        for _ in range(minutes):
            self.advance(60)
            await self.work()

    async def booking(self, booking_id: int) -> Booking:
        """Look at a booking."""
        return await bookings.load(booking_id)

    def job(self, job_type: str) -> Job:
        """Look at the newest job of a type."""
        return self.database.jobs(task=job_type)[-1]

    def statuses(self) -> dict[str, str]:
        """Give the status of each type's newest job."""
        return {job.task: str(job.status) for job in self.database.jobs()}

    async def engine(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Look at the engine's own rows, as psql would."""
        async with app.atransaction() as conn:
            await conn.execute("select holdfast.enter('*')")
            return list(await (await conn.execute(query, values)).fetchall())

    def advance(self, seconds: float) -> None:
        """Move time."""
        self.database.clock.advance(seconds)

    def start_worker(self) -> "subprocess.Popen[bytes]":
        """Start a worker in a process of its own, to be killed."""
        holdfast = str(Path(sys.executable).with_name("holdfast"))
        command = [holdfast, "-q", "-a", f"{tasks.__name__}:app", "worker", "--log-level", "error"]
        return subprocess.Popen(command, env={**os.environ, "HOLDFAST_DATABASE_URL": self.database.url})

    async def until(self, holds: Callable[[], bool | Awaitable[bool]]) -> None:
        """Wait for what another thread or process does."""
        await until("another has done it", holds)
