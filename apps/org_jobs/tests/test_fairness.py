"""One organisation queues 100,000 jobs, another one; fewer, unless HOLDFAST_LONG is set."""

import time
from uuid import UUID

from apps._chaos import LONG
from apps._stage import Stage
from apps.org_jobs.repository import HoldfastRepository
from apps.org_jobs.tasks import app, forget_contacts
from holdfast.testing import ScratchDatabase

LOUD = 100_000 if LONG else 5_000


def test_one_job_starts_within_a_second_behind_all_those_of_another_organisation(
    database: ScratchDatabase, repository: HoldfastRepository
) -> None:
    app.enqueue_many([forget_contacts.using(tenant="loud").job(1 + days) for days in range(LOUD)])

    with Stage("org_jobs", database, "").worker():
        until_some_ran()
        waited = seconds_until_started(repository.enqueue("forget_contacts", "quiet", {"days": 1}))
        left = app.jobs("status:pending", tenant="loud", limit=1).jobs

    assert waited < 1
    assert left, "nobody was in front of it"


def until_some_ran() -> None:
    """Wait until the worker is in the midst of it."""
    while not app.jobs("status:completed", limit=1).jobs:
        time.sleep(0.01)


def seconds_until_started(job_id: UUID) -> float:
    """Say how long a job waited, by the database's clock."""
    while len(moves := app.history(job_id)) < 2:
        time.sleep(0.01)
    return (moves[1].at - moves[0].at).total_seconds()
