"""The log saver: what long attempts log is in the database while they run, so that it can be followed and outlives their worker."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from holdfast.domain.errors import DatabaseUnavailable, HoldfastError
from holdfast.runtime.attempt import Attempt
from holdfast.runtime.link import Link
from holdfast.runtime.logs import events
from holdfast.runtime.outage import Outage
from holdfast.store.logs import NewLines, save_logs

EVERY = 1.0
# What one statement brings at most, roughly; the rest comes with the next.
MOST_CHARACTERS = 1_000_000


class LogSaver:
    """Saves new lines of all running attempts in one statement; while there are none, it asks nothing."""

    def __init__(
        self, link: Link, worker_id: Callable[[], UUID], running: Callable[[], Iterable[Attempt]]
    ) -> None:
        self._link = link
        self._worker_id = worker_id
        self._running = running
        self._kept: dict[Attempt, int] = {}
        self._outage = Outage("logs")

    async def run(self) -> None:
        """Save now and then, until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            await self.save()

    async def save(self) -> None:
        """Save what is new. What cannot be saved now comes with the next time, or with the attempt's end."""
        news = self._news()
        if not news:
            return
        try:
            kept = await self._link.aperform_once(save_logs(self._worker_id(), [*news.values()]))
        except DatabaseUnavailable as error:
            await asyncio.sleep(self._outage.failed(error))
        except HoldfastError as error:
            events.warning("logs:refused", extra={"error": str(error)})
            self._kept |= {attempt: each.first + len(each.lines) for attempt, each in news.items()}
        else:
            self._outage.ended()
            self._kept |= {attempt: kept[attempt.job.id, attempt.job.claim_id] for attempt in news}

    def _news(self) -> dict[Attempt, NewLines]:
        before = time.monotonic() - EVERY
        # Short attempts bring their lines with their end.
        running = [each for each in self._running() if each.started < before]
        self._kept = {attempt: self._kept[attempt] for attempt in running if attempt in self._kept}
        news: dict[Attempt, NewLines] = {}
        left = MOST_CHARACTERS
        for attempt in running:
            first = self._kept.get(attempt, 0)
            lines = _within(left, (attempt.context.log_lines or [])[first:])
            if lines:
                news[attempt] = NewLines(attempt.job, first, lines)
                left -= sum(map(_length, lines))
        return news


def _within(characters: int, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    taken = 0
    for number, line in enumerate(lines):
        taken += _length(line)
        if taken > characters:
            return lines[:number]
    return lines


def _length(line: dict[str, Any]) -> int:
    return len(line["message"])
