"""One key, one job; one retry, one job; whoever asks at the same time, and however often."""

import threading
from typing import Any
from uuid import UUID

import psycopg

from guarantees.hands import TASK, Hands
from holdfast.testing import ScratchDatabase

ERROR = {"type": "Oops", "kind": "application", "recoverable": False, "message": "oops"}


def at_once(count: int, url: str, ask: Any) -> list[UUID | None]:
    """Ask from this many connections at the same moment; None for who was refused."""
    answers: list[UUID | None] = []
    begin = threading.Barrier(count)

    def one() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            begin.wait()
            try:
                answers.append(ask(connection).fetchone()[0])
            except psycopg.Error:
                answers.append(None)

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_64_concurrent_enqueues_of_one_key_make_one_job(
    holdfast_db: ScratchDatabase, login: psycopg.Connection[Any], owner: psycopg.Connection[Any]
) -> None:
    Hands(login)

    answers = at_once(
        64, holdfast_db.url, lambda c: c.execute("select holdfast.enqueue(%s, p_key => 'k')", (TASK,))
    )

    assert owner.execute("select count(*) from holdfast.job").fetchone() == (1,)
    assert len(set(answers)) == 1


def test_a_failed_job_is_retried_by_hand_once(
    holdfast_db: ScratchDatabase, login: psycopg.Connection[Any], owner: psycopg.Connection[Any]
) -> None:
    hands = Hands(login)
    (job,) = hands.enqueue()
    hands.settle(hands.claim()[0], "failed", error=ERROR, recoverable=False)

    answers = at_once(16, holdfast_db.url, lambda c: c.execute("select holdfast.retry(%s)", (job,)))

    assert owner.execute("select count(*) from holdfast.job where retry_of = %s", (job,)).fetchone() == (1,)
    assert answers.count(None) == 15


def test_a_retry_waits_for_another_that_has_not_committed_and_is_refused(
    holdfast_db: ScratchDatabase, login: psycopg.Connection[Any], owner: psycopg.Connection[Any]
) -> None:
    hands = Hands(login)
    (job,) = hands.enqueue()
    hands.settle(hands.claim()[0], "failed", error=ERROR, recoverable=False)
    answers: list[UUID | None] = []
    with login.transaction():
        login.execute("select holdfast.retry(%s)", (job,))
        asking = threading.Thread(
            target=lambda: answers.extend(
                at_once(1, holdfast_db.url, lambda c: c.execute("select holdfast.retry(%s)", (job,)))
            )
        )
        asking.start()
        asking.join(0.5)  # long enough to reach the lock, if there is one
    asking.join()

    assert answers == [None]
    assert owner.execute("select count(*) from holdfast.job where retry_of = %s", (job,)).fetchone() == (1,)


def test_a_repeat_with_the_same_id_is_the_same_job_and_with_other_content_is_refused(
    login: psycopg.Connection[Any], owner: psycopg.Connection[Any]
) -> None:
    (job,) = Hands(login).enqueue()

    again = login.execute("select holdfast.enqueue(%s, p_id => %s)", (TASK, job)).fetchone()
    try:
        login.execute("""select holdfast.enqueue(%s, '{"other": 1}', p_id => %s)""", (TASK, job))
        refusal = None
    except psycopg.Error as error:
        refusal = error.sqlstate

    assert again == (job,)
    assert refusal == "HF007"
    assert owner.execute("select count(*) from holdfast.job").fetchone() == (1,)
