"""All threads of asyncio.to_thread in other hands: what an application may do to whoever shares an event loop with it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MORE_THAN_THERE_ARE = 64


@asynccontextmanager
async def all_threads_of_asyncio() -> AsyncIterator[None]:
    """Hold the threads that this event loop has for asyncio.to_thread."""
    let_go = threading.Event()
    held = [asyncio.ensure_future(asyncio.to_thread(let_go.wait)) for _ in range(MORE_THAN_THERE_ARE)]
    await asyncio.sleep(0)  # let them begin
    try:
        yield
    finally:
        let_go.set()
        for one in held:
            one.cancel()
