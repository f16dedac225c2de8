"""Limits, rates, flags and jobs after others, as an application declares and meets them."""

import asyncio
import logging
from collections import Counter

import psycopg
import pytest

from guarantees.waiting import until
from holdfast import BadInput, Configuration, Holdfast, LimitReached, Status
from holdfast.runtime.worker import Worker
from holdfast.testing import ScratchDatabase
from world.draining import drain


def test_a_worker_runs_no_more_jobs_of_a_key_at_once_than_its_limit(app: Holdfast) -> None:
    running: Counter[int] = Counter()
    most: Counter[int] = Counter()

    @app.task(limit={"key": "user:{user_id}", "max": 2})
    async def work(user_id: int) -> None:
        running[user_id] += 1
        most[user_id] = max(most[user_id], running[user_id])
        await asyncio.sleep(0)
        running[user_id] -= 1

    handles = app.enqueue_many([work.job(n % 3) for n in range(60)])
    app.work(until_idle=True)

    assert {handle.status() for handle in handles} == {Status.COMPLETED}
    assert max(most.values()) <= 2


def test_a_rejecting_limit_raises_with_the_job_in_the_way(app: Holdfast) -> None:
    @app.task(limit={"key": "user:{user_id}", "max": 1, "policy": "reject"})
    async def provision(user_id: int) -> None: ...

    first = provision.enqueue(1)

    with pytest.raises(LimitReached, match="is in the way") as refused:
        provision.enqueue(1)
    assert (refused.value.job_id, refused.value.key) == (first.id, "user:1")
    with pytest.raises(LimitReached):
        app.enqueue_many([provision.job(2), provision.job(2)])

    drain(app)
    provision.enqueue(1)


def test_a_rejecting_limit_raises_in_the_callers_own_transaction_too(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    @app.task(limit={"max": 1, "policy": "reject"})
    def alone() -> None: ...

    alone.enqueue()

    with psycopg.connect(holdfast_db.url) as conn, pytest.raises(LimitReached):
        alone.using(conn=conn).enqueue()


def test_a_key_of_a_field_that_the_task_does_not_take_is_refused(app: Holdfast) -> None:
    with pytest.raises(Configuration, match="user_idd"):

        @app.task(limit={"key": "user:{user_idd}", "max": 1})
        def work(user_id: int) -> None: ...

    with pytest.raises(Configuration, match="project"):

        @app.task(name="other", flag="X", rollout_by="project")
        def other(user_id: int) -> None: ...


def test_plain_sql_comes_under_the_same_limits(app: Holdfast, owner: psycopg.Connection) -> None:
    @app.task(limit={"key": "user:{user_id}", "max": 1, "policy": "reject"})
    def work(user_id: int) -> None: ...

    work.enqueue(1)

    with pytest.raises(psycopg.Error) as refused:
        owner.execute("""select holdfast.enqueue('work', '{"user_id": 1}')""")
    assert refused.value.sqlstate == "HF012"


@pytest.mark.parametrize(("value", "runs"), [("yes", True), ("TRUE", True), ("off", False), ("maybe", False)])
def test_a_flag_in_the_environment_of_a_worker_decides(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch, value: str, runs: bool, caplog: pytest.LogCaptureFixture
) -> None:
    @app.task(flag="ADVISOR_AUTO_PROVISION")
    def work() -> None: ...

    handle = work.enqueue()
    monkeypatch.setenv("ADVISOR_AUTO_PROVISION", value)

    with caplog.at_level(logging.INFO, "holdfast"):
        app.work(until_idle=True)

    assert handle.status() is (Status.COMPLETED if runs else Status.PENDING)
    (told,) = [record for record in caplog.records if record.message == "flag:from_environment"]
    assert (told.flag, told.enabled) == ("ADVISOR_AUTO_PROVISION", runs)  # type: ignore[attr-defined]


def test_a_flag_in_the_environment_of_a_producer_is_told_once(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch, owner: psycopg.Connection
) -> None:
    @app.task(flag="SWITCH")
    def work() -> None: ...

    monkeypatch.setenv("SWITCH", "no")
    first = work.enqueue()
    assert owner.execute("select enabled from holdfast.flag").fetchone() == (False,)

    owner.execute("select holdfast.set_flag('SWITCH', true)")
    work.enqueue()
    app.work(until_idle=True)

    assert owner.execute("select enabled from holdfast.flag").fetchone() == (True,)
    assert first.status() is Status.COMPLETED


def test_a_job_runs_after_those_it_needs_whatever_they_are_given_as(app: Holdfast) -> None:
    ran: list[str] = []

    @app.task(retries=0)
    def work(name: str) -> None:
        ran.append(name)

    first = work.enqueue("first")
    second = work.using(after=[first]).enqueue("second")
    third = work.using(after=[first.id, str(second.id)]).job("third")
    fourth = work.using(after=[third]).job("fourth")
    app.enqueue_many([third, fourth])
    app.work(until_idle=True)

    assert ran == ["first", "second", "third", "fourth"]


def test_a_job_whose_need_failed_is_cancelled_unless_it_runs_anyway(app: Holdfast) -> None:
    @app.task(retries=0)
    def fail() -> None:
        raise ValueError("no")

    @app.task()
    def work() -> None: ...

    failing = fail.enqueue()
    cancelled = work.using(after=[failing]).enqueue()
    ran = work.using(after=[failing], on_parent_failure="run").enqueue()
    app.work(until_idle=True)

    assert cancelled.status() is Status.CANCELLED
    assert ran.status() is Status.COMPLETED
    with pytest.raises(BadInput, match="never start"):
        work.using(after=[failing]).enqueue()


def test_after_takes_jobs_only(app: Holdfast) -> None:
    @app.task()
    def work() -> None: ...

    with pytest.raises(BadInput, match="handles, ids"):
        work.using(after=[1]).enqueue()  # type: ignore[list-item]
    with pytest.raises(BadInput, match="on_parent_failure"):
        work.using(on_parent_failure="hope").enqueue()  # type: ignore[arg-type]


# Enqueues a job in the transaction in which a worker asks to be woken: nobody sleeps yet who would be.
MEANWHILE = """
create function public.enqueue_meanwhile() returns trigger language plpgsql as $$
begin
  if not exists (select from holdfast.job) then
    perform holdfast.enqueue('work');
  end if;
  return null;
end $$;
create trigger enqueue_meanwhile before insert on holdfast.sleeper execute function public.enqueue_meanwhile();
"""


async def test_a_limited_job_that_comes_while_a_worker_falls_asleep_is_not_overlooked(
    app: Holdfast, owner: psycopg.Connection
) -> None:
    @app.task(limit={"max": 1}, name="work")
    async def work() -> None: ...

    owner.execute(MEANWHILE)
    worker = Worker(app, poll=60.0, handle_signals=False)
    running = asyncio.create_task(worker.run())
    try:
        await asyncio.to_thread(
            until,
            "it is done",
            lambda: owner.execute("select from holdfast.job where status = 'COMPLETED'").rowcount,
        )
    finally:
        worker.stop()
        await running


async def test_a_limited_job_starts_soon_after_it_was_enqueued_to_a_sleeping_worker(
    app: Holdfast, owner: psycopg.Connection
) -> None:
    @app.task(limit={"max": 1})
    async def work() -> None: ...

    worker = Worker(app, poll=30.0, handle_signals=False)
    running = asyncio.create_task(worker.run())
    try:
        warm = await work.aenqueue()
        await warm.wait(timeout=10)
        await asyncio.to_thread(
            until, "it sleeps", lambda: owner.execute("select from holdfast.sleeper").rowcount
        )
        handle = await work.aenqueue()
        assert await handle.wait(timeout=10) is Status.COMPLETED
    finally:
        worker.stop()
        await running
