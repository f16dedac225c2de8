"""Outbound calls: no name, address, redirect or answer leads them anywhere but outside."""

import asyncio
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from ipaddress import ip_address, ip_network

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from apps._world.serving import given_up, served
from holdfast import DispatchFailed, DispatchRefused
from holdfast.domain.addresses import forbidden
from holdfast.runtime.outbound import Outbound, Reply
from world.connections import connected_to
from world.often import times

INSIDE = [
    "0.0.0.0", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.169.254",
    "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::7f00:1", "::169.254.169.254", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8",
    "64:ff9b::169.254.169.254", "64:ff9b::8.8.8.8", "64:ff9b:1::a9fe:a9fe", "100::1", "2001::1", "2001:0:53aa:64c:0:7f:5601:0101",
    "2001:10::1", "2001:db8::1", "2002:a9fe:a9fe::1", "2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1",
    "fe80::1%eth0", "fec0::1", "ff02::1", "4000::1",
]  # fmt: skip
OUTSIDE = ["8.8.8.8", "140.82.121.6", "2606:50c0:8000::154", "2a01:4f8::1"]


@pytest.mark.parametrize("address", INSIDE)
def test_an_address_inside_is_forbidden(address: str) -> None:
    assert forbidden(ip_address(address))


@pytest.mark.parametrize("address", OUTSIDE)
def test_an_address_outside_is_not(address: str) -> None:
    assert forbidden(ip_address(address)) is None


def send(
    url: str, *addresses: str, allow: tuple[str, ...] = (), deadline: float = 5, largest: int = 65536
) -> Reply:
    asked: list[str] = []

    async def resolve(host: str, _port: int) -> list[str]:
        asked.append(host)
        return list(addresses)

    outbound = Outbound(allow, deadline=deadline, resolve=resolve)
    reply = asyncio.run(
        outbound.send("POST", url, headers={"X-Ours": "1"}, content=b"hello", largest=largest)
    )
    assert len(asked) == 1  # resolved once: the second answer of a rebinding name is never asked for
    return reply


@pytest.mark.parametrize("address", INSIDE)
def test_a_name_that_leads_inside_is_refused(address: str) -> None:
    with pytest.raises(DispatchRefused, match="HOLDFAST_OUTBOUND_ALLOW"):
        send("https://ci.example/x", address)


NETWORKS = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15",
    "224.0.0.0/4", "240.0.0.0/4", "fc00::/7", "fe80::/10", "64:ff9b::/96", "2002::/16", "::ffff:0:0/96", "ff00::/8",
]  # fmt: skip
SPELLINGS = [
    "https://ci.example/x",
    "https://ci.example:8443/",
    "https://CI.example./x?y",
    "https://ci.example#@127.0.0.1/",
]


def test_no_connection_is_made_to_what_is_forbidden() -> None:
    """O1-O5: any address inside, alone, among others, or behind a name that says another one every time it is asked."""
    chance = random.Random(23)
    tried: list[str] = []
    with connected_to() as reached:
        for _ in range(times(100, 500)):
            network = ip_network(chance.choice(NETWORKS))
            address = str(network[chance.randrange(network.num_addresses)])
            given = chance.choice(
                [[address], ["192.0.2.77", address], [address, *OUTSIDE], [*OUTSIDE, address]]
            )
            tried += [*given]
            with pytest.raises(DispatchRefused):
                send(chance.choice(SPELLINGS), *given)

    assert len(tried) >= times(100, 500)
    assert reached == []


@pytest.mark.parametrize(
    "addresses", [("127.0.0.2",), ("127.0.0.3", "127.0.0.2")], ids=["alone", "behind one that is open"]
)
def test_nobody_inside_is_reached_who_was_not_named(addresses: tuple[str, ...]) -> None:
    """The networks that are open are looked at address by address: one of them opens no other."""
    with connected_to() as reached, suppress(DispatchRefused, DispatchFailed):
        send("https://ci.example:9/x", *addresses, allow=("127.0.0.3/32",))

    assert reached == []


def test_nobody_is_reached_without_tls_who_was_not_named() -> None:
    with connected_to() as reached, suppress(DispatchRefused, DispatchFailed):
        send("http://ci.example:9/x", "127.0.0.3", "8.8.8.8", allow=("127.0.0.3/32",))

    assert reached == []


def test_a_name_that_moves_inside_after_it_was_asked_is_not_followed() -> None:
    """O3: what was looked at is what is connected to; nobody asks the name again."""
    answers = iter([["127.0.0.2"], *[["169.254.169.254"]] * 50])

    async def resolve(_host: str, _port: int) -> list[str]:
        return next(answers)

    with connected_to() as reached, pytest.raises(DispatchFailed):
        asyncio.run(
            Outbound(("127.0.0.2/32",), deadline=5, resolve=resolve).send(
                "GET", "http://ci.internal:9/", headers={}
            )
        )

    assert {address for address, _ in reached} == {"127.0.0.2"}
    assert next(answers) == ["169.254.169.254"]


def test_one_address_inside_among_others_is_enough_to_be_refused() -> None:
    with pytest.raises(DispatchRefused, match="loopback"):
        send("https://ci.example/x", "8.8.8.8", "127.0.0.1")


@pytest.mark.parametrize(
    "url",
    ["ftp://ci.example/", "file:///etc/passwd", "https://", "https://user:secret@ci.example/", "http:///x", "//ci.example", "https://ci:0/"],
)  # fmt: skip
def test_an_address_that_is_not_https_to_a_host_is_refused(url: str) -> None:
    with pytest.raises(DispatchRefused):
        send(url, "8.8.8.8")


def test_a_call_without_tls_is_refused_outside() -> None:
    with pytest.raises(DispatchRefused, match="without TLS"):
        send("http://ci.example/", "8.8.8.8")


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost"])
def test_other_spellings_of_loopback_are_loopback(host: str) -> None:
    with pytest.raises(DispatchRefused):
        asyncio.run(Outbound().send("GET", f"https://{host}/", headers={}))


def application(seen: list[Request]) -> Starlette:
    async def echo(request: Request) -> Response:
        seen.append(request)
        return PlainTextResponse(await request.body())

    async def away(_request: Request) -> Response:
        return RedirectResponse("/echo")

    async def bomb(_request: Request) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(200):
                yield b"x" * 65536

        return StreamingResponse(pieces())

    async def slow(request: Request) -> Response:
        await given_up(request)
        return Response()

    routes = [("/echo", echo), ("/away", away), ("/bomb", bomb), ("/slow", slow)]
    return Starlette(routes=[Route(path, handler, methods=["POST", "GET"]) for path, handler in routes])


def test_what_configuration_allows_is_reached_at_the_pinned_address_under_its_own_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Request] = []
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with served(application(seen)) as url:
        port = url.rpartition(":")[2]
        by_name = send(f"http://ci.internal:{port}/echo?a=1", "127.0.0.1", allow=("ci.internal",))
        by_network = send(f"http://ci.internal:{port}/echo", "127.0.0.1", allow=("127.0.0.0/8",))

    assert by_name.body == by_network.body == b"hello"
    assert seen[0].headers["host"] == f"ci.internal:{port}"
    assert (seen[0].url.query, seen[0].headers["x-ours"]) == ("a=1", "1")


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    seen: list[Request] = []
    with served(application(seen)) as url:
        reply = send(f"{url}/away", "127.0.0.1", allow=("127.0.0.0/8",))

    assert (reply.status, seen) == (307, [])


def test_an_endless_answer_is_cut() -> None:
    with served(application([])) as url:
        reply = send(f"{url}/bomb", "127.0.0.1", allow=("127.0.0.0/8",))

    assert len(reply.body) == 65536


def test_a_slow_answer_is_given_up_and_leaves_doubt() -> None:
    with served(application([])) as url, pytest.raises(DispatchFailed, match=r"within 0.2 s") as failed:
        send(f"{url}/slow", "127.0.0.1", allow=("127.0.0.0/8",), deadline=0.2)

    assert failed.value.is_doubtful


def test_who_cannot_be_reached_has_not_been_told() -> None:
    with pytest.raises(DispatchFailed, match="cannot be reached") as failed:
        send("http://ci.internal:9/x", "127.0.0.1", allow=("ci.internal",))

    assert not failed.value.is_doubtful


def test_the_environment_may_open_networks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_OUTBOUND_ALLOW", "10.0.0.0/8, 127.0.0.0/8")
    with served(application([])) as url:
        assert send(f"{url}/echo", "127.0.0.1").status == 200


def test_certificates_are_read_once_and_not_for_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(_request: Request) -> Response:
        return PlainTextResponse("ok")

    with served(Starlette(routes=[Route("/", answer, methods=["POST"])])) as url:
        send(url, "127.0.0.1", allow=("127.0.0.0/8",))
        monkeypatch.setattr(
            ssl.SSLContext, "load_verify_locations", lambda *_, **__: pytest.fail("read again")
        )

        assert send(url, "127.0.0.1", allow=("127.0.0.0/8",)).body == b"ok"
