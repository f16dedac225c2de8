"""How a service behaves next: as it was told, or else by chance with a seed, so that a bad day can be had again."""

import random
import threading
from collections import deque
from collections.abc import Mapping


class Script:
    """The misbehaviour to come; without any, all goes well."""

    def __init__(self, seed: int = 0, chances: Mapping[str, float] | None = None) -> None:
        self.asked = 0  # how often it had a say
        self._told: deque[str | None] = deque()
        self._chances = dict(chances or {})
        self._random = random.Random(seed)  # noqa: S311 - to be repeatable is the point
        self._lock = threading.Lock()

    def tell(self, *kinds: str | None) -> None:
        """Say how the next requests go; None is well."""
        self._told.extend(kinds)

    def next(self) -> str | None:
        """Say how this request goes."""
        with self._lock:
            self.asked += 1
            if self._told:
                return self._told.popleft()
            at = self._random.random()
            for kind, chance in self._chances.items():
                if at < chance:
                    return kind
                at -= chance
            return None
