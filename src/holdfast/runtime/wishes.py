"""What is wished of a worker, by a signal or from afar: to claim no more, to claim again, to end."""

import asyncio
from collections.abc import Callable
from typing import Any

from holdfast.domain.health import Wish
from holdfast.runtime.logs import events


class Wishes:
    """Whether a worker may claim, and what it does when somebody wishes something of it."""

    def __init__(
        self, stopping: asyncio.Event, stop: Callable[[], None], about: Callable[[], dict[str, Any]]
    ) -> None:
        self._stopping = stopping
        self._stop = stop
        self._about = about
        self._may_claim = asyncio.Event()
        self._may_claim.set()
        self._wish: Wish | None = None

    async def may_claim(self) -> None:
        """Wait until nobody wishes the worker to be quiet."""
        await self._may_claim.wait()

    def be_quiet(self) -> None:
        """Claim no more, finish what runs, and stay: the first half of a deployment."""
        events.info("worker:quiet", extra=self._about())
        self._may_claim.clear()

    def claim_again(self) -> None:
        """Be as before."""
        if not self._may_claim.is_set():
            events.info("worker:claims_again", extra=self._about())
        self._may_claim.set()

    def forget(self) -> None:
        """Be as if nobody had wished anything: of who is born anew nobody has, and its row says so."""
        if self._wish is not None:
            self.obey(None)

    def obey(self, wish: Wish | None) -> None:
        """Do what was wished from afar, now that it has changed."""
        self._wish = wish
        match wish:
            case "quiet":
                self.be_quiet()
            case "stop":
                if not self._stopping.is_set():  # asked twice, it would end at once
                    self._stop()
            case None:
                self.claim_again()
