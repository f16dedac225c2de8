"""Operations on many jobs at once, in the database."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.domain.bulk import Change, Operation, Refusal
from holdfast.domain.states import Status
from holdfast.store.call import Call, Row, function, nothing, query


class ChunkOutcome(NamedTuple):
    """What became of the jobs of a chunk."""

    done: int
    skipped: int


def begin_operation(
    operation_id: UUID,
    tenant: str | None,
    change: Change,
    search: str,
    actor: str,
    reason: str | None,
    jobs: Sequence[UUID],
    definition: dict[str, Any],
) -> Call[None]:
    """Make an operation, and the job that carries it out."""
    return function(
        "begin_operation", operation_id, tenant, change.action, change.priority, change.queue, search, actor, reason, list(jobs),
        json.dumps([definition]),
        read=nothing, types=("", "text", "text", "int", "text", "text", "text", "text", "uuid[]", "jsonb"),
    )  # fmt: skip


def run_chunk(operation_id: UUID, nth: int) -> Call[ChunkOutcome]:
    """Deal with a chunk, once."""
    return function(
        "run_chunk", operation_id, nth, read=lambda rows: ChunkOutcome(*rows[0]), types=("", "int")
    )


def list_operations(
    tenant: str | None, limit: int, before: UUID | None = None, only: UUID | None = None
) -> Call[list[Operation]]:
    """List operations, the newest first; a tenant's, or all."""
    return query("operations", _read_operations, tenant=tenant, limit=limit, before=before, id=only)


def _read_operations(rows: list[Row]) -> list[Operation]:
    return [Operation(Status(status) if status else None, *facts) for status, *facts in rows]


def list_refusals(operation_id: UUID, after: UUID | None, limit: int) -> Call[list[Refusal]]:
    """List the jobs that an operation could not be done to."""
    return query(
        "operation_refusals",
        lambda rows: [Refusal(*row) for row in rows],
        id=operation_id, after=after or UUID(int=0), limit=limit,
    )  # fmt: skip
