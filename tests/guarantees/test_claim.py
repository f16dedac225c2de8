"""A claim takes at most what it asked for, each job once, and waits for nobody, whatever plan the planner picks."""

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from guarantees.hands import Hands
from holdfast.testing import ScratchDatabase

SWITCHES = [
    "enable_nestloop",
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_hashagg",
    "enable_indexscan",
    "enable_material",
]
PLANS = list(itertools.product(["on", "off"], repeat=len(SWITCHES)))


@pytest.fixture
def other(holdfast_db: ScratchDatabase) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(holdfast_db.url, autocommit=True) as connection:
        yield connection


def test_a_claim_takes_no_more_than_its_limit_under_every_join_plan(login: psycopg.Connection[Any]) -> None:
    hands = Hands(login)
    hands.enqueue(20)
    taken = {}
    for plan in PLANS:
        with login.transaction(force_rollback=True):
            # A plan kept from an earlier round would answer for all of them.
            login.execute("discard plans")
            for switch, setting in zip(SWITCHES, plan, strict=True):
                login.execute(f"set local {switch} = {setting}")
            taken[plan] = len(hands.claim(limit=1))

    assert set(taken.values()) == {1}


def test_a_claim_does_not_wait_for_jobs_that_others_are_taking(
    login: psycopg.Connection[Any], other: psycopg.Connection[Any]
) -> None:
    slow, quick = Hands(login), Hands(other)
    first, second = slow.enqueue(2)
    with login.transaction():
        assert [job["id"] for job in slow.claim()] == [first]
        other.execute("set statement_timeout = '5s'")

        try:
            taken: list[Any] = [job["id"] for job in quick.claim()]
        except psycopg.errors.QueryCanceled:
            taken = []

    assert taken == [second]


def test_concurrent_claims_share_the_line_without_overlap(
    holdfast_db: ScratchDatabase, login: psycopg.Connection[Any]
) -> None:
    jobs = Hands(login).enqueue(200)
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


def test_a_claim_waiting_for_another_does_not_take_the_same_job_again(
    owner: psycopg.Connection[Any], login: psycopg.Connection[Any], other: psycopg.Connection[Any]
) -> None:
    first, second = Hands(login), Hands(other)
    (job,) = first.enqueue()
    answers: list[Any] = []

    def claim() -> None:
        try:
            answers.append(second.claim())
        except psycopg.Error as error:
            answers.append(error)

    with login.transaction():
        first.claim()
        claiming = threading.Thread(target=claim)
        claiming.start()
        claiming.join(0.3)  # long enough to reach the lock, if it waits for one at all
    claiming.join()

    assert answers == [[]]
    held = owner.execute("select holder, attempt from holdfast.job where id = %s", (job,)).fetchone()
    assert held == (first.id, 1)


def test_a_paused_queue_gives_nothing(owner: psycopg.Connection[Any], login: psycopg.Connection[Any]) -> None:
    hands = Hands(login)
    hands.enqueue()
    owner.execute("select holdfast.pause_queue('default')")

    assert hands.claim() == []
    owner.execute("select holdfast.resume_queue('default')")
    assert len(hands.claim()) == 1
