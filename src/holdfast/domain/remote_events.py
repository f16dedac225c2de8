"""Server-sent events as their reader sees them: bytes in pieces of any size become events, and a stream is resumed behind the last."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from holdfast.domain import errors
from holdfast.domain.live import READY, RESET
from holdfast.domain.remote import Service

# No event of the service is larger: what goes on without an end is no stream of ours.
LONGEST_LINE = 4 * 1024 * 1024


class EventsMissed(errors.HoldfastError):
    """Events between the last one and `after` are gone: load anew what you keep, and follow on from `after`."""

    def __init__(self, reason: str, after: str) -> None:
        super().__init__(f"{reason}; load anew what you keep, and go on with events(…, after={after!r})")
        self.reason = reason
        self.after = after


@dataclass(frozen=True, slots=True)
class RemoteEvent:
    """Something that happened; `id` goes into `after=` to resume behind it, in any process."""

    id: str
    kind: str
    job_id: UUID | None
    at: datetime
    data: dict[str, Any]


@dataclass(slots=True)
class EventReader:
    """Understands a stream, over as many connections as it takes."""

    last: str | None = None  # how far it has come
    has_begun: bool = False  # whether this connection has said anything
    _rest: bytearray = field(default_factory=bytearray)
    _fields: dict[str, str] = field(default_factory=dict)

    def begin(self) -> None:
        """Begin a new connection: what the last one did not finish saying was not said."""
        self.has_begun = False
        self._rest.clear()
        self._fields.clear()

    def headers(self) -> dict[str, str]:
        """Say how far this reader has come."""
        return {} if self.last is None else {"Last-Event-ID": self.last}

    def read(self, some: bytes) -> Iterator[RemoteEvent]:
        """Give the events that are whole now."""
        self._rest += some
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        if len(rest) > LONGEST_LINE:
            raise Service(f"the service sent a line of more than {LONGEST_LINE:,} bytes")
        for line in lines:
            event = self._line(bytes(line.rstrip(b"\r")))
            if event is not None:
                yield event

    def _line(self, line: bytes) -> RemoteEvent | None:
        if line:
            name, _, value = line.decode("utf-8", "replace").partition(":")
            if name:  # else it is a comment
                self._fields[name] = value.removeprefix(" ")
            return None
        told, self._fields = self._fields, {}
        return self._event(told) if "data" in told else None

    def _event(self, told: Mapping[str, str]) -> RemoteEvent | None:
        self.has_begun = True
        # Only now: who is cut inside an event has not had it.
        self.last = told.get("id", self.last)
        name = told.get("event")
        if name == READY:
            return None
        try:
            data = json.loads(told["data"])
            if name == RESET:
                raise EventsMissed(str(data["reason"]), self.last or "")
            job_id = None if data["job_id"] is None else UUID(data["job_id"])
            at = datetime.fromisoformat(data["at"])
            return RemoteEvent(self.last or "", data["kind"], job_id, at, data["data"])
        except (ValueError, KeyError, TypeError) as error:
            raise Service("the service sent an event that this client does not understand") from error


def topic(subject: str | None, tenant: str | None, job: UUID | str | None) -> dict[str, str]:
    """Say what to follow; a key that is bound to a tenant needs to say nothing."""
    named = {"subject": subject, "tenant": tenant, "job": job}
    said = {name: str(value) for name, value in named.items() if value is not None}
    if len(said) > 1:
        raise errors.BadInput(f"follow one of {' and '.join(said)}, not both")
    return said
