"""A worker and the HTTP service in one event loop: they stop together, and neither outlives the other's failure."""

import asyncio
import socket
from typing import TYPE_CHECKING, Any

from holdfast.interfaces.http.serving import Server, allow_many_files
from holdfast.runtime.worker import Worker

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast


async def work_and_answer(
    app: "Holdfast", application: Any, listener: socket.socket, options: dict[str, Any]
) -> int:
    """Work and serve until told to stop; answers the process' exit code."""
    allow_many_files()
    # The worker listens to signals for both: it has more of them, and drains.
    worker, server = Worker(app, **options), Server(application, listener, handle_signals=False)
    working, answering = asyncio.create_task(worker.run()), asyncio.create_task(server.answer())
    told = asyncio.create_task(worker.told_to_stop())
    await asyncio.wait([working, answering, told], return_when=asyncio.FIRST_COMPLETED)
    server.stop()
    if not told.done():
        worker.stop()
    codes = await asyncio.gather(working, answering, return_exceptions=True)
    await told
    for code in codes:
        if isinstance(code, BaseException):
            raise code
    return max(code for code in codes if isinstance(code, int))
