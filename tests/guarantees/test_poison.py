"""A job that kills its worker is found out and fails; its neighbours complete, however often they were caught in it.

Long: HOLDFAST_PILLS=100 HOLDFAST_JOBS=10000 python -m pytest --timeout=0 tests/guarantees/test_poison.py
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.waiting import until
from holdfast import Holdfast

PILLS = int(os.environ.get("HOLDFAST_PILLS", "3"))
JOBS = int(os.environ.get("HOLDFAST_JOBS", "120"))


@contextmanager
def supervised(stage: Stage, count: int, **options: Any) -> Iterator[None]:
    """Keep this many workers going: whoever dies is replaced, as a service manager does."""
    ended = threading.Event()

    def supervise() -> None:
        mine = [stage.start_worker(**options) for _ in range(count)]
        while not ended.wait(0.05):
            mine = [worker if worker.lives else stage.start_worker(**options) for worker in mine]

    thread = threading.Thread(target=supervise)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_exactly_the_poison_pills_fail(stage: Stage, shop: Holdfast) -> None:
    innocent = shop.enqueue_many([tasks.nap.job(n) for n in range(JOBS - PILLS)])
    pills = shop.enqueue_many([tasks.pill.job() for _ in range(PILLS)])
    # Spread among the others, or they would all come last.
    stage.rows(
        "update holdfast.job set claim_order = claim_order - random() * interval '1 second' where task = 'pill' returning 1"
    )

    with supervised(stage, 2, concurrency=4):
        until(
            lambda: f"all have ended: {stage.counts()}\n{stage.told}",
            lambda: stage.value("select count(*) from holdfast.job where finished_at is null") == 0,
            within=90 + JOBS,
        )

    by_task = stage.rows("select task, status::text, count(*) from holdfast.job group by 1, 2 order by 1")
    assert by_task == [("nap", "COMPLETED", len(innocent)), ("pill", "FAILED", len(pills))]
    assert stage.value("select max(crash_count) from holdfast.job where task = 'nap'") == 0
    assert stage.value("select max(retry_count) from holdfast.job") == 0
    assert stage.rows(
        "select distinct crash_count, error ->> 'kind' from holdfast.job where task = 'pill'"
    ) == [(3, "crash")]
    stage.audit()


def test_a_pill_takes_no_worker_with_it_once_it_is_a_suspect(stage: Stage, shop: Holdfast) -> None:
    pill = tasks.pill.enqueue()
    doomed = stage.start_worker()
    doomed.until_gone()
    survivor = stage.worker()

    row = stage.until_status(pill.id, "FAILED")

    assert row["crash_count"] == 3
    assert survivor.lives
    assert stage.moves(pill.id) == ["PENDING", *["RUNNING", "RETRY"] * 3, "RUNNING", "FAILED"]
    stage.audit()
