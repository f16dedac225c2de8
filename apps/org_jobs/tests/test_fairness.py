"""One organisation queues 100,000 jobs, another one; fewer, unless HOLDFAST_LONG is set."""

import os
import time
from uuid import UUID

from apps._stage import Stage
from apps.org_jobs.repository import HoldfastRepository
from apps.org_jobs.tasks import app, forget_contacts
from holdfast.testing import ScratchDatabase

LOUD = 100_000 if os.environ.get("HOLDFAST_LONG") else 5_000

STARTED = """
select extract(epoch from h.at - j.created_at)::float,
       (select count(*) from holdfast.job_history o
         where o.job_id <> j.id and o.to_status = 'RUNNING' and o.at between j.created_at and h.at)
  from holdfast.job j
  join holdfast.job_history h on h.job_id = j.id and h.to_status = 'RUNNING'
 where j.id = %s"""


def test_one_job_starts_within_a_second_behind_all_those_of_another_organisation(
    database: ScratchDatabase, repository: HoldfastRepository
) -> None:
    app.enqueue_many([forget_contacts.using(tenant="loud").job(1 + days) for days in range(LOUD)])

    with Stage("org_jobs", database, "").worker():
        until_some_ran()
        job_id = repository.enqueue("forget_contacts", "quiet", {"days": 1})
        waited, overtaken_by = until_started(job_id)

    assert waited < 1
    assert overtaken_by < LOUD / 2


def until_some_ran() -> None:
    """Wait until the worker is in the midst of it."""
    while not app.jobs("status:completed", limit=1).jobs:
        time.sleep(0.01)


def until_started(job_id: UUID) -> tuple[float, int]:
    """Give the seconds that a job waited, and how many others started meanwhile."""
    while True:
        with app.transaction() as connection:
            row = connection.execute(STARTED, [job_id]).fetchone()
        if row is not None:
            return row[0], row[1]
        time.sleep(0.01)
