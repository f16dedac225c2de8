"""The client against a real server: what it enqueues is there once, what it waits for comes, what is refused is our error."""

import asyncio
import random
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
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
from holdfast.client import AsyncClient, Client, EventsMissed, Service
from holdfast.domain.access import Principal, Role, Scope
from holdfast.domain.errors import DatabaseUnavailable
from holdfast.domain.remote_events import LONGEST_LINE, EventReader
from holdfast.interfaces.http.asgi import asgi
from holdfast.runtime.access import create_key
from holdfast.store.project import project
from service.threads import answering
from world import strikes
from world.draining import drain
from world.often import times


@pytest.fixture
def address(shop: Holdfast) -> Iterator[str]:
    with answering(asgi(shop)) as url:
        yield url


@pytest.fixture
def client(shop: Holdfast, address: str) -> Iterator[Client]:
    key = create_key(shop, "client", scopes=[Scope.ENQUEUE, Scope.READ, Scope.OPERATE])
    with Client(address, key=key) as client:
        yield client


def test_an_id_that_somebody_made_up_leads_nowhere_else(client: Client, shop: Holdfast) -> None:
    made = client.enqueue("greet", {"name": "Ann"})

    for strange in (f"../jobs/{made.job_id}", f"{made.job_id}/cancel?", "..", ".", f"x/../{made.job_id}"):
        with pytest.raises((JobNotFound, BadInput)):
            client.cancel(strange)

    assert client.job(made.job_id).status == "PENDING"


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


# -- events ----------------------------------------------------------------------------------------------------------------


class Cutting:
    """Passes everything on to the service, and cuts connections somewhere, also in the middle of an event."""

    def __init__(self, url: str, chance: random.Random) -> None:
        self._target = (httpx.URL(url).host, httpx.URL(url).port or 0)
        self._chance = chance
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.cuts = 0
        self.stops = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._pass, args=[client], daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server, suppress(OSError):
            server.sendall(client.recv(65_536))
            left = self._chance.randint(300, 3_000)
            while some := server.recv(512):
                if not self.stops and len(some) >= left:
                    client.sendall(some[:left])
                    self.cuts += 1
                    return
                client.sendall(some)
                left -= len(some)

    def close(self) -> None:
        self._listening.close()


def publish(app: Holdfast, numbers: Iterable[int]) -> None:
    for number in numbers:
        app.publish("subject:s", "tick", {"n": number})
    while (done := app.link.perform(project(10_000))).rows or done.more:
        pass


@pytest.fixture
def cutting(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cutting]:
    monkeypatch.setattr(Client, "_pause", staticmethod(lambda *_arguments: 0.0))
    monkeypatch.setattr("holdfast.client._Performing._pause", staticmethod(lambda *_arguments: 0.0))
    cutting = Cutting(address, random.Random(6))
    yield cutting
    cutting.close()


def test_events_are_followed_through_cuts_without_gap_or_repeat(shop: Holdfast, cutting: Cutting) -> None:
    key, many = create_key(shop, "reader", scopes=[Scope.READ]), times(100, 5_000)
    publish(shop, range(many))
    with Client(cutting.url, key=key) as client:
        events = client.events(subject="s", after="0")
        told = []
        for number in range(many):
            told.append(next(events))
            if told[-1].data["n"] != number:
                strikes.saw_it(after=cutting.cuts)
        cutting.stops = True
        events.close()

    assert [event.data["n"] for event in told] == list(range(many))
    assert [event.id for event in told] == [str(number + 1) for number in range(many)]
    assert {(event.kind, event.job_id) for event in told} == {("tick", None)}
    assert cutting.cuts >= many / 50


async def test_the_async_client_follows_a_job_to_its_end_through_cuts(
    shop: Holdfast, cutting: Cutting
) -> None:
    key = create_key(shop, "reader", scopes=[Scope.READ])
    handle = shop.tasks["greet"].using(tenant="acme").enqueue("Ann")
    kinds: list[str] = []
    async with AsyncClient(cutting.url, key=key) as client:
        events = client.events(job=handle.id, after="0.0")
        async for event in events:
            kinds.append(event.kind)
            assert event.job_id == handle.id
            if event.kind == "job.enqueued":
                await asyncio.to_thread(drain, shop)
            if event.kind == "job.completed":
                break
        await events.aclose()
    await shop.link.aclose()

    assert kinds == ["job.enqueued", "job.started", "job.completed"]


def test_a_follower_that_missed_something_is_told_and_goes_on_behind_it(
    shop: Holdfast, address: str, owner: psycopg.Connection
) -> None:
    publish(shop, range(5))
    with owner.transaction():
        owner.execute("select set_config('holdfast.retention', pg_current_xact_id()::text, true)")
        owner.execute("delete from holdfast.feed where id <= 3")
    key = create_key(shop, "reader", scopes=[Scope.READ])
    with Client(address, key=key) as client:
        with pytest.raises(EventsMissed, match="no longer kept") as missed:
            next(client.events(subject="s", after="1"))
        events = client.events(subject="s", after=missed.value.after)
        told = [next(events), next(events)]
        events.close()

    assert [event.data["n"] for event in told] == [3, 4]


def test_who_may_not_follow_is_told_so_at_once(shop: Holdfast, address: str, client: Client) -> None:
    key = create_key(shop, "enqueuer", scopes=[Scope.ENQUEUE])
    with Client(address, key=key) as stranger, pytest.raises(NotAllowed):
        next(stranger.events(subject="s"))
    with pytest.raises(JobNotFound):
        next(client.events(job=uuid4()))
    with pytest.raises(BadInput, match="not both"):
        next(client.events(job=uuid4(), subject="s"))
    with pytest.raises(BadInput, match="say what to follow"):
        next(client.events())


def test_a_stream_that_stays_away_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.client._Performing._pause", staticmethod(lambda *_arguments: 0.01))
    with (
        Client("http://127.0.0.1:1", key="hfk_x") as client,
        pytest.raises(DatabaseUnavailable, match="does not answer"),
    ):
        next(client.events(subject="s", patience=0.05))


def test_an_event_counts_when_it_is_whole() -> None:
    reader = EventReader()
    whole = b'id: 7\r\nevent: tick\r\ndata: {"kind":"tick","job_id":null,"at":"2030-01-01T00:00:00+00:00","data":{"a":"\xc3\xa9"}}\r\n\r\n'

    pieces = [list(reader.read(whole[at : at + 1])) for at in range(len(whole) - 1)]
    before = reader.last
    (event,) = reader.read(whole[-1:])

    assert (before, [some for some in pieces if some]) == (None, [])
    assert (reader.last, event.id, event.kind, event.data) == ("7", "7", "tick", {"a": "é"})
    reader.begin()
    assert list(reader.read(whole[:30])) == []
    reader.begin()  # cut inside: what it began to say was not said
    assert [each.id for each in reader.read(whole.replace(b"id: 7", b"id: 8"))] == ["8"]


@pytest.mark.parametrize(
    "nonsense",
    [
        b"data: {\n\n",
        b"data: {}\n\n",
        b'data: {"kind":1}\n\n',
        b"event: reset\ndata: []\n\n",
        b"x" * (LONGEST_LINE + 1),
    ],
)
def test_a_stream_of_nonsense_is_not_believed(nonsense: bytes) -> None:
    with pytest.raises(Service):
        list(EventReader().read(nonsense))


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


def test_a_result_that_is_hidden_is_not_taken_for_none(shop: Holdfast) -> None:
    async def authenticate(_request: object) -> Principal:
        return Principal.of_role("ann", Role.VIEWER)

    job = shop.tasks["greet"].enqueue("Ann")
    drain(shop)

    with (
        answering(asgi(shop, authenticate=authenticate)) as url,
        Client(url, key="the host's") as client,
        pytest.raises(NotAllowed, match="reveal"),
    ):
        client.result(job.id)
