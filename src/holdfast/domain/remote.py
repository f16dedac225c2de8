"""The HTTP API as its client sees it: what is asked, and what an answer means."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from holdfast.domain import errors
from holdfast.domain.job import Enqueued
from holdfast.domain.segments import segment_of
from holdfast.domain.states import Status

T = TypeVar("T")
Query = Mapping[str, str | int | float]

_ERRORS: dict[str, type[errors.HoldfastError]] = {
    "unauthorized": errors.NotAllowed,
    "forbidden": errors.NotAllowed,
    "not-found": errors.JobNotFound,
    "conflict": errors.IllegalMove,
    "changed": errors.ApprovalChanged,
    "invalid": errors.BadInput,
    "bad-request": errors.BadInput,
    "too-large": errors.BadInput,
    "idempotency-key-reused": errors.IdReused,
    "quota-reached": errors.QuotaReached,
    "unavailable": errors.DatabaseUnavailable,
    "too-many-requests": errors.Busy,
}
_PREFIX = "urn:holdfast:problem:"


class Service(errors.HoldfastError):
    """The service answered something that this client does not understand."""


@dataclass(frozen=True, slots=True)
class Ask(Generic[T]):
    """A request as a value, and how to read its answer; performed by a sync or an async client."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    query: Query = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    patience: float = 0.0  # how long the service may take on purpose


@dataclass(frozen=True, slots=True)
class RemoteJob:
    """A job as the service tells it; `told` has everything."""

    id: UUID
    task: str
    queue: str
    status: Status
    why: str
    attempt: int
    created_at: datetime
    finished_at: datetime | None
    tenant: str | None
    subject: str | None
    error: dict[str, Any] | None
    payload: dict[str, Any] | None
    result: Any
    told: dict[str, Any] = field(repr=False)

    @classmethod
    def read(cls, told: dict[str, Any]) -> "RemoteJob":
        """Read a job from a list or by itself; lists leave payload and result out."""
        return cls(
            UUID(told["id"]), told["task"], told["queue"], Status(told["status"]), told["why"], told["attempt"],
            datetime.fromisoformat(told["created_at"]), _moment(told["finished_at"]), told["tenant"], told["subject"],
            told["error"], told.get("payload"), told.get("result"), told,
        )  # fmt: skip


class JobsPart(NamedTuple):
    """A part of a list of jobs, and where the next one begins."""

    jobs: list[RemoteJob]
    next: str | None


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def new_job(task: str, payload: Mapping[str, Any] | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Write a job for the service; moments as text, and what is None is not said."""
    written = {
        name: _aware(name, value) if isinstance(value, datetime) else value
        for name, value in options.items()
        if value is not None
    }
    return {"task": task, "payload": dict(payload or {}), **written}


def _aware(name: str, moment: datetime) -> str:
    if moment.utcoffset() is None:
        raise errors.BadInput(f"{name}={moment.isoformat()} has no time zone: use an aware datetime")
    return moment.astimezone(UTC).isoformat()


def enqueue(job: Mapping[str, Any]) -> Ask[Enqueued]:
    """Enqueue one job."""
    return Ask("POST", "/jobs", _enqueued, body=job)


def enqueue_many(jobs: Sequence[Mapping[str, Any]]) -> Ask[list[Enqueued]]:
    """Enqueue jobs together: all of them, or none."""
    return Ask(
        "POST",
        "/jobs/batch",
        lambda told: [_enqueued(one) for one in told["jobs"]],
        body={"jobs": list(jobs)},
    )


def _enqueued(told: Any) -> Enqueued:
    return Enqueued(UUID(told["id"]), told["created"])


def _job(job_id: UUID | str) -> str:
    # An id may be what somebody else has sent: it stays one segment, whatever it is.
    return f"/jobs/{segment_of(str(job_id))}"


def show(job_id: UUID | str) -> Ask[RemoteJob]:
    """Show a job."""
    return Ask("GET", _job(job_id), RemoteJob.read)


def wait(job_id: UUID | str, seconds: float) -> Ask[RemoteJob]:
    """Wait for a job's end, as long as the service lets one wait at a time."""
    return Ask("GET", f"{_job(job_id)}/wait", RemoteJob.read, query={"timeout": seconds}, patience=seconds)


def search(words: str, after: str | None, limit: int) -> Ask[JobsPart]:
    """List jobs that fit."""
    query: dict[str, str | int | float] = {"limit": limit, **({"q": words} if words else {})}
    return Ask("GET", "/jobs", _part, query={**query, **({"after": after} if after else {})})


def _part(told: Any) -> JobsPart:
    return JobsPart([RemoteJob.read(one) for one in told["items"]], told["next"])


def steer(job_id: UUID | str, verb: str, reason: str | None, **said: Any) -> Ask[RemoteJob]:
    """Cancel, retry or change a job."""
    body = {**said, **({"reason": reason} if reason else {})}
    return Ask("POST", f"{_job(job_id)}/{verb}", RemoteJob.read, body=body)


def delete(job_id: UUID | str, reason: str | None) -> Ask[None]:
    """Delete a job that has ended."""
    return Ask("POST", f"{_job(job_id)}/delete", _nothing, body={"reason": reason} if reason else {})


def _nothing(_told: Any) -> None:
    """Read an answer that says nothing new."""


def decide(
    approval_id: UUID | str, decision: str, reason: str | None, version: str | None
) -> Ask[dict[str, Any]]:
    """Decide an approval; with a version only if it still asks what was seen."""
    headers = {"If-Match": f'"{version}"'} if version else {}
    body = {"decision": decision, **({"reason": reason} if reason else {})}
    return Ask("POST", f"/approvals/{segment_of(str(approval_id))}/decide", dict, body=body, headers=headers)


def refusal(status: int, text: bytes) -> errors.HoldfastError:
    """Say what a problem is to this client's caller."""
    try:
        told = json.loads(text)
        kind = str(told["type"]).removeprefix(_PREFIX)
        words = _words(told)
    except (ValueError, KeyError, TypeError):
        return Service(f"the service answered {status}, and no problem+json")
    job_id = UUID(told["job_id"]) if told.get("job_id") else None
    if kind == "duplicate-key":
        return errors.DuplicateKey(words, job_id)
    if kind == "limit-reached":
        return errors.LimitReached(words, job_id)
    return _ERRORS.get(kind, Service)(words)


def _words(told: Mapping[str, Any]) -> str:
    fields = "; ".join(f"{one['at']}: {one['message']}" for one in told.get("errors") or ())
    return ": ".join(part for part in (told["title"], told.get("detail"), fields) if part)
