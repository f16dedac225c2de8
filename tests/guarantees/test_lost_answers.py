"""A lost answer to a commit looks like a failure and is none: a repeat finds what the first call did."""

from collections.abc import Iterator

import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.proxy import Action, Proxy
from holdfast import Holdfast, Status
from holdfast.store.connection import Database

CUTS: list[Action] = ["cut_before", "cut_after"]


@pytest.fixture
def through(proxy: Proxy, shop: Holdfast) -> Iterator[Holdfast]:
    """The shop's app behind the proxy."""
    shop.connect_to(Database(proxy.url, "test"))
    yield shop
    shop.close()


@pytest.mark.parametrize("cut", CUTS)
def test_an_enqueue_whose_answer_is_lost_makes_one_job(
    stage: Stage, through: Holdfast, proxy: Proxy, cut: Action
) -> None:
    strike = proxy.strike(cut, r"holdfast\.enqueue_many")

    handle = tasks.note.enqueue(1)

    assert strike.landed == 1
    assert stage.rows("select id, status::text from holdfast.job") == [(handle.id, "PENDING")]
    stage.audit()


@pytest.mark.parametrize("cut", CUTS)
async def test_an_async_enqueue_whose_answer_is_lost_makes_one_job(
    stage: Stage, through: Holdfast, proxy: Proxy, cut: Action
) -> None:
    strike = proxy.strike(cut, r"holdfast\.enqueue_many")

    handle = await tasks.note.aenqueue(1)
    await through.aclose()

    assert strike.landed == 1
    assert stage.rows("select id, status::text from holdfast.job") == [(handle.id, "PENDING")]


@pytest.mark.parametrize("cut", CUTS)
def test_3000_jobs_whose_commits_answer_is_lost_are_3000_jobs(
    stage: Stage, through: Holdfast, proxy: Proxy, cut: Action
) -> None:
    strike = proxy.strike(cut, "^commit")

    handles = through.enqueue_many([tasks.note.job(n) for n in range(3000)])

    assert strike.landed == 1
    assert {handle.id for handle in handles} == {job for (job,) in stage.rows("select id from holdfast.job")}
    assert stage.value("select count(*) from holdfast.job_history") == 3000
    stage.audit()


async def test_3000_jobs_enqueued_asynchronously_survive_a_lost_answer_too(
    stage: Stage, through: Holdfast, proxy: Proxy
) -> None:
    strike = proxy.strike("cut_after", "^commit")

    handles = await through.aenqueue_many([tasks.note.job(n) for n in range(3000)])
    await through.aclose()

    assert strike.landed == 1
    assert {handle.id for handle in handles} == {job for (job,) in stage.rows("select id from holdfast.job")}


@pytest.mark.parametrize("cut", CUTS)
def test_an_enqueue_with_a_key_whose_answer_is_lost_makes_one_job(
    stage: Stage, through: Holdfast, proxy: Proxy, cut: Action
) -> None:
    strike = proxy.strike(cut, r"holdfast\.enqueue_many")

    handle = tasks.note.using(key="k", on_conflict="raise").enqueue(1)

    assert strike.landed == 1
    assert stage.rows("select id from holdfast.job") == [(handle.id,)]


@pytest.mark.parametrize("cut", CUTS)
def test_a_manual_retry_whose_answer_is_lost_makes_one_job(
    stage: Stage, through: Holdfast, proxy: Proxy, cut: Action
) -> None:
    failed = tasks.fail.enqueue()
    (claimed,) = through.claim()
    claimed.fail("no", recoverable=False)
    strike = proxy.strike(cut, r"holdfast\.retry")

    again = through.retry(failed.id)

    assert strike.landed == 1
    assert stage.rows("select id from holdfast.job where retry_of = %s", failed.id) == [(again.id,)]
    stage.audit()


@pytest.mark.parametrize("cut", CUTS)
def test_a_schedules_run_by_hand_whose_answer_is_lost_makes_one_job(
    stage: Stage, through: Holdfast, proxy: Proxy, cut: Action
) -> None:
    through.schedules.create("hourly", tasks.note, every=3600, payload={"n": 1})
    strike = proxy.strike(cut, r"holdfast\.run_schedule")

    run = through.schedules.run_now("hourly")

    assert strike.landed == 1
    assert stage.rows("select id from holdfast.job") == [(run.id,)]
    assert stage.rows("select outcome, job_id from holdfast.schedule_run") == [("manual", run.id)]
    stage.audit()


@pytest.mark.parametrize("cut", CUTS)
def test_a_cancel_whose_answer_is_lost_cancels(
    stage: Stage, through: Holdfast, proxy: Proxy, cut: Action
) -> None:
    job = tasks.note.enqueue(1)
    strike = proxy.strike(cut, r"holdfast\.cancel")

    assert through.cancel(job.id) is Status.CANCELLED

    assert strike.landed == 1
    assert stage.moves(job.id) == ["PENDING", "CANCELLED"]


@pytest.mark.parametrize("cut", CUTS)
def test_an_event_whose_answer_is_lost_is_emitted_once(
    stage: Stage, through: Holdfast, proxy: Proxy, cut: Action
) -> None:
    strike = proxy.strike(cut, r"holdfast\.emit")

    through.emit("paid", 1)

    assert strike.landed == 1
    assert stage.rows("select name, payload from holdfast.event") == [("paid", 1)]


@pytest.mark.parametrize("cut", CUTS)
def test_a_hosts_claim_whose_answer_is_lost_is_recovered(
    stage: Stage, through: Holdfast, proxy: Proxy, cut: Action
) -> None:
    jobs = {tasks.note.enqueue(n).id for n in range(3)}
    strike = proxy.strike(cut, r"holdfast\.claim\(")

    claimed = through.claim(3) or through.claim(3)

    assert strike.landed == 1
    assert {one.id for one in claimed} == jobs
    for one in claimed:
        one.complete()
    stage.until_counts(COMPLETED=3)
    assert stage.value("select max(attempt) from holdfast.job") == 1
    stage.audit()


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("outcome", ["complete", "fail", "release"])
def test_a_hosts_outcome_whose_answer_is_lost_is_recorded_once(
    stage: Stage, through: Holdfast, proxy: Proxy, cut: Action, outcome: str
) -> None:
    job = tasks.fail_once.enqueue()
    (claimed,) = through.claim()
    strike = proxy.strike(cut, r"holdfast\.(complete|settle)\(")

    {"complete": claimed.complete, "fail": lambda: claimed.fail("no", in_=60), "release": claimed.release}[
        outcome
    ]()  # type: ignore[operator]

    assert strike.landed == 1
    row = stage.job(job.id)
    expected = {"complete": ("COMPLETED", 0), "fail": ("RETRY", 1), "release": ("RETRY", 0)}
    assert (row["status"], row["retry_count"]) == expected[outcome]
    stage.audit()


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    "statement",
    [r"holdfast\.claim\(", r"holdfast\.complete\(", r"holdfast\.settle\(", r"holdfast\.register_worker\("],
)
def test_a_workers_call_whose_answer_is_lost_neither_loses_nor_doubles_a_job(
    stage: Stage, shop: Holdfast, proxy: Proxy, cut: Action, statement: str
) -> None:
    jobs = [handle.id for handle in shop.enqueue_many([tasks.note.job(n) for n in range(20)])]
    failing = tasks.fail_once.enqueue()
    strike = proxy.strike(cut, statement)

    worker = stage.worker(url=proxy.url, lease=60.0)
    strike.until_landed()
    stage.until_counts(COMPLETED=21)

    assert {stage.job(job)["attempt"] for job in jobs} == {1}
    assert stage.job(failing.id)["attempt"] == 2
    assert len(stage.ledger("end")) == 20
    assert worker.events("job:lease_lost") == []
    stage.audit()


def test_a_claim_that_commits_after_its_worker_gave_it_up_is_run_all_the_same(
    stage: Stage, shop: Holdfast, proxy: Proxy
) -> None:
    """The answer is not lost but late: a server goes on with a statement whose client has gone."""
    stage.rows("select holdfast.register_tasks(%s::jsonb)", '[{"name": "note"}]')
    strike = proxy.strike("late", r"holdfast\.claim\(")
    job = tasks.note.enqueue(1)
    worker = stage.worker(url=proxy.url, poll=0.2)
    strike.until_landed()
    worker.until_event("database:back")
    other = tasks.note.enqueue(2)
    stage.until_status(other.id, "COMPLETED")
    assert stage.status(job.id) == "PENDING"

    proxy.deliver()

    assert stage.until_status(job.id, "COMPLETED")["retry_count"] == 0
    stage.audit()
