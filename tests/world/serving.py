"""A real HTTP server on loopback, in a thread, for as long as a block lasts."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.requests import Request

from guarantees.waiting import until


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an ASGI application; gives its address."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", loop="asyncio")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until("the server has started", lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


async def given_up(request: Request) -> None:
    """Wait until whoever asked has hung up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
