"""Schedules from the code that declares them to the jobs that come of them; time is the database's, and tests move it."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from guarantees.waiting import until
from holdfast import (
    BadInput,
    BadPayload,
    Configuration,
    Context,
    Holdfast,
    ScheduleExists,
    ScheduleNotFound,
    Status,
    UnknownTask,
)
from holdfast.testing import ScratchDatabase
from world.draining import adrain, drain

HOUR = timedelta(hours=1)


@pytest.fixture
def hourly(app: Holdfast) -> Holdfast:
    """Give an app whose task `report` is scheduled every hour, registered by a worker that has ended."""

    @app.schedule(every=HOUR)
    @app.task()
    async def report(ctx: Context) -> str:
        return str(ctx.metadata["slot"])

    drain(app)
    return app


def outcomes(app: Holdfast, name: str = "report") -> list[str]:
    return [run.outcome for run in app.schedules.runs(name)][::-1]


def test_a_declared_schedule_fires_when_its_time_comes(
    hourly: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    assert holdfast_db.jobs() == []
    due = hourly.schedules.get("report").next_at
    holdfast_db.clock.advance(HOUR)
    drain(hourly)

    (job,) = holdfast_db.jobs()
    assert job.status is Status.COMPLETED
    assert job.requested_by == "schedule:report"
    assert due is not None
    assert datetime.fromisoformat(job.result) == due
    assert outcomes(hourly) == ["fired"]


def test_a_cron_line_fires_at_its_wall_clock_time(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.schedule("0 9 * * *", tz="Europe/Lisbon", payload={"region": "eu"}, using={"tenant": "acme"})
    @app.task()
    async def report(region: str) -> str:
        return region

    drain(app)
    holdfast_db.clock.advance(timedelta(days=1))
    drain(app)

    (job,) = holdfast_db.jobs()
    assert (job.payload, job.tenant, job.status) == ({"region": "eu"}, "acme", Status.COMPLETED)
    assert job.metadata is not None
    (first, *_) = app.schedules.next("report", 1)
    assert (first.hour, first.minute, str(first.tzinfo)) == (9, 0, "Europe/Lisbon")


def test_an_interval_keeps_to_its_anchor_however_late_it_is_found(
    hourly: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    anchor = hourly.schedules.get("report").anchor
    for late in (61, 62, 63):
        holdfast_db.clock.advance(timedelta(minutes=late))
        drain(hourly)

    assert [(run.slot - anchor) / HOUR for run in hourly.schedules.runs("report")] == [3, 2, 1]


# -- missed --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missed", "jobs", "told"),
    [
        ("skip", 0, ["missed", "missed"]),
        ("one", 1, ["missed", "fired"]),
        ("all", 5, ["fired"] * 5),
    ],
)
def test_what_was_missed_while_no_worker_was_there_follows_the_policy(
    app: Holdfast, holdfast_db: ScratchDatabase, missed: str, jobs: int, told: list[str]
) -> None:
    @app.schedule(every=HOUR, missed=missed)  # type: ignore[arg-type]
    @app.task()
    async def report() -> None: ...

    drain(app)
    holdfast_db.clock.advance(5 * HOUR + timedelta(minutes=30))
    drain(app)

    assert len(holdfast_db.jobs()) == jobs
    assert outcomes(app) == told
    assert sum(run.times for run in app.schedules.runs("report")) == 5


def test_a_time_that_is_hardly_late_is_not_missed(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.schedule(every=HOUR, missed="skip")
    @app.task()
    async def report() -> None: ...

    drain(app)
    holdfast_db.clock.advance(HOUR + timedelta(seconds=30))
    drain(app)

    assert outcomes(app) == ["fired"]


def test_all_missed_runs_are_made_up_for_however_many(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.schedule(every=timedelta(minutes=1), missed="all")
    @app.task()
    async def report() -> None: ...

    drain(app)
    holdfast_db.clock.advance(timedelta(minutes=250, seconds=30))
    drain(app)

    assert len(holdfast_db.jobs()) == 250
    assert len({run.slot for run in app.schedules.runs("report", 1000)}) == 250


def test_one_run_stands_for_more_missed_ones_than_a_pass_goes_through(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    @app.schedule(every=timedelta(seconds=1))
    @app.task()
    async def tick() -> None: ...

    drain(app)
    app.schedules.pause("tick")  # or it fires while the test looks
    app.schedules.resume("tick")
    holdfast_db.clock.advance(25_000)
    drain(app)

    jobs, runs = holdfast_db.jobs(), app.schedules.runs("tick", 100)
    assert sum(run.times for run in runs if run.outcome == "missed") >= 24_990
    assert 1 <= len(jobs) <= 10  # one for the missed, and what came due while the worker ran


# -- overlap -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overlap", "told", "statuses"),
    [
        ("allow", ["fired", "fired"], ["PENDING", "PENDING"]),
        ("skip", ["fired", "overlap"], ["PENDING"]),
        ("replace", ["fired", "fired"], ["CANCELLED", "PENDING"]),
    ],
)
def test_a_run_that_meets_the_one_before_follows_the_policy(
    app: Holdfast, holdfast_db: ScratchDatabase, overlap: str, told: list[str], statuses: list[str]
) -> None:
    @app.schedule(every=HOUR, overlap=overlap, using={"queue": "unserved"})  # type: ignore[arg-type]
    @app.task()
    async def report() -> None: ...

    drain(app)
    for _ in range(2):
        holdfast_db.clock.advance(HOUR)
        drain(app)

    jobs = holdfast_db.jobs()
    assert outcomes(app) == told
    assert [str(job.status) for job in jobs] == statuses
    assert {run.job_id for run in app.schedules.runs("report")} == {job.id for job in jobs}


def test_a_run_fires_again_once_the_one_before_has_ended(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.schedule(every=HOUR, overlap="skip")
    @app.task()
    async def report() -> None: ...

    drain(app)
    for _ in range(3):
        holdfast_db.clock.advance(HOUR)
        drain(app)

    assert outcomes(app) == ["fired"] * 3


def test_a_key_that_is_held_makes_no_second_job(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.schedule(every=HOUR, using={"queue": "unserved"})
    @app.task(unique=True)
    async def report() -> None: ...

    drain(app)
    for _ in range(2):
        holdfast_db.clock.advance(HOUR)
        drain(app)

    (job,) = holdfast_db.jobs()
    assert outcomes(app) == ["fired", "duplicate"]
    assert {run.job_id for run in app.schedules.runs("report")} == {job.id}


# -- steering ------------------------------------------------------------------------------------------------------------


def test_a_pause_survives_deployments_and_what_passes_in_it_never_runs(
    hourly: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    hourly.schedules.pause("report", actor="ana", reason="bank holiday")
    holdfast_db.clock.advance(3 * HOUR)
    drain(hourly)
    paused = hourly.schedules.get("report")
    hourly.schedules.resume("report")
    drain(hourly)

    assert (paused.paused_by, paused.paused_for) == ("ana", "bank holiday")
    assert holdfast_db.jobs() == []
    holdfast_db.clock.advance(HOUR)
    drain(hourly)
    assert outcomes(hourly) == ["fired"]


def test_run_now_makes_a_job_at_once_and_leaves_the_times_alone(
    hourly: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    hourly.schedules.pause("report")
    before = hourly.schedules.get("report").next_at

    handle = hourly.schedules.run_now("report", actor="ana")
    drain(hourly)

    (job,) = holdfast_db.jobs()
    assert (job.id, job.status, job.requested_by) == (handle.id, Status.COMPLETED, "ana")
    assert outcomes(hourly) == ["manual"]
    assert hourly.schedules.get("report").next_at == before


def test_the_next_times_are_those_that_fire(hourly: Holdfast, holdfast_db: ScratchDatabase) -> None:
    promised = hourly.schedules.next("report", 3)
    for _ in range(3):
        holdfast_db.clock.advance(HOUR)
        drain(hourly)

    assert [run.slot for run in hourly.schedules.runs("report")][::-1] == promised


# -- made at run time ------------------------------------------------------------------------------------------------------


def test_a_schedule_made_at_run_time_fires_until_it_is_deleted(
    app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    @app.task()
    async def report(region: str) -> None: ...

    app.schedules.create("eu", report.using(tenant="acme"), every=HOUR, payload={"region": "eu"})
    drain(app)
    holdfast_db.clock.advance(HOUR)
    drain(app)
    assert app.schedules.delete("eu")
    holdfast_db.clock.advance(HOUR)
    drain(app)

    (job,) = holdfast_db.jobs()
    assert (job.payload, job.tenant) == ({"region": "eu"}, "acme")
    assert outcomes(app, "eu") == ["fired"]
    assert app.schedules.list() == []
    assert not app.schedules.delete("eu")


async def test_asynchronous_code_steers_schedules_too(app: Holdfast) -> None:
    @app.task()
    async def report() -> None: ...

    await app.aschedules.create("eu", report, "0 9 * * *", tz="Europe/Lisbon")
    await app.aschedules.pause("eu")
    assert await app.aschedules.resume("eu")
    handle = await app.aschedules.run_now("eu")

    (schedule,) = await app.aschedules.list()
    assert (schedule.name, len(await app.aschedules.next("eu"))) == ("eu", 10)
    assert [run.job_id for run in await app.aschedules.runs("eu")] == [handle.id]
    assert await app.aschedules.delete("eu")
    await app.aclose()


def test_a_repeat_of_the_same_is_none_and_another_under_the_name_is_refused(app: Holdfast) -> None:
    @app.task()
    async def report() -> None: ...

    app.schedules.create("eu", report, "0 9 * * *")
    app.schedules.create("eu", report, "0 9 * * *")
    with pytest.raises(ScheduleExists, match="says something else"):
        app.schedules.create("eu", report, "0 10 * * *")
    app.schedules.create("eu", report, "0 10 * * *", replace=True)

    assert app.schedules.get("eu").cron == "0 10 * * *"


def test_a_new_timing_counts_from_now_on(app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    @app.task()
    async def report() -> None: ...

    app.schedules.create("eu", report, every=HOUR)
    drain(app)
    holdfast_db.clock.advance(3 * HOUR)
    app.schedules.create("eu", report, every=timedelta(minutes=7), replace=True)
    drain(app)
    assert holdfast_db.jobs() == []
    holdfast_db.clock.advance(timedelta(minutes=7))
    drain(app)

    assert outcomes(app, "eu") == ["fired"]


def test_names_and_tasks_that_nobody_knows_are_refused(app: Holdfast) -> None:
    with pytest.raises(UnknownTask, match="'nobody' is not registered"):
        app.schedules.create("eu", "nobody", "0 9 * * *")
    for act in (app.schedules.pause, app.schedules.resume, app.schedules.run_now, app.schedules.get):
        with pytest.raises(ScheduleNotFound, match="'nobody'"):
            act("nobody")


def test_a_payload_for_a_task_that_this_app_lacks_must_be_json_all_the_same(app: Holdfast) -> None:
    for payload in ({"a": float("nan")}, {"a": object()}):
        with pytest.raises(BadPayload, match="no JSON"):
            app.schedules.create("eu", "elsewhere", every=HOUR, payload=payload)


async def test_three_workers_at_once_give_every_time_one_job(holdfast_db: ScratchDatabase) -> None:
    apps = [deployed(holdfast_db, scheduled=True) for _ in range(3)]
    await adrain(apps[0])
    for _ in range(5):
        holdfast_db.clock.advance(HOUR)
        await asyncio.gather(*(adrain(app) for app in apps))

    jobs = holdfast_db.jobs()
    assert len(jobs) == 5
    assert len({(job.metadata or {})["slot"] for job in jobs}) == 5
    for app in apps:
        await app.aclose()


async def test_a_worker_that_runs_fires_what_comes_due_and_what_is_made_meanwhile(
    holdfast_db: ScratchDatabase,
) -> None:
    app = deployed(holdfast_db, scheduled=True)
    ready = asyncio.Event()
    worker = asyncio.create_task(
        app.run_worker(handle_signals=False, poll=0.02, on_ready=lambda _: ready.set())
    )
    await ready.wait()

    await app.aschedules.create("meanwhile", "report", every=HOUR)
    await asyncio.to_thread(until, "it is planned", lambda: app.schedules.get("meanwhile").next_at)
    holdfast_db.clock.advance(HOUR)
    await asyncio.to_thread(
        until, "all have fired", lambda: {each.last_outcome for each in app.schedules.list()} == {"fired"}
    )

    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker
    await app.aclose()
    assert sorted(str(job.requested_by) for job in holdfast_db.jobs()) == [
        "schedule:meanwhile",
        "schedule:report",
    ]


# -- code changes ----------------------------------------------------------------------------------------------------------


def deployed(database: ScratchDatabase, *, scheduled: bool, cron: str | None = None) -> Holdfast:
    """Make the app as another release of its code has it."""
    app = database.use(Holdfast())

    @app.task()
    async def report() -> None: ...

    if scheduled:
        app.schedule(cron, every=None if cron else HOUR)(report)
    return app


def test_a_schedule_taken_out_of_the_code_stands_still_and_is_still_shown(
    holdfast_db: ScratchDatabase,
) -> None:
    drain(deployed(holdfast_db, scheduled=True))
    without = deployed(holdfast_db, scheduled=False)
    holdfast_db.clock.advance(3 * HOUR)
    drain(without)

    assert holdfast_db.jobs() == []
    (schedule,) = without.schedules.list()
    assert schedule.withdrawn_at is not None
    assert schedule.status.startswith("no longer declared in code")


def test_a_schedule_that_comes_back_into_the_code_counts_from_then_on(holdfast_db: ScratchDatabase) -> None:
    drain(deployed(holdfast_db, scheduled=True))
    holdfast_db.clock.advance(3 * HOUR)
    drain(deployed(holdfast_db, scheduled=False))
    holdfast_db.clock.advance(3 * HOUR)
    back = deployed(holdfast_db, scheduled=True)
    drain(back)
    assert holdfast_db.jobs() == []
    holdfast_db.clock.advance(HOUR)
    drain(back)

    assert outcomes(back) == ["fired"]


def test_a_worker_of_another_app_withdraws_nothing(holdfast_db: ScratchDatabase) -> None:
    declared = deployed(holdfast_db, scheduled=True)
    drain(declared)
    other = holdfast_db.use(Holdfast())

    @other.task()
    async def unrelated() -> None: ...

    other.schedules.pause("report")  # so that the other worker does not fire it either
    other.schedules.resume("report")
    drain(other)

    assert declared.schedules.get("report").withdrawn_at is None


def test_a_worker_of_another_app_fires_what_is_due(holdfast_db: ScratchDatabase) -> None:
    drain(deployed(holdfast_db, scheduled=True))
    other = holdfast_db.use(Holdfast())

    @other.task(queue="other")
    async def unrelated() -> None: ...

    holdfast_db.clock.advance(HOUR)
    drain(other)

    assert [job.task for job in holdfast_db.jobs()] == ["report"]


def test_a_changed_line_replaces_the_old_one_and_keeps_the_pause(holdfast_db: ScratchDatabase) -> None:
    old = deployed(holdfast_db, scheduled=True)
    drain(old)
    old.schedules.pause("report", actor="ana")
    new = deployed(holdfast_db, scheduled=True, cron="30 4 * * *")
    drain(new)

    schedule = new.schedules.get("report")
    assert (schedule.cron, schedule.paused_by) == ("30 4 * * *", "ana")


def test_code_does_not_take_over_a_schedule_made_at_run_time(
    holdfast_db: ScratchDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    app = deployed(holdfast_db, scheduled=True)
    app.schedules.create("report", "report", "30 4 * * *")
    with caplog.at_level(logging.ERROR):
        drain(app)

    assert app.schedules.get("report").cron == "30 4 * * *"
    assert "schedule:name_taken" in caplog.text


# -- what goes wrong -------------------------------------------------------------------------------------------------------


def test_a_schedule_that_cannot_be_computed_does_not_stop_the_others(
    hourly: Holdfast,
    holdfast_db: ScratchDatabase,
    owner: psycopg.Connection,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hourly.schedules.create("broken", "report", "0 9 * * *")
    owner.execute("update holdfast.schedule set tz = 'Mars/Olympus' where name = 'broken'")
    holdfast_db.clock.advance(HOUR)
    with caplog.at_level(logging.ERROR):
        drain(hourly)

    assert outcomes(hourly) == ["fired"]
    assert "schedule:refused" in caplog.text


def test_a_refused_job_is_written_down_and_the_schedule_goes_on(
    app: Holdfast, holdfast_db: ScratchDatabase, owner: psycopg.Connection
) -> None:
    @app.task()
    async def report() -> None: ...

    app.schedules.create("eu", report, every=HOUR)
    owner.execute("""update holdfast.schedule set options = '{"priority": 500}'""")
    holdfast_db.clock.advance(HOUR)
    drain(app)
    owner.execute("update holdfast.schedule set options = '{}'")
    holdfast_db.clock.advance(HOUR)
    drain(app)

    assert outcomes(app, "eu") == ["refused", "fired"]
    assert "priority" in (app.schedules.runs("eu")[1].detail or "")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "needs a cron line"),
        ({"cron": "0 9 * * *", "every": HOUR}, "not both"),
        ({"cron": "0 9 * *"}, "five fields"),
        ({"cron": "61 9 * * *"}, "Bad minute"),
        ({"cron": "0 0 31 2 *"}, "Bad day-of-month"),
        ({"cron": 9}, "no cron line"),
        ({"cron": "0 9 * * *", "tz": "Mars/Olympus"}, "no time zone"),
        ({"every": timedelta()}, "whole seconds"),
        ({"every": -HOUR}, "whole seconds"),
        ({"every": 0.5}, "whole seconds"),
        ({"every": HOUR, "missed": "some"}, "not one of skip, one, all"),
        ({"every": HOUR, "overlap": "queue"}, "not one of allow, skip, replace"),
        ({"every": HOUR, "using": {"run_in": 5}}, "its own times decide"),
        ({"every": HOUR, "name": "a\nb"}, "printable"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused_where_it_is_declared(
    given: dict[str, object], said: str
) -> None:
    app = Holdfast()

    @app.task()
    async def report() -> None: ...

    with pytest.raises(BadInput, match=said):
        app.schedule(**given)(report)  # type: ignore[arg-type]


def test_a_payload_is_checked_against_the_task_where_it_is_declared(app: Holdfast) -> None:
    @app.task()
    async def report(pages: int) -> None: ...

    with pytest.raises(BadPayload, match="pages"):
        app.schedule(every=HOUR, payload={"pages": "many"})(report)
    with pytest.raises(BadPayload, match="pages"):
        app.schedule(every=HOUR)(report)


def test_two_schedules_of_one_name_and_one_on_no_task_are_refused(app: Holdfast) -> None:
    @app.schedule(every=HOUR)
    @app.task()
    async def report() -> None: ...

    app.schedule("0 9 * * *", name="mornings")(report)
    with pytest.raises(Configuration, match="two schedules are called 'report'"):
        app.schedule("0 9 * * *")(report)
    with pytest.raises(Configuration, match="stands above"):
        app.schedule(every=HOUR)(lambda: None)  # type: ignore[type-var]


def test_a_time_is_the_databases_whatever_this_machine_says(
    hourly: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    holdfast_db.clock.advance(timedelta(days=400))
    drain(hourly)

    (newest, *_) = hourly.schedules.runs("report")
    assert newest.slot > datetime.now(UTC) + timedelta(days=399)
