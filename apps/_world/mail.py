"""A real SMTP server with a mailbox to look into.

Kinds of trouble: `later` (451), `invalid` (550, the address is), `silent` (no answer in time, nothing is taken),
`lost` (the message is taken, but the answer never arrives), `held` (it is taken, and the answer held back until the sender is gone).
It takes mail from everybody who says no password, and refuses whoever says a wrong one.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from apps._world.script import Script

PASSWORD = "mail-key"  # noqa: S105 - of the world, on loopback
ANSWERS = {"later": "451 try again later", "invalid": "550 no such mailbox", None: "250 OK"}


class Mailbox:
    """All mail of the world in one box."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or Script()
        self.messages: list[EmailMessage] = []
        self.port = 0

    def to(self, address: str) -> list[EmailMessage]:
        """Give what an address was sent."""
        return [message for message in self.messages if address in str(message["to"])]

    def about(self, subject: str) -> list[EmailMessage]:
        """Give the messages whose subject has these words."""
        return [message for message in self.messages if subject in str(message["subject"])]

    async def handle_DATA(self, server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
        """Read a message, and answer."""
        trouble = self.script.next()
        if trouble in {None, "lost", "held"}:
            self.messages.append(message_from_bytes(envelope.content, policy=policy.default))
        if trouble == "lost":
            server.transport.abort()
        if trouble in {"silent", "held"}:
            while not server.transport.is_closing():  # noqa: ASYNC110 - aiosmtpd does not say when a sender hangs up
                await asyncio.sleep(0.01)
        return ANSWERS.get(trouble, ANSWERS[None])


def _authenticate(_server: Any, _session: Any, _envelope: Any, _mechanism: str, given: Any) -> AuthResult:
    return AuthResult(success=given.password == PASSWORD.encode(), handled=False)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextmanager
def simulated(script: Script | None = None) -> Iterator[Mailbox]:
    """Receive mail for as long as the block lasts."""
    mailbox = Mailbox(script)
    mailbox.port = _free_port()
    controller = Controller(
        mailbox, hostname="127.0.0.1", port=mailbox.port, authenticator=_authenticate, auth_require_tls=False
    )
    controller.start()
    try:
        yield mailbox
    finally:
        controller.stop()
