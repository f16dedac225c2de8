"""Whoever comes first decides: of any number of simultaneous ends of one attempt exactly one is recorded, and no wake is lost."""

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest

from guarantees.audit import broken_rules
from guarantees.hands import Hands
from holdfast.testing import ScratchDatabase

ROUNDS = 1000


@pytest.fixture
def connect(holdfast_db: ScratchDatabase) -> Iterator[Callable[[], psycopg.Connection[Any]]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(psycopg.connect(holdfast_db.owner_url, autocommit=True))


def at_once(*workers: Callable[[], None]) -> None:
    """Run these in threads that start together; an error in one is an error here."""
    failed: list[BaseException] = []
    gate = threading.Barrier(len(workers))

    def run(worker: Callable[[], None]) -> None:
        gate.wait()
        try:
            worker()
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's own thread
            failed.append(error)

    threads = [threading.Thread(target=run, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def shuffled(jobs: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Give the same jobs in nearly the same order: neighbours change places, so that the threads keep meeting."""
    order = list(jobs)
    generator = random.Random(seed)
    for start in range(0, len(order), 4):
        part = order[start : start + 4]
        generator.shuffle(part)
        order[start : start + 4] = part
    return order


Won = list[UUID]


def complete_all(connection: psycopg.Connection[Any], me: UUID, jobs: list[dict[str, Any]], won: Won) -> None:
    for job in shuffled(jobs, 1):
        lost = connection.execute(
            "select status from holdfast.complete(%s, array[%s]::uuid[], array[%s]::int[], array[%s]::uuid[], array[null]::text[])",
            (me, job["id"], job["attempt"], job["claim_id"]),
        ).fetchall()
        if not lost:
            won.append(job["id"])


def fail_all(connection: psycopg.Connection[Any], me: UUID, jobs: list[dict[str, Any]], won: Won) -> None:
    for job in shuffled(jobs, 2):
        fence = {"id": str(job["id"]), "attempt": job["attempt"], "claim_id": str(job["claim_id"])}
        told = {**fence, "outcome": "failed", "recoverable": False, "error": {"type": "Boom"}}
        settled = connection.execute(
            "select recorded from holdfast.settle(%s, %s::jsonb)", (me, json.dumps([told]))
        ).fetchall()
        if settled == [(True,)]:
            won.append(job["id"])


def cancel_all(connection: psycopg.Connection[Any], _me: UUID, jobs: list[dict[str, Any]], won: Won) -> None:
    for job in shuffled(jobs, 3):
        try:
            connection.execute("select holdfast.cancel(%s)", (job["id"],))
        except psycopg.Error as refused:
            assert refused.sqlstate == "HF001", refused  # noqa: PT017 - somebody else was first
        else:
            won.append(job["id"])


def overtake_all(
    connection: psycopg.Connection[Any], _me: UUID, jobs: list[dict[str, Any]], won: Won
) -> None:
    for job in shuffled(jobs, 4):
        connection.execute(
            "update holdfast.job set deadline_at = holdfast.clock() - interval '1 second' where id = %s and status = 'RUNNING'",
            (job["id"],),
        )
        connection.execute("select holdfast.sweep()")
    ended = connection.execute("select job_id from holdfast.job_history where reason = 'deadline passed'")
    won += [row[0] for row in ended]


def test_of_complete_fail_cancel_and_a_deadline_exactly_one_wins(
    connect: Callable[[], psycopg.Connection[Any]],
) -> None:
    hands = Hands(connect())
    hands.enqueue(ROUNDS)
    jobs = hands.claim(ROUNDS)
    contenders = (complete_all, fail_all, cancel_all, overtake_all)
    won: list[Won] = [[] for _ in contenders]

    at_once(
        *(
            partial(contend, connect(), hands.id, jobs, mine)
            for contend, mine in zip(contenders, won, strict=True)
        )
    )

    completed, failed, cancelled, overtaken = won
    later = _cancelled_later(hands.connection)
    winners = [*completed, *failed, *(job for job in cancelled if job not in later), *overtaken]
    assert len(winners) == len(set(winners)) == len(jobs) == ROUNDS
    assert all(won)
    assert broken_rules(hands.connection) == []


def _cancelled_later(connection: psycopg.Connection[Any]) -> set[UUID]:
    """Find the jobs that a deadline had ended and a cancel then met in RETRY: two ends of the job, one of its attempt."""
    rows = connection.execute(
        "select h.job_id from holdfast.job_history h where h.from_status = 'RETRY' and h.to_status = 'CANCELLED'"
    )
    return {row[0] for row in rows}


def test_an_event_and_a_wait_for_it_never_miss_each_other(
    connect: Callable[[], psycopg.Connection[Any]],
) -> None:
    rounds = ROUNDS // 2
    hands = Hands(connect())
    hands.enqueue(rounds)
    jobs = hands.claim(rounds)

    def waits() -> None:
        connection = connect()
        for job in jobs:
            connection.execute(
                "select * from holdfast.wait_for_event(%s, %s, %s, 'e', '', %s, null, null)",
                (job["id"], job["attempt"], job["claim_id"], f"event {job['id']}"),
            )

    def emits() -> None:
        connection = connect()
        for job in jobs:
            connection.execute("select holdfast.emit(%s)", (f"event {job['id']}",))

    at_once(waits, emits)

    stuck = connect().execute(
        "select count(*) from holdfast.job j where j.status = 'WAITING' and j.claim_order is null"
    )
    assert stuck.fetchone() == (0,)


def test_a_job_that_ends_and_a_wait_for_it_never_miss_each_other(
    connect: Callable[[], psycopg.Connection[Any]],
) -> None:
    rounds = ROUNDS // 2
    hands = Hands(connect())
    hands.enqueue(2 * rounds)
    claimed = hands.claim(2 * rounds)
    waiting, awaited = claimed[:rounds], claimed[rounds:]

    def waits() -> None:
        connection = connect()
        for job, other in zip(waiting, awaited, strict=True):
            connection.execute(
                "select * from holdfast.wait_for_jobs(%s, %s, %s, 'w', '', array[%s]::uuid[], null, null)",
                (job["id"], job["attempt"], job["claim_id"], other["id"]),
            )

    def ends() -> None:
        connection = connect()
        for job in awaited:
            connection.execute(
                "select * from holdfast.complete(%s, array[%s]::uuid[], array[%s]::int[], array[%s]::uuid[], array[null]::text[])",
                (hands.id, job["id"], job["attempt"], job["claim_id"]),
            )

    at_once(waits, ends)

    stuck = connect().execute(
        "select count(*) from holdfast.job j where j.status = 'WAITING' and j.claim_order is null"
    )
    assert stuck.fetchone() == (0,)
    assert broken_rules(connect()) == []
