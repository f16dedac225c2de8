"""Whether every time of a schedule has become something: computed again, and compared with what became of them."""

from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from holdfast.domain.audit import Finding
from holdfast.domain.errors import BadInput
from holdfast.domain.schedule import Timing

MOST_NAMED = 1000  # times that are left out, of one stretch


class Ran(NamedTuple):
    """What became of one time, or of several that were missed together, from the first to the last."""

    slot: datetime
    last_slot: datetime


class Timetable(NamedTuple):
    """A schedule, and from where to where all of its times are decided by what it fires by now."""

    name: str
    cron: str | None
    every: timedelta | None
    tz: str
    anchor: datetime
    counted_from: datetime
    settled_to: datetime
    next_at: datetime | None

    @property
    def timing(self) -> Timing | None:
        """When it fires; None where this process cannot compute it, and has nothing to compare."""
        try:
            return Timing(cron=self.cron, every=self.every, tz=self.tz)
        except BadInput:
            return None

    def look(self, after: datetime, until: datetime, runs: Sequence[Ran]) -> Iterator[Finding]:
        """Compare the times between two moments with what became of them."""
        timing = self.timing
        if timing is None:
            return
        left_out = list(islice(_left_out(timing, self.anchor, after, until, runs), MOST_NAMED))
        if left_out:
            many = f"{len(left_out)} times" if len(left_out) < MOST_NAMED else f"{MOST_NAMED} times or more"
            told = many if len(left_out) > 1 else "1 time"
            yield Finding(
                "F04",
                None,
                f"schedule {self.name} is decided up to {self.settled_to}, and of {told} from {left_out[0]} to {left_out[-1]} "
                "nothing says that it fired or was passed over",
            )

    def look_ahead(self) -> Iterator[Finding]:
        """Look whether its next time is the one that it waits for: a later one would let it pass, and nobody would call it late."""
        timing = self.timing
        if timing is None or self.next_at is None:
            return
        following = next(timing.times(self.settled_to, self.anchor), None)
        if following is not None and following < self.next_at:
            yield Finding(
                "F04",
                None,
                f"schedule {self.name} waits for {self.next_at}, and {following} is a time of it that comes first",
            )


def _left_out(
    timing: Timing, anchor: datetime, after: datetime, until: datetime, runs: Sequence[Ran]
) -> Iterator[datetime]:
    known = deque(runs)
    times = timing.times(after, anchor)
    while (at := next(times, None)) is not None and at <= until:
        while known and known[0].last_slot < at:
            known.popleft()
        if not known or at < known[0].slot:
            yield at
        elif at < known[0].last_slot:  # missed together: thousands may be, and all of them are in there
            times = timing.times(known[0].last_slot, anchor)
