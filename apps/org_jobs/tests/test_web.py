"""Jobs over HTTP: what one looks like, who sees it, and how lists are answered."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from apps.org_jobs.organisations import add_organisation
from apps.org_jobs.tasks import app
from holdfast import Holdfast
from holdfast.testing import ScratchDatabase, drain

ANN = {"contacts": [{"email": "ann@example.com"}]}
MANY = 10_000
UNFIT = [
    "no json",
    "{}",
    '{"type": "unknown"}',
    '{"type": "forget_contacts", "payload": {"days": "soon"}}',
    '{"type": "forget_contacts", "payload": {"self": 1}}',
    '{"type": "forget_contacts", "payload": {"days": 1}, "run_at": "2030-01-01T00:00:00"}',
    '{"type": "forget_contacts", "payload": {"days": 1}, "colour": "red"}',
]

# A connection tells what it did at the latest when it ends.
READ = """
select s.seq_tup_read + s.idx_tup_fetch
  from pg_stat_user_tables s
 where s.schemaname = 'holdfast' and s.relname = 'job'
   and not exists (select from pg_stat_activity a
                    where a.datname = current_database() and a.backend_type = 'client backend' and a.pid <> pg_backend_pid())"""


def enqueue(web: httpx.Client, headers: dict[str, str], **told: Any) -> str:
    answer = web.post("/api/jobs", headers=headers, json={"type": "import_contacts", "payload": ANN, **told})
    assert answer.status_code == 202, answer.text
    job_id: str = answer.json()["id"]
    return job_id


def listed(web: httpx.Client, headers: dict[str, str], **asked: str) -> list[str]:
    answer = web.get("/api/jobs", headers=headers, params=asked)
    assert answer.status_code == 200, answer.text
    return [job["id"] for job in answer.json()["jobs"]]


# -- what a job is ---------------------------------------------------------------------------------------------------------


def test_a_job_has_type_organisation_payload_attempts_next_run_and_last_error(
    web: httpx.Client, acme: dict[str, str]
) -> None:
    run_at = datetime.now(UTC) + timedelta(hours=1)
    job_id = enqueue(web, acme, run_at=run_at.isoformat())

    assert web.get(f"/api/jobs/{job_id}", headers=acme).json() == {
        "id": job_id,
        "type": "import_contacts",
        "org_id": "acme",
        "status": "queued",
        "payload": ANN,
        "attempts": 0,
        "next_run_at": run_at.isoformat(),
        "last_error": None,
        "can_retry": True,
        "runs": [],
    }


def test_a_job_that_failed_says_why_and_when_it_runs_next(
    web: httpx.Client, database: ScratchDatabase, operator: dict[str, str]
) -> None:
    add_organisation("tiny", contact_limit=0)
    job_id = enqueue(web, operator, org_id="tiny")
    drain(app)

    job = web.get(f"/api/jobs/{job_id}", headers=operator).json()

    assert (job["status"], job["attempts"], job["can_retry"]) == ("queued", 1, True)
    assert job["last_error"] == "1 contacts, and room for 0"
    assert job["next_run_at"] is not None


def test_the_operator_queues_global_jobs(web: httpx.Client, operator: dict[str, str]) -> None:
    job_id = enqueue(web, operator, type="forget_contacts", payload={"days": 30})
    drain(app)

    job = web.get(f"/api/jobs/{job_id}", headers=operator).json()

    assert (job["org_id"], job["status"], job["can_retry"]) == (None, "success", False)


def test_a_repeated_request_with_dedupe_queues_one_job(web: httpx.Client, acme: dict[str, str]) -> None:
    assert enqueue(web, acme, dedupe=True) == enqueue(web, acme, dedupe=True)
    assert len(listed(web, acme)) == 1


def test_what_cannot_be_queued_is_refused_in_plain_json(web: httpx.Client, acme: dict[str, str]) -> None:
    for told in UNFIT:
        answer = web.post("/api/jobs", headers=acme, content=told)

        assert answer.status_code == 400, told
        assert answer.json()["ok"] is False
        assert answer.json()["error"]


# -- isolation -------------------------------------------------------------------------------------------------------------


def test_an_organisation_sees_only_its_own_jobs(
    web: httpx.Client, acme: dict[str, str], globex: dict[str, str], operator: dict[str, str]
) -> None:
    ours, theirs = enqueue(web, acme), enqueue(web, globex)
    everybodys = enqueue(web, operator, type="forget_contacts", payload={"days": 30})

    assert listed(web, acme) == listed(web, acme, status="queued") == [ours]
    assert listed(web, acme, type="forget_contacts") == []
    assert listed(web, operator) == [everybodys, theirs, ours]
    for other in (theirs, everybodys, str(uuid4())):
        assert web.get(f"/api/jobs/{other}", headers=acme).status_code == 404
    assert web.get("/api/jobs/upcoming", headers=acme).status_code == 403


def test_an_organisation_queues_for_itself_only(
    web: httpx.Client, acme: dict[str, str], database: ScratchDatabase
) -> None:
    body = {"type": "import_contacts", "payload": ANN, "org_id": "globex"}

    assert web.post("/api/jobs", headers=acme, json=body).status_code == 403
    assert database.jobs() == []


def test_strangers_see_and_queue_nothing(web: httpx.Client, acme: dict[str, str]) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}):
        for path in ("/api/jobs", f"/api/jobs/{uuid4()}", "/api/usage", "/api/usage.csv", "/api/usage.svg"):
            assert web.get(path, headers=headers).status_code == 401
        assert web.post("/api/jobs", headers=headers, json={}).status_code == 401


# -- lists -----------------------------------------------------------------------------------------------------------------


def test_lists_by_type_and_status_come_page_by_page(web: httpx.Client, acme: dict[str, str]) -> None:
    task = app.tasks["forget_contacts"].using(tenant="acme", run_in=60)
    queued = [str(handle.id) for handle in app.enqueue_many([task.job(days=1 + day) for day in range(250)])]
    enqueue(web, acme)
    drain(app)

    first = web.get("/api/jobs", headers=acme, params={"type": "forget_contacts", "status": "queued"}).json()
    second = web.get(
        "/api/jobs",
        headers=acme,
        params={"type": "forget_contacts", "status": "queued", "before": first["next"]},
    ).json()

    assert [len(page["jobs"]) for page in (first, second)] == [200, 50]
    assert {job["id"] for page in (first, second) for job in page["jobs"]} == set(queued)
    assert second["next"] is None
    assert len(listed(web, acme, status="success")) == 1
    assert listed(web, acme, status="running") == listed(web, acme, status="failed") == []


def test_what_is_queued_for_later_is_listed_by_its_next_run(
    web: httpx.Client, database: ScratchDatabase, operator: dict[str, str]
) -> None:
    now = datetime.now(UTC)
    late, early = (
        enqueue(web, operator, org_id="acme", run_at=(now + timedelta(hours=hours)).isoformat())
        for hours in (2, 1)
    )
    add_organisation("tiny", contact_limit=0)
    failed = enqueue(web, operator, org_id="tiny")
    drain(app)

    jobs = web.get("/api/jobs/upcoming", headers=operator).json()["jobs"]

    assert [job["id"] for job in jobs] == [failed, early, late]


@pytest.mark.new_database
def test_lists_by_status_next_run_and_type_are_answered_by_indexes(
    database: ScratchDatabase, web: httpx.Client, operator: dict[str, str]
) -> None:
    later = app.tasks["forget_contacts"].using(tenant="loud", run_in=3600)
    app.enqueue_many([later.job(days=1 + day) for day in range(MANY)])
    enqueue(web, operator, org_id="acme")
    analyze(database)
    before = jobs_read()

    assert len(listed(web, operator, type="import_contacts", status="queued")) == 1
    assert listed(web, operator, status="failed") == []
    assert len(web.get("/api/jobs/upcoming", headers=operator).json()["jobs"]) == 200

    assert jobs_read() - before < MANY / 2


def analyze(database: ScratchDatabase) -> None:
    """Do at once what autovacuum does within a minute."""
    owner = Holdfast(database.owner_url)
    with owner.transaction() as connection:
        connection.execute("analyze holdfast.job")
    owner.close()


def jobs_read() -> int:
    """Say how many rows of jobs were read so far, when all connections have told."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        app.close()
        with app.transaction() as connection:
            found: tuple[int] | None = connection.execute(READ).fetchone()
        if found is not None:
            return found[0]
        time.sleep(0.05)
    raise AssertionError("connections stay open")


def test_questions_that_make_no_sense_are_refused(web: httpx.Client, acme: dict[str, str]) -> None:
    for asked in ({"status": "PENDING"}, {"type": 'x" tenant:globex'}, {"before": "x"}):
        assert web.get("/api/jobs", headers=acme, params=asked).status_code == 400, asked
