"""Patience with a database that is away: pauses that grow, and a loud word now and then."""

import time

from holdfast.runtime import chance
from holdfast.runtime.logs import events

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
