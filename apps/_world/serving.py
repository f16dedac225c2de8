"""A real HTTP server on loopback, in a thread, for as long as a block lasts."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import Response

PATIENCE = 30.0
# For clients: nothing on loopback speaks TLS, and their own context would read all certificates of the world, every time.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class _Server(uvicorn.Server):
    def __init__(self, application: Any) -> None:
        super().__init__(uvicorn.Config(application, log_level="critical", loop="asyncio", lifespan="auto"))
        self.is_ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        self.is_ready.set()

    async def main_loop(self) -> None:
        await self._stopped.wait()  # uvicorn's own looks ten times a second whether it should stop

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.server_state.tasks:  # somebody waits for an answer
            await super().shutdown(sockets)
        else:  # without a pause
            for listener in self.servers:
                listener.close()
            for connection in list(self.server_state.connections):
                connection.shutdown()
            await asyncio.sleep(0)  # what was closed is gone with the loop's next round
            await self.lifespan.shutdown()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)


@contextmanager
def served(application: Any) -> Iterator[str]:
    """Serve an ASGI application; gives its address."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        server = _Server(application)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        if not server.is_ready.wait(PATIENCE):
            raise RuntimeError("the server did not start")
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.stop()
            thread.join(PATIENCE)


class Unfinished(Response):
    """Promises a body and hangs up: to the caller, an answer that was lost."""

    def __init__(self) -> None:
        super().__init__(b"", 200, {"content-length": "10"})


async def given_up(request: Request) -> None:
    """Wait until whoever asked has hung up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
