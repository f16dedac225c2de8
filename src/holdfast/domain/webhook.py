"""Webhooks that come in: what was sent, what it says it is, and what of it people may see."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.domain.errors import BadInput, Configuration
from holdfast.domain.json_rules import MAX_DEPTH, is_too_deep
from holdfast.domain.redaction import SHORTEST_WORD

LONGEST_ID = 500
LONGEST_TYPE = 200
HIDDEN = "[hidden]"
ANY_TYPE = "*"

# What is hidden wherever it stands: secrets, and what identifies a person or their money.
_PRIVATE = re.compile(
    r"secret|password|passwd|token|api_?key|authorization|signature|credential|cookie|session_?id"
    r"|e?mail|phone|address|birth|iban|bic|tax_?id|card|account_?number|last4|fingerprint|^(first|last|full|given|family)?_?name$",
    re.IGNORECASE,
)
_PATH = re.compile(r"[^.\x00]+(\.[^.\x00]+)*")


class Outcome(StrEnum):
    """What became of an event that was brought."""

    HANDLED = "handled"
    IGNORED = "ignored"
    FAILED = "failed"
    REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """An event that another system sent and signed; `body` is its JSON, `raw` the very bytes."""

    endpoint: str
    id: str
    type: str
    body: Any
    raw: bytes
    delivery_id: UUID
    tenant: str | None = None
    replay: int = 0  # 0: it was sent; n: an operator replays it for the nth time


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A request before anybody believes it: its headers in lower case, without those that came twice, and the clock."""

    headers: Mapping[str, str]
    body: bytes
    now: float

    @classmethod
    def of(cls, headers: Sequence[tuple[str, str]], body: bytes, now: float) -> "SignedRequest":
        """Read headers; one that came twice says nothing, because two readers might choose differently."""
        names = [name.lower() for name, _ in headers]
        once = {name.lower(): value for name, value in headers if names.count(name.lower()) == 1}
        return cls(once, body, now)

    def header(self, name: str) -> str | None:
        """Give a header that came exactly once."""
        return self.headers.get(name.lower())


class EventName(NamedTuple):
    """What makes an event one of its kind: the sender's id, and its type."""

    id: str
    type: str


class Delivery(NamedTuple):
    """An event as the database keeps it, without its body."""

    id: UUID
    endpoint: str
    event_id: str
    type: str
    tenant: str | None
    status: str
    received_at: datetime
    ended_at: datetime
    tries: int
    replays: int
    replayed_by: str | None
    error: str | None
    jobs: list[UUID]
    bytes: int
    now: datetime


def read_json(body: bytes) -> Any:
    """Read the JSON of a body that a signature has vouched for."""
    if is_too_deep(body):
        raise BadInput(f"the body is nested deeper than {MAX_DEPTH} levels")
    try:
        return json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):  # not UTF-8, not JSON, or a number of thousands of digits
        raise BadInput("the body is not JSON") from None


def _no_constant(text: str) -> Any:
    raise ValueError(text)


def body_id(body: bytes) -> str:
    """Name an event by its bytes, where its sender gives it no id."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


def field_of(body: Any, path: str) -> str | None:
    """Give a text or whole number out of a body by its path, like `event.id`."""
    for name in path.split("."):
        body = body.get(name) if isinstance(body, dict) else None
    if isinstance(body, int) and not isinstance(body, bool):
        return str(body)
    return body if isinstance(body, str) else None


def checked_name(name: EventName) -> EventName:
    """Refuse what cannot be kept as an id or a type."""
    for what, text, longest in (("id", name.id, LONGEST_ID), ("type", name.type, LONGEST_TYPE)):
        if not text.isprintable() or not 1 <= len(text) <= longest:
            raise BadInput(f"the event's {what} has not 1 to {longest} printable characters")
    return name


def check_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Refuse what is no path of fields to hide."""
    for path in paths:
        if not _PATH.fullmatch(path):
            raise Configuration(f"redact: {path!r} is no path; write e.g. data.object.customer_details.*")
    return tuple(paths)


def redacted(value: Any, paths: Sequence[str] = ()) -> Any:
    """Give a copy to show: without what its field's name says is private, and without what stands at these paths.

    A path counts from the outermost object; `*` is any one field; lists are passed through.
    """
    return _redacted(value, [path.split(".") for path in paths])


def hidden_texts(value: Any, paths: Sequence[str] = ()) -> list[str]:
    """List what `redacted` hides, as it would stand in a text; the longest first."""
    found = _texts(value, redacted(value, paths))
    return sorted({text for text in found if len(text) >= SHORTEST_WORD}, key=len, reverse=True)


def _texts(value: Any, shown: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, shown if shown is HIDDEN else shown[name])
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, shown if shown is HIDDEN else shown[place])
    elif shown is HIDDEN and isinstance(value, str | int | float):
        yield str(value)


def _redacted(value: Any, paths: list[list[str]]) -> Any:
    if isinstance(value, list):
        return [_redacted(one, paths) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: _field(name, inner, paths) for name, inner in value.items()}


def _field(name: str, value: Any, paths: list[list[str]]) -> Any:
    inside = [path[1:] for path in paths if path and path[0] in {name, ANY_TYPE}]
    is_empty = value is None or isinstance(value, bool)
    if [] in inside or (_PRIVATE.search(name) and not is_empty):
        return HIDDEN
    return _redacted(value, inside)
