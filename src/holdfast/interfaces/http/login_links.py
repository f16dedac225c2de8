"""Links that let a person in once: whoever runs the server makes them, in its own process, and hands them to one person.

The secret stands behind the # of the link, which browsers keep to themselves: it comes only in the body of a POST, once.
Nothing of it is stored; a link ends with its process.
"""

import hashlib
import re
import secrets
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LASTS = timedelta(minutes=10)
PATH = "/enter"
_PREFIX = "hfl_"
_SECRET = re.compile(rf"{_PREFIX}[A-Za-z0-9_-]{{43}}")


class LoginLinks:
    """The links that were made and not used yet."""

    def __init__(self, now: "Callable[[], float]" = time.monotonic) -> None:
        self._now = now
        self._open: dict[bytes, tuple[str, float]] = {}  # by digest: for whom, and until when
        self._lock = threading.Lock()  # they are made in any thread, and used in the server's

    def make(self, person: str, lasts: timedelta = LASTS) -> str:
        """Make a link for a person; gives its path, to be written behind the server's address."""
        secret = _PREFIX + secrets.token_urlsafe(32)
        with self._lock:
            self._forget_old()
            self._open[_digest(secret)] = (person, self._now() + lasts.total_seconds())
        return f"{PATH}#{secret}"

    def take(self, text: str) -> str | None:
        """Use a secret up, pasted alone or with the link before it; gives whose it was, None when it counts no more."""
        secret = text.strip().rpartition("#")[2]
        if _SECRET.fullmatch(secret) is None:
            return None
        with self._lock:
            self._forget_old()
            person, _ = self._open.pop(_digest(secret), (None, 0.0))
        return person

    def _forget_old(self) -> None:
        now = self._now()
        self._open = {digest: (who, until) for digest, (who, until) in self._open.items() if now < until}


def _digest(secret: str) -> bytes:
    # Looked up by digest: how long a wrong one takes says nothing about a right one.
    return hashlib.sha256(secret.encode()).digest()
