"""What a task redacts of a job, for those who write or show what is said about it."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from holdfast.domain.redaction import NOTHING, Hidden
from holdfast.store.call import Call, Row, function

# A document of holdfast.hidden_of, or of a query that makes the like.
Told: TypeAlias = Mapping[str, Any] | None


class Redacted(NamedTuple):
    """A job that has something to hide; its payload may be encrypted."""

    paths: list[str]
    payload: Any
    task: str
    tenant: str | None


def hidden_in(told: Told) -> Hidden:
    """Read what is hidden from what a query told about it."""
    return NOTHING if told is None else Hidden.of(told["payload"], told["paths"])


def hidden_in_first(rows: list[Row]) -> Hidden:
    """Read it from the last column of the first row: it is the same for all of them, and may be large."""
    return hidden_in(rows[0][-1]) if rows else NOTHING


def hidden_of(job_id: UUID) -> Call[Redacted | None]:
    """Ask what a task redacts of a job; None when it is nothing."""
    return function("hidden_of", job_id, read=lambda rows: Redacted(**rows[0][0]) if rows[0][0] else None)
