"""Who a worker is: an identity that is new with every start, and after every death."""

import os
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import version
from uuid import UUID, uuid4

from holdfast.domain.errors import Configuration
from holdfast.runtime.alerts import OWN_QUEUE
from holdfast.runtime.child import inside_child
from holdfast.runtime.registry import AnyTask
from holdfast.store.call import Call
from holdfast.store.claim import register_worker

OWN_SLOTS = 5  # messages are few


@dataclass(frozen=True, slots=True)
class Identity:
    """A worker's id, and the name that people read."""

    queues: dict[str, int]
    tasks: tuple[str, ...]
    lease: float
    id: UUID = field(default_factory=uuid4)

    @property
    def name(self) -> str:
        """Process and the beginning of the id, as logs and history show it."""
        return f"worker-{os.getpid()}-{self.id.hex[:8]}"

    def registration(self) -> Call[None]:
        """Say hello to the database."""
        return register_worker(
            self.id,
            self.name,
            socket.gethostname(),
            os.getpid(),
            _release(),
            self.queues,
            self.tasks,
            timedelta(seconds=self.lease),
            datetime.now(UTC),
        )

    def reborn(self) -> "Identity":
        """Become a new worker, after the database has declared this one dead."""
        return Identity(self.queues, self.tasks, self.lease)


@cache
def _release() -> str:
    # Once: it is read from the files of the package, which may be those of another release before this process ends.
    return version("holdfast")


def slots_of(
    tasks: Iterable[AnyTask], queues: dict[str, int] | None, concurrency: int, also: Iterable[str] = ()
) -> dict[str, int]:
    """Give every queue its slots; unless told otherwise, all queues of the app and its tasks, each with all there are."""
    if queues is None:
        queues = dict.fromkeys(sorted({*also, *(task.settings.queue for task in tasks)}), concurrency)
        if OWN_QUEUE in queues:
            queues[OWN_QUEUE] = min(OWN_SLOTS, concurrency)
    if not queues or any(slots < 1 for slots in queues.values()):
        raise Configuration(f"queues={queues} must give every queue at least one slot")
    return queues


def refuse_unfit(tasks: Mapping[str, AnyTask]) -> None:
    """Refuse to be a worker where none must or can be."""
    if inside_child():
        raise Configuration(
            "this process runs one job of a worker and must not start another: "
            'put app.work() under if __name__ == "__main__"'
        )
    if not tasks:
        raise Configuration(
            "the app has no tasks: import the modules that declare them before the worker starts"
        )
