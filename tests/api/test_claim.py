"""app.claim: jobs in a host's own hands, fenced and kept alive like a worker's."""

from typing import Any

import psycopg
import pytest

from guarantees.waiting import until
from holdfast import BadInput, Holdfast, LeaseLost, Status
from holdfast.runtime.registry import AnyTask
from holdfast.testing import ScratchDatabase
from world.draining import drain


def shop(app: Holdfast) -> AnyTask:
    @app.task(retries=1, backoff=[60])
    def report(day: int) -> dict[str, int]:
        return {"day": day}

    return report


@pytest.fixture
def report(app: Holdfast) -> AnyTask:
    return shop(app)


@pytest.fixture
def elsewhere(holdfast_db: ScratchDatabase) -> Holdfast:
    """Give another host's app, with the same task."""
    app = holdfast_db.use(Holdfast())
    shop(app)
    return app


def test_a_host_gets_what_it_needs_to_run_the_job(app: Holdfast, report: AnyTask) -> None:
    handle = report.using(tenant="acme", subject="order-7").enqueue(3)

    (claimed,) = app.claim(5)

    assert (claimed.id, claimed.task, claimed.attempt) == (handle.id, "report", 1)
    assert (claimed.tenant, claimed.subject) == ("acme", "order-7")
    assert claimed.payload == claimed.arguments == {"day": 3}
    assert handle.status() is Status.RUNNING
    assert repr(claimed) == f"Claimed({handle.id}, task='report', attempt=1)"


def test_completing_keeps_the_result(app: Holdfast, report: AnyTask) -> None:
    handle = report.enqueue(3)

    app.claim()[0].complete({"pages": 12})

    assert handle.result() == {"pages": 12}


def test_failing_uses_the_tasks_retries_and_then_ends(
    app: Holdfast, report: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    report.enqueue(3)

    first = app.claim()[0].fail(TimeoutError("slow"))
    holdfast_db.clock.advance(61)
    drain(app)  # a worker's sweep lets the retry into the line, and runs it

    assert first is Status.RETRY
    assert holdfast_db.jobs()[0].status is Status.COMPLETED


def test_failing_for_good_ends_at_once(app: Holdfast, report: AnyTask, holdfast_db: ScratchDatabase) -> None:
    report.enqueue(3)

    assert app.claim()[0].fail("the printer is on fire", recoverable=False) is Status.FAILED

    (job,) = holdfast_db.jobs()
    assert job.error is not None
    assert job.error["message"] == "the printer is on fire"


def test_releasing_gives_it_back_unharmed(app: Holdfast, report: AnyTask, elsewhere: Holdfast) -> None:
    handle = report.enqueue(3)
    (released,) = app.claim()
    released.release()

    (claimed,) = elsewhere.claim()

    assert claimed.attempt == 2
    with pytest.raises(LeaseLost, match="it is RUNNING now"):
        released.complete()
    claimed.complete()
    assert handle.status() is Status.COMPLETED


def test_a_host_claims_no_more_than_it_asks_for_and_only_from_its_queue(
    app: Holdfast, report: AnyTask
) -> None:
    report.using(queue="mail").enqueue(0)
    for day in range(3):
        report.enqueue(day)

    assert len(app.claim(2)) == 2
    assert len(app.claim(2)) == 1
    assert app.claim(2) == []
    assert len(app.claim(2, queue="mail")) == 1


def test_two_hosts_never_get_the_same_job(app: Holdfast, report: AnyTask, elsewhere: Holdfast) -> None:
    app.enqueue_many([report.job(day) for day in range(40)])
    taken = []

    for _ in range(5):
        taken += [claimed.id for host in (app, elsewhere) for claimed in host.claim(4)]

    assert len(taken) == len(set(taken)) == 40


@pytest.mark.parametrize(
    "ending",
    [lambda one: one.complete(), lambda one: one.fail("late"), lambda one: one.release()],
    ids=["complete", "fail", "release"],
)
def test_a_stale_attempt_can_end_nothing(
    app: Holdfast, report: AnyTask, elsewhere: Holdfast, holdfast_db: ScratchDatabase, ending: Any
) -> None:
    report.enqueue(3)
    (stale,) = app.claim()
    holdfast_db.clock.advance(31)
    drain(elsewhere)  # sweeps: the silent host is dead

    with pytest.raises(LeaseLost, match=f"attempt 1 no longer owns job {stale.id}: it is RETRY now") as lost:
        ending(stale)
    assert (lost.value.job_id, lost.value.attempt) == (stale.id, 1)


def test_the_heartbeat_keeps_a_living_hosts_job(
    app: Holdfast,
    report: AnyTask,
    elsewhere: Holdfast,
    holdfast_db: ScratchDatabase,
    owner: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("holdfast.runtime.holding.LEASE", 6.0)
    report.enqueue(3)
    (claimed,) = app.claim()
    holdfast_db.clock.advance(100)

    beaten = "select from holdfast.worker where seen_at > holdfast.clock() - interval '5 seconds'"
    until("its heart beats", lambda: owner.execute(beaten).rowcount)
    drain(elsewhere)

    claimed.complete()
    assert app.handle(claimed.id).status() is Status.COMPLETED


def test_after_its_death_a_host_is_somebody_new(
    app: Holdfast, report: AnyTask, elsewhere: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    report.enqueue(3)
    app.claim()
    holdfast_db.clock.advance(31)
    drain(elsewhere)
    report.enqueue(4)

    (claimed,) = app.claim()

    assert claimed.payload == {"day": 4}
    claimed.complete()


def test_closing_gives_back_what_is_held(app: Holdfast, report: AnyTask, elsewhere: Holdfast) -> None:
    report.enqueue(3)
    (held,) = app.claim()

    app.close()

    assert [claimed.id for claimed in elsewhere.claim()] == [held.id]
    with pytest.raises(LeaseLost):
        held.complete()


def test_asking_for_no_job_is_a_mistake(app: Holdfast) -> None:
    with pytest.raises(BadInput, match=r"claim\(0\) asks for no job"):
        app.claim(0)
