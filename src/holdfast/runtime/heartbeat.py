"""The heartbeat: a thread and a connection of its own, so that a blocked event loop does not look like a dead worker."""

import threading
from collections.abc import Callable, Sequence

import holdfast.store.claim as claims
from holdfast.domain.errors import DatabaseUnavailable
from holdfast.domain.health import Wish
from holdfast.runtime.identity import Identity
from holdfast.runtime.logs import events
from holdfast.runtime.outage import Outage
from holdfast.store.connection import Database, Session


class Heartbeat:
    """Beats until stopped; tells what it learns through callbacks, which it calls in its own thread."""

    BEATS_PER_LEASE = 6

    def __init__(
        self,
        database: Database,
        identity: Identity,
        running: Callable[[], Sequence[claims.Fence]],
        on_lost: Callable[[list[claims.Fence]], None],
        on_death: Callable[[], None],
        on_wish: Callable[[Wish | None], None] | None = None,  # hosts that claim for themselves obey nobody
    ) -> None:
        self._identity = identity
        self._running = running
        self._on_lost = on_lost
        self._on_death = on_death
        self._on_wish = on_wish
        self._wish: Wish | None = None
        self._interval = identity.lease / self.BEATS_PER_LEASE
        # A beat that takes as long as the lease is worth nothing: cut it and try on a new connection.
        self._session = Session(database, "holdfast heartbeat", deadline=max(identity.lease / 3, 1.0))
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._beat_until_stopped, name="holdfast-heartbeat", daemon=True
        )

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; returns when the thread is gone or its last beat hangs."""
        self._stopped.set()
        self._thread.join(timeout=2.0)

    def _beat_until_stopped(self) -> None:
        outage = Outage("heartbeat")
        pause = self._interval
        while not self._stopped.wait(pause):
            try:
                beat = self._session.perform(claims.beat(self._identity.id, self._running()))
                wish = self._session.perform(claims.wish_of(self._identity.id)) if self._on_wish else None
            except DatabaseUnavailable as error:
                pause = min(outage.failed(error), self._interval)
                continue
            except Exception as error:  # noqa: BLE001 - a worker without a heartbeat would be declared dead
                events.error("heartbeat:refused", extra={"error": str(error)})
                pause = self._interval
                continue
            outage.ended()
            pause = self._interval
            if not beat.alive:
                self._on_death()
                break
            if self._on_wish and wish != self._wish:
                self._wish = wish
                self._on_wish(wish)
            if beat.lost:
                self._on_lost(beat.lost)
        self._session.close()
