"""The client against a real server: what it enqueues is there once, what it waits for comes, what is refused is our error."""

import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps._world.serving import served
from holdfast import BadInput, Configuration, Holdfast, JobFailed, JobNotFound, NotAllowed, WaitTimedOut
from holdfast.client import AsyncClient, Client
from holdfast.domain.access import Scope
from holdfast.domain.errors import DatabaseUnavailable
from holdfast.interfaces.http.asgi import asgi
from holdfast.runtime.access import create_key


@pytest.fixture
def address(shop: Holdfast) -> Iterator[str]:
    with served(asgi(shop)) as url:
        yield url


@pytest.fixture
def client(shop: Holdfast, address: str) -> Iterator[Client]:
    key = create_key(shop, "client", scopes=[Scope.ENQUEUE, Scope.READ, Scope.OPERATE])
    with Client(address, key=key) as client:
        yield client


def test_a_job_is_enqueued_found_cancelled_and_waited_for(client: Client, shop: Holdfast) -> None:
    made = client.enqueue("greet", {"name": "Ann"}, subject="order:1", priority=3)
    again = client.enqueue_many([{"task": "greet", "payload": {"name": name}} for name in ("Bob", "Cid")])
    assert client.job(made.job_id).payload == {"name": "Ann"}
    assert client.cancel(again[0].job_id, reason="not needed").status == "CANCELLED"
    with pytest.raises(WaitTimedOut, match="it is PENDING"):
        client.wait(made.job_id, timeout=0.05)

    shop.work(until_idle=True, handle_signals=False)

    assert client.result(made.job_id, timeout=10) == "Hello Ann"
    with pytest.raises(JobFailed, match="CANCELLED"):
        client.result(again[0].job_id)
    assert {job.id for job in client.jobs("task:greet", part=2)} >= {made.job_id, again[1].job_id}


async def test_the_async_client_does_the_same(shop: Holdfast, address: str) -> None:
    key = create_key(shop, "client", scopes=[Scope.ENQUEUE, Scope.READ, Scope.OPERATE])
    async with AsyncClient(address, key=key) as client:
        made = await client.enqueue("greet", {"name": "Ann"})
        await shop.run_worker(until_idle=True, handle_signals=False)

        assert await client.result(made.job_id, timeout=10) == "Hello Ann"
        assert made.job_id in [job.id async for job in client.jobs("status:completed")]
    await shop.link.aclose()


def test_what_is_refused_is_an_error_of_ours(client: Client, shop: Holdfast, address: str) -> None:
    with pytest.raises(JobNotFound):
        client.job(uuid4())
    with pytest.raises(BadInput, match="nobody"):
        client.enqueue("nobody")
    with pytest.raises(NotAllowed, match="scope approve"):
        client.decide(uuid4(), "approve")
    with Client(address, key="hfk_nonsense") as stranger, pytest.raises(NotAllowed):
        stranger.job(uuid4())


class Flaky:
    """A service that loses its answers: the effect is there, and the caller does not learn it."""

    def __init__(self, behind: str, lost: int) -> None:
        self.behind = behind
        self.lost = lost
        self.keys: list[str] = []
        self._lock = threading.Lock()

    async def answer(self, request: Request) -> Response:
        body = await request.body()
        kept = {"authorization", "idempotency-key", "content-type"}
        headers = {name: value for name, value in request.headers.items() if name in kept}
        async with httpx.AsyncClient() as onward:
            answer = await onward.request(
                request.method, self.behind + request.url.path, content=body, headers=headers
            )
        with self._lock:
            self.keys.append(headers.get("idempotency-key", ""))
            self.lost -= 1
            if self.lost >= 0:
                return JSONResponse({}, 503, {"Retry-After": "0"})
        return Response(answer.content, answer.status_code, media_type="application/json")

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self.answer, methods=["GET", "POST"])])


def test_a_repeat_after_a_lost_answer_does_nothing_twice(
    shop: Holdfast, address: str, owner: psycopg.Connection
) -> None:
    key = create_key(shop, "client", scopes=[Scope.ENQUEUE])
    flaky = Flaky(address, lost=2)
    with served(flaky.app) as url, Client(url, key=key) as client:
        client.enqueue("greet", {"name": "Ann"}, subject="once")

    assert len(flaky.keys) == 3
    assert len(set(flaky.keys)) == 1
    count = owner.execute("select count(*) from holdfast.job where subject = 'once'").fetchone()
    assert count == (1,)


def test_a_service_that_stays_away_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "_pause", staticmethod(lambda *_arguments: 0.0))
    with (
        Client("http://127.0.0.1:1", key="hfk_x") as client,
        pytest.raises(DatabaseUnavailable, match="does not answer"),
    ):
        client.job(uuid4())


def test_an_address_that_is_none_is_refused() -> None:
    wrong: Any = "example.com"
    with pytest.raises(Configuration, match="https://"):
        Client(wrong, key="k")
