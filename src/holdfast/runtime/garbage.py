"""Garbage collection for a process that is our own: rare, because attempts and imports leave few cycles behind."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# With Python's defaults, collections took a quarter of the worker's time while it drained short jobs.
ALLOCATIONS = 50_000
# What an attempt has in hand during a look is looked at again with every third, and then with every ninth: by default with every
# hundredth, an hour later in a quiet worker. What was there at the beginning is frozen, and little else lives long.
AGAIN = 2
# Some releases of Python put a few objects aside by themselves; who freezes, freezes everything there is.
FEW = 10_000


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Collect seldom, and leave alone what is there already; as before afterwards."""
    # An unfreeze would bring back what the application has frozen too, before it forked perhaps.
    ours = gc.get_freeze_count() < FEW
    if ours:
        gc.collect()
        gc.freeze()
    # A look at the old waits until there is a quarter as much as the last one has left: what is frozen now was counted in that.
    gc.collect()
    frozen = gc.get_freeze_count()
    try:
        with seldom(AGAIN):
            yield
    finally:
        if ours and gc.get_freeze_count() < frozen + FEW:
            gc.unfreeze()


@contextmanager
def seldom(again: int | None = None) -> Iterator[None]:
    """Collect seldom; as before afterwards. An eighth of the time of importing an app went into looking for garbage.

    `again`: look at what one look, or several, have left after so many more.
    """
    before = gc.get_threshold()
    # Who has turned it off, or collects more rarely still, has his reasons.
    rarely = before
    if 0 < before[0] < ALLOCATIONS:
        rarely = (ALLOCATIONS, *before[1:]) if again is None else (ALLOCATIONS, again, again)
    gc.set_threshold(*rarely)
    rarely = gc.get_threshold()  # Python 3.14 tells nothing of the third
    try:
        yield
    finally:
        if gc.get_threshold() == rarely:  # what ran within may have chosen its own
            gc.set_threshold(*before)
