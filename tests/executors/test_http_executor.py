"""The generic executor: one POST with the same idempotency key, however often it is sent."""

import json
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps._world.serving import served
from executors.stage import SECRET, Stage
from holdfast import Configuration, Dispatch, Executor, Holdfast, HttpExecutor, RunRef, Status


class Receiver:
    def __init__(self) -> None:
        self.answers: deque[Response] = deque()
        self.heard: list[tuple[str, dict[str, str], Any]] = []

    async def take(self, request: Request) -> Response:
        self.heard.append((request.url.path, dict(request.headers), json.loads(await request.body())))
        return (
            self.answers.popleft()
            if self.answers
            else JSONResponse({"run_id": 42, "run_url": "https://ci.example/42"})
        )


@pytest.fixture
def receiver(stage: Stage) -> Iterator[Receiver]:
    receiver = Receiver()
    with served(Starlette(routes=[Route("/{rest:path}", receiver.take, methods=["POST"])])) as url:
        stage.app.executor(
            HttpExecutor(
                f"{url}/jobs", name="ci", headers={"Authorization": "Bearer x"}, cancel_url=f"{url}/stop", allow=["127.0.0.0/8"],
                secret=SECRET, callback_url=stage.url,
            )
        )  # fmt: skip
        yield receiver


def test_a_job_is_posted_with_its_token_as_idempotency_key(stage: Stage, receiver: Receiver) -> None:
    token = stage.hand_over(executor="ci", size=3)

    stage.work()

    ((path, headers, body),) = receiver.heard
    assert (path, headers["idempotency-key"], headers["authorization"]) == ("/jobs", str(token), "Bearer x")
    assert body == {
        "job_id": str(token.job_id), "attempt": 1, "callback_url": stage.path(token, "ci"), "inputs": {"size": 3},
    }  # fmt: skip
    row = stage.dispatch(token)
    assert (row["state"], row["run_ref"], row["run_url"]) == ("sent", "42", "https://ci.example/42")


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 503])
def test_what_may_pass_is_sent_again_under_the_same_key(
    stage: Stage, receiver: Receiver, status: int
) -> None:
    receiver.answers.append(Response(status_code=status))
    token = stage.hand_over(executor="ci")

    stage.work()
    stage.database.clock.advance(5)
    stage.work()

    assert stage.dispatch(token)["state"] == "sent"
    assert len({headers["idempotency-key"] for _, headers, _ in receiver.heard}) == 1


@pytest.mark.parametrize("status", [307, 400, 401, 403, 404, 410, 422])
def test_what_would_be_refused_again_fails_the_job_without_repeating_what_was_said(
    stage: Stage, receiver: Receiver, status: int
) -> None:
    receiver.answers.append(JSONResponse({"internal": "10.0.0.7"}, status))
    token = stage.hand_over(executor="ci", retries=3)

    stage.work()

    error = stage.job(token)["error"]
    assert stage.status(token) is Status.FAILED
    assert (error["type"], str(status) in error["message"]) == ("DispatchRefused", True)
    assert "10.0.0.7" not in str(error)


@pytest.mark.parametrize(("status", "has_ended"), [(202, False), (404, True)])
def test_a_cancel_is_posted_where_the_receiver_takes_it(
    stage: Stage, receiver: Receiver, status: int, has_ended: bool
) -> None:
    token = stage.hand_over(executor="ci")
    stage.work()
    receiver.answers.append(Response(status_code=status))

    stage.app.cancel(token.job_id)
    stage.work()

    path, _, body = receiver.heard[-1]
    assert (path, body["run_id"]) == ("/stop", "42")
    assert (stage.dispatch(token)["ended_at"] is not None) == has_ended


def test_an_executor_of_ones_own_needs_only_a_start(stage: Stage) -> None:
    started: list[Dispatch] = []

    class Own(Executor):
        async def start(self, dispatch: Dispatch) -> RunRef | None:
            started.append(dispatch)
            return RunRef("own-1")

    stage.app.executor(Own("own", secret=SECRET, callback_url=stage.url))
    token = stage.hand_over(executor="own", a=1)

    stage.work()

    assert [(one.token, one.inputs) for one in started] == [(token, {"a": 1})]
    assert stage.dispatch(token)["run_ref"] == "own-1"


def test_an_executor_that_breaks_leaves_doubt_and_is_tried_again(stage: Stage) -> None:
    class Broken(Executor):
        async def start(self, dispatch: Dispatch) -> RunRef | None:
            raise KeyError(dispatch.attempt)

    stage.app.executor(Broken("broken", secret=SECRET, callback_url=stage.url, tries=2))
    token = stage.hand_over(executor="broken")

    stage.work()
    assert (stage.dispatch(token)["state"], stage.dispatch(token)["doubtful"]) == ("planned", True)
    stage.database.clock.advance(5)
    stage.work()

    assert stage.status(token) is Status.FAILED


def test_an_executor_that_knows_no_address_to_report_to_fails_the_job_and_says_so(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_CALLBACK_URL", raising=False)
    stage.app.executor(HttpExecutor("https://ci.example", name="lost", secret=SECRET))
    token = stage.hand_over(executor="lost")

    stage.work()

    assert "HOLDFAST_CALLBACK_URL" in stage.job(token)["error"]["message"]


def test_two_executors_cannot_have_one_name(app: Holdfast) -> None:
    app.executor(HttpExecutor("https://a.example"))

    with pytest.raises(Configuration, match="two executors are called 'http'"):
        app.executor(HttpExecutor("https://b.example"))


@pytest.mark.parametrize("name", ["", "a/b", "A", "a b", "-a", "x" * 64])
def test_a_name_is_one_that_can_stand_in_a_url(name: str) -> None:
    with pytest.raises(Configuration, match="stands in URLs"):
        HttpExecutor("https://a.example", name=name)


def test_a_weak_secret_is_refused_when_the_executor_is_made() -> None:
    with pytest.raises(Configuration, match="too weak"):
        HttpExecutor("https://a.example", secret="short")
