import os
import signal
import socket
import subprocess

import httpx
import pytest

from guarantees.waiting import until
from holdfast.domain.signature import executor_secret
from holdfast.testing import ScratchDatabase
from interfaces.calling import HOLDFAST, TESTS, Cli
from interfaces.executor_app import app
from world.draining import drain

APP = "interfaces.executor_app:app"
MASTER = "a master key of more than thirty-two bytes"


def test_the_secret_of_an_executor_is_derived_from_the_master_key(cli: Cli) -> None:
    said = cli("-a", APP, "executor", "key", "github", HOLDFAST_SECRET_KEY=MASTER).stdout.strip()
    without_app = cli("executor", "key", "github", HOLDFAST_SECRET_KEY=MASTER).stdout.strip()

    assert said == without_app == executor_secret(MASTER, "github")


def test_the_secret_that_code_gives_is_the_one_to_install(cli: Cli) -> None:
    assert cli("-a", APP, "executor", "key", "ci").stdout.strip() == "hfx_" + "4b1d97c02ea8f653" * 4


def test_an_executor_that_is_not_there_is_said_with_those_that_are(cli: Cli) -> None:
    assert "ci, github" in cli("-a", APP, "executor", "key", "gitlab", code=4).stderr


@pytest.mark.parametrize("key", ["short", "x" * 64])
def test_a_weak_master_key_is_refused(cli: Cli, key: str) -> None:
    assert "openssl rand -hex 32" in cli("executor", "key", "github", code=2, HOLDFAST_SECRET_KEY=key).stderr


def test_a_missing_master_key_is_said_with_how_to_make_one(cli: Cli) -> None:
    assert "HOLDFAST_SECRET_KEY" in cli("-a", APP, "executor", "key", "github", code=2).stderr


def test_executors_are_listed(cli: Cli) -> None:
    listed = cli.json("-a", APP, "executor", "list")

    assert [(one["name"], one["kind"]) for one in listed] == [
        ("ci", "HttpExecutor"),
        ("github", "GitHubActions"),
    ]


def test_doctor_refuses_a_weak_master_key_and_says_nothing_without_one(cli: Cli) -> None:
    assert (
        "secret key: HOLDFAST_SECRET_KEY is too weak"
        in cli("doctor", code=3, HOLDFAST_SECRET_KEY="short").stdout
    )
    assert (
        "secret key: HOLDFAST_SECRET_KEY is strong enough" in cli("doctor", HOLDFAST_SECRET_KEY=MASTER).stdout
    )
    assert "secret key" not in cli("doctor").stdout


def test_looking_at_a_job_finds_that_its_run_fell_silent(
    cli: Cli, holdfast_db: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    from executors.stage import SECRET
    from holdfast import Dispatch, Executor, RunRef

    class Silent(Executor):
        async def start(self, dispatch: Dispatch) -> RunRef | None:
            return RunRef(str(dispatch.id))

    holdfast_db.use(app)
    silent = Silent("github", secret=SECRET, callback_url="https://jobs.example")
    monkeypatch.setitem(app.executors, "github", silent)
    handle = app.tasks["provision"].using(retries=0).enqueue()
    drain(app)
    assert "RUNNING on executor:github" in cli("job", "show", str(handle.id)).stdout

    holdfast_db.clock.advance(601)

    assert "Timeout: no heartbeat for 600 s" in cli("job", "show", str(handle.id)).stdout


def test_the_door_is_served_until_it_is_told_to_stop(holdfast_db: ScratchDatabase) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "HOLDFAST_SECRET_KEY": MASTER,
        "PYTHONPATH": os.pathsep.join(["src", str(TESTS)]),
    }
    door = subprocess.Popen(
        [
            *HOLDFAST,
            "--database-url",
            holdfast_db.url,
            "-a",
            APP,
            "server",
            "--parts",
            "callbacks",
            "--port",
            str(port),
        ],
        env=environment,
    )
    try:

        def answer() -> int | None:
            path = "callbacks/v1/github/01890a5d-ac96-774b-bcce-b302099a8057/1/01890a5d-ac96-774b-bcce-b302099a8057"
            try:
                return httpx.post(f"http://127.0.0.1:{port}/{path}", trust_env=False).status_code
            except httpx.TransportError:
                return None

        assert until("the door is open", answer) == 401
        assert httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).status_code == 404
    finally:
        door.send_signal(signal.SIGTERM)
        assert door.wait(20) == 0
