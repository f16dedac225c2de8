"""Statistics and usage are answered from what the projector keeps: no job is read, however many there are."""

from importlib.resources import files

import pytest

from holdfast.domain.states import Status
from sql.support import Machine
from sql.test_project import project_all

PARAMETERS = {
    "statistics": {"since": "2000-01-01", "task": None, "by_task": True},
    "throughput": {"since": "2000-01-01", "task": None},
    "usage": {"tenant": None, "task": None, "first": None, "last": None},
    "quotas": {"tenant": None},
    "moves": {"first": "2020-01-01", "last": "2020-01-02", "width": "5 minutes"},
    "latency": {"first": "2020-01-01", "last": "2020-01-02", "width": "5 minutes", "stride": "1 minute"},
    "present": {},
    "usual_failures": {},
    "usage_by_tenant": {"tenant": None, "first": "2020-01-01", "last": "2020-01-31", "limit": 10},
    "usage_by_day": {"tenant": None, "first": "2020-01-01", "last": "2020-01-31"},
    "usage_by_task": {"tenant": None, "first": "2020-01-01", "last": "2020-01-31", "limit": 10},
}


def explained(machine: Machine, name: str) -> str:
    text = files("holdfast.store").joinpath("sql", "queries", f"{name}.sql").read_text("utf-8")
    rows = machine.connection.execute(
        "explain " + text.replace("%(since)s", "%(since)s::timestamptz"), PARAMETERS[name]
    ).fetchall()  # type: ignore[call-overload]  # our own text
    return "\n".join(line for (line,) in rows)


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_figures_are_answered_without_reading_a_job(machine: Machine, name: str) -> None:
    plan = explained(machine, name)

    assert " on job" not in plan
    assert "job_history" not in plan


def test_a_window_is_read_along_the_minutes(lasting: Machine) -> None:
    lasting.run(
        "insert into holdfast.timing select m, 'q', 't' || n, 'run', 5, 1"
        " from generate_series(timestamptz '2020-01-01', timestamptz '2020-01-15', interval '1 minute') as m, generate_series(1, 3) as n"
    )
    lasting.run("analyze holdfast.timing")
    since = lasting.value("select timestamptz '2020-01-14 23:00'")

    plan = "\n".join(
        row["QUERY PLAN"]
        for row in lasting.rows(
            "explain select bucket, sum(count) from holdfast.timing where minute >= %s group by 1", since
        )
    )

    assert "timing_pkey" in plan


def test_standings_look_at_the_oldest_only(lasting: Machine) -> None:
    for _ in range(3):
        lasting.enqueue()
    lasting.job_in(Status.RETRY)
    project_all(lasting)
    text = files("holdfast.store").joinpath("sql", "queries", "standings.sql").read_text("utf-8")

    rows = lasting.connection.execute(text).fetchall()

    assert [(queue, status, jobs) for queue, status, jobs, _ in rows] == [
        ("default", "PENDING", 3),
        ("default", "RETRY", 1),
    ]
    assert all(0 <= age < 60 for *_, age in rows)
