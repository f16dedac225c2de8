"""Channels: how a message leaves. A failure is worth a retry or it is not; what a channel knows of secrets stays in it."""

import base64
import binascii
import hmac
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from typing import Any, ClassVar, Literal, Protocol, TypeAlias
from urllib.parse import urlsplit

from holdfast.domain.errors import BadInput, Configuration, DispatchFailed, DispatchRefused
from holdfast.domain.message import Message, is_address, one_line
from holdfast.domain.outcome import Fail, Retry
from holdfast.runtime.logs import events
from holdfast.runtime.outbound import Outbound, Reply

Tls: TypeAlias = Literal["starttls", "implicit", "none"]

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_IMPLICIT_TLS_PORT = 465
_FEWEST_SECRET_BYTES = 24
_PASSING = {408, 425, 429}
_LONGEST_WAIT = 3600.0


class Channel(Protocol):
    """Where messages go."""

    kind: ClassVar[str]

    async def send(self, message: Message) -> None:
        """Send one message; raises Retry when it may work later, Fail when it never will."""


@dataclass(frozen=True, slots=True)
class Email:
    """Sends mail through an SMTP server. TLS is required unless the server is on this machine or tls="none" says otherwise."""

    kind: ClassVar[str] = "email"
    host: str
    port: int = 587
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    sender: str = ""
    to: Sequence[str] = ()
    tls: Tls | None = None
    timeout: float = 30.0

    def __post_init__(self) -> None:
        try:
            one_line("sender=", self.sender, 320)
        except BadInput as error:
            raise Configuration(f"Email: {error}") from None
        if isinstance(self.to, str):
            raise Configuration(f"Email: to={self.to!r} is one address: give a list, [{self.to!r}]")
        for address in (parseaddr(self.sender)[1], *self.to):
            if not is_address(address):
                raise Configuration(f"Email: {address!r} is no e-mail address")
        if self.password is not None and self.way == "none" and self.host not in _LOOPBACK:
            raise Configuration(
                f"Email: the password would travel to {self.host} in clear: use tls='starttls'"
            )

    @property
    def way(self) -> Tls:
        """How the connection is protected."""
        if self.tls is not None:
            return self.tls
        if self.port == _IMPLICIT_TLS_PORT:
            return "implicit"
        return "none" if self.host in _LOOPBACK else "starttls"

    async def send(self, message: Message) -> None:
        """Send one message; raises Retry when it may work later, Fail when it never will."""
        try:
            import aiosmtplib  # noqa: PLC0415 - an extra: only who sends mail needs it
        except ImportError as error:
            raise Fail("sending mail needs aiosmtplib: pip install 'holdfast[outside]'") from error

        recipients = list(self.to) if message.recipient is None else [message.recipient]
        if not recipients or not all(is_address(address) for address in recipients):
            raise Fail("the message has no recipient with an e-mail address: give Email(…, to=[…]) or to=…")
        try:
            refused, _ = await aiosmtplib.send(
                self._written(message, recipients),
                sender=parseaddr(self.sender)[1],
                recipients=recipients,
                hostname=self.host,
                port=self.port,
                username=self.username,
                password=self.password,
                use_tls=self.way == "implicit",
                start_tls=self.way == "starttls",
                timeout=self.timeout,
            )
        except aiosmtplib.SMTPRecipientsRefused as error:
            raise _smtp_refusal([each.code for each in error.recipients], self.host) from error
        except aiosmtplib.SMTPResponseException as error:
            raise _smtp_refusal([error.code], self.host) from error
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
            raise Retry(f"the mail server {self.host} cannot be reached: {type(error).__name__}") from error
        if refused:  # the others have it: sending again would tell them twice
            events.warning(
                "notification:recipients_refused",
                extra={
                    "notification": message.id,
                    "refused": len(refused),
                    "sent": len(recipients) - len(refused),
                },
            )

    def _written(self, message: Message, recipients: Sequence[str]) -> EmailMessage:
        mail = EmailMessage(policy=SMTP)
        mail["From"] = self.sender
        mail["To"] = ", ".join(recipients)
        mail["Subject"] = message.subject
        mail["Date"] = format_datetime(datetime.fromisoformat(message.created_at))
        mail["Message-ID"] = f"<{message.id}@{parseaddr(self.sender)[1].rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"
        if message.is_urgent:
            mail["Importance"] = "high"
        mail.set_content(message.text)
        return mail


def _smtp_refusal(codes: Iterable[int], host: str) -> Fail | Retry:
    """Judge by the codes alone: a server's words may repeat what it was sent."""
    listed = sorted(set(codes))
    told = f"the mail server {host} refused the message ({', '.join(map(str, listed))})"
    return Fail(told) if all(code >= 500 for code in listed) else Retry(told)  # noqa: PLR2004 - permanent


@dataclass(frozen=True, slots=True)
class SlackWebhook:
    """Posts to a Slack-compatible incoming webhook, whose address is the secret."""

    kind: ClassVar[str] = "slack"
    url: str = field(repr=False)
    allow: Sequence[str] = ()
    timeout: float = 30.0

    def __post_init__(self) -> None:
        _check_url("SlackWebhook", self.url)

    async def send(self, message: Message) -> None:
        """Send one message; raises Retry when it may work later, Fail when it never will."""
        text = f"*{_escaped(message.subject)}*\n{_escaped(message.text)}"
        body = json.dumps({"text": text}, ensure_ascii=False).encode("utf-8", "replace")
        headers = {"Content-Type": "application/json", "Webhook-Id": message.id}
        await _post(Outbound(self.allow, deadline=self.timeout), self.url, headers, body)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@dataclass(frozen=True, slots=True)
class SignedWebhook:
    """Posts JSON that is signed as Standard Webhooks says; several secrets sign together while one replaces another."""

    kind: ClassVar[str] = "webhook"
    url: str = field(repr=False)
    secret: str | Sequence[str] = field(repr=False)
    allow: Sequence[str] = ()
    timeout: float = 30.0

    def __post_init__(self) -> None:
        _check_url("SignedWebhook", self.url)
        for secret in self._secrets:
            if len(_key(secret)) < _FEWEST_SECRET_BYTES:
                raise Configuration(
                    f"SignedWebhook: the secret has fewer than {_FEWEST_SECRET_BYTES} bytes; make one with: openssl rand -hex 32"
                )

    @property
    def _secrets(self) -> tuple[str, ...]:
        return (self.secret,) if isinstance(self.secret, str) else tuple(self.secret)

    async def send(self, message: Message) -> None:
        """Send one message; raises Retry when it may work later, Fail when it never will."""
        body = json.dumps(_event(message), ensure_ascii=False).encode("utf-8", "replace")
        headers = self.signed(message.id, int(time.time()), body)
        await _post(Outbound(self.allow, deadline=self.timeout), self.url, headers, body)

    def signed(self, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
        """Give the headers of a body."""
        content = f"{message_id}.{timestamp}.".encode() + body
        signatures = [
            base64.b64encode(hmac.digest(_key(secret), content, "sha256")) for secret in self._secrets
        ]
        return {
            "Content-Type": "application/json",
            "Webhook-Id": message_id,
            "Webhook-Timestamp": str(timestamp),
            "Webhook-Signature": " ".join(f"v1,{signature.decode()}" for signature in signatures),
        }


def _event(message: Message) -> dict[str, Any]:
    kinds = {"opened": "alert.opened", "resolved": "alert.resolved"}
    return {
        "type": kinds.get(message.kind, f"notification.{message.kind}"),
        "timestamp": message.created_at,
        "data": {
            "subject": message.subject,
            "text": message.text,
            "urgent": message.is_urgent,
            **message.data,
        },
    }


def _key(secret: str) -> bytes:
    """Read a secret: whsec_ and base64 as the standard writes it, or the bytes of any other text."""
    if not secret.startswith("whsec_"):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise Configuration("SignedWebhook: what follows whsec_ in the secret is not base64") from None


def _check_url(what: str, url: str) -> None:
    """Refuse an address that cannot be one; without repeating it, because it may be the secret."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in {"https", "http"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not url.isprintable() or " " in url:
        raise Configuration(f"{what}: the address is not https://host/…")


async def _post(outbound: Outbound, url: str, headers: Mapping[str, str], body: bytes) -> None:
    try:
        reply = await outbound.send("POST", url, headers=headers, content=body)
    except DispatchRefused as error:
        raise Fail(str(error)) from error
    except DispatchFailed as error:
        raise Retry(str(error)) from error
    _judge(reply, urlsplit(url).hostname or "")


def _judge(reply: Reply, host: str) -> None:
    """Judge by the status alone: what else the receiver says is nobody's business."""
    if 200 <= reply.status < 300:  # noqa: PLR2004 - taken
        return
    told = f"{host} answered {reply.status}"
    if reply.status >= 500 or reply.status in _PASSING:  # noqa: PLR2004 - its own trouble
        raise Retry(told, in_=_asked_wait(reply.headers.get("retry-after")))
    raise Fail(f"{told}: it does not take messages there; check the channel's address and secret")


def _asked_wait(header: str | None) -> float | None:
    if header is None or not header.isdecimal():
        return None
    return min(float(header), _LONGEST_WAIT)
