"""The HTTP server: uvicorn that ends streams when it is told to stop, keeps nobody who does not speak, and leaves with a code of its own."""

import errno
import resource
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import uvicorn

from holdfast.domain.errors import Configuration
from holdfast.interfaces.http.protocol import Protocol
from holdfast.runtime.garbage import collected_rarely
from holdfast.runtime.loop import run
from holdfast.runtime.streams import end_streams

# Open connections; beyond it uvicorn answers 503. A stream is one of them.
MOST_CONNECTIONS = 3000
# What is being answered when the server is told to stop gets this long; streams end at once.
GRACE = 5.0
# A connection without a request for this long is hung up, however slowly it goes on writing one.
SILENCE = 10.0
# What was written to a connection that is closing has this long to leave: a reader that stopped reading would keep it for ever.
LAST_BYTES = 2.0
_LOOK_EVERY_TICKS = 10  # of 0.1 s
FORCED = 130


class Server(uvicorn.Server):
    """One HTTP server in an event loop. SIGTERM or Ctrl-C stop it with code 0, a second Ctrl-C at once."""

    def __init__(self, application: Any, listener: socket.socket, *, handle_signals: bool = True) -> None:
        self.listener = listener
        self._handles_signals = handle_signals
        self._silent_since: dict[Any, float] = {}
        self._closing_since: dict[Any, float] = {}
        self._served = application
        super().__init__(
            uvicorn.Config(
                self._application, log_config=None, log_level="warning", access_log=False, lifespan="on",
                http=Protocol, ws="none", interface="asgi3", server_header=False, date_header=False,
                limit_concurrency=MOST_CONNECTIONS, timeout_keep_alive=5,
                timeout_graceful_shutdown=int(GRACE),
                proxy_headers=False,  # the application believes the proxies it is told to
            )
        )  # fmt: skip

    @property
    def address(self) -> str:
        """Where it is reached from this machine."""
        return address_of(self.listener)

    async def answer(self) -> int:
        """Serve until told to stop; gives the process' exit code."""
        await self.serve(sockets=[self.listener])
        return FORCED if self.force_exit else 0

    async def _application(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the application, and let it hang up on who does not read: ASGI itself has no word for that."""
        if scope["type"] == "http":
            hang_up = partial(self._hang_up, scope["client"])
            scope["extensions"] = {**scope.get("extensions", {}), "holdfast.hang_up": hang_up}
        await self._served(scope, receive, send)

    def _hang_up(self, client: Any) -> None:
        for connection in list(self.server_state.connections):
            if getattr(connection, "client", None) == client:
                connection.transport.abort()

    async def on_tick(self, counter: int) -> bool:
        """Look now and then for connections that are only kept."""
        if counter % _LOOK_EVERY_TICKS == 0:
            self._hang_up_on_the_silent()
        return await super().on_tick(counter)

    def _hang_up_on_the_silent(self) -> None:
        now = time.monotonic()
        connections = list(self.server_state.connections)
        self._silent_since = _since(
            self._silent_since, map(_silence, filter(_asks_nothing, connections)), now
        )
        self._closing_since = _since(self._closing_since, filter(_is_closing, connections), now)
        overdue = {each for (each, _), since in self._silent_since.items() if now - since > SILENCE}
        overdue |= {each for each, since in self._closing_since.items() if now - since > LAST_BYTES}
        for connection in overdue:
            connection.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, finish what is being answered, and leave nobody behind who does not go."""
        end_streams()
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Obey signals; unlike uvicorn without raising them again behind the end, which would make a clean end look like a death."""
        if not self._handles_signals or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self.stop(force=self.should_exit and number == signal.SIGINT)

    def stop(self, *, force: bool = False) -> None:
        """Stop soon; forced, without waiting for what is being answered."""
        self.should_exit = True
        self.force_exit = self.force_exit or force


def _asks_nothing(connection: Any) -> bool:
    cycle = getattr(connection, "cycle", None)
    return cycle is None or cycle.response_complete


def _silence(connection: Any) -> tuple[Any, Any]:
    """Tell a silence by the request it follows: who has asked since the last look is not silent, only between two requests again."""
    return connection, getattr(connection, "cycle", None)


def _is_closing(connection: Any) -> bool:
    return bool(connection.transport.is_closing())


def _since(before: dict[Any, float], those: Iterator[Any], now: float) -> dict[Any, float]:
    return {each: before.get(each, now) for each in those}


def listen(host: str, port: int, *, tries: int = 1) -> socket.socket:
    """Take a port; with several tries the next ones too, when it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE and tries > 1:
            return listen(host, port + 1, tries=tries - 1)
        raise Configuration(
            f"cannot listen on {host}:{port}: {error.strerror}; pass another --port or --host"
        ) from error
    # Accepted sockets inherit it. asyncio would set it only on sockets that name TCP by number, as these do not;
    # an event behind another would then wait for the reader's delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def address_of(listener: socket.socket) -> str:
    """Write a listener's address as one that can be opened from this machine."""
    host, port = listener.getsockname()[:2]
    known = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 - named, not bound # nosec B104
    return f"http://{f'[{known}]' if ':' in known and not known.startswith('[') else known}:{port}"


def allow_many_files() -> None:
    """Ask for as many open files as this process may have: every stream is one, and many systems begin with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + 1000 if hard == resource.RLIM_INFINITY else min(MOST_CONNECTIONS + 1000, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def serve(application: Any, listener: socket.socket) -> int:
    """Serve an ASGI application until SIGTERM or Ctrl-C; gives the process' exit code."""
    allow_many_files()
    with collected_rarely():
        return run(Server(application, listener).answer())
