"""Garbage collection for a process that is a worker's own: rare, because attempts leave no cycles behind."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# With Python's defaults, collections took a quarter of the worker's time while it drained short jobs.
ALLOCATIONS = 50_000


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Collect seldom, and leave alone what is there already; as before afterwards."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
