"""How often a test struck before it saw what is wrong: tests that race or throw dice say so, every other test strikes once."""

from threading import Lock

_lock = Lock()
_made = 0
_over = False


def begin() -> None:
    """Count from nothing: another test begins."""
    global _made, _over
    _made, _over = 0, False


def strike(number: int = 1) -> None:
    """Count one more try, or several, unless what is wrong has shown already."""
    global _made
    with _lock:
        _made += 0 if _over else number


def saw_it(after: int | None = None) -> None:
    """Stop counting: what is wrong has shown, after all tries so far or after so many."""
    global _made, _over
    with _lock:
        if not _over:
            _made, _over = _made if after is None else after, True


def made() -> int:
    """Say how many tries it took."""
    return max(_made, 1)
