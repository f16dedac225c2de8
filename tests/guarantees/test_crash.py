"""A worker that is killed loses nothing, doubles nothing, and its jobs are taken over within lease + sweep interval."""

import signal
import time

import psycopg
import pytest

from guarantees import shop as tasks
from guarantees.conftest import LONG_LEASE, Stage
from guarantees.hands import Hands
from guarantees.waiting import until
from holdfast import Holdfast

LEASE = 1.0
SWEEP = LEASE / 6 * 1.3
# Until the sweeper has put the job back: the promise itself, and a margin for a machine that pauses while somebody is killed. That nobody
# sweeps more seldom than promised is seen without it, below.
RECOVERY_BOUND = LEASE + SWEEP + 2.0
# So many fall silent, one after the other, within about nine sweeps of somebody with another lease: what a busy machine adds is less of that.
SILENT, APART, LONGER = 200, 0.015, 2.0


@pytest.mark.parametrize("point", ["claimed", "ran"])
def test_a_job_whose_worker_is_killed_before_its_outcome_is_recorded_runs_again(
    stage: Stage, shop: Holdfast, point: str
) -> None:
    job = tasks.note.enqueue(1)
    doomed = stage.start_worker(env={"HOLDFAST_TESTING": "1", "HOLDFAST_CRASH_AT": point})
    assert doomed.until_gone() == -signal.SIGKILL

    stage.worker()
    row = stage.until_status(job.id, "COMPLETED")

    assert (row["attempt"], row["retry_count"], row["crash_count"], row["result"]) == (2, 0, 0, 1)
    assert stage.moves(job.id) == ["PENDING", "RUNNING", "RETRY", "RUNNING", "COMPLETED"]
    stage.audit()


def test_an_outcome_recorded_before_the_kill_stands(stage: Stage, shop: Holdfast) -> None:
    job = tasks.note.enqueue(1)
    doomed = stage.start_worker(env={"HOLDFAST_TESTING": "1", "HOLDFAST_CRASH_AT": "finished"})
    assert doomed.until_gone() == -signal.SIGKILL

    stage.worker()
    until(
        "the dead worker is noticed",
        lambda: stage.value("select count(*) from holdfast.worker where died_at is not null"),
    )

    assert stage.moves(job.id) == ["PENDING", "RUNNING", "COMPLETED"]
    assert len(stage.ledger("start", job.id)) == 1
    stage.audit()


def test_a_job_running_in_a_killed_worker_is_taken_over_within_lease_and_sweep(
    stage: Stage, shop: Holdfast
) -> None:
    doomed = stage.worker(lease=LEASE)
    job = tasks.hold.enqueue("it")
    stage.until_started(job.id)
    stage.worker(lease=LEASE)

    doomed.kill()
    killed_at = time.monotonic()
    second = stage.until_started(job.id, attempt=2)
    stage.let_go("it")
    row = stage.until_status(job.id, "COMPLETED")

    returned_in = stage.value(
        "select extract(epoch from h.at - w.seen_at)::float8 from holdfast.job_history h, holdfast.worker w "
        "where h.job_id = %s and h.to_status = 'RETRY' and w.died_at is not null", job.id,
    )  # fmt: skip
    assert returned_in < RECOVERY_BOUND
    # A suspect runs in a process of its own, which takes a moment to start.
    assert second["at"] - killed_at < RECOVERY_BOUND + 5
    assert (row["result"], row["retry_count"], row["crash_count"]) == ("attempt 2", 0, 0)
    stage.audit()


def test_of_those_who_fall_silent_right_after_a_sweep_one_at_least_waits_no_longer_than_the_stated_interval(
    stage: Stage, login: psycopg.Connection
) -> None:
    hands = [Hands(login, lease=LONG_LEASE) for _ in range(SILENT)]
    hands[0].enqueue(SILENT)
    taken = [one.claim()[0]["id"] for one in hands]
    stage.worker(lease=LONGER)

    stage.rows(
        "update holdfast.worker w set lease = make_interval(secs => %s), seen_at = holdfast.clock() + make_interval(secs => n * %s - %s)"
        "  from unnest(%s::uuid[]) with ordinality as silent (id, n) where w.id = silent.id returning 1",
        LONGER, APART, LONGER, [one.id for one in hands],
    )  # fmt: skip
    stage.until_counts(RETRY=SILENT)

    # Of each sweep the one that waited longest: it fell silent right after the sweep before, but of the first, which only ends a wait.
    waited = [
        longest
        for (longest,) in stage.rows(
            "select max(extract(epoch from h.at - w.seen_at - w.lease))::float8"
            "  from unnest(%s::uuid[], %s::uuid[]) as s (job_id, worker)"
            "  join holdfast.worker w on w.id = s.worker"
            "  join holdfast.job_history h on h.job_id = s.job_id and h.to_status = 'RETRY'"
            " group by h.xid order by h.xid offset 1", taken, [one.id for one in hands],
        )
    ]  # fmt: skip
    # A busy machine makes sweeps late, more than half of them too, and none early: whoever swept half as often would be late with each.
    assert len(waited) >= 3
    assert min(waited) <= LONGER / 6 * 1.3, waited
    stage.audit()


def test_many_kills_lose_and_double_nothing(stage: Stage, shop: Holdfast) -> None:
    jobs = shop.enqueue_many([tasks.nap.job(n) for n in range(60)])
    for _ in range(2):
        victim = stage.worker(concurrency=2)
        done = stage.counts().get("COMPLETED", 0)
        stage.until_done(done + 11)
        victim.kill()
    stage.worker()
    stage.until_counts(COMPLETED=len(jobs), within=60)

    assert stage.value("select max(retry_count) from holdfast.job") == 0
    assert {one["job"] for one in stage.ledger("end")} == {str(job.id) for job in jobs}
    stage.audit()
