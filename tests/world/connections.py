"""Which addresses this process connects to, as Python itself sees it: no code of ours can leave one out."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_watching: list[list[tuple[str, int]]] = []
_is_hooked = False


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        for reached in _watching:
            reached.append((str(arguments[1][0]), int(arguments[1][1])))


@contextmanager
def connected_to() -> Iterator[list[tuple[str, int]]]:
    """Give the addresses and ports that are connected to while the block lasts."""
    global _is_hooked  # noqa: PLW0603 - a hook is for ever, so there is one
    if not _is_hooked:
        sys.addaudithook(_heard)
        _is_hooked = True
    reached: list[tuple[str, int]] = []
    _watching.append(reached)
    try:
        yield reached
    finally:
        _watching.remove(reached)
