"""Who signed a webhook: verifiers for the ways in which systems sign, each with several secrets while one replaces another."""

import base64
import hashlib
import hmac
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeAlias

from holdfast.domain.errors import BadInput, Configuration
from holdfast.domain.signature import weakness
from holdfast.domain.webhook import EventName, SignedRequest, body_id, field_of
from holdfast.runtime.keys import read_secret

TOLERANCE = 300.0
# Senders choose most of these secrets, and not all choose 32 bytes.
SHORTEST_SECRET = 16

Secrets: TypeAlias = str | Sequence[str] | None
Encoding: TypeAlias = Literal["hex", "base64"]
Algorithm: TypeAlias = Literal["sha256", "sha384", "sha512"]

_MOST_SIGNATURES = 8
_STRIPE_TIME = re.compile(r"(?:^|,)t=(\d{1,10})(?=,|$)", re.ASCII)


class Verifier(ABC):
    """Tells a sender from everybody else. Derive from it for a way of signing that is not here.

    Without a secret it is read from HOLDFAST_WEBHOOK_SECRET_<ENDPOINT> (or its _FILE) when the server starts,
    and the one before it from HOLDFAST_WEBHOOK_SECRET_<ENDPOINT>_PREVIOUS.
    """

    def __init__(self, secret: Secrets = None) -> None:
        given = [secret] if isinstance(secret, str) else secret
        self._given = None if given is None else [self._checked("its secret", each) for each in given]
        if self._given == []:
            raise Configuration(f"{type(self).__name__} was given an empty list of secrets")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"  # never its secrets

    def secrets(self, endpoint: str) -> list[str]:
        """Give the secrets that count at an endpoint."""
        if self._given is not None:
            return list(self._given)
        variable = "HOLDFAST_WEBHOOK_SECRET_" + endpoint.upper().replace("-", "_")
        found = [(name, read_secret(name)) for name in (variable, f"{variable}_PREVIOUS")]
        read = [self._checked(name, secret) for name, secret in found if secret is not None]
        if not read:
            raise Configuration(f"webhook {endpoint!r} has no secret: set {variable}, or give it in code")
        return read

    def _checked(self, what: str, secret: str) -> str:
        why = weakness(secret, SHORTEST_SECRET)
        if why is not None:
            raise Configuration(f"{type(self).__name__}: {what} is too weak: {why}")
        return secret

    @abstractmethod
    def verify(self, request: SignedRequest, secrets: Sequence[str]) -> bool:
        """Whether one of these secrets signed these bytes; nothing of the request is believed before."""

    @abstractmethod
    def name(self, request: SignedRequest, body: Any) -> EventName:
        """Give the event's id and type; raises BadInput where there are none."""


class Stripe(Verifier):
    """Stripe's signatures, verified by Stripe's own library: pip install 'holdfast[stripe]'."""

    def secrets(self, endpoint: str) -> list[str]:
        """Give the signing secrets (whsec_…); the library is loaded now, not with the first event."""
        _stripe_signature()
        return super().secrets(endpoint)

    def verify(self, request: SignedRequest, secrets: Sequence[str]) -> bool:
        """Whether Stripe signed it, at most 300 seconds ago; the library alone would take times to come."""
        header = request.header("stripe-signature") or ""
        times = _STRIPE_TIME.findall(header)
        is_recent = len(times) == 1 and _is_recent(times[0], request.now)
        matched = [self._matches(request.body, header, secret) for secret in secrets]
        return is_recent and any(matched)

    def _matches(self, body: bytes, header: str, secret: str) -> bool:
        stripe = _stripe_signature()
        try:
            return bool(stripe.verify_header(body.decode(), header, secret, int(TOLERANCE)))
        except Exception:  # noqa: BLE001 - whatever a forger's header does to the library, it is no signature
            return False

    def name(self, request: SignedRequest, body: Any) -> EventName:  # noqa: ARG002 - all is in the body
        """Read the event's id and type."""
        return EventName(_required(body, "id"), _required(body, "type"))


@cache
def _stripe_signature() -> Any:
    try:
        from stripe import WebhookSignature  # noqa: PLC0415 - an extra, and slow to load
    except ImportError as error:
        raise Configuration("Stripe's webhooks need its library: pip install 'holdfast[stripe]'") from error
    return WebhookSignature


class GitHub(Verifier):
    """X-Hub-Signature-256. It covers the body only: neither a time nor the headers with the event's type and id."""

    def verify(self, request: SignedRequest, secrets: Sequence[str]) -> bool:
        """Whether GitHub signed the body; whoever has a copy can send it again, and X-GitHub-Delivery tells them apart."""
        given = _after(request.header("x-hub-signature-256"), "sha256=")
        return _matches_one(_from_hex(given), [_hmac(each.encode(), request.body) for each in secrets])

    def name(self, request: SignedRequest, body: Any) -> EventName:  # noqa: ARG002 - all is in headers
        """Read delivery id and event from their headers."""
        delivery, event = request.header("x-github-delivery"), request.header("x-github-event")
        if not delivery or not event:
            raise BadInput("X-GitHub-Delivery or X-GitHub-Event is missing")
        return EventName(delivery, event)


class _Named(Verifier):
    """A sender whose events have their id and type in a header or in a field of the body."""

    def __init__(
        self,
        secret: Secrets = None,
        *,
        id_header: str | None = None,
        id_field: str = "id",
        type_header: str | None = None,
        type_field: str = "type",
    ) -> None:
        super().__init__(secret)
        self._id_header, self._id_field = id_header, id_field
        self._type_header, self._type_field = type_header, type_field

    def name(self, request: SignedRequest, body: Any) -> EventName:
        """Read id and type; an event without an id is known by its bytes, one without a type is "event"."""
        event_id = _from_header(request, self._id_header) or field_of(body, self._id_field)
        event_type = _from_header(request, self._type_header) or field_of(body, self._type_field)
        return EventName(event_id or body_id(request.body), event_type or "event")


class StandardWebhook(_Named):
    """Standard Webhooks: webhook-id, webhook-timestamp and webhook-signature; the id is signed, and the event's own."""

    def _checked(self, what: str, secret: str) -> str:
        try:
            _standard_key(secret)
        except ValueError:
            raise Configuration(f"StandardWebhook: {what} is no base64 after whsec_") from None
        return super()._checked(what, secret)

    def verify(self, request: SignedRequest, secrets: Sequence[str]) -> bool:
        """Whether id, time and body were signed, at most 300 seconds ago or ahead."""
        event_id, timestamp = request.header("webhook-id") or "", request.header("webhook-timestamp") or ""
        signed = b".".join([event_id.encode(), timestamp.encode(), request.body])
        expected = [_hmac(_standard_key(each), signed) for each in secrets]
        parts = (request.header("webhook-signature") or "").split(" ")[:_MOST_SIGNATURES]
        given = [_from_base64(_after(part, "v1,")) for part in parts]
        matched = [_matches_one(each, expected) for each in given]
        return any(matched) and "." not in event_id and event_id != "" and _is_recent(timestamp, request.now)

    def name(self, request: SignedRequest, body: Any) -> EventName:
        """Take the id that was signed."""
        return EventName(request.headers["webhook-id"], super().name(request, body).type)


def _standard_key(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix("whsec_"), validate=True)


class HmacHeader(_Named):
    """An HMAC in a header, as many systems send one.

    `signed` says of what: "{body}", or with a time from `timestamp_header`, e.g. Slack's "v0:{timestamp}:{body}".
    An id in a header is not covered by the signature: a field of the body is, and is better.
    """

    def __init__(
        self,
        secret: Secrets = None,
        *,
        header: str = "X-Signature",
        prefix: str = "",
        encoding: Encoding = "hex",
        algorithm: Algorithm = "sha256",
        signed: str = "{body}",
        timestamp_header: str | None = None,
        **named: Any,
    ) -> None:
        super().__init__(secret, **named)
        if signed.count("{body}") != 1 or ("{timestamp}" in signed) != (timestamp_header is not None):
            raise Configuration(
                "signed= has {body} once, and {timestamp} exactly if there is a timestamp_header"
            )
        if algorithm not in {"sha256", "sha384", "sha512"}:
            raise Configuration(f"algorithm={algorithm!r} is not one of sha256, sha384, sha512")
        self._header, self._prefix, self._algorithm = header, prefix, algorithm
        self._decode = _from_hex if encoding == "hex" else _from_base64
        self._before, self._after_body = signed.split("{body}")
        self._timestamp_header = timestamp_header

    def verify(self, request: SignedRequest, secrets: Sequence[str]) -> bool:
        """Whether the body, and the time if there is one, were signed; the time at most 300 seconds ago or ahead."""
        timestamp = request.header(self._timestamp_header) or "" if self._timestamp_header else None
        before, after = (
            part.replace("{timestamp}", timestamp or "").encode() for part in (self._before, self._after_body)
        )
        signed = before + request.body + after
        expected = [_hmac(each.encode(), signed, self._algorithm) for each in secrets]
        given = self._decode(_after(request.header(self._header), self._prefix))
        is_signed = _matches_one(given, expected)
        return is_signed and (timestamp is None or _is_recent(timestamp, request.now))


class SharedSecret(_Named):
    """A secret in a header, for senders that sign nothing. Whoever sees one request can send any other: use TLS, and rotate."""

    def __init__(
        self,
        secret: Secrets = None,
        *,
        header: str = "Authorization",
        prefix: str | None = None,
        **named: Any,
    ) -> None:
        super().__init__(secret, **named)
        self._header = header
        self._prefix = ("Bearer " if header.lower() == "authorization" else "") if prefix is None else prefix

    def verify(self, request: SignedRequest, secrets: Sequence[str]) -> bool:
        """Whether the header brings one of the secrets."""
        given = _after(request.header(self._header), self._prefix)
        expected = [hashlib.sha256(each.encode()).digest() for each in secrets]
        return _matches_one(hashlib.sha256(given.encode()).digest(), expected) and given != ""


def _hmac(key: bytes, signed: bytes, algorithm: str = "sha256") -> bytes:
    return hmac.digest(key, signed, algorithm)


def _matches_one(given: bytes, expected: Sequence[bytes]) -> bool:
    """Compare with all of them: the time it takes does not say which one it was."""
    matched = False
    for each in expected:
        matched |= hmac.compare_digest(each, given)
    return matched


def _after(text: str | None, prefix: str) -> str:
    return text[len(prefix) :] if text is not None and text.startswith(prefix) else ""


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text) if text.isalnum() else b""
    except ValueError:
        return b""


def _from_base64(text: str) -> bytes:
    try:
        read = base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError:  # not base64, or not ASCII
        return b""
    # Bits that its last letter has to spare are no part of it: a signature is written in one way.
    return read if base64.b64encode(read).decode() == text else b""


def _is_recent(timestamp: str, now: float) -> bool:
    is_number = timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= len("9999999999")
    return is_number and abs(int(timestamp) - now) <= TOLERANCE


def _from_header(request: SignedRequest, name: str | None) -> str | None:
    if name is None:
        return None
    value = request.header(name)
    if not value:
        raise BadInput(f"the header {name} is missing")
    return value


def _required(body: Any, name: str) -> str:
    value = body.get(name) if isinstance(body, Mapping) else None
    if not isinstance(value, str):
        raise BadInput(f"the event has no {name}")
    return value
