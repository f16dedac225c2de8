from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from holdfast import Holdfast
from holdfast.testing import ScratchDatabase
from interfaces.calling import Cli
from interfaces.shop_app import app as shop
from world.draining import drain


@pytest.fixture
def nightly(holdfast_db: ScratchDatabase) -> Iterator[Holdfast]:
    """Give the shop with a schedule `nightly` that a worker has seen."""
    holdfast_db.use(shop)
    shop.schedules.create("nightly", "charge", "0 3 * * mon-fri", tz="Europe/Lisbon", payload={"amount": 5})
    drain(shop)
    yield shop
    shop.close()


def test_schedules_are_listed_in_words_and_as_json(cli: Cli, nightly: Holdfast) -> None:
    told = cli("schedule", "list").stdout
    (listed,) = cli.json("schedule", "list")

    assert "nightly   at 03:00 on Monday through Friday Europe/Lisbon" in told
    assert (listed["name"], listed["status"], listed["cron"]) == ("nightly", "active", "0 3 * * mon-fri")
    assert listed["payload"] == {"amount": 5}
    assert datetime.fromisoformat(listed["next_at"]).tzinfo is not None


def test_no_schedule_at_all_says_how_to_make_one(cli: Cli) -> None:
    assert "@app.schedule" in cli("schedule", "list").stderr


def test_the_next_times_are_told_in_the_schedules_zone(cli: Cli, nightly: Holdfast) -> None:
    times = [datetime.fromisoformat(each["at"]) for each in cli.json("schedule", "next", "nightly")]

    assert len(times) == 10
    assert {(at.hour, at.minute) for at in times} == {(3, 0)}
    assert all(at.isoweekday() <= 5 for at in times)
    assert len(cli("schedule", "next", "nightly", "-n", "3").stdout.splitlines()) == 4


def test_run_makes_a_job_and_names_who_asked(cli: Cli, nightly: Holdfast) -> None:
    made = cli.json("schedule", "run", "nightly", "--actor", "ana")

    shown = cli.json("schedule", "show", "nightly")
    assert [(run["outcome"], run["job_id"], run["actor"]) for run in shown["runs"]] == [
        ("manual", made["id"], "ana")
    ]
    assert "manual by ana" in cli("schedule", "show", "nightly").stdout
    assert cli("schedule", "run", "nightly", "-o", "id").stdout.strip() != made["id"]


def test_pause_and_resume(cli: Cli, nightly: Holdfast) -> None:
    cli("schedule", "pause", "nightly", "--actor", "ana", "--reason", "bank holiday")
    assert "paused by ana" in cli("schedule", "list").stdout
    assert "bank holiday" in cli("schedule", "next", "nightly").stderr
    assert cli.json("schedule", "list")[0]["status"] == "paused"

    assert cli.json("schedule", "resume", "nightly")["status"] == "active"
    assert "was not paused" in cli("schedule", "resume", "nightly").stderr


def test_delete_forgets_it(cli: Cli, nightly: Holdfast) -> None:
    cli("schedule", "delete", "nightly")

    assert cli.json("schedule", "list") == []


@pytest.mark.parametrize("command", ["show", "next", "run", "pause", "resume", "delete"])
def test_a_name_that_no_schedule_has_is_exit_code_4(cli: Cli, command: str) -> None:
    assert "nonsense" in cli("schedule", command, "nonsense", code=4).stderr


def test_missed_times_are_told_together(cli: Cli, nightly: Holdfast, holdfast_db: ScratchDatabase) -> None:
    nightly.schedules.create("hourly", "charge", every=timedelta(hours=1), payload={"amount": 5})
    holdfast_db.clock.advance(timedelta(hours=5, minutes=30))
    drain(nightly)

    told = cli("schedule", "show", "hourly").stdout

    assert "and 3 more until" in told
    assert "fired" in told


# -- doctor ----------------------------------------------------------------------------------------------------------------


def checks(cli: Cli, name: str) -> list[dict[str, str]]:
    return [each for each in cli.json("doctor")["checks"] if each["name"] == name]


def test_doctor_warns_of_a_schedule_that_is_late(
    cli: Cli, nightly: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    assert checks(cli, "schedules")[0]["verdict"] == "ok"
    holdfast_db.clock.advance(timedelta(days=4))

    (late,) = checks(cli, "schedules")

    assert late["verdict"] == "warn"
    assert late["found"].startswith("1 late: nightly (due ")
    assert "start one" in late["advice"]


def test_doctor_warns_of_a_schedule_that_no_worker_has_ever_seen(
    cli: Cli, nightly: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    nightly.schedules.create("new", "charge", every=3600, payload={"amount": 5})
    holdfast_db.clock.advance(timedelta(minutes=10))

    assert "new (waits for a worker for 10 min" in checks(cli, "schedules")[0]["found"]


def test_doctor_warns_of_a_schedule_whose_task_nobody_has(cli: Cli, nightly: Holdfast) -> None:
    (homeless,) = checks(cli, "tasks of schedules")

    assert homeless["verdict"] == "warn"
    assert "nightly (task charge)" in homeless["found"]


def test_doctor_leaves_paused_schedules_alone(
    cli: Cli, nightly: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    nightly.schedules.pause("nightly")
    holdfast_db.clock.advance(timedelta(days=4))

    assert checks(cli, "schedules")[0]["verdict"] == "ok"


def test_doctor_names_what_no_code_declares_any_more(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    def deploy(*, scheduled: bool) -> None:
        app = holdfast_db.use(Holdfast())

        @app.task()
        async def report() -> None: ...

        if scheduled:
            app.schedule(every=3600)(report)
        drain(app)

    deploy(scheduled=True)
    holdfast_db.clock.advance(3601)
    deploy(scheduled=False)

    (gone,) = checks(cli, "withdrawn schedules")

    assert gone["found"] == "no code declares these any more: report"
