"""The door for callbacks: what a stranger, a replayer and an old attempt get, and what they learn from it."""

import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from uuid import uuid4

import httpx
import pytest

from apps._world.serving import served
from executors.stage import SECRET, Stage, another_job, body_of, plain_signature, post
from holdfast import Configuration, GitHubActions, Holdfast, HttpExecutor, Status
from holdfast.domain.callback import Token
from holdfast.domain.signature import executor_secret, sign
from holdfast.server import callbacks

UNAUTHORIZED = (401, {"ok": False, "code": "unauthorized"})


def told(response: httpx.Response) -> tuple[int, object]:
    return response.status_code, response.json()


@pytest.fixture
def token(stage: Stage) -> Token:
    token = stage.hand_over()
    stage.machine.value("select holdfast.dispatch_sent(%s, null, null)", stage.dispatch(token)["id"])
    return token


def test_a_signed_callback_is_accepted(stage: Stage, token: Token) -> None:
    assert told(stage.report(token, "started", run_id="7")) == (200, {"ok": True})
    assert told(stage.report(token, "completed", run_id="7", result=[1])) == (200, {"ok": True})
    assert stage.job(token)["result"] == [1]


def test_whatever_does_not_verify_gets_one_answer(stage: Stage, token: Token) -> None:
    unknown = replace(token, job_id=another_job())
    other = executor_secret("a master key of more than thirty-two bytes", "gitlab")
    signed = {"webhook-id": "n", "webhook-timestamp": str(int(time.time()))}
    right = sign(SECRET, token, "n", int(time.time()), b"{}")
    wrong = [
        post(stage.path(token), token, "completed", secret=other),
        post(stage.path(token), unknown, "completed"),  # another job's key
        post(stage.path(token), replace(token, attempt=2), "completed"),  # another attempt's
        post(stage.path(token), replace(token, claim_id=uuid4()), "completed"),
        post(stage.path(unknown), unknown, "completed", secret=other),  # a job that does not exist
        post(stage.path(token, "gitlab"), token, "completed"),  # an executor that does not exist
        post(stage.path(token), token, "completed", at=time.time() - 400),
        post(stage.path(token), token, "completed", at=time.time() + 400),
        post(stage.path(token), token, "completed", headers={}),
        post(
            stage.path(token), token, "completed", headers={**signed, "webhook-signature": right}
        ),  # another body's
        post(stage.path(token), token, "x", headers={**signed, "webhook-signature": "v1,"}, body=b"{}"),
        httpx.post(f"{stage.url}/callbacks/v1/github/x/y/z", content=b"{}", trust_env=False),
        # Signed by the right key for this URL, and about another attempt.
        post(stage.path(token), token, "", body=body_of(unknown, "completed")),
        post(stage.path(token), token, "", body=body_of(replace(token, attempt=9), "completed")),
        post(
            stage.path(token), token, "completed", headers={"x-signature": plain_signature(b"{}")}, body=b"{}"
        ),
    ]

    assert [told(each) for each in wrong] == [UNAUTHORIZED] * len(wrong)
    assert len({str(sorted(each.headers.keys())) for each in wrong}) == 1
    assert stage.status(token) is Status.RUNNING


def test_a_heartbeats_signature_cannot_complete(stage: Stage, token: Token) -> None:
    now = int(time.time())
    signature = sign(SECRET, token, "n", now, body_of(token, "heartbeat"))
    headers = {"webhook-id": "n", "webhook-timestamp": str(now), "webhook-signature": signature}

    assert told(post(stage.path(token), token, "completed", headers=headers)) == UNAUTHORIZED


def test_a_job_that_is_not_there_is_not_told_even_to_who_may_sign_for_it(stage: Stage) -> None:
    token = Token(another_job(), 1, uuid4())

    assert told(stage.report(token, "completed")) == UNAUTHORIZED


def test_a_replay_is_answered_the_same_and_changes_nothing(stage: Stage, token: Token) -> None:
    first = stage.report(token, "completed", nonce="n1", result=1)
    again = stage.report(token, "completed", nonce="n1", result=1)
    other = stage.report(token, "completed", nonce="n1", result=2)

    assert told(first) == told(again) == (200, {"ok": True})
    assert told(other) == (409, {"ok": False, "code": "nonce_reused"})
    assert (stage.job(token)["result"], len(stage.machine.history(token.job_id))) == (1, 3)


def test_conflicts_have_stable_codes(stage: Stage, token: Token) -> None:
    stage.report(token, "started", run_id="7")

    assert told(stage.report(token, "started", run_id="8")) == (409, {"ok": False, "code": "other_run"})
    stage.report(token, "completed", run_id="7")
    assert told(stage.report(token, "heartbeat", run_id="7")) == (409, {"ok": False, "code": "already_over"})


def test_a_signed_body_that_cannot_be_read_is_refused(stage: Stage, token: Token) -> None:
    for body in (b"", b"[]", b"{", b'{"a": NaN}', b"\xff", b'{"a":' * 200 + b"1" + b"}" * 200):
        assert post(stage.path(token), token, "", body=body).status_code == 422, body


SENSELESS: list[dict[str, object]] = [
    {"action": "paused"},
    {"action": "started", "run_id": 7},
    {"action": "started", "run_id": "x" * 201},
    {"action": "started", "run_url": "javascript:alert(1)"},
    {"action": "progress"},
    {"action": "progress", "done": "3"},
    {"action": "progress", "done": True},
    {"action": "failed", "recoverable": "no"},
]


def test_facts_that_make_no_sense_are_refused(stage: Stage, token: Token) -> None:
    for facts in SENSELESS:
        body = json.dumps({**json.loads(body_of(token, "")), **facts}).encode()

        assert post(stage.path(token), token, "", body=body).status_code == 422, facts
    assert stage.dispatch(token)["run_id"] is None


def test_a_body_that_is_too_large_is_refused_before_anybody_looks_at_it(stage: Stage, token: Token) -> None:
    def piecemeal() -> Iterator[bytes]:
        for _ in range(70):
            yield b"x" * 1024

    whole = post(stage.path(token), token, "", body=b"x" * 65_537)
    chunked = httpx.post(stage.path(token), content=piecemeal(), trust_env=False)

    assert (whole.status_code, chunked.status_code) == (413, 413)


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    from holdfast.interfaces.http.body import TooSlow, read_body

    class Silent:
        async def stream(self) -> AsyncIterator[bytes]:
            yield b"{"
            await asyncio.sleep(3600)

    with pytest.raises(TooSlow):
        asyncio.run(read_body(Silent(), slowest=0.05))


def test_nothing_but_post_is_answered(stage: Stage, token: Token) -> None:
    for method in ("GET", "HEAD", "PUT", "DELETE"):
        assert httpx.request(method, stage.path(token), trust_env=False).status_code == 405, method


def test_no_answer_is_kept_by_a_cache(stage: Stage, token: Token) -> None:
    assert stage.report(token, "heartbeat").headers["cache-control"] == "no-store"


def test_a_database_that_is_away_is_said_so_that_the_script_tries_again(app: Holdfast) -> None:
    from holdfast.store.connection import Database

    app.executor(HttpExecutor("https://ci.example", secret=SECRET))
    app.connect_to(Database("postgresql://127.0.0.1:9/nowhere", "test"))
    token = Token(another_job(), 1, uuid4())
    with served(callbacks(app)) as url:
        answer = httpx.post(
            f"{url}/callbacks/v1/http/{token.path}", trust_env=False, timeout=30, content=(body := body_of(token, "heartbeat")),
            headers={
                "webhook-id": "n", "webhook-timestamp": str(int(time.time())),
                "webhook-signature": sign(SECRET, token, "n", int(time.time()), body),
            },
        )  # fmt: skip

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_the_plain_signature_is_accepted_only_where_it_is_configured(stage: Stage, token: Token) -> None:
    def plain(status: str, **facts: object) -> tuple[int, object]:
        body = json.dumps({"job_id": str(token.job_id), "status": status, **facts}).encode()
        return told(
            post(stage.path(token), token, "", body=body, headers={"x-signature": plain_signature(body)})
        )

    assert plain("provisioning", workflow_run_id=7) == UNAUTHORIZED
    old = GitHubActions("acme", "agents", "old.yml", name="github", secret=SECRET, plain_signature=True)
    stage.app.executors["github"] = old
    with served(callbacks(stage.app)) as url:
        stage.url = url
        assert plain("provisioning", workflow_run_id=7) == (200, {"ok": True})
        assert plain("provisioning", workflow_run_id=7) == (200, {"ok": True})  # its heartbeat
        assert plain("exploded")[0] == 422
        wrong = json.dumps({"job_id": str(another_job()), "status": "running"}).encode()
        headers = {"x-signature": plain_signature(wrong)}
        assert told(post(stage.path(token), token, "", body=wrong, headers=headers)) == UNAUTHORIZED
        assert plain("failed", workflow_run_id=7, error="no quota", failed_step="create vm") == (
            200,
            {"ok": True},
        )
        assert plain("running", workflow_run_id=7)[0] == 409
    error = stage.job(token)["error"]
    assert (error["message"], error["step"], error["run_id"]) == ("no quota", "create vm", "7")


def test_secrets_derived_from_the_master_key_rotate_with_an_overlap(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = "an old master key of thirty-two bytes!", "a new master key of thirty-two bytes!!"
    stage.app.executor(HttpExecutor("https://ci.example", name="ci"))
    monkeypatch.setenv("HOLDFAST_SECRET_KEY", new)
    monkeypatch.setenv("HOLDFAST_SECRET_KEY_PREVIOUS", old)
    token = stage.hand_over(executor="ci")

    with served(callbacks(stage.app)) as url:
        path = f"{url}/callbacks/v1/ci/{token.path}"
        answers = [
            post(path, token, "heartbeat", secret=executor_secret(key, "ci")).status_code
            for key in (new, old, old + "x")
        ]

    assert answers == [200, 200, 401]


@pytest.mark.parametrize("key", ["", "short", "x" * 40])
def test_a_door_without_a_proper_key_does_not_open(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    app.executor(HttpExecutor("https://ci.example"))
    monkeypatch.setenv("HOLDFAST_SECRET_KEY", key)

    with pytest.raises(Configuration, match="HOLDFAST_SECRET_KEY"):
        callbacks(app)


def test_an_unknown_job_and_a_wrong_signature_cost_the_same_work_without_the_database(app: Holdfast) -> None:
    from holdfast.store.connection import Database

    app.executor(HttpExecutor("https://ci.example", secret=SECRET))
    app.connect_to(Database("postgresql://127.0.0.1:9/nowhere", "test"))
    with served(callbacks(app)) as url:
        strangers = [Token(another_job(), number, uuid4()) for number in range(1, 4)]
        answers = [
            post(
                f"{url}/callbacks/v1/{executor}/{token.path}",
                token,
                "completed",
                secret="not the secret of anybody",
            )
            for token in strangers
            for executor in ("http", "nobody")
        ]

    assert [told(each) for each in answers] == [UNAUTHORIZED] * 6
    assert (
        max(each.elapsed.total_seconds() for each in answers) < 2
    )  # asking the database would take four seconds
