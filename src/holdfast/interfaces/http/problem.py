"""What a request is answered when it cannot be done: problem+json (RFC 9457), with types that stay the same."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response

from holdfast.domain import errors
from holdfast.runtime.logs import events

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class ProblemType:
    """One kind of problem: its name never changes, so that callers can act on it."""

    name: str
    status: HTTPStatus
    title: str

    @property
    def uri(self) -> str:
        """The type as it stands in the answer."""
        return f"urn:holdfast:problem:{self.name}"


BAD_REQUEST = ProblemType("bad-request", HTTPStatus.BAD_REQUEST, "The request cannot be read")
UNAUTHORIZED = ProblemType("unauthorized", HTTPStatus.UNAUTHORIZED, "Who are you?")
FORBIDDEN = ProblemType("forbidden", HTTPStatus.FORBIDDEN, "Your key or role does not allow this")
NOT_FOUND = ProblemType("not-found", HTTPStatus.NOT_FOUND, "There is no such thing")
METHOD_NOT_ALLOWED = ProblemType("method-not-allowed", HTTPStatus.METHOD_NOT_ALLOWED, "Not by this method")
TOO_SLOW = ProblemType("too-slow", HTTPStatus.REQUEST_TIMEOUT, "The body did not arrive in time")
CONFLICT = ProblemType("conflict", HTTPStatus.CONFLICT, "Its present state does not allow this")
DUPLICATE_KEY = ProblemType("duplicate-key", HTTPStatus.CONFLICT, "Another job holds this key")
LIMIT_REACHED = ProblemType("limit-reached", HTTPStatus.CONFLICT, "Another job is in the way")
CHANGED = ProblemType("changed", HTTPStatus.PRECONDITION_FAILED, "It has changed since you looked")
TOO_LARGE = ProblemType("too-large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is too large")
WRONG_MEDIA_TYPE = ProblemType("wrong-media-type", HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send JSON")
INVALID = ProblemType("invalid", HTTPStatus.UNPROCESSABLE_ENTITY, "The request makes no sense")
KEY_REUSED = ProblemType(
    "idempotency-key-reused",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "This Idempotency-Key belongs to another request",
)
QUOTA_REACHED = ProblemType("quota-reached", HTTPStatus.TOO_MANY_REQUESTS, "The tenant's quota is used up")
TOO_MANY = ProblemType("too-many-requests", HTTPStatus.TOO_MANY_REQUESTS, "Too many requests")
WRONG_HOST = ProblemType("wrong-host", HTTPStatus.MISDIRECTED_REQUEST, "This host is not served here")
INTERNAL = ProblemType("internal", HTTPStatus.INTERNAL_SERVER_ERROR, "Something is wrong on our side")
UNAVAILABLE = ProblemType("unavailable", HTTPStatus.SERVICE_UNAVAILABLE, "The database does not answer")

# The first that fits counts. What is not here is our own mistake.
_OF_ERROR: tuple[tuple[type[errors.HoldfastError], ProblemType], ...] = (
    (errors.DatabaseUnavailable, UNAVAILABLE),
    (errors.JobNotFound, NOT_FOUND),
    (errors.OperationNotFound, NOT_FOUND),
    (errors.TooManyJobs, CONFLICT),
    (errors.ScheduleNotFound, NOT_FOUND),
    (errors.ApprovalNotFound, NOT_FOUND),
    (errors.DeliveryNotFound, NOT_FOUND),
    (errors.KeyNotFound, NOT_FOUND),
    (errors.PersonNotFound, NOT_FOUND),
    (errors.ViewNotFound, NOT_FOUND),
    (errors.WorkerNotFound, NOT_FOUND),
    (errors.KeyRefused, CONFLICT),
    (errors.PersonExists, CONFLICT),
    (errors.DuplicateKey, DUPLICATE_KEY),
    (errors.LimitReached, LIMIT_REACHED),
    (errors.QuotaReached, QUOTA_REACHED),
    (errors.ApprovalRefused, FORBIDDEN),
    (errors.TenantBound, FORBIDDEN),
    (errors.TenantsNotApart, FORBIDDEN),
    (errors.ApprovalClosed, CONFLICT),
    (errors.IllegalMove, CONFLICT),
    (errors.NotRetryable, CONFLICT),
    (errors.Unchangeable, CONFLICT),
    (errors.IdReused, CONFLICT),
    (errors.ScheduleExists, CONFLICT),
    (errors.UnknownTask, INVALID),
    (errors.BadInput, INVALID),
)
_RETRY_AFTER = {"Retry-After": "5"}


class FieldProblem(BaseModel):
    """What is wrong with one part of a request."""

    at: str
    message: str


class Problem(BaseModel):
    """The body of every answer that is no success."""

    model_config = ConfigDict(json_schema_extra={"description": "RFC 9457 problem details"})

    type: str
    title: str
    status: int
    detail: str | None = None
    errors: list[FieldProblem] | None = None
    job_id: str | None = None
    incident: str | None = None


@dataclass(slots=True)
class Refusal(Exception):
    """Ends a request with a problem."""

    type: ProblemType
    detail: str | None = None
    fields: Sequence[FieldProblem] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, Any] = field(default_factory=dict)

    @property
    def response(self) -> Response:
        """The answer."""
        problem = Problem(
            type=self.type.uri, title=self.type.title, status=self.type.status, detail=self.detail,
            errors=None if self.fields is None else list(self.fields), **self.members,
        )  # fmt: skip
        body = problem.model_dump(mode="json", exclude_none=True)
        # What is left of a body is not read: nothing that follows it on this connection could be understood.
        ending = {"Connection": "close"} if self.type in {TOO_LARGE, TOO_SLOW} else {}
        headers = {"Cache-Control": "no-store", **ending, **self.headers}
        return JSONResponse(body, self.type.status, headers, media_type=MEDIA_TYPE)


def refusal_of(error: Exception) -> Refusal:
    """Say what an error is to a caller; what they cannot act on gets a number that the log has too, and nothing else."""
    for kind, problem in _OF_ERROR:
        if isinstance(error, kind):
            if problem is UNAVAILABLE:
                return Refusal(UNAVAILABLE, headers=_RETRY_AFTER)
            job_id = getattr(error, "job_id", None)
            return Refusal(problem, str(error)[:1000], members={"job_id": str(job_id)} if job_id else {})
    incident = secrets.token_hex(6)
    events.error("http:failed", exc_info=error, extra={"incident": incident})
    return Refusal(INTERNAL, "The log says more under this incident.", members={"incident": incident})
