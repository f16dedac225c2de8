"""How many requests a caller may make: a bucket each, in this process."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

MOST_BUCKETS = 10_000
# Nobody is made to wait longer than this for what was done at once, nor than one request takes to come.
LONGEST_WAIT = 60


class KnownSecrets:
    """Secrets that were right when they last came, by their digests, and whose they were; a bounded number of them."""

    def __init__(self) -> None:
        self._digests: OrderedDict[bytes, Hashable] = OrderedDict()

    def whose(self, digest: bytes) -> Hashable:
        """Say whose it was; None when it is not known."""
        return self._digests.get(digest)

    def add(self, digest: bytes, caller: Hashable) -> None:
        """Remember one."""
        self._digests[digest] = caller
        self._digests.move_to_end(digest)
        if len(self._digests) > MOST_BUCKETS:
            self._digests.popitem(last=False)

    def forget(self, digest: bytes) -> None:
        """Forget one: it is not right any more."""
        self._digests.pop(digest, None)


class Rates:
    """Buckets of requests, which fill at a rate and hold two seconds of it; a process counts for itself."""

    def __init__(self, a_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._a_second = a_second
        self._most = max(a_second * 2, 1.0)
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, caller: Hashable) -> int | None:
        """Take a request; answers the seconds to wait when there is none."""
        wait = self.wait(caller)
        if wait is None:
            self.charge(caller)
        return wait

    def wait(self, caller: Hashable) -> int | None:
        """Say how many seconds a caller has to wait; None when there is a request for them now."""
        if self._a_second <= 0:
            return None
        has = self._has(caller)
        return None if has >= 1 else math.ceil((1 - has) / self._a_second)

    def charge(self, caller: Hashable) -> None:
        """Take a request, whether or not there is one: what was being done at once is owed."""
        if self._a_second <= 0:
            return
        has = max(self._has(caller) - 1, min(1 - LONGEST_WAIT * self._a_second, 0.0))
        self._buckets[caller] = (has, self._clock())
        self._buckets.move_to_end(caller)
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)  # who has been away the longest has a full one anyway

    def _has(self, caller: Hashable) -> float:
        now = self._clock()
        had, at = self._buckets.get(caller, (self._most, now))
        return min(self._most, had + (now - at) * self._a_second)
