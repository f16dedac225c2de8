"""A large past, made by the functions that workers and producers call: the auditor must find nothing in it."""

import time
from typing import Any
from uuid import UUID, uuid4

from benchmarks.server import Server
from psycopg import Connection
from psycopg.types.json import Jsonb

A_TURN = 2000
TASKS = 40
TENANTS = 50
FAILS_ONE_IN = 33
CANCELLED_ONE_IN = 71
STEPS_ONE_IN = 20
TURNS_BETWEEN_VACUUMS = 50  # autovacuum comes too late for so much in so short a time


def make_past(server: Server, name: str, jobs: int) -> float:
    """Make so many jobs and let all of them end; gives the seconds it took."""
    server.install(name)
    began = time.monotonic()
    with server.connect(name) as connection:
        worker = _worker(connection)
        for turn in range(-(-jobs // A_TURN)):
            _turn(connection, worker, turn * A_TURN, min(A_TURN, jobs - turn * A_TURN))
            if turn % TURNS_BETWEEN_VACUUMS == 0:
                connection.execute("vacuum analyze")
        connection.execute("vacuum analyze")
    server.settle()
    return time.monotonic() - began


def _worker(connection: Connection[Any]) -> UUID:
    tasks = [f"shop.task_{number}" for number in range(TASKS)]
    connection.execute(
        "select holdfast.register_tasks(%s)", [Jsonb([{"name": name, "max_retries": 0} for name in tasks])]
    )
    worker = uuid4()
    connection.execute(
        "select holdfast.register_worker(%s, 'bench', 'host', 1, '0', '{\"default\": 10}', %s, interval '1 day', clock_timestamp())",
        [worker, tasks],
    )
    return worker


def _turn(connection: Connection[Any], worker: UUID, first: int, count: int) -> None:
    """Bring some jobs from their birth to their end, and into feed and figures."""
    new = [_job(number) for number in range(first, first + count)]
    made = connection.execute(
        "select e.nth, e.job_id from holdfast.enqueue_many(%s) as e order by e.nth", [Jsonb(new)]
    )
    connection.execute(
        "select holdfast.cancel(c, 'ann', 'no more') from unnest(%s::uuid[]) as c",
        [[id_ for _, id_ in made.fetchall()[::CANCELLED_ONE_IN]]],
    )
    claim = uuid4()
    taken = connection.execute(
        "select c.id, c.attempt from holdfast.claim(%s, %s, 'default', array(select t.name from holdfast.task t), %s) as c",
        [worker, claim, count],
    ).fetchall()
    with connection.transaction(), connection.cursor() as cursor:
        cursor.executemany(
            "select * from holdfast.save_step(%s, %s, %s, 'fetch', 'step', null, '1', 'no', 1, 0.0)",
            [(id_, attempt, claim) for id_, attempt in taken[::STEPS_ONE_IN]],
        )
    _end(connection, worker, claim, taken)
    more = True
    while more:
        ((more,),) = connection.execute("select p.more from holdfast.project() as p").fetchall()


def _end(connection: Connection[Any], worker: UUID, claim: UUID, taken: list[tuple[UUID, int]]) -> None:
    failed = taken[::FAILS_ONE_IN]
    fine = [row for row in taken if row not in set(failed)]
    refused = connection.execute(
        "select * from holdfast.complete(%s, %s, %s, %s, %s)",
        [worker, [id_ for id_, _ in fine], [number for _, number in fine], [claim] * len(fine), ["1"] * len(fine)],
    )  # fmt: skip
    if refused.fetchall():
        raise SystemExit("bench: a worker that lost nothing was refused")
    error = {"type": "shop.Trouble", "message": "the order was refused"}
    connection.execute(
        "select * from holdfast.settle(%s, %s)",
        [worker, Jsonb([{"id": str(id_), "attempt": number, "claim_id": str(claim), "outcome": "failed", "reason": "refused", "error": error}
                        for id_, number in failed])],
    )  # fmt: skip


def _job(number: int) -> dict[str, Any]:
    return {
        "task": f"shop.task_{number % TASKS}",
        "payload": {"order_id": number},
        "tenant": f"tenant-{number % TENANTS}",
        "subject": f"order-{number // 5}",
        "key": f"order-{number}" if number % 3 == 0 else None,
    }
