"""A stale attempt learns that it is stale, and nothing it writes is recorded."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from guarantees.audit import broken_rules
from guarantees.hands import Hands
from guarantees.waiting import until
from holdfast.testing import ScratchDatabase

ERROR = {"type": "Oops", "kind": "application", "recoverable": True, "message": "oops"}
OUTCOMES = [
    ("failed", {"error": ERROR, "delay": 60}),
    ("crashed", {"error": ERROR}),
    ("released", {}),
    ("cancelled", {}),
]


@pytest.fixture
def zombie(login: psycopg.Connection[Any]) -> Hands:
    return Hands(login, lease=1.0)


@pytest.fixture
def heir(holdfast_db: ScratchDatabase) -> Iterator[Hands]:
    with psycopg.connect(holdfast_db.url, autocommit=True) as connection:
        yield Hands(connection, lease=3600.0)


@pytest.fixture
def stale(zombie: Hands, heir: Hands, holdfast_db: ScratchDatabase) -> dict[str, Any]:
    """An attempt whose worker was silent for longer than its lease; nobody has taken the job over yet."""
    zombie.enqueue()
    (job,) = zombie.claim()
    holdfast_db.clock.advance(2)
    heir.sweep()
    return job


def row(owner: psycopg.Connection[Any], job: dict[str, Any]) -> tuple[Any, ...]:
    found = owner.execute(
        "select status::text, attempt, retry_count, crash_count, result, error, seq from holdfast.job where id = %s",
        (job["id"],),
    ).fetchone()
    assert found is not None
    return tuple(found)


def test_a_stale_completion_is_refused_while_the_job_waits_for_another(
    owner: psycopg.Connection[Any], zombie: Hands, stale: dict[str, Any]
) -> None:
    before = row(owner, stale)

    refusal = zombie.complete(stale)

    assert refusal == "RETRY"
    assert row(owner, stale) == before


def test_a_stale_completion_is_refused_while_another_attempt_runs(
    owner: psycopg.Connection[Any], zombie: Hands, heir: Hands, stale: dict[str, Any]
) -> None:
    (taken,) = heir.claim_suspect()
    before = row(owner, stale)

    refusal = zombie.complete(stale, '"stale"')

    assert refusal == "RUNNING"
    assert row(owner, stale) == before
    assert heir.complete(taken, '"fresh"') is None
    assert row(owner, stale)[4] == "fresh"
    assert broken_rules(owner) == []


def test_a_stale_completion_is_refused_after_another_attempt_completed(
    owner: psycopg.Connection[Any], zombie: Hands, heir: Hands, stale: dict[str, Any]
) -> None:
    (taken,) = heir.claim_suspect()
    heir.complete(taken, '"fresh"')

    refusal = zombie.complete(stale, '"stale"')

    assert refusal == "COMPLETED"
    assert row(owner, stale)[4] == "fresh"
    assert broken_rules(owner) == []


@pytest.mark.parametrize(("outcome", "told"), OUTCOMES)
def test_a_stale_settlement_is_refused(
    owner: psycopg.Connection[Any],
    zombie: Hands,
    heir: Hands,
    stale: dict[str, Any],
    outcome: str,
    told: dict[str, Any],
) -> None:
    heir.claim_suspect()
    before = row(owner, stale)

    answer = zombie.settle(stale, outcome, **told)

    assert answer == ("RUNNING", False)
    assert row(owner, stale) == before


def test_the_claim_id_fences_a_completion_though_the_attempt_number_is_equal(
    owner: psycopg.Connection[Any], heir: Hands
) -> None:
    heir.enqueue()
    (job,) = heir.claim()

    refusal = heir.complete({**job, "claim_id": uuid4()})

    assert refusal == "RUNNING"
    assert heir.complete(job) is None


def test_the_claim_id_fences_a_settlement_though_the_attempt_number_is_equal(
    owner: psycopg.Connection[Any], heir: Hands
) -> None:
    heir.enqueue()
    (job,) = heir.claim()

    answer = heir.settle({**job, "claim_id": uuid4()}, "failed", error=ERROR)

    assert answer == ("RUNNING", False)
    assert row(owner, job)[:3] == ("RUNNING", 1, 0)


def test_the_attempt_number_fences_though_the_claim_id_is_equal(heir: Hands) -> None:
    heir.enqueue()
    (job,) = heir.claim()

    assert heir.complete({**job, "attempt": 2}) == "RUNNING"
    assert heir.settle({**job, "attempt": 2}, "released") == ("RUNNING", False)


def test_a_worker_that_was_declared_dead_cannot_claim(zombie: Hands, stale: dict[str, Any]) -> None:
    zombie.enqueue()

    with pytest.raises(psycopg.Error) as refusal:
        zombie.claim()

    assert refusal.value.sqlstate == "HF002"


def test_a_heartbeat_tells_a_worker_that_it_is_dead_and_what_it_lost(
    login: psycopg.Connection[Any], zombie: Hands, stale: dict[str, Any]
) -> None:
    answer = login.execute(
        "select alive, lost from holdfast.beat(%s, array[%s]::uuid[], array[%s]::uuid[])",
        (zombie.id, stale["id"], stale["claim_id"]),
    ).fetchone()

    assert answer == (False, [stale["id"]])


def test_a_repeated_completion_by_the_same_attempt_is_a_success(
    owner: psycopg.Connection[Any], heir: Hands
) -> None:
    heir.enqueue()
    (job,) = heir.claim()

    assert heir.complete(job) is None
    before = row(owner, job)
    assert heir.complete(job) is None

    assert row(owner, job) == before


@pytest.mark.parametrize(("outcome", "told"), OUTCOMES)
def test_a_repeated_settlement_by_the_same_attempt_is_a_success(
    owner: psycopg.Connection[Any], heir: Hands, outcome: str, told: dict[str, Any]
) -> None:
    heir.enqueue()
    (job,) = heir.claim()

    first = heir.settle(job, outcome, **told)
    before = row(owner, job)
    second = heir.settle(job, outcome, **told)

    assert first[1]
    assert second == first
    assert row(owner, job) == before


def test_a_repeated_settlement_is_a_success_also_when_the_job_has_moved_on(
    owner: psycopg.Connection[Any], heir: Hands
) -> None:
    heir.enqueue()
    (job,) = heir.claim()
    heir.settle(job, "released")
    heir.claim()
    before = row(owner, job)

    answer = heir.settle(job, "released")

    assert answer == ("RUNNING", True)
    assert row(owner, job) == before


def test_a_sweep_leaves_a_worker_alone_that_was_heard_within_its_lease(
    owner: psycopg.Connection[Any], heir: Hands, zombie: Hands, holdfast_db: ScratchDatabase
) -> None:
    heir.enqueue()
    (job,) = heir.claim()
    holdfast_db.clock.advance(1800)

    zombie.sweep()

    assert row(owner, job)[:2] == ("RUNNING", 1)


def test_only_a_crash_suffered_alone_is_counted(
    owner: psycopg.Connection[Any], zombie: Hands, heir: Hands, holdfast_db: ScratchDatabase
) -> None:
    first, second = zombie.enqueue(2)
    zombie.claim(2)
    holdfast_db.clock.advance(2)
    heir.sweep()

    crashes = owner.execute("select id, crash_count, suspect from holdfast.job order by id").fetchall()

    assert crashes == [(first, 0, True), (second, 0, True)]


def test_a_suspect_is_not_charged_for_a_death_that_others_may_have_caused(
    owner: psycopg.Connection[Any],
    zombie: Hands,
    heir: Hands,
    login: psycopg.Connection[Any],
    holdfast_db: ScratchDatabase,
) -> None:
    (suspect,) = zombie.enqueue()
    zombie.claim()
    holdfast_db.clock.advance(2)
    heir.sweep()
    mortal = Hands(login, lease=1.0)
    mortal.enqueue()
    mortal.claim_suspect()
    mortal.claim()
    holdfast_db.clock.advance(2)

    heir.sweep()

    assert owner.execute("select crash_count from holdfast.job where id = %s", (suspect,)).fetchone() == (0,)


def leave_a_suspect(heir: Hands, login: psycopg.Connection[Any], database: ScratchDatabase) -> None:
    """Leave one job, which waits alone because its worker died with it."""
    heir.enqueue()
    Hands(login, lease=1.0).claim()
    database.clock.advance(2)
    heir.sweep()


def test_a_suspect_is_not_charged_for_what_may_have_run_on_beside_it(
    owner: psycopg.Connection[Any], heir: Hands, login: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    leave_a_suspect(heir, login, holdfast_db)
    counts = []
    for first, then in [(False, True), (True, True), (True, False)]:
        mortal = Hands(login, lease=1.0)
        (given_back,) = mortal.claim_suspect(runs_on=first)
        mortal.settle(given_back, "released")
        mortal.claim_suspect(runs_on=then)  # what it says last counts
        holdfast_db.clock.advance(2)
        heir.sweep()
        counts.append(owner.execute("select crash_count, suspect from holdfast.job").fetchone())

    assert counts == [(0, True), (0, True), (1, True)]
    assert broken_rules(owner) == []


def test_who_is_declared_dead_while_it_asks_for_a_suspect_gets_none(
    owner: psycopg.Connection[Any], heir: Hands, login: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    leave_a_suspect(heir, login, holdfast_db)
    slow = Hands(login, lease=1.0)
    holdfast_db.clock.advance(2)
    with ThreadPoolExecutor(1) as thread, psycopg.connect(holdfast_db.url) as sweeping:
        sweeping.execute("select * from holdfast.sweep()")
        asked = thread.submit(slow.claim_suspect, runs_on=True)
        until(
            "it waits for the sweep",
            lambda: owner.execute(
                "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%%claim_suspect%%'"
            ).fetchone(),
        )
        sweeping.commit()

        with pytest.raises(psycopg.Error) as refused:
            asked.result()

    assert refused.value.sqlstate == "HF002"
    assert owner.execute("select status::text from holdfast.job").fetchone() == ("RETRY",)


def test_a_suspect_is_charged_for_the_death_of_a_worker_that_held_nothing_else(
    owner: psycopg.Connection[Any], heir: Hands, login: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    (job,) = heir.enqueue()
    counts = []
    for claim in ("claim", "claim_suspect", "claim_suspect", "claim_suspect"):
        mortal = Hands(login, lease=1.0)
        getattr(mortal, claim)()
        holdfast_db.clock.advance(2)
        heir.sweep()
        counts.append(
            owner.execute(
                "select crash_count, status::text from holdfast.job where id = %s", (job,)
            ).fetchone()
        )

    assert counts == [(0, "RETRY"), (1, "RETRY"), (2, "RETRY"), (3, "FAILED")]
    assert broken_rules(owner) == []


def test_a_suspect_is_not_given_to_an_ordinary_claim(
    zombie: Hands, heir: Hands, stale: dict[str, Any]
) -> None:
    assert heir.claim() == []
    assert [job["id"] for job in heir.claim_suspect()] == [stale["id"]]


def test_a_released_suspect_stays_a_suspect(
    owner: psycopg.Connection[Any], heir: Hands, stale: dict[str, Any]
) -> None:
    (taken,) = heir.claim_suspect()

    heir.settle(taken, "released")

    assert owner.execute(
        "select suspect, crash_count from holdfast.job where id = %s", (stale["id"],)
    ).fetchone() == (True, 0)


def test_a_release_counts_as_nothing_and_puts_the_job_back_in_line(
    owner: psycopg.Connection[Any], heir: Hands
) -> None:
    heir.enqueue()
    (job,) = heir.claim()

    heir.settle(job, "released")

    assert row(owner, job)[:4] == ("RETRY", 1, 0, 0)
    assert [again["id"] for again in heir.claim()] == [job["id"]]


def test_a_worker_that_falls_silent_before_its_commit_keeps_the_job_no_longer_than_its_lease(
    owner: psycopg.Connection[Any], zombie: Hands, heir: Hands, holdfast_db: ScratchDatabase
) -> None:
    """Frozen, it answers nobody and its kernel keeps the connection: only the server can end the transaction that locks the job."""
    zombie.enqueue()
    (job,) = zombie.claim()
    zombie.connection.execute("begin")
    zombie.connection.execute(
        "select holdfast.complete_here(%s, %s, %s, null, null)", (job["id"], job["attempt"], job["claim_id"])
    )
    holdfast_db.clock.advance(2)

    def returned() -> bool:
        heir.sweep()
        return bool(row(owner, job)[0] == "RETRY")

    until("the job is claimable again", returned)

    with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
        zombie.connection.execute("commit")
    (taken,) = heir.claim_suspect()
    assert heir.complete(taken, '"fresh"') is None
    assert broken_rules(owner) == []


def test_a_time_of_the_callers_own_for_silent_transactions_stands(zombie: Hands) -> None:
    zombie.enqueue(2)
    silent: list[Any] = []
    for job in zombie.claim(2):
        own = "300ms" if not silent else "1h"
        with zombie.connection.transaction():
            zombie.connection.execute(
                "select set_config('idle_in_transaction_session_timeout', %s, true)", (own,)
            )
            zombie.connection.execute(
                "select holdfast.complete_here(%s, %s, %s, null, null)",
                (job["id"], job["attempt"], job["claim_id"]),
            )
            silent += zombie.connection.execute("show idle_in_transaction_session_timeout").fetchall()

    assert silent == [("300ms",), ("1s",)]
