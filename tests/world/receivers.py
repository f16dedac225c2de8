"""Real receivers on loopback: an SMTP server and an HTTP endpoint that answer as they are told, and keep what came."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from apps._world.serving import given_up, served

ACCEPTED = "250 OK"


@dataclass
class Mailbox:
    """An SMTP server; `answers` are given to the next messages, and then all are accepted."""

    answers: list[str] = field(default_factory=list)
    seen: list[EmailMessage] = field(
        default_factory=list
    )  # also those that were refused after they had been read
    accepted: list[EmailMessage] = field(default_factory=list)
    port: int = 0

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
        """Read a message, and answer."""
        message = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.seen.append(message)
        answer = self.answers.pop(0) if self.answers else ACCEPTED
        if answer == ACCEPTED:
            self.accepted.append(message)
        return answer


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def mail_server(mailbox: Mailbox) -> Iterator[Mailbox]:
    """Receive mail for as long as the block lasts."""
    mailbox.port = mailbox.port or free_port()
    controller = Controller(mailbox, hostname="127.0.0.1", port=mailbox.port)
    controller.start()
    try:
        yield mailbox
    finally:
        controller.stop()


@dataclass
class Endpoint:
    """An HTTP endpoint; `answers` are statuses for the next requests (0: none in time), and then 200."""

    answers: list[int] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    url: str = ""

    async def receive(self, request: Request) -> Response:
        """Keep a request, and answer."""
        self.bodies.append(await request.body())
        self.headers.append(dict(request.headers))
        status = self.answers.pop(0) if self.answers else 200
        if status == 0:
            await given_up(request)
            status = 200
        return Response("the receiver's own words", status, headers={"retry-after": "1"})

    @property
    def ids(self) -> list[str]:
        """The ids of what came, repeats included."""
        return [headers["webhook-id"] for headers in self.headers]


@contextmanager
def http_endpoint(endpoint: Endpoint) -> Iterator[Endpoint]:
    """Receive requests for as long as the block lasts."""
    app = Starlette(routes=[Route("/{path:path}", endpoint.receive, methods=["POST"])])
    with served(app) as address:
        endpoint.url = f"{address}/services/T0/B0/veryhiddenpath"
        yield endpoint
