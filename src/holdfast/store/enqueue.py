"""Enqueue: jobs become one JSON document, which the database turns into rows or refuses as a whole."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.domain.job import Enqueued, NewJob
from holdfast.store.call import Call, Row, function, nothing

# Large batches are cut, so that no single statement holds locks or memory for long; all of them are one transaction.
CHUNK_JOBS = 1000
CHUNK_BYTES = 4 * 1024 * 1024


def document(jobs: Sequence[NewJob]) -> str:
    """Write the array that enqueue_many takes."""
    return "[" + ",".join([_member(job) for job in jobs]) + "]"


def _member(job: NewJob) -> str:
    return f'{{"id":"{job.id}","task":{json.dumps(job.task)},"payload":{job.payload}{job.options}}}'


def chunks(jobs: Sequence[NewJob]) -> Iterator[list[NewJob]]:
    """Cut a batch by count and by size."""
    chunk: list[NewJob] = []
    size = 0
    for job in jobs:
        if chunk and (len(chunk) >= CHUNK_JOBS or size + len(job.payload) > CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(job)
        size += len(job.payload)
    if chunk:
        yield chunk


def read_enqueued(rows: list[Row]) -> list[Enqueued]:
    """Read enqueue_many's answer, which comes in the order of the question."""
    return [Enqueued(job_id, created) for _, job_id, created in rows]


def enqueue_many(jobs: Sequence[NewJob], declared: str | None) -> Call[list[Enqueued]]:
    """Enqueue jobs; tasks that the database does not know yet are registered as declared."""
    return function("enqueue_many", document(jobs), declared, read=read_enqueued, types=("jsonb", "jsonb"))


def register_tasks(definitions: list[dict[str, Any]]) -> Call[None]:
    """Store what tasks exist, so that plain SQL gets their defaults."""
    return function("register_tasks", json.dumps(definitions), read=nothing, types=("jsonb",))


def declare_tasks(declared: str) -> Call[None]:
    """Store tasks that the database does not know yet, and leave the others as their workers have them."""
    return function("declare_tasks", declared, read=nothing, types=("jsonb",))
