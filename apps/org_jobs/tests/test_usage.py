"""Metering: a record for every run, and sums that equal the history."""

import csv
import io
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from xml.etree import ElementTree as ET

import httpx
import pytest

from apps.org_jobs.audit import usage_by_history
from apps.org_jobs.plot import as_svg
from apps.org_jobs.repository import HoldfastRepository
from apps.org_jobs.rules import MAX_ATTEMPTS
from apps.org_jobs.tasks import app
from apps.org_jobs.usage import Usage, records, usage
from holdfast.testing import ScratchDatabase, drain

ANN = {"contacts": [{"email": "ann@example.com"}]}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def some_days(repository: HoldfastRepository, database: ScratchDatabase) -> None:
    """Let jobs of several organisations and types succeed, fail, and be cancelled, over three days."""
    for _ in range(3):
        repository.enqueue("import_contacts", "big", ANN)
        repository.enqueue("import_contacts", "tiny", ANN)
        repository.enqueue("forget_contacts", None, {"days": 30})
        late = repository.enqueue(
            "forget_contacts", "big", {"days": 1}, datetime.now(UTC) + timedelta(days=9)
        )
        app.cancel(late, actor="operator")
        for _ in range(MAX_ATTEMPTS):
            run_what_can_run(repository)
            database.clock.advance(20)
        database.clock.advance(timedelta(days=1))
    drain(app)


def run_what_can_run(repository: HoldfastRepository) -> None:
    for job in repository.claim(10):
        if job.org_id == "tiny":
            repository.mark_failure(job.id, "no room")
        else:
            repository.mark_success(job.id)


def test_every_run_leaves_a_record_of_outcome_duration_and_attempts(
    web: httpx.Client, operator: dict[str, str], repository: HoldfastRepository, database: ScratchDatabase
) -> None:
    job_id = repository.enqueue("forget_contacts", "acme", {"days": 1})
    repository.claim(1)
    database.clock.advance(7)
    repository.mark_failure(job_id, "too early")
    database.clock.advance(1.5)
    repository.claim(1)
    repository.mark_success(job_id)

    job = web.get(f"/api/jobs/{job_id}", headers=operator).json()

    assert (job["org_id"], job["type"]) == ("acme", "forget_contacts")
    assert [(run["outcome"], run["attempts"]) for run in job["runs"]] == [("requeued", 1), ("success", 2)]
    assert job["runs"][0]["seconds"] == pytest.approx(7, abs=2)
    assert job["runs"][1]["seconds"] < 2


@pytest.mark.usefixtures("some_days")
def test_usage_adds_up_exactly_to_the_history() -> None:
    rows = usage()

    assert rows == usage_by_history()
    assert len({row.day for row in rows}) >= 3
    assert sum(row.jobs for row in rows) == 12
    assert sum(row.success for row in rows) == 6
    assert sum(row.failed for row in rows if row.org_id == "tiny") == 3
    assert sum(row.cancelled for row in rows if row.org_id == "big") == 3
    assert sum(row.requeued for row in rows if row.org_id == "tiny") == 12
    assert sum(row.runs for row in rows) == sum(row.attempts for row in rows) == 21
    assert all(row.seconds > 0 for row in rows if row.runs)


@pytest.mark.usefixtures("some_days")
def test_the_records_of_all_runs_add_up_to_usage() -> None:
    ran = {
        (job.tenant, job.task, run.attempts, run.ended_at): run.seconds
        for job in app.jobs(limit=100).jobs
        for run in records(job.id)
    }

    for row in usage():
        seconds = [
            spent
            for (org_id, job_type, _, ended_at), spent in ran.items()
            if (org_id, job_type, ended_at.date()) == (row.org_id, row.type, row.day)
        ]
        assert (len(seconds), sum(seconds)) == (row.runs, row.seconds)


@pytest.mark.usefixtures("some_days")
def test_usage_is_asked_for_by_organisation_type_and_day(web: httpx.Client, operator: dict[str, str]) -> None:
    def asked(**about: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = web.get("/api/usage", headers=operator, params=about).json()["usage"]
        return found

    everything = asked()
    days = sorted({str(row["day"]) for row in everything})

    assert len(everything) == len(usage())
    assert {row["org_id"] for row in asked(org_id="big")} == {"big"}
    assert {row["type"] for row in asked(type="import_contacts")} == {"import_contacts"}
    assert {row["day"] for row in asked(first=days[1], last=days[1])} == {days[1]}
    assert web.get("/api/usage", headers=operator, params={"first": "soon"}).status_code == 400


def test_an_organisation_sees_only_its_own_usage(
    web: httpx.Client, acme: dict[str, str], globex: dict[str, str], repository: HoldfastRepository
) -> None:
    for org_id in ("acme", "globex", None):
        repository.enqueue("forget_contacts", org_id, {"days": 30})
    drain(app)

    rows = web.get("/api/usage", headers=acme, params={"org_id": "globex"}).json()["usage"]

    assert [row["org_id"] for row in rows] == ["acme"]
    assert "globex" not in web.get("/api/usage.csv", headers=acme, params={"org_id": "globex"}).text
    assert "globex" not in web.get("/api/usage.svg", headers=acme, params={"org_id": "globex"}).text


@pytest.mark.usefixtures("some_days")
def test_the_export_has_all_that_usage_has(web: httpx.Client, operator: dict[str, str]) -> None:
    answer = web.get("/api/usage.csv", headers=operator)

    assert answer.headers["content-type"].startswith("text/csv")
    exported = list(csv.DictReader(io.StringIO(answer.text)))
    assert exported == [
        {name: "" if value is None else str(value) for name, value in asdict(row).items()} for row in usage()
    ]


@pytest.mark.usefixtures("some_days")
def test_the_plot_has_a_bar_for_each_row_that_says_its_figure(
    web: httpx.Client, operator: dict[str, str]
) -> None:
    answer = web.get("/api/usage.svg", headers=operator)

    assert answer.headers["content-type"] == "image/svg+xml"
    assert sorted(bar[0] for bar in bars(answer.text)) == sorted(
        f"{row.day} {row.org_id or 'global'} {row.type}: {row.runs} runs" for row in usage()
    )
    assert "seconds" in web.get("/api/usage.svg", headers=operator, params={"measure": "seconds"}).text


def test_bars_are_as_high_as_their_figures() -> None:
    drawn = as_svg(
        [row(date(2030, 1, 1), "acme", 10), row(date(2030, 1, 3), "acme", 5), row(date(2030, 1, 3), "b", 15)]
    )

    heights = [height for _, height in bars(drawn)]

    assert heights[0] == pytest.approx(heights[1] * 2, abs=0.2)
    assert heights[1] + heights[2] == pytest.approx(heights[0] * 2, abs=0.2)
    assert "2030-01-01" in drawn
    assert "2030-01-03" in drawn


def test_names_cannot_break_out_of_the_plot() -> None:
    drawn = as_svg([row(date(2030, 1, 1), "<script>&", 1)])

    assert "<script>" not in drawn
    assert bars(drawn)[0][0] == "2030-01-01 <script>& send: 1 runs"


def test_a_plot_of_nothing_says_so() -> None:
    assert "no usage in this time" in as_svg([])


def row(day: date, org_id: str, runs: int) -> Usage:
    return Usage(day, org_id, "send", runs, runs, runs, 0, 0, 0, runs, Decimal(runs))


def bars(drawn: str) -> list[tuple[str, float]]:
    """Give what each bar says, and how high it is."""
    found = [shape for shape in ET.fromstring(drawn).iter(f"{SVG}rect") if shape.get("class") == "bar"]
    return [(str(shape.findtext(f"{SVG}title")), float(shape.get("height", "0"))) for shape in found]
