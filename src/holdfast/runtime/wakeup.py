"""Waking: notices from the database become events for lanes; losing them costs time, never a job."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

from holdfast.domain.errors import DatabaseUnavailable, HoldfastError
from holdfast.runtime.logs import events
from holdfast.runtime.outage import Outage
from holdfast.store.connection import Database
from holdfast.store.listen import Listener


class Wakeup:
    """Listens until cancelled; after every reconnect everybody looks again, because notices were missed meanwhile."""

    def __init__(
        self,
        database: Database,
        on_queue: Callable[[str | None], None],
        on_cancel: Callable[[UUID], None],
        on_dispatch: Callable[[], None],
    ) -> None:
        self._database = database
        self._on_queue = on_queue
        self._on_cancel = on_cancel
        self._on_dispatch = on_dispatch
        self.is_listening = asyncio.Event()

    async def run(self) -> None:
        """Listen, and listen again."""
        outage = Outage("listen")
        while True:
            listener = Listener(self._database)
            try:
                await listener.open()
                outage.ended()
                self.is_listening.set()
                self._on_queue(None)
                self._on_dispatch()
                await self._hear(listener)
            except DatabaseUnavailable as error:
                self.is_listening.clear()
                await asyncio.sleep(outage.failed(error))
            except HoldfastError as error:
                self.is_listening.clear()
                events.error("listen:refused", extra={"error": str(error)})
                await asyncio.sleep(outage.failed(error))
            finally:
                await listener.close()

    async def _hear(self, listener: Listener) -> None:
        async for notice in listener.notices():
            if notice.channel == "holdfast_wake":
                self._on_queue(notice.said)
            elif notice.channel == "holdfast_dispatch":
                self._on_dispatch()
            else:
                with suppress(ValueError):  # anybody may notify anything
                    self._on_cancel(UUID(notice.said))
