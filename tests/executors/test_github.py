"""GitHub Actions as an executor: what is sent, what is told apart, and what is looked for before it is sent again."""

import time

import pytest
from starlette.responses import JSONResponse, Response

from apps._world.github import TOKEN
from executors.stage import Stage
from guarantees.waiting import until
from holdfast import Status


def limited(**headers: str) -> Response:
    return JSONResponse({"message": "API rate limit exceeded"}, 403, headers)


def test_a_dispatch_sends_exactly_what_the_specification_says(stage: Stage) -> None:
    stage.github.machine = "sleep 60"
    token = stage.hand_over(agent_id="a-1", region="fsn1")

    stage.work()

    ((method, path, headers, body),) = stage.github.requests
    assert (method, path) == ("POST", "/repos/acme/agents/actions/workflows/provision-agent.yml/dispatches")
    assert headers["accept"] == "application/vnd.github+json"
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["x-github-api-version"] == "2022-11-28"
    assert body == {
        "ref": "main",
        "inputs": {
            "job_id": str(token.job_id), "agent_id": "a-1", "region": "fsn1", "callback_url": stage.path(token),
        },
        "return_run_details": True,
    }  # fmt: skip


@pytest.mark.parametrize("names_runs", [True, False])
def test_a_run_is_known_by_what_the_server_names_or_by_what_it_reports(
    stage: Stage, names_runs: bool
) -> None:
    stage.github.names_runs = names_runs
    stage.github.machine = "sleep 60"
    token = stage.hand_over()

    stage.work()

    row = stage.dispatch(token)
    assert (row["state"], row["run_ref"]) == ("sent", "1001" if names_runs else None)
    until("the run has reported", lambda: stage.dispatch(token)["run_id"] == "1001")


def test_a_server_that_does_not_know_run_details_is_asked_without(stage: Stage) -> None:
    stage.github.knows_run_details = False
    stage.github.machine = "sleep 60"
    tokens = [stage.hand_over(), stage.hand_over()]

    stage.work()

    asked = ["return_run_details" in body for body in stage.github.dispatches()]
    assert sorted(asked)[:2] == [False, False]
    assert {stage.dispatch(token)["state"] for token in tokens} == {"sent"}
    assert len(stage.github.runs) == 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (JSONResponse({"message": "Bad credentials"}, 401), ["401", "Bad credentials", "Actions: write"]),
        (
            JSONResponse(
                {"message": "Resource not accessible"},
                403,
                {"x-accepted-github-permissions": "actions=write"},
            ),
            ["403", "lacks actions=write", "Actions: write", "GITHUB_TOKEN cannot dispatch"],
        ),
        (JSONResponse({"message": "Not Found"}, 404), ["404", "provision-agent.yml", "Metadata: read"]),
        (
            JSONResponse({"message": "Unexpected inputs"}, 422),
            ["422", "Unexpected inputs", "workflow_dispatch"],
        ),
        (Response(status_code=302, headers={"location": "http://169.254.169.254/"}), ["302"]),
    ],
)
def test_what_would_be_refused_again_fails_the_job_at_once_and_names_what_is_missing(
    stage: Stage, answer: Response, words: list[str]
) -> None:
    stage.github.answers.append(answer)
    token = stage.hand_over(retries=5)

    stage.work()

    job = stage.job(token)
    assert job["status"] == "FAILED"
    assert [word for word in words if word not in job["error"]["message"]] == []
    assert len(stage.github.requests) == 1


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (limited(**{"retry-after": "17"}), 17),
        (limited(**{"x-ratelimit-remaining": "0"}), 1),
        (JSONResponse({}, 429, {"retry-after": "5"}), 5),
    ],
)
def test_a_rate_limit_is_waited_for_as_long_as_the_server_says(
    stage: Stage, answer: Response, seconds: float
) -> None:
    stage.github.answers.append(answer)
    stage.github.machine = "sleep 60"
    token = stage.hand_over()

    stage.work()

    row = stage.dispatch(token)
    assert row["state"] == "planned"
    wait = (row["next_try_at"] - row["created_at"]).total_seconds()
    assert seconds <= wait < seconds + 10
    assert stage.status(token) is Status.RUNNING
    stage.database.clock.advance(seconds + 10)
    stage.work()
    assert stage.dispatch(token)["state"] == "sent"
    assert [method for method, *_ in stage.github.requests] == [
        "POST",
        "POST",
    ]  # nothing was in doubt: nobody looked


def test_a_limit_that_resets_at_a_moment_is_waited_for_until_then(stage: Stage) -> None:
    reset = str(int(time.time()) + 120)
    stage.github.answers.append(limited(**{"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}))
    token = stage.hand_over()

    stage.work()

    row = stage.dispatch(token)
    assert 100 < (row["next_try_at"] - row["created_at"]).total_seconds() < 130


@pytest.mark.parametrize("loss", ["lost", "500 after"])
def test_a_run_whose_start_nobody_heard_of_is_found_and_not_started_again(stage: Stage, loss: str) -> None:
    stage.github.answers.append(loss)
    stage.github.machine = "sleep 60"
    stage.github.runs.clear()
    token = stage.hand_over()
    # Its first callback would prove that it lives: let it not come through.
    stage.app.executors["github"]._callback_url = "http://127.0.0.1:9"

    stage.work()
    assert stage.dispatch(token)["state"] == "planned"
    stage.database.clock.advance(5)
    stage.work()

    row = stage.dispatch(token)
    assert (row["state"], row["run_ref"], len(stage.github.runs)) == ("sent", "1001", 1)
    assert stage.job(token)["attempt"] == 1


def test_a_dispatch_that_never_arrived_is_sent_again_under_the_same_token(stage: Stage) -> None:
    stage.github.answers.append("lost before")
    stage.github.machine = "sleep 60"
    token = stage.hand_over()

    stage.work()
    stage.database.clock.advance(5)
    stage.work()

    first, second = stage.github.dispatches()
    assert first == second
    assert [method for method, *_ in stage.github.requests] == ["POST", "GET", "POST"]
    assert stage.status(token) is Status.RUNNING


def test_a_server_that_stays_away_is_tried_eight_times_and_then_the_job_fails(stage: Stage) -> None:
    stage.github.answers.extend(JSONResponse({}, 503) for _ in range(8))
    token = stage.hand_over()

    for _ in range(9):
        stage.work()
        stage.database.clock.advance(61)

    job = stage.job(token)
    assert (job["status"], job["error"]["tries"], job["attempt"]) == ("FAILED", 8, 1)
    assert len(stage.github.dispatches()) == 8


def test_cancelling_a_job_cancels_the_run_and_the_run_reports_its_end(stage: Stage) -> None:
    stage.github.machine = "sleep 60"
    token = stage.hand_over()
    stage.work()
    until("the run has reported", lambda: stage.dispatch(token)["run_id"])

    stage.app.cancel(token.job_id)
    assert stage.status(token) is Status.CANCELLED
    stage.work()

    assert stage.github.cancelled == [1001]
    until("the run's last step has run", lambda: stage.dispatch(token)["ended_at"])
    assert stage.status(token) is Status.CANCELLED


def test_a_run_that_has_ended_needs_no_cancelling(stage: Stage) -> None:
    stage.github.machine = "sleep 60"
    token = stage.hand_over()
    stage.work()
    until("the run has reported", lambda: stage.dispatch(token)["run_id"])
    stage.github.runs[0].vanish()

    stage.app.cancel(token.job_id)
    stage.work()

    assert stage.dispatch(token)["ended_at"] is not None
