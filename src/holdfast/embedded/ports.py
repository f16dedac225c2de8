"""Chooses a port for a server, the same one again when it is still free."""

import secrets
import socket
from pathlib import Path

from holdfast.embedded.errors import EmbeddedError

HOST = "127.0.0.1"

# Below what kernels hand out to outgoing connections, so that a remembered port is seldom taken.
PORTS = range(20_000, 32_000)
GUESSES = 1_000


def choose_port(remembered: Path) -> int:
    """Return the port of the last start if nobody took it meanwhile, else a free one."""
    last = _read(remembered)
    if last is not None and is_free(last):
        return last
    for _ in range(GUESSES):
        port = secrets.choice(PORTS)
        if is_free(port):
            return port
    raise EmbeddedError(f"No free port on {HOST} between {PORTS.start} and {PORTS.stop} was found.")


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        # As PostgreSQL does: connections of the last server that linger in TIME_WAIT do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _read(remembered: Path) -> int | None:
    try:
        text = remembered.read_text("utf-8").strip()
    except FileNotFoundError:
        return None
    return int(text) if text.isdigit() else None
