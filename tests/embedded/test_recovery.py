"""What a crash leaves behind does not stand in the way of the next start."""

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from holdfast.embedded import Arrival, EmbeddedError, cluster, find_binaries, start, throwaway
from holdfast.embedded.account import choose_account, spawn
from holdfast.embedded.folder import Home, choose_folder, prepare_folder
from holdfast.embedded.server import EmbeddedServer
from holdfast.embedded.throwaway import remove_left_overs

Holder = Callable[..., subprocess.Popen[str]]
Postmaster = Callable[[Path], cluster.Postmaster | None]

THROWAWAY = """
import sys
from holdfast.embedded import throwaway
with throwaway() as server:
    print(server.folder, server._pid, flush=True)
    sys.stdin.read()
"""

# Busy on the processor, where a session does not notice that its postmaster is gone.
BUSY = b"""do $$
declare v_until timestamptz := clock_timestamp() + interval '1.5 seconds';
begin while clock_timestamp() < v_until loop end loop; end $$"""


def kill_postmaster(server: EmbeddedServer) -> None:
    os.kill(server._pid, signal.SIGKILL)
    # Ended but not reaped, as after a crash whose parent does not look.
    os.waitid(os.P_PID, server._pid, os.WEXITED | os.WNOWAIT)


def leave_pid_file(server: EmbeddedServer, pid: int) -> None:
    lines = [
        str(pid),
        str(server.folder / "data"),
        "1700000000",
        str(server.port),
        "",
        "127.0.0.1",
        "",
        "ready",
    ]
    (server.folder / "data" / "postmaster.pid").write_text("\n".join(lines) + "\n")


def test_a_killed_server_comes_back_with_what_was_committed(spoilable_folder: Path) -> None:
    crashed = start(spoilable_folder)
    with psycopg.connect(crashed.url, autocommit=True) as connection:
        connection.execute("create table kept as select 42 as answer")
        kill_postmaster(crashed)

    with start(spoilable_folder) as server, psycopg.connect(server.url) as connection:
        assert connection.execute("select answer from kept").fetchone() == (42,)
        assert (server.arrival, server.url) == (Arrival.RESTART, crashed.url)
    crashed.stop()


def test_a_start_waits_for_the_sessions_a_killed_server_left(spoilable_folder: Path) -> None:
    crashed = start(spoilable_folder, durable=False)
    with (
        closing(psycopg.connect(crashed.url, autocommit=True)) as busy,
        psycopg.connect(crashed.url, autocommit=True) as observer,
    ):
        busy.pgconn.send_query(BUSY)
        question = "select count(*) from pg_stat_activity where state = 'active' and query like 'do %'"
        while observer.execute(question).fetchone() == (0,):
            pass
        kill_postmaster(crashed)

        with start(spoilable_folder, durable=False) as server, psycopg.connect(server.url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    crashed.stop()


def test_a_pid_file_that_names_another_living_process_is_no_server(folder: Path) -> None:
    server = start(folder, durable=False)
    server.stop()
    # Run as PostgreSQL's own account: PostgreSQL itself believes such a file and refuses to start.
    account = choose_account(server.folder / "data")
    with spawn(["sleep", "60"], account, folder=Path("/"), output=subprocess.DEVNULL) as stranger:
        leave_pid_file(server, stranger.pid)

        with start(folder, durable=False) as again, psycopg.connect(again.url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        assert stranger.poll() is None
        stranger.kill()


def test_a_pid_file_that_names_a_dead_process_is_no_server(folder: Path) -> None:
    server = start(folder, durable=False)
    server.stop()
    leave_pid_file(server, pid=server._pid)

    with start(folder, durable=False) as again:
        assert again.arrival is Arrival.RESTART


def test_stopping_a_server_that_crashed_is_no_error(folder: Path, postmaster: Postmaster) -> None:
    server = start(folder, durable=False)
    kill_postmaster(server)

    server.stop()

    assert postmaster(server.folder) is None


def test_a_first_start_that_was_killed_is_begun_again(new_folder: Path) -> None:
    used = choose_folder(new_folder)
    prepare_folder(used)
    unfinished = used / str(find_binaries().major) / "unfinished-abc" / "data"
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").touch()

    with start(new_folder, durable=False) as server:
        assert server.arrival is Arrival.FIRST_START
        assert not unfinished.parent.exists()


def test_a_data_folder_that_is_none_is_told(new_folder: Path) -> None:
    used = choose_folder(new_folder)
    prepare_folder(used)
    (used / str(find_binaries().major) / "data" / "base").mkdir(parents=True)

    with pytest.raises(EmbeddedError, match="is no PostgreSQL data folder"):
        start(new_folder, durable=False)


def test_a_large_log_is_set_aside(folder: Path) -> None:
    server = start(folder, durable=False)
    server.stop()
    with (server.folder / "server.log").open("ab") as log:
        log.truncate(cluster.LOG_LIMIT + 1)

    start(folder, durable=False).stop()

    assert (server.folder / "server.old").stat().st_size == cluster.LOG_LIMIT + 1
    assert (server.folder / "server.log").stat().st_size < cluster.LOG_LIMIT


def test_the_next_throwaway_removes_one_whose_owner_was_killed(tmp_path: Path, holder: Holder) -> None:
    killed = holder(tmp_path, script=THROWAWAY)
    assert killed.stdout is not None
    left_over, pid = killed.stdout.readline().split()
    killed.kill()
    killed.wait()

    with throwaway() as in_use:
        left_over_exists = Path(left_over).exists()
        remove_left_overs(in_use.folder.parent.parent)

        assert not left_over_exists
        assert not cluster._is_server(int(pid), Home(Path(left_over)))
        with psycopg.connect(in_use.url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
