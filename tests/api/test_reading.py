"""app.jobs of a tenant, one job with its attempts and history, what comes and what was used: what a product shows without HTTP."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from holdfast import Holdfast, Status
from holdfast.runtime.registry import AnyTask
from holdfast.server import Verdict, examine
from holdfast.testing import ScratchDatabase
from world.draining import adrain, drain


@pytest.fixture
def report(app: Holdfast) -> AnyTask:
    @app.task(retries=1, backoff=[60])
    def report(day: int) -> int:
        if day == 13:
            raise ValueError("no thirteenth")
        return day

    return report


def test_given_a_tenant_nobody_elses_jobs_are_found(app: Holdfast, report: AnyTask) -> None:
    ours = report.using(tenant="acme").enqueue(1)
    theirs = report.using(tenant="other").enqueue(1)

    assert [job.id for job in app.jobs(tenant="acme").jobs] == [ours.id]
    assert app.jobs(f"id:{theirs.id}", tenant="acme").jobs == []
    assert app.jobs("tenant:other", tenant="acme").jobs == []


def test_one_job_is_looked_up_with_what_its_attempts_left_behind(
    app: Holdfast, report: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    handle = report.enqueue(13)
    drain(app)
    holdfast_db.clock.advance(60)
    drain(app)

    job, attempts = app.job(str(handle.id)), app.attempts(handle.id)

    assert job is not None
    assert (job.id, job.status, job.attempt) == (handle.id, Status.FAILED, 2)
    assert [(one.attempt, one.outcome) for one in attempts] == [(1, "failed"), (2, "failed")]
    assert all(one.error is not None and one.error["message"] == "no thirteenth" for one in attempts)


def test_a_job_that_is_not_there_is_none(app: Holdfast, report: AnyTask) -> None:
    nobodys = UUID(int=7)

    assert (app.job(nobodys), app.attempts(nobodys)) == (None, [])


def test_upcoming_jobs_are_listed_by_their_time(
    app: Holdfast, report: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    later = report.using(run_in=timedelta(hours=2)).enqueue(1)
    failed = report.enqueue(13)
    soon = report.using(run_at=datetime.now(UTC) + timedelta(hours=1)).enqueue(2)
    drain(app)
    report.enqueue(3)  # in line: it waits for no time

    listed = app.upcoming()

    assert [job.id for job in listed] == [failed.id, soon.id, later.id]
    assert [job.status for job in listed] == [Status.RETRY, Status.PENDING, Status.PENDING]
    assert [job.id for job in app.upcoming(limit=1)] == [failed.id]


def test_a_jobs_history_is_listed_from_its_first_move_on(app: Holdfast, report: AnyTask) -> None:
    handle = report.enqueue(13)
    drain(app)

    moves = app.history(str(handle.id))

    assert [(move.from_status, move.to_status, move.attempt) for move in moves] == [
        (None, Status.PENDING, 0),
        (Status.PENDING, Status.RUNNING, 1),
        (Status.RUNNING, Status.RETRY, 1),
    ]
    assert moves[-1].reason is not None
    assert "no thirteenth" in moves[-1].reason
    assert app.history(UUID(int=7)) == []


def test_usage_is_listed_by_day_tenant_and_task(app: Holdfast, report: AnyTask) -> None:
    report.using(tenant="acme").enqueue(1)
    report.using(tenant="other").enqueue(2)
    report.enqueue(13)
    drain(app, projector=True)

    everybody = app.usage()
    today = everybody[0].day

    assert [(one.tenant, one.runs, one.completed, one.retried) for one in everybody] == [
        (None, 1, 0, 1),
        ("acme", 1, 1, 0),
        ("other", 1, 1, 0),
    ]
    assert [one.tenant for one in app.usage(tenant="acme", task="report", first=today, last=today)] == [
        "acme"
    ]
    assert app.usage(first=today + timedelta(days=1)) == []
    assert app.usage(task="no such task") == []


def test_a_line_tells_what_waits_of_which_tasks_and_since_when(
    app: Holdfast, report: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    @app.task()
    def clean() -> None: ...

    report.enqueue(13)
    drain(app)  # fails, and is tried again in a minute
    clean.enqueue()
    holdfast_db.clock.advance(30)
    report.using(run_in=timedelta(hours=1)).enqueue(1)
    report.using(queue="elsewhere").enqueue(2)

    line = app.line()

    assert (line.queue, line.waiting, line.tasks) == ("default", 3, {"clean": 1, "report": 2})
    assert 30 <= line.oldest_wait.total_seconds() < 60
    assert app.line("elsewhere").tasks == {"report": 1}


def test_what_is_due_waits_though_nobody_has_put_it_in_line(
    app: Holdfast, report: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    report.enqueue(13)
    drain(app)
    before = app.line().oldest_wait
    holdfast_db.clock.advance(60 + 600)

    assert before == timedelta()
    assert 600 <= app.line().oldest_wait.total_seconds() < 660
    found = {check.name: check for check in examine(app)}
    assert found["workers"].verdict is Verdict.FAIL
    assert found["workers"].found == "no live worker, and 1 job in line"
    assert found["oldest wait"].found.endswith("in queue default")
    assert found["oldest wait"].verdict is Verdict.WARN


def test_a_line_where_nobody_waits_is_empty(app: Holdfast) -> None:
    line = app.line("nobody's")

    assert (line.waiting, line.tasks, line.oldest, line.oldest_wait) == (0, {}, None, timedelta())


async def test_asynchronous_code_reads_the_same(app: Holdfast, report: AnyTask) -> None:
    handle = await report.using(tenant="acme").aenqueue(1)
    later = await report.using(tenant="acme", run_in=60).aenqueue(2)
    await adrain(app, projector=True)

    assert [job.id for job in (await app.ajobs("status:completed", tenant="acme")).jobs] == [handle.id]
    assert [job.id for job in await app.aupcoming()] == [later.id]
    assert getattr(await app.ajob(later.id), "id", None) == later.id
    assert await app.aattempts(handle.id) == app.attempts(handle.id)
    assert await app.ahistory(handle.id) == app.history(handle.id)
    assert [one.completed for one in await app.ausage(tenant="acme")] == [1]
    assert (await app.aline()).tasks == app.line().tasks == {"report": 1}
    await app.aclose()


def test_a_host_that_claims_keeps_the_figures_too(
    app: Holdfast, report: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    report.using(tenant="acme").enqueue(1)

    app.claim()[0].complete()
    app.close()

    assert [(one.runs, one.completed) for one in app.usage(tenant="acme")] == [(1, 1)]
