"""An HTTP application on loopback, for as long as a story needs it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from holdfast.interfaces.demo.stage import PATIENCE, verify


@contextmanager
def served(application: Any) -> Iterator[str]:
    """Serve it on a free port; gives its address."""
    config = uvicorn.Config(application, host="127.0.0.1", port=0, log_level="critical", loop="asyncio")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE
    while not server.started:
        verify(time.monotonic() < deadline, "the door did not open")
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
