"""PgBouncer in transaction mode: no state of a session survives it, and no notification passes."""

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from guarantees.waiting import until

SETTINGS = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = plain
auth_file = {users}
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
ignore_startup_parameters = extra_float_digits
"""


def find_program() -> str | None:
    """Look for PgBouncer; Debian keeps it where only root looks."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")


@contextmanager
def pooled(database_url: str, folder: Path) -> Iterator[str]:
    """Put a pooler with three connections in front of a database; gives the address behind which it is then."""
    program = find_program()
    if program is None:
        pytest.skip("NOT RUN: pgbouncer is not installed here (apt-get install pgbouncer)")
    parts = conninfo.conninfo_to_dict(database_url)
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen = free.getsockname()[1]
    folder = Path("/var/tmp") if os.geteuid() == 0 else folder
    users, settings = folder / f"holdfast-pgbouncer-{listen}.txt", folder / f"holdfast-pgbouncer-{listen}.ini"
    users.write_text(f'"{parts["user"]}" "{parts["password"]}"\n')
    settings.write_text(SETTINGS.format(host=parts["host"], port=parts["port"], listen=listen, users=users))
    account = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
    process = subprocess.Popen(
        [program, settings], user=account, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = conninfo.make_conninfo(database_url, host="127.0.0.1", port=listen)
    try:
        until("the pooler answers", lambda: _answers(url))
        yield url
    finally:
        process.terminate()
        process.wait(10)
        users.unlink()
        settings.unlink()


def _answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=2):
            return True
    except psycopg.OperationalError:
        return False
