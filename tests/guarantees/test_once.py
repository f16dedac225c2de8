"""Several workers share the jobs: none runs twice, none is forgotten."""

from guarantees import shop as tasks
from guarantees.conftest import Stage
from holdfast import Holdfast


def test_two_workers_run_2000_jobs_once_each(stage: Stage, shop: Holdfast) -> None:
    workers = [stage.worker(lease=30.0), stage.worker(lease=30.0)]

    jobs = {str(handle.id) for handle in shop.enqueue_many([tasks.note.job(n) for n in range(2000)])}
    stage.until_counts(COMPLETED=2000, within=60)

    ends = stage.ledger("end")
    assert len(ends) == 2000
    assert {one["job"] for one in ends} == jobs
    assert {one["pid"] for one in ends} == {worker.pid for worker in workers}
    assert stage.value("select max(attempt) from holdfast.job") == 1
    stage.audit()
