"""Several server processes: one listener, a death that nobody notices, and an end together."""

import signal

import httpx
import psutil

from guarantees.waiting import until
from holdfast.testing import ScratchDatabase
from interfaces.calling import Cli
from service.processes import Process, serving


def children(server: Process) -> list[psutil.Process]:
    found: list[psutil.Process] = psutil.Process(server.process.pid).children()
    return found


def answers(server: Process) -> bool:
    """Whether somebody answers, be it after a start on a busy machine."""
    return httpx.get(f"{server.url}/livez", timeout=60, trust_env=False).status_code == 200


def test_several_processes_answer_one_that_dies_is_replaced_and_all_end_together(
    holdfast_db: ScratchDatabase,
) -> None:
    with serving(holdfast_db, "server", "--no-auth", "--processes", "2", "--parts", "health") as server:
        until("both have begun", lambda: len(children(server)) == 2)
        first = children(server)
        assert answers(server)
        first[0].kill()

        until("another takes its place", lambda: any("takes its place" in line for line in server.said))
        until("it has begun", lambda: len(children(server)) == 2)
        now = children(server)
        assert answers(server)
        code = server.stop()

        assert code == 0, server.said
        assert (len(first), len(now)) == (2, 2)
        assert first[1] in now
        assert not any(child.is_running() for child in now)


def test_they_end_when_whoever_started_them_was_killed(holdfast_db: ScratchDatabase) -> None:
    with serving(holdfast_db, "server", "--no-auth", "--processes", "2", "--parts", "health") as server:
        assert answers(server)
        orphans = children(server)

        server.process.send_signal(signal.SIGKILL)

        _, alive = psutil.wait_procs(orphans, timeout=60)
        assert (len(orphans), alive, server.ended()) == (2, [], -signal.SIGKILL)


def test_how_many_is_a_number(holdfast_db: ScratchDatabase) -> None:
    refused = Cli(holdfast_db)("server", "--processes", "none", code=2)

    assert "processes = 'none' (from --processes) is not a number" in refused.stderr
