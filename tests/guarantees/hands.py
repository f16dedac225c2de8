"""A worker by hand: the calls a worker makes, one at a time, so that a test can make them too late, twice or at once."""

import json
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.rows import dict_row

TASK = "by_hand"


class Hands:
    """One identity on one connection of an application's login."""

    def __init__(self, connection: psycopg.Connection[Any], lease: float = 30.0) -> None:
        self.connection = connection
        self.id = uuid4()
        definition = json.dumps([{"name": TASK, "max_retries": 3}])
        connection.execute("select holdfast.register_tasks(%s::jsonb)", (definition,))
        connection.execute(
            "select holdfast.register_worker(%s, %s, 'here', 1, '0', '{}', array[%s], make_interval(secs => %s), clock_timestamp())",
            (self.id, f"hands-{self.id.hex[:8]}", TASK, lease),
        )

    def enqueue(self, count: int = 1) -> list[UUID]:
        return [self._one("select holdfast.enqueue(%s)", TASK) for _ in range(count)]

    def claim(self, limit: int = 1) -> list[dict[str, Any]]:
        claim_id = uuid4()
        return self._claimed(
            "select * from holdfast.claim(%s, %s, 'default', array[%s], %s)",
            claim_id,
            self.id,
            claim_id,
            TASK,
            limit,
        )

    def claim_suspect(self, *, runs_on: bool = False) -> list[dict[str, Any]]:
        claim_id = uuid4()
        return self._claimed(
            "select * from holdfast.claim_suspect(%s, %s, array['default'], array[%s], %s)",
            claim_id,
            self.id,
            claim_id,
            TASK,
            runs_on,
        )

    def _claimed(self, query: str, claim_id: UUID, *parameters: Any) -> list[dict[str, Any]]:
        with self.connection.cursor(row_factory=dict_row) as cursor:
            return [{**row, "claim_id": claim_id} for row in cursor.execute(query, parameters).fetchall()]

    def complete(self, job: dict[str, Any], result: str = '"mine"') -> str | None:
        """Complete an attempt; None when it is recorded, else the status the job has instead."""
        found = self.connection.execute(
            "select status::text from holdfast.complete(%s, array[%s]::uuid[], array[%s]::int[], array[%s]::uuid[], array[%s]::text[])",
            (self.id, job["id"], job["attempt"], job["claim_id"], result),
        ).fetchone()
        return found[0] if found else None

    def settle(self, job: dict[str, Any], outcome: str, **told: Any) -> tuple[str, bool]:
        """End an attempt otherwise; the status the job has now, and whether this call is what put it there."""
        settlement = {
            "id": str(job["id"]),
            "attempt": job["attempt"],
            "claim_id": str(job["claim_id"]),
            "outcome": outcome,
            **told,
        }
        found = self.connection.execute(
            "select status::text, recorded from holdfast.settle(%s, %s::jsonb)",
            (self.id, json.dumps([settlement])),
        ).fetchone()
        assert found is not None
        return found[0], found[1]

    def sweep(self) -> None:
        self.connection.execute("select holdfast.sweep()")

    def _one(self, query: str, *parameters: Any) -> Any:
        found = self.connection.execute(query, parameters).fetchone()
        assert found is not None
        return found[0]
