"""P6-P8: requests that no honest program writes: lies about length, two requests in one, forms where none belong, ranges."""

import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from holdfast.domain.access import Scope
from holdfast.interfaces.http import body as bodies
from holdfast.interfaces.http.asgi import asgi
from holdfast.testing import TestServer
from service.targets import Target, target
from service.threads import answering
from world.often import times

LAST = b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
NOT_THERE = 404
JOB = b'{"task": "take", "payload": {"name": "Ann"}}'


@dataclass
class Wire:
    """A server and the bytes that go to it."""

    url: httpx.URL
    target: Target

    def head(self, first: str = "POST /api/v1/jobs HTTP/1.1", *more: str) -> bytes:
        usual = [
            f"Host: {self.url.netloc.decode()}",
            f"Authorization: Bearer {self.target.key}",
            "Content-Type: application/json",
        ]
        return "\r\n".join([first, *usual, *more, "", ""]).encode("latin-1")

    def say(self, raw: bytes) -> tuple[list[int], bytes]:
        """Send bytes, and a last request for nothing; gives the statuses of all answers until the server hangs up, and what it said.

        Answers come in order: when the last one is there, or the server has hung up, nothing is being done any more.
        """
        with socket.create_connection((self.url.host, self.url.port or 0), timeout=20) as wire:
            heard = b""
            try:
                wire.sendall(raw + LAST)
                while some := wire.recv(65_536):
                    heard += some
            except ConnectionError:
                pass
        return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3})", heard)], heard


@pytest.fixture(scope="module")
def wire(holdfast_server: TestServer) -> Iterator[Wire]:
    with (
        target(holdfast_server, Scope.ADMIN) as attacked,
        pytest.MonkeyPatch.context() as patching,
        answering(asgi(attacked.app)) as url,
    ):
        patching.setattr(bodies, "SLOWEST_BODY", 0.5)
        yield Wire(httpx.URL(url), attacked)


def test_the_honest_request_is_taken(wire: Wire) -> None:
    """The control of all others."""
    before = wire.target.jobs()

    statuses, _ = wire.say(wire.head("POST /api/v1/jobs HTTP/1.1", f"Content-Length: {len(JOB)}") + JOB)

    assert (statuses, wire.target.jobs()) == ([201, NOT_THERE], before + 1)


def chunked(body: bytes) -> bytes:
    return f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"


# Whoever stands between may read one of two lengths, and we the other: what one takes for a body is a request to the other.
TWO_WAYS: dict[str, tuple[list[str], bytes]] = {
    "a length and chunks": ([f"Content-Length: {len(JOB)}", "Transfer-Encoding: chunked"], chunked(JOB)),
    "chunks and a length": (["Transfer-Encoding: chunked", "Content-Length: 4"], chunked(JOB)),
    "two lengths": ([f"Content-Length: {len(JOB)}", "Content-Length: 4"], JOB),
    "two lengths in one": ([f"Content-Length: {len(JOB)}, 4"], JOB),
    "an unknown coding": (["Transfer-Encoding: xchunked"], chunked(JOB)),
    "two codings": (["Transfer-Encoding: chunked, identity"], chunked(JOB)),
    "chunked twice": (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], chunked(JOB)),
    "a coding behind a tab": (["Transfer-Encoding:\tchunked\x0b"], chunked(JOB)),
    "a space before the colon": ([f"Content-Length : {len(JOB)}"], JOB),
    "a negative length": (["Content-Length: -1"], JOB),
    "a length with a plus": ([f"Content-Length: +{len(JOB)}"], JOB),
    "a length in other digits": (["Content-Length: 0x2d"], JOB),
    "an endless length": (["Content-Length: " + "9" * 30], JOB),
    "a NUL in a header": ([f"Content-Length: {len(JOB)}", "X-Odd: a\x00b"], JOB),
    "a header without a colon": ([f"Content-Length: {len(JOB)}", "nonsense"], JOB),
    "a header without a name": ([f"Content-Length: {len(JOB)}", ": x"], JOB),
    "two hosts": ([f"Content-Length: {len(JOB)}", "Host: evil.test"], JOB),
    "more length than body": ([f"Content-Length: {len(JOB) + 10}"], JOB),
    "a chunk that says too much": (["Transfer-Encoding: chunked"], b"ffff\r\n" + JOB + b"\r\n0\r\n\r\n"),
    "a chunk that says too little": (["Transfer-Encoding: chunked"], b"5\r\n" + JOB + b"\r\n0\r\n\r\n"),
    "a chunk in other digits": (["Transfer-Encoding: chunked"], b"0x2d\r\n" + JOB + b"\r\n0\r\n\r\n"),
    "a negative chunk": (["Transfer-Encoding: chunked"], b"-1\r\n" + JOB + b"\r\n0\r\n\r\n"),
    "an endless chunk": (["Transfer-Encoding: chunked"], b"f" * 40 + b"\r\n" + JOB),
    "chunks that never end": (["Transfer-Encoding: chunked"], f"{len(JOB):x}\r\n".encode() + JOB + b"\r\n"),
    "a long header": ([f"Content-Length: {len(JOB)}", "X-Long: " + "x" * 70_000], JOB),
    "many headers": ([f"Content-Length: {len(JOB)}", *(f"X-{n}: x" for n in range(5_000))], JOB),
}  # fmt: skip


@pytest.mark.parametrize("way", TWO_WAYS)
def test_a_request_that_can_be_read_in_two_ways_is_read_in_none(wire: Wire, way: str) -> None:
    headers, body = TWO_WAYS[way]
    before = wire.target.jobs()
    for _ in range(times(1, 100)):
        began = time.monotonic()

        statuses, heard = wire.say(wire.head("POST /api/v1/jobs HTTP/1.1", *headers) + body)

        assert [status for status in statuses if not 400 <= status < 500] == [], heard
        assert time.monotonic() - began < 15
    assert wire.target.jobs() == before


def test_what_lies_behind_a_request_is_no_request_of_its_sender(wire: Wire) -> None:
    """CL.TE and TE.CL: the second request has no key of its own, and gets nobody's."""
    stowaway = (
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        % len(JOB)
        + JOB
    )
    before = wire.target.jobs()
    for headers, body in [
        (["Content-Length: 6", "Transfer-Encoding: chunked"], b"0\r\n\r\n" + stowaway),
        (["Transfer-Encoding: chunked", "Content-Length: 4"], b"5c\r\n" + stowaway + b"\r\n0\r\n\r\n"),
        (["Content-Length: 0"], stowaway),
    ]:
        statuses, heard = wire.say(wire.head("POST /api/v1/jobs HTTP/1.1", *headers) + body)

        assert [status for status in statuses if not 400 <= status < 500] == [], heard
    assert wire.target.jobs() == before


FIRST_LINES = {
    "no version": "GET /api/v1/jobs",
    "HTTP/2": "PRI * HTTP/2.0",
    "another method": "G\x01T /api/v1/jobs HTTP/1.1",
    "a long path": "GET /" + "a" * 70_000 + " HTTP/1.1",
    "a path with a break": "GET /api/v1/jobs\rX: y HTTP/1.1",
    "two spaces": "GET  /api/v1/jobs HTTP/1.1",
    "climbing": "GET /api/v1/../../etc/passwd HTTP/1.1",
    "climbing in disguise": "GET /api/v1/..%2f..%2fetc%2fpasswd HTTP/1.1",
    "CONNECT": "CONNECT 169.254.169.254:80 HTTP/1.1",
    "TRACE": "TRACE /api/v1/jobs HTTP/1.1",
    "another host": "GET http://169.254.169.254/latest/meta-data HTTP/1.1",
}


@pytest.mark.parametrize("line", FIRST_LINES)
def test_a_first_line_that_makes_no_sense_is_refused(wire: Wire, line: str) -> None:
    for _ in range(times(1, 100)):
        statuses, heard = wire.say(wire.head(FIRST_LINES[line]))

        assert [status for status in statuses if not 400 <= status < 500] == [], heard
        assert wire.target.key.encode() not in heard


RANGES = [
    "bytes=0-0",
    "bytes=" + ",".join(["0-"] * 1_000),
    "bytes=-1",
    "bytes=9999999999999999999999-",
    "bytes=5-1",
    "lines=1-2",
]


@pytest.mark.parametrize(
    "path", ["/api/v1/openapi.json", "/api/v1/docs", "/api/v1/docs.css", "/a/approval.js", "/login"]
)
def test_a_range_is_not_obeyed_and_costs_nothing(wire: Wire, path: str) -> None:
    """P7: ranges that overlap made servers write the same bytes a thousand times."""
    _, whole = wire.say(wire.head(f"GET {path} HTTP/1.1"))
    for wanted in RANGES * times(1, 20):
        statuses, heard = wire.say(wire.head(f"GET {path} HTTP/1.1", f"Range: {wanted}"))

        assert statuses == [200, NOT_THERE]
        assert len(heard) == len(whole)


BOUNDARY = "multipart/form-data; boundary=x"
PART = b'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nann\r\n'
FORMS: dict[str, tuple[str, bytes]] = {
    "parts": (BOUNDARY, PART + b"--x--\r\n"),
    "many parts": (BOUNDARY, PART * 200 + b"--x--\r\n"),
    "a file": (BOUNDARY, b'--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n' + b"x" * 8_000 + b"\r\n--x--\r\n"),
    "parts without an end": (BOUNDARY, PART),
    "no boundary": ("multipart/form-data", PART),
    "many fields": ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % n for n in range(1_500))),
    "a large field": ("application/x-www-form-urlencoded", b"name=" + b"x" * 17_000),
    "a field twice": ("application/x-www-form-urlencoded", b"name=a&name=b&code=a&code=b&task=a&task=b"),
    "bytes": ("application/x-www-form-urlencoded", b"name=%ff&code=%ff"),
    "JSON under another name": ("text/plain", JOB),
    "no kind": ("", JOB),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_taken_where_one_belongs_and_within_its_limits(wire: Wire, form: str) -> None:
    kind, body = FORMS[form]
    host = wire.url.netloc.decode()
    before = wire.target.jobs()
    for _ in range(times(1, 100)):
        for path in (
            "/login",
            "/logout?x",
            "/a/01890a5d-ac96-774b-bcce-b302099a8057",
            "/api/v1/jobs",
            "/api/v1/tick",
        ):
            head = [
                f"POST {path} HTTP/1.1", f"Host: {host}", f"Content-Type: {kind}", f"Content-Length: {len(body)}",
                "Sec-Fetch-Site: same-origin", *([f"Authorization: Bearer {wire.target.key}"] if "/api/" in path else []),
            ]  # fmt: skip
            statuses, heard = wire.say("\r\n".join([*head, "", ""]).encode() + body)

            is_out = path.startswith("/logout") and statuses == [303, NOT_THERE]
            assert is_out or all(400 <= status < 500 for status in statuses), (path, heard[:300])
            assert statuses
    assert wire.target.jobs() == before
