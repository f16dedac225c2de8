"""The callback script, run by a plain POSIX shell against the real door: what it signs, when it repeats, when it stops."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps._world.serving import served
from apps._world.workflow import SCRIPT, read_workflow
from executors.stage import SECRET, Stage, another_job
from guarantees.waiting import until
from holdfast import Status
from holdfast.domain.callback import Token
from holdfast.domain.signature import SignedHeaders, verify


def script(url: str, *words: str, run: str = "7", **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", str(SCRIPT), *words],
        env={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOLDFAST_CALLBACK_URL": url,
            "HOLDFAST_CALLBACK_SECRET": SECRET,
            "HOLDFAST_RUN_ID": run,
            "HOLDFAST_TRIES": "3",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def token(stage: Stage) -> Token:
    return stage.hand_over()


def test_a_run_reports_from_its_start_to_its_end(stage: Stage, token: Token) -> None:
    url = stage.path(token)

    codes = [
        script(url, *words).returncode
        for words in (["start"], ["progress", "3", "10", 'half "done"'], ["finish", '{"ip": "203.0.113.9"}'])
    ]

    assert codes == [0, 0, 0]
    assert (stage.status(token), stage.job(token)["result"]) == (Status.COMPLETED, {"ip": "203.0.113.9"})
    progress = stage.machine.one(
        "select done, total, note from holdfast.progress where job_id = %s", token.job_id
    )
    assert progress == {"done": 3, "total": 10, "note": 'half "done"'}


def test_a_message_of_any_characters_arrives(stage: Stage, token: Token) -> None:
    said = script(stage.path(token), "fail", 'über "quota"\n\\ 50%\ttab', "créer la machine")

    assert said.returncode == 0, said.stderr
    error = stage.job(token)["error"]
    assert (error["message"], error["step"]) == ('über "quota" \\ 50% tab', "créer la machine")


def test_a_message_too_long_for_the_door_is_cut_between_characters(stage: Stage, token: Token) -> None:
    assert script(stage.path(token), "fail", "x" + "ü" * 5000).returncode == 0
    assert stage.job(token)["error"]["message"] == "x" + "ü" * 999


def test_a_run_that_is_refused_stops_with_a_code_of_its_own(stage: Stage, token: Token) -> None:
    script(stage.path(token), "start", run="7")

    said = script(stage.path(token), "start", run="8")

    assert said.returncode == 9
    assert "other_run" in said.stderr


def test_a_wrong_secret_is_not_repeated_and_says_what_to_look_at(stage: Stage, token: Token) -> None:
    said = script(stage.path(token), "start", HOLDFAST_CALLBACK_SECRET="hfx_" + "f" * 64)

    assert said.returncode == 1
    assert "HOLDFAST_CALLBACK_SECRET" in said.stderr
    assert "fff" not in said.stderr


def test_the_heartbeat_loop_beats_until_it_is_refused_and_then_stops_what_it_guards(
    stage: Stage, token: Token
) -> None:
    guarded = subprocess.Popen(["sleep", "60"])
    loop = subprocess.Popen(
        ["sh", str(SCRIPT), "beat", "0.05", str(guarded.pid)],
        env={
            "PATH": "/usr/bin:/bin",
            "HOLDFAST_CALLBACK_URL": stage.path(token),
            "HOLDFAST_CALLBACK_SECRET": SECRET,
        },
        stderr=subprocess.DEVNULL,
    )
    beats = "select count(*) from holdfast.activity where job_id = %s and kind = 'callback.heartbeat'"
    until("it has beaten twice", lambda: stage.machine.value(beats, token.job_id) >= 2)

    stage.app.cancel(token.job_id)

    assert loop.wait(30) == 9
    assert guarded.wait(30) != 0


def test_the_heartbeat_loop_ends_when_it_is_told_to(stage: Stage, token: Token) -> None:
    loop = subprocess.Popen(
        ["sh", str(SCRIPT), "beat", "60"],
        env={
            "PATH": "/usr/bin:/bin",
            "HOLDFAST_CALLBACK_URL": stage.path(token),
            "HOLDFAST_CALLBACK_SECRET": SECRET,
        },
    )

    loop.terminate()

    assert loop.wait(10) in {143, -15}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say what to report"),
        (["dance"], "dance is not something to report"),
        (["progress", "much"], "progress needs a number"),
        (["progress", "1", "all"], "the total is no number"),
    ],
)
def test_what_it_does_not_understand_is_said_with_the_usage(words: list[str], said: str) -> None:
    ran = script("https://example.com/callbacks/v1/ci/a/1/b", *words)

    assert ran.returncode == 2
    assert said in ran.stderr
    assert "holdfast-callback.sh start" in ran.stderr


# -- a door that is not ours -----------------------------------------------------------------------------------------------


class Door:
    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.heard: list[tuple[dict[str, str], bytes]] = []

    async def take(self, request: Request) -> Response:
        self.heard.append((dict(request.headers), await request.body()))
        return JSONResponse({}, self.answers.pop(0) if self.answers else 200)


@contextmanager
def opened(door: Door) -> Iterator[str]:
    with served(Starlette(routes=[Route("/{rest:path}", door.take, methods=["POST"])])) as url:
        yield url


def test_a_door_that_is_away_is_tried_again_with_the_same_nonce_and_body() -> None:
    door = Door(503, 429)
    token = Token(another_job(), 12, another_job())
    with opened(door) as url:
        ran = script(f"{url}/callbacks/v1/ci/{token.path}", "start")

    assert ran.returncode == 0
    assert len(door.heard) == 3
    assert len({headers["webhook-id"] for headers, _ in door.heard}) == 1
    assert len({body for _, body in door.heard}) == 1
    for headers, body in door.heard:
        signed = SignedHeaders(
            headers["webhook-id"], headers["webhook-timestamp"], headers["webhook-signature"]
        )
        assert verify([SECRET], token, signed, body, float(headers["webhook-timestamp"]))
    assert json.loads(door.heard[0][1])["attempt"] == 12


def test_a_door_that_stays_away_is_given_up_with_a_code_of_its_own() -> None:
    ran = script("http://127.0.0.1:9/callbacks/v1/ci/a/1/b", "start", HOLDFAST_TRIES="2")

    assert ran.returncode == 75


def test_a_redirect_is_not_followed() -> None:
    with opened(Door(302)) as url:
        assert script(f"{url}/callbacks/v1/ci/a/1/b", "start").returncode == 1


# -- the workflow ----------------------------------------------------------------------------------------------------------


def test_the_workflow_has_the_four_inputs_and_the_limits_of_the_specification() -> None:
    workflow = read_workflow()

    assert workflow.inputs == ["job_id", "agent_id", "region", "callback_url"]
    assert workflow.timeout_minutes == 15
    assert "inputs.callback_url" in workflow.run_name


def test_no_input_is_ever_part_of_a_script_of_the_workflow() -> None:
    assert [step.name for step in read_workflow().steps if "${{" in (step.script or "")] == []
