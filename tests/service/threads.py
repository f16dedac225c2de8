"""Our server on loopback, in a thread, for as long as a block lasts."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from guarantees.waiting import until
from holdfast.interfaces.http.serving import Server, listen


@contextmanager
def answering(application: Any) -> Iterator[str]:
    """Serve an ASGI application; gives its address."""
    server = Server(application, listen("127.0.0.1", 0))
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(asyncio.run(server.answer())), daemon=True)
    thread.start()
    try:
        until("the server has started", lambda: server.started)
        yield server.address
    finally:
        server.stop()
        thread.join(20)
    assert codes == [0]
