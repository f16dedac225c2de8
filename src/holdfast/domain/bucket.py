"""A bucket of tokens: so many a second, and a burst of them. Pure: the caller brings the time."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Bucket:
    """Holds `burst` tokens and gets `per_second` new ones; for one process."""

    per_second: float
    burst: float
    _tokens: float = field(init=False)
    _at: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._tokens = self.burst

    def take(self, now: float) -> float:
        """Take a token; 0 when there was one, else the seconds until there is."""
        self._tokens = min(self.burst, self._tokens + max(now - self._at, 0.0) * self.per_second)
        self._at = now
        if self._tokens >= 1:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) / self.per_second
