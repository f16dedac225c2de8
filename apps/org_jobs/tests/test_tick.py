"""POST /api/jobs/tick: work without a worker."""

from collections.abc import Callable
from datetime import timedelta

import httpx
import pytest

from apps.org_jobs.organisations import add_organisation
from apps.org_jobs.repository import HoldfastRepository
from apps.org_jobs.settings import Settings
from apps.org_jobs.tasks import app
from apps.org_jobs.usage import usage
from holdfast.testing import ScratchDatabase

ANN = {"contacts": [{"email": "ann@example.com"}]}
OPERATOR = {"Authorization": "Bearer the-operators-token"}


def production(*, tick_enabled: bool) -> Settings:
    return Settings(is_production=True, tick_enabled=tick_enabled, operator_token="the-operators-token")


def test_a_tick_runs_at_most_so_many_and_says_what_remains(
    serve: Callable[[Settings], httpx.Client], repository: HoldfastRepository
) -> None:
    web = serve(Settings(is_production=False, tick_jobs=3))
    for days in range(5):
        repository.enqueue("forget_contacts", "acme", {"days": days})

    answers = [web.post("/api/jobs/tick").json() for _ in range(3)]

    assert answers == [
        {"ok": True, "claimed": 3, "success": 3, "failed": 0, "requeued": 0, "remaining": 2},
        {"ok": True, "claimed": 2, "success": 2, "failed": 0, "requeued": 0, "remaining": 0},
        {"ok": True, "claimed": 0, "success": 0, "failed": 0, "requeued": 0, "remaining": 0},
    ]


def test_a_tick_applies_success_and_failure_with_backoff(
    web: httpx.Client, repository: HoldfastRepository, database: ScratchDatabase
) -> None:
    add_organisation("acme")
    add_organisation("tiny", contact_limit=0)
    repository.enqueue("import_contacts", "acme", ANN)
    repository.enqueue("import_contacts", None, ANN)  # nobody's contacts: it can never work
    failed = repository.enqueue("import_contacts", "tiny", ANN)

    counts = web.post("/api/jobs/tick").json()

    assert (counts["success"], counts["failed"], counts["requeued"]) == (1, 1, 1)
    (job,) = app.jobs(f"id:{failed}").jobs
    assert job.due_at is not None
    assert (job.due_at - job.updated_at).total_seconds() == pytest.approx(1, abs=0.05)
    database.clock.advance(timedelta(seconds=1))
    assert web.post("/api/jobs/tick").json()["requeued"] == 1


def test_a_tick_keeps_the_figures(web: httpx.Client, repository: HoldfastRepository) -> None:
    repository.enqueue("forget_contacts", "acme", {"days": 1})

    web.post("/api/jobs/tick")

    assert [(row.org_id, row.runs, row.success) for row in usage()] == [("acme", 1, 1)]


def test_in_production_there_is_no_tick(
    serve: Callable[[Settings], httpx.Client], repository: HoldfastRepository
) -> None:
    web = serve(production(tick_enabled=False))
    repository.enqueue("forget_contacts", "acme", {"days": 1})

    answer = web.post("/api/jobs/tick", headers=OPERATOR)

    assert (answer.status_code, answer.json()) == (404, {"ok": False, "error": "Not Found"})
    assert len(app.jobs("status:pending").jobs) == 1


def test_in_production_the_operator_ticks_when_it_is_enabled(
    serve: Callable[[Settings], httpx.Client], repository: HoldfastRepository, acme: dict[str, str]
) -> None:
    web = serve(production(tick_enabled=True))
    repository.enqueue("forget_contacts", "acme", {"days": 1})

    assert web.post("/api/jobs/tick").status_code == 401
    assert web.post("/api/jobs/tick", headers=acme).status_code == 403
    assert web.post("/api/jobs/tick", headers=OPERATOR).json()["success"] == 1
