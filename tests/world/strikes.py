"""How often a test struck before it saw what is wrong: tests that race or throw dice say so, every other test strikes once."""

from threading import Lock


class _Count:
    def __init__(self) -> None:
        self.lock = Lock()
        self.made = 0
        self.is_over = False


_count = _Count()


def begin() -> None:
    """Count from nothing: another test begins."""
    with _count.lock:
        _count.made, _count.is_over = 0, False


def strike(number: int = 1) -> None:
    """Count one more try, or several, unless what is wrong has shown already."""
    with _count.lock:
        _count.made += 0 if _count.is_over else number


def saw_it(after: int | None = None) -> None:
    """Stop counting: what is wrong has shown, after all tries so far or after so many."""
    with _count.lock:
        if not _count.is_over:
            _count.made, _count.is_over = _count.made if after is None else after, True


def made() -> int:
    """Say how many tries it took."""
    return max(_count.made, 1)
