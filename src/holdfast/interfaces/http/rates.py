"""How many requests a caller may make: a bucket each, in this process."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

MOST_BUCKETS = 10_000


class Rates:
    """Buckets of requests, which fill at a rate and hold two seconds of it; a process counts for itself."""

    def __init__(self, a_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._a_second = a_second
        self._most = max(a_second * 2, 1.0)
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, caller: Hashable) -> int | None:
        """Take a request; answers the seconds to wait when there is none."""
        if self._a_second <= 0:
            return None
        now = self._clock()
        had, at = self._buckets.pop(caller, (self._most, now))
        has = min(self._most, had + (now - at) * self._a_second)
        wait = None if has >= 1 else math.ceil((1 - has) / self._a_second)
        self._buckets[caller] = (has if has < 1 else has - 1, now)
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)  # who has been away the longest has a full one anyway
        return wait
