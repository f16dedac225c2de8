"""The hour before somebody came to watch, lived through in a few seconds: the database's clock begins in the past and is moved on by minutes."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from holdfast import Holdfast
from holdfast.testing import Clock

MINUTE = 60.0
UNDER_WAY = "status:pending,running"
LOOK_EVERY = 0.01


async def live_through(
    minutes: int,
    clock: Clock,
    app: Holdfast,
    one_minute: Callable[[], Awaitable[None]],
    is_over: Callable[[], bool],
) -> None:
    """Let customers come minute by minute, and the clock move on when what they wanted is done, unless it is over before."""
    behind = minutes * MINUTE
    clock.advance(-behind)
    # Its lease outlasts the past: to a clock that leaps, every worker is silent for long.
    working = asyncio.create_task(app.run_worker(lease=behind + MINUTE, handle_signals=False))
    try:
        try:
            for _ in range(minutes):
                if is_over():
                    return
                began = time.monotonic()
                await _finished(app, one_minute)
                leap = max(MINUTE - (time.monotonic() - began), 0)  # so that no minute is left out
                await asyncio.to_thread(clock.advance, leap)
                behind -= leap
        finally:
            clock.advance(behind)  # whatever happens, the present is the present
        await _finished(app, one_minute)  # it has customers too, until those of the others come
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working


async def _finished(app: Holdfast, one_minute: Callable[[], Awaitable[None]]) -> None:
    await one_minute()
    while (await app.ajobs(UNDER_WAY)).jobs:  # noqa: ASYNC110 - they are done within milliseconds
        await asyncio.sleep(LOOK_EVERY)
