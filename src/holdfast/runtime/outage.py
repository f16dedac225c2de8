"""Patience with a database that is away: pauses that grow, and a loud word now and then."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from holdfast.domain.errors import DatabaseUnavailable
from holdfast.runtime import chance
from holdfast.runtime.logs import events
from holdfast.store.call import Call
from holdfast.store.connection import AsyncSession

T = TypeVar("T")

LONGEST_PAUSE = 5.0
SAY_EVERY = 30.0


class Outage:
    """Counts failures in a row for one connection; a success ends it."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._failures = 0
        self._since = 0.0
        self._said_at = 0.0

    def failed(self, error: Exception) -> float:
        """Note a failure; answers how long to pause."""
        now = time.monotonic()
        if self._failures == 0:
            self._since = now
        self._failures += 1
        if self._failures == 1 or now - self._said_at > SAY_EVERY:
            self._said_at = now
            events.warning(
                "database:unavailable",
                extra={"what": self._what, "error": str(error), "for_seconds": round(now - self._since, 1)},
            )
        return min(0.05 * 2.0 ** min(self._failures, 10), LONGEST_PAUSE) * chance.between(0.5, 1.0)

    def ended(self) -> bool:
        """Note a success; answers whether it came after failures."""
        if not self._failures:
            return False
        events.warning(
            "database:back",
            extra={"what": self._what, "after_seconds": round(time.monotonic() - self._since, 1)},
        )
        self._failures = 0
        return True


async def insist(
    session: AsyncSession,
    make: Callable[[], Call[T]],
    what: str,
    on_failure: Callable[[], None] = lambda: None,
) -> T:
    """Perform a call that may be repeated, however long the database is away."""
    outage = Outage(what)
    while True:
        try:
            answer = await session.perform(make())
        except DatabaseUnavailable as error:
            on_failure()
            await asyncio.sleep(outage.failed(error))
        else:
            outage.ended()
            return answer
