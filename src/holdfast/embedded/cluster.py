"""One PostgreSQL server on one data folder: start it, wait for it, stop it.

Call these only while holding the folder's lock. Nothing here knows who else uses the server.
"""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.embedded.account import Account, spawn
from holdfast.embedded.binaries import Binaries
from holdfast.embedded.errors import EmbeddedError
from holdfast.embedded.folder import Home, write_private
from holdfast.embedded.ports import HOST, choose_port, is_free
from holdfast.embedded.processes import command_line

# Recovery after a crash replays what was written since the last checkpoint.
READY_WITHIN = 300.0
STOPPED_WITHIN = 30.0
PAUSE = 0.01
LOG_LIMIT = 10 * 1024 * 1024

SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    "cluster_name": "holdfast",
    "log_min_messages": "warning",
    "logging_collector": "off",
}
FAST_AND_LOSABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

# Our own children, so that one that ended is not kept as a zombie.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True, slots=True)
class Postmaster:
    """A running server as its postmaster.pid describes it."""

    pid: int
    port: int
    status: str

    @property
    def is_durable(self) -> bool:
        """Whether it was started with fsync on."""
        return " fsync=off " not in command_line(self.pid)


def running(home: Home) -> Postmaster | None:
    """Return the server that runs on this data; a left-over postmaster.pid is none."""
    try:
        lines = (home.data / "postmaster.pid").read_text("utf-8").split("\n")
    except FileNotFoundError:
        return None
    # Its lines: pid, data, start, port, socket, address, shared memory, status; the last ones come later.
    pid, _, _, port, _, _, _, status = (*lines, *[""] * 8)[:8]
    if not pid.isdigit() or not _is_server(int(pid), home):
        return None
    return Postmaster(int(pid), int(port or 0), status.strip())


def settled(home: Home, deadline: float) -> Postmaster | None:
    """Wait out a start or stop that is under way; return the server, or None when none runs."""
    while (server := running(home)) is not None and server.status != "ready":
        if time.monotonic() > deadline:
            raise EmbeddedError(
                f"PostgreSQL on {home.data} has been '{server.status or 'starting'}' for too long. See {home.log}."
            )
        time.sleep(PAUSE)
    return server


def launch(
    home: Home, binaries: Binaries, account: Account, settings: Mapping[str, str], *, durable: bool
) -> Postmaster:
    """Start the server and wait until it takes connections."""
    deadline = time.monotonic() + READY_WITHIN
    while True:
        port = choose_port(home.port)
        said_before = _rotate_log(home)
        _forget_foreign_pid(home)
        options = {**SETTINGS, **({} if durable else FAST_AND_LOSABLE), **settings, "port": str(port)}
        process = _spawn_server(home, binaries, account, options)
        server = _await_start(home, process, deadline)
        if server is not None:
            write_private(home.port, str(server.port))
            return server
        last_words = _log_from(home, said_before)
        if not _is_passing(port, last_words) or time.monotonic() > deadline:
            raise EmbeddedError(f"PostgreSQL did not start on {home.data}. It said:\n{last_words}")
        time.sleep(PAUSE)


def stop(home: Home) -> None:
    """Stop the server, if one runs, as a fast shutdown: sessions are ended, nothing is lost."""
    server = running(home)
    if server is not None:
        stop_process(server.pid, home)


def stop_process(pid: int, home: Home) -> None:
    """Stop a server whose files may be gone."""
    for how, patience in ((signal.SIGINT, STOPPED_WITHIN), (signal.SIGQUIT, STOPPED_WITHIN)):
        deadline = time.monotonic() + patience
        if _is_server(pid, home):
            os.kill(pid, how)
        while _is_server(pid, home) and time.monotonic() < deadline:
            time.sleep(PAUSE)
    if _is_server(pid, home):
        raise EmbeddedError(
            f"PostgreSQL (pid {pid}) on {home.data} does not stop. See {home.log}, then end it."
        )
    _children.pop(pid, None)


def _is_server(pid: int, home: Home) -> bool:
    child = _children.get(pid)
    if child is not None:
        child.poll()
    # Process numbers are used again: only one that was told our data folder is our server.
    return f" -D {home.data} -c " in command_line(pid)


def _spawn_server(
    home: Home, binaries: Binaries, account: Account, options: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    command = [binaries.path("postgres"), "-D", str(home.data), *arguments]
    with os.fdopen(os.open(home.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as log:
        process = spawn(command, account, folder=home.folder, output=log)
    _children[process.pid] = process
    return process


def _await_start(home: Home, process: subprocess.Popen[bytes], deadline: float) -> Postmaster | None:
    """Wait for the server to be ready; None when it ended instead."""
    while process.poll() is None:
        server = settled(home, deadline)
        if server is not None:
            return server
        # Until it has written its postmaster.pid there is nothing to wait for but the process itself.
        time.sleep(PAUSE)
    return settled(home, deadline)


def _is_passing(port: int, last_words: str) -> bool:
    """Whether a failed start is worth another: somebody took the port, or a killed server's sessions still end."""
    return not is_free(port) or "shared memory block" in last_words


def _forget_foreign_pid(home: Home) -> None:
    """Remove a left-over postmaster.pid whose number now belongs to another process, which PostgreSQL would not."""
    file = home.data / "postmaster.pid"
    if file.exists() and running(home) is None:
        file.unlink()


def _rotate_log(home: Home) -> int:
    """Keep the log from growing for ever; return how much of it was there before."""
    size = home.log.stat().st_size if home.log.exists() else 0
    if size <= LOG_LIMIT:
        return size
    home.log.replace(home.log.with_suffix(".old"))
    return 0


def _log_from(home: Home, offset: int) -> str:
    with home.log.open("rb") as log:
        log.seek(offset)
        return log.read().decode("utf-8", "replace").strip()
