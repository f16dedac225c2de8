"""One organisation queues many jobs, another one; how long the one waits is measured by scripts/bench --apps."""

import time
from datetime import datetime
from uuid import UUID

from apps._stage import Stage
from apps.org_jobs.repository import HoldfastRepository
from apps.org_jobs.tasks import app, forget_contacts
from holdfast.testing import ScratchDatabase

LOUD = 5_000


def test_one_job_is_not_behind_all_those_of_another_organisation(
    database: ScratchDatabase, repository: HoldfastRepository
) -> None:
    app.enqueue_many([forget_contacts.using(tenant="loud").job(1 + days) for days in range(LOUD)])

    with Stage("org_jobs", database, "").worker():
        until_some_ran()
        born, started = moves_until_started(repository.enqueue("forget_contacts", "quiet", {"days": 1}))
        left = app.jobs("status:pending", tenant="loud", limit=1).jobs

    went_first = [
        job for job in database.jobs(status="COMPLETED") if job.started_at and born < job.started_at < started
    ]
    assert len(went_first) < LOUD / 5, "more than a worker takes ahead went first"
    assert left, "nobody was in front of it"


def until_some_ran() -> None:
    """Wait until the worker is in the midst of it."""
    while not app.jobs("status:completed", limit=1).jobs:
        time.sleep(0.01)


def moves_until_started(job_id: UUID) -> tuple[datetime, datetime]:
    """Say when a job was born and when it started."""
    while len(moves := app.history(job_id)) < 2:
        time.sleep(0.01)
    return moves[0].at, moves[1].at
