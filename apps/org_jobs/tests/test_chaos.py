"""Workers are killed at random; afterwards every job has ended, no contact is missing or doubled, and usage equals the history."""

import random
import time
from datetime import timedelta

import pytest

from apps._chaos import times
from apps._stage import PATIENCE, Stage
from apps.org_jobs.audit import usage_by_history
from apps.org_jobs.organisations import add_organisation
from apps.org_jobs.repository import HoldfastRepository
from apps.org_jobs.tasks import app
from apps.org_jobs.usage import usage
from holdfast.testing import ScratchDatabase, drain

ROUNDS = 2
JOBS = 60

CONTACTS = "select c.org_id, count(*) from org_jobs.contact c group by c.org_id"


@pytest.mark.parametrize("seed", times(short=1, long=50))
def test_usage_equals_the_history_however_many_workers_were_killed(
    database: ScratchDatabase, repository: HoldfastRepository, seed: int
) -> None:
    chance = random.Random(seed)
    add_organisation("acme", contact_limit=100_000)
    add_organisation("tiny", contact_limit=0)
    imported = 0

    for _ in range(ROUNDS):
        for _ in range(JOBS):
            org_id = chance.choice(["acme", "acme", "tiny"])
            imported += org_id == "acme"
            repository.enqueue(
                "import_contacts", org_id, {"contacts": [{"email": f"{imported}@example.com"}]}
            )
        with Stage("org_jobs", database, "").worker("-c", "4") as worker:
            until_ended(ended() + chance.randrange(1, JOBS // 4))
            worker.kill()
        database.clock.advance(timedelta(minutes=2))  # the lease ends, and what failed is due

    while ended() < ROUNDS * JOBS:
        drain(app)
        database.clock.advance(timedelta(minutes=2))
    drain(app)

    assert usage() == usage_by_history()
    assert sum(row.jobs for row in usage()) == ROUNDS * JOBS
    with app.transaction() as connection:
        assert connection.execute(CONTACTS).fetchall() == [("acme", imported)]


def ended() -> int:
    return len(app.jobs("status:completed,failed", limit=ROUNDS * JOBS).jobs)


def until_ended(jobs: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while ended() < jobs:
        assert time.monotonic() < deadline, f"fewer than {jobs} jobs ended"
        time.sleep(0.01)
