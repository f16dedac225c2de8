"""What waits in a queue, for a product that shows or judges its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Line:
    """The jobs of a queue that wait to be claimed, or for their time to be; above 10,000 of either they are not counted."""

    queue: str
    tasks: Mapping[str, int]  # how many there are of each
    oldest: datetime | None  # since when the first of them could have started, or when it can
    now: datetime

    @property
    def waiting(self) -> int:
        """How many there are."""
        return sum(self.tasks.values())

    @property
    def oldest_wait(self) -> timedelta:
        """How long the first has waited; no time when none is due."""
        return max(self.now - (self.oldest or self.now), timedelta())
