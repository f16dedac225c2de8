"""The hour before somebody came to watch, lived through in a few seconds: the database's clock begins in the past and is moved on by minutes."""

import asyncio
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
    left = minutes
    clock.advance(-left * MINUTE)
    # Its lease outlasts the past: to a clock that leaps, every worker is silent for long.
    working = asyncio.create_task(app.run_worker(lease=minutes * MINUTE + MINUTE, handle_signals=False))
    try:
        while left and not is_over():
            await one_minute()
            while (await app.ajobs(UNDER_WAY)).jobs:  # noqa: ASYNC110 - they are done within milliseconds
                await asyncio.sleep(LOOK_EVERY)
            await asyncio.to_thread(clock.advance, MINUTE)
            left -= 1
        await one_minute()  # the present one, until all others come
    finally:
        clock.advance(left * MINUTE)  # whatever happens, the present is the present
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
