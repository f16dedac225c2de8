"""Several processes on one server: who keeps it alive, and who ends it."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from guarantees.waiting import until
from holdfast.embedded import Arrival, EmbeddedError, cluster, start
from holdfast.embedded.folder import Home
from holdfast.embedded.users import User, living, recorded, register

Holder = Callable[..., subprocess.Popen[str]]
Postmaster = Callable[[Path], cluster.Postmaster | None]

FORKING = """
import os, sys
from pathlib import Path
from holdfast.embedded import start
server = start(Path(sys.argv[1]), durable=False)
child = os.fork()
if child == 0:
    server.stop()
    sys.exit()
os.waitpid(child, 0)
print(server.url, flush=True)
sys.stdin.read()
"""


def url_of(holder: subprocess.Popen[str]) -> str:
    assert holder.stdout is not None
    return holder.stdout.readline().strip()


def let_go(holder: subprocess.Popen[str]) -> None:
    holder.communicate(timeout=60)
    assert holder.returncode == 0


def answers(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("select 1").fetchone() == (1,)


def test_the_first_users_exit_leaves_the_server_to_the_second(
    folder: Path, holder: Holder, postmaster: Postmaster
) -> None:
    first = holder(folder)
    url = url_of(first)
    second = start(folder, durable=False)

    let_go(first)

    assert (second.url, second.arrival) == (url, Arrival.JOINED)
    assert answers(url)
    second.stop()
    assert postmaster(second.folder) is None


def test_the_starters_stop_leaves_the_server_to_another_process(
    folder: Path, holder: Holder, postmaster: Postmaster
) -> None:
    ours = start(folder, durable=False)
    other = holder(folder)
    url = url_of(other)

    ours.stop()

    assert answers(url)
    let_go(other)
    assert postmaster(ours.folder) is None


def test_two_holds_in_one_process_count_as_two(folder: Path, postmaster: Postmaster) -> None:
    first, second = start(folder, durable=False), start(folder, durable=False)

    first.stop()
    first.stop()

    assert answers(second.url)
    second.stop()
    assert postmaster(second.folder) is None


def test_processes_that_start_together_get_one_server(new_folder: Path, holder: Holder) -> None:
    together = [holder(new_folder) for _ in range(4)]

    urls = {url_of(each) for each in together}

    assert len(urls) == 1
    assert answers(urls.pop())


def test_an_exit_without_stop_ends_the_server(folder: Path, holder: Holder, postmaster: Postmaster) -> None:
    only = holder(folder)
    url_of(only)
    with start(folder, durable=False) as server:
        pass

    let_go(only)

    assert server.arrival is Arrival.JOINED
    assert postmaster(server.folder) is None


def test_a_forked_child_ends_nothing_it_did_not_start(folder: Path, holder: Holder) -> None:
    forking = holder(folder, script=FORKING)

    url = url_of(forking)

    assert answers(url)


def test_ctrl_c_in_the_terminal_does_not_reach_the_server(folder: Path, holder: Holder) -> None:
    terminal = holder(folder)
    url = url_of(terminal)
    with start(folder, durable=False):
        # The holder leads its own group, as a command started from a shell does.
        until("it ends", lambda: _is_ended_by_ctrl_c(terminal))

        assert answers(url)


def _is_ended_by_ctrl_c(terminal: "subprocess.Popen[str]") -> bool:
    # Again if need be, as people press it: Python drops one that comes while it tidies up.
    if terminal.poll() is None:
        os.killpg(terminal.pid, signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        terminal.wait(timeout=5)
    return terminal.poll() is not None


def test_a_killed_user_does_not_keep_the_server(folder: Path, holder: Holder, postmaster: Postmaster) -> None:
    killed = holder(folder)
    url = url_of(killed)
    killed.kill()
    killed.wait()

    server = start(folder, durable=False)

    assert (server.arrival, server.url) == (Arrival.JOINED, url)
    assert answers(url)
    server.stop()
    assert postmaster(server.folder) is None


def test_a_killed_user_that_nobody_reaped_does_not_count(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        began = (Path("/proc") / str(process.pid) / "stat").read_text().rpartition(")")[2].split()[19]
        (tmp_path / "users").write_text(f"{process.pid}\t{began}\tsomebody\n")
        while_alive = living(tmp_path / "users")
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        assert len(while_alive) == 1
        assert living(tmp_path / "users") == []


def test_a_process_number_used_again_does_not_count(folder: Path, postmaster: Postmaster) -> None:
    server = start(folder, durable=False)
    users = Home(server.folder).users
    with users.open("a") as file:
        file.write(f"{os.getpid()}\tat another time\tsomebody\n")

    server.stop()

    assert postmaster(server.folder) is None


def test_a_torn_line_names_no_user(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("12\nnobody\tat\tall\n")

    user = register(tmp_path / "users")

    assert recorded(tmp_path / "users") == [user]
    assert isinstance(user, User)


def test_a_durable_caller_is_not_given_a_server_that_may_lose_its_work(folder: Path, holder: Holder) -> None:
    losable = holder(folder)
    url_of(losable)

    with pytest.raises(EmbeddedError, match=rf"fsync off, for the processes \[{losable.pid}\]"):
        start(folder, durable=True)


def test_a_losable_server_nobody_uses_makes_way_for_a_durable_one(folder: Path, holder: Holder) -> None:
    losable = holder(folder)
    url_of(losable)
    losable.kill()
    losable.wait()

    with start(folder, durable=True) as server, psycopg.connect(server.url) as connection:
        assert connection.execute("show fsync").fetchone() == ("on",)


def test_a_server_whose_folder_was_removed_is_still_stopped(
    spoilable_folder: Path, postmaster: Postmaster
) -> None:
    server = start(spoilable_folder, durable=False)
    running = postmaster(server.folder)
    assert running is not None
    shutil.rmtree(server.folder.parent)

    server.stop()

    assert not cluster._is_server(running.pid, Home(server.folder))
