"""The server: what it serves and to whom, and how it ends."""

import asyncio
import re
import signal
import socket
import time
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest

from guarantees.waiting import until
from holdfast import Configuration, Holdfast
from holdfast.domain.access import Scope
from holdfast.interfaces.http import serving as http_serving
from holdfast.interfaces.http.serving import address_of, listen
from holdfast.runtime.access import create_key
from holdfast.server import asgi
from holdfast.testing import ScratchDatabase
from interfaces.calling import APP, Cli
from service.processes import serving
from service.threads import answering

CHARGE = {"task": "charge", "payload": {"amount": 3}}


@pytest.fixture
def cli(holdfast_db: ScratchDatabase) -> Cli:
    return Cli(holdfast_db)


def test_the_server_answers_until_it_is_told_to_stop_and_ends_with_0(
    holdfast_db: ScratchDatabase, cli: Cli
) -> None:
    cli.enqueue("charge", '{"amount": 1}')
    with serving(holdfast_db, "server", "--no-auth") as server, server.client() as client:
        made = client.post("/api/v1/jobs", json=CHARGE)
        began = time.monotonic()

        code = server.stop()

        assert (made.status_code, code) == (201, 0), server.said
        # The connection that is kept open keeps nobody: else it would take all the grace there is.
        assert time.monotonic() - began < http_serving.GRACE
    assert [job.payload for job in holdfast_db.jobs()] == [{"amount": 1}, {"amount": 3}]


def test_up_serves_and_works_in_one_process_and_both_end_together(holdfast_db: ScratchDatabase) -> None:
    with serving(holdfast_db, "up", "--no-auth", "--parts", "api") as server, server.client() as client:

        def completed() -> dict[str, Any] | None:
            made = client.post("/api/v1/jobs", json=CHARGE, headers={"Idempotency-Key": "once"})
            if made.status_code != 201:  # until the worker has said which tasks there are, nobody knows them
                return None
            job: dict[str, Any] = client.get(f"/api/v1/jobs/{made.json()['id']}").json()
            return job if job["status"] == "COMPLETED" else None

        job = until("the job is completed", completed)

        assert job is not None
        assert job["result"] == {"charged": 3}
        assert server.stop(signal.SIGINT) == 0, server.said


def test_dev_serves_this_machine_without_a_key(holdfast_db: ScratchDatabase) -> None:
    with serving(holdfast_db, "dev") as server, server.client() as client:
        shown = client.get("/api/v1/queues")

        assert shown.status_code == 200
        assert server.stop() == 0, server.said


def test_beyond_loopback_nobody_is_served_before_there_is_a_key(cli: Cli) -> None:
    refused = cli("server", "--host", "0.0.0.0", code=2)

    assert "0.0.0.0" in refused.stderr


def test_with_a_key_the_door_may_stand_where_others_reach_it(
    holdfast_db: ScratchDatabase, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = holdfast_db.use(Holdfast())
    create_key(app, "ops", scopes=[Scope.READ])
    asked: list[str] = []

    def serve(_application: object, listener: socket.socket) -> int:
        asked.append(listener.getsockname()[0])
        listener.close()
        return 0

    monkeypatch.setattr(http_serving, "serve", serve)

    cli("server", "--host", "0.0.0.0", "--port", "0")

    assert asked == ["0.0.0.0"]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_without_asking_who_comes_only_this_machine_is_served(cli: Cli, host: str) -> None:
    assert "on this machine only" in cli("server", "--no-auth", "--host", host, code=2).stderr


def test_a_part_that_is_not_there_is_said_with_those_that_are(cli: Cli) -> None:
    assert "'nonsense'; there are: " in cli("server", "--parts", "nonsense", code=2).stderr


def test_the_door_for_callbacks_is_served_alone(
    holdfast_db: ScratchDatabase, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_serving, "serve", lambda _application, listener: listener.close() or 0)
    callbacks = ("-a", "interfaces.executor_app:app", "server", "--parts", "callbacks", "--port", "0")

    # Beyond loopback too: runs sign what they say, and nobody else is let in.
    cli(*callbacks, "--host", "0.0.0.0", HOLDFAST_SECRET_KEY="a master key of more than thirty-two bytes")

    assert "no executors" in cli("-a", APP, *callbacks[2:], code=2).stderr


def test_a_port_that_is_taken_is_said_and_the_next_one_found_when_asked() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(Configuration, match="in use"):
            listen("127.0.0.1", port)
        with listen("127.0.0.1", port, tries=5) as found:
            assert port < found.getsockname()[1] <= port + 4


@pytest.mark.parametrize(
    ("host", "address"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]")]
)
def test_an_address_can_be_opened(host: str, address: str) -> None:
    with listen(host, 0) as listener:
        assert address_of(listener) == f"http://{address}:{listener.getsockname()[1]}"


def test_the_port_comes_from_the_environment_of_the_host_unless_ours_says_another(cli: Cli) -> None:
    common = cli("config", PORT="5000").stdout
    ours = cli("config", PORT="5000", HOLDFAST_PORT="6000").stdout

    assert re.search(r"^port +5000 ", common, re.MULTILINE)
    assert re.search(r"^port +6000 ", ours, re.MULTILINE)


def test_small_answers_do_not_wait_for_more_on_whatever_loop(shop: Holdfast) -> None:
    """uvloop sees to it by itself; asyncio only for sockets that name their protocol, which a listener's do not."""
    server = http_serving.Server(asgi(shop), listen("127.0.0.1", 0))

    async def look() -> list[int]:
        answering = asyncio.create_task(server.answer())
        async with httpx.AsyncClient(base_url=server.address, trust_env=False) as client:
            await client.get("/livez")
            sockets = [each.transport.get_extra_info("socket") for each in server.server_state.connections]
            found = [each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in sockets]
        server.stop()
        await answering
        return found

    assert asyncio.run(look()) == [1]


def is_hung_up(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False


def goes_on(connection: socket.socket) -> bool:
    try:
        connection.sendall(b"a")
    except OSError:
        return False
    return True


def test_who_connects_and_does_not_speak_is_hung_up_on(
    shop: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_serving, "SILENCE", 0.5)
    with answering(asgi(shop)) as url:
        place = (httpx.URL(url).host, httpx.URL(url).port or 0)
        with socket.create_connection(place) as silent, socket.create_connection(place) as slow:
            slow.sendall(b"GET /api/v1/jobs HTTP/1.1\r\nX-Slow: ")
            silent.settimeout(10)
            slow.settimeout(10)

            assert is_hung_up(silent)
            until("the slow one is hung up on", lambda: not goes_on(slow))


def is_answered(asking: HTTPConnection) -> bool:
    """Ask on a connection, and say whether there was an answer before it ended."""
    try:
        asking.request("GET", "/livez")
        return bool(asking.getresponse().read())
    except ConnectionError:
        return False


def test_who_asks_again_and_again_on_one_connection_is_not_hung_up_on(
    shop: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the look falls between two of its requests."""
    monkeypatch.setattr(http_serving, "SILENCE", 0.3)
    monkeypatch.setattr(http_serving, "_LOOK_EVERY_TICKS", 1)
    with answering(asgi(shop)) as url:
        asking = HTTPConnection(httpx.URL(url).host, httpx.URL(url).port)
        asking.connect()
        own_port = asking.sock.getsockname()[1]
        until_then = time.monotonic() + 1.5

        while time.monotonic() < until_then:
            assert is_answered(asking)
            time.sleep(0.02)  # it has something else to do: most of the time nothing is asked

        assert asking.sock.getsockname()[1] == own_port
        asking.close()
