"""A claim takes at most what it asked for, each job once, and waits for nobody, whatever plan the planner picks."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
import pytest

from guarantees.hands import Hands
from holdfast.testing import ScratchDatabase
from sql.plans import each_plan
from sql.support import until_it_waits


@pytest.fixture
def other(holdfast_db: ScratchDatabase) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(holdfast_db.url, autocommit=True) as connection:
        yield connection


def by_places(_owner: psycopg.Connection[Any], hands: Hands, count: int) -> list[UUID]:
    return hands.enqueue(count)


def by_slots(owner: psycopg.Connection[Any], hands: Hands, count: int) -> list[UUID]:
    """Enqueue into a limited queue whose line is not cleared: a claim begins with the slots there."""
    owner.execute("select holdfast.limit_queue('default', 1000)")
    jobs = hands.enqueue(count)
    owner.execute("select holdfast.admit_due(1000)")
    owner.execute("update holdfast.queue set cleared = false where name = 'default'")
    return jobs


Enqueue = Callable[[psycopg.Connection[Any], Hands, int], list[UUID]]
each_way = pytest.mark.parametrize("enqueue", [by_places, by_slots])


@each_way
def test_a_claim_takes_no_more_than_its_limit_under_every_join_plan(
    owner: psycopg.Connection[Any], login: psycopg.Connection[Any], enqueue: Enqueue
) -> None:
    hands = Hands(login)
    enqueue(owner, hands, 20)

    taken = {len(hands.claim(limit=1)) for _ in each_plan(login)}

    assert taken == {1}


def test_of_all_suspects_one_is_taken_under_every_join_plan(
    owner: psycopg.Connection[Any], login: psycopg.Connection[Any]
) -> None:
    hands = Hands(login)
    hands.enqueue(20)
    owner.execute("update holdfast.job set suspect = true")

    taken = {len(hands.claim_suspect()) for _ in each_plan(login)}

    assert taken == {1}


@each_way
def test_a_claim_does_not_wait_for_jobs_that_others_are_taking(
    holdfast_db: ScratchDatabase,
    owner: psycopg.Connection[Any],
    login: psycopg.Connection[Any],
    other: psycopg.Connection[Any],
    enqueue: Enqueue,
) -> None:
    slow, quick = Hands(login), Hands(other)
    first, second = enqueue(owner, slow, 2)
    with ThreadPoolExecutor(1) as thread, login.transaction():
        assert [job["id"] for job in slow.claim()] == [first]

        claiming = thread.submit(quick.claim)
        until_it_waits(holdfast_db, claiming)

        assert claiming.done()
    assert [job["id"] for job in claiming.result()] == [second]


@each_way
def test_concurrent_claims_share_the_line_without_overlap(
    holdfast_db: ScratchDatabase,
    owner: psycopg.Connection[Any],
    login: psycopg.Connection[Any],
    enqueue: Enqueue,
) -> None:
    jobs = enqueue(owner, Hands(login), 200)
    taken: list[Any] = []
    begin = threading.Barrier(4)

    def claim_all() -> None:
        with psycopg.connect(holdfast_db.url, autocommit=True) as connection:
            hands = Hands(connection)
            begin.wait()
            while found := hands.claim(3):
                taken.extend(job["id"] for job in found)

    threads = [threading.Thread(target=claim_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(taken) == sorted(jobs)


@each_way
def test_a_claim_waiting_for_another_does_not_take_the_same_job_again(
    holdfast_db: ScratchDatabase,
    owner: psycopg.Connection[Any],
    login: psycopg.Connection[Any],
    other: psycopg.Connection[Any],
    enqueue: Enqueue,
) -> None:
    first, second = Hands(login), Hands(other)
    (job,) = enqueue(owner, first, 1)

    with ThreadPoolExecutor(1) as thread, login.transaction():
        first.claim()
        claiming = thread.submit(second.claim)
        until_it_waits(holdfast_db, claiming)

    assert claiming.exception() is None
    assert claiming.result() == []
    held = owner.execute("select holder, attempt from holdfast.job where id = %s", (job,)).fetchone()
    assert held == (first.id, 1)


def test_a_paused_queue_gives_nothing(owner: psycopg.Connection[Any], login: psycopg.Connection[Any]) -> None:
    hands = Hands(login)
    hands.enqueue()
    owner.execute("select holdfast.pause_queue('default')")

    assert hands.claim() == []
    owner.execute("select holdfast.resume_queue('default')")
    assert len(hands.claim()) == 1
