"""Time that the machine's host gave to others while something was measured here."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STEAL = 7


class Stolen:
    """The share of the processors' time that was taken away, once the block has ended."""

    share = 0.0


def _ticks() -> tuple[int, int]:
    ticks = [int(field) for field in Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:9]]
    return ticks[_STEAL], sum(ticks)


@contextmanager
def watched() -> Iterator[Stolen]:
    """Watch what is taken away during the block."""
    found, (stolen, total) = Stolen(), _ticks()
    yield found
    stolen_now, total_now = _ticks()
    found.share = (stolen_now - stolen) / max(total_now - total, 1)
