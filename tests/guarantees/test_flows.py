"""A flow goes to its end, each job of it once, wherever its workers are killed: chain, group, fan-in, children, a part that fails."""

from collections import Counter
from uuid import UUID

import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from holdfast import Holdfast, chain, group
from world.often import points

# Every point as often as one flow passes it at least; jobs that run side by side may be claimed and written together.
BEFORE_AN_OUTCOME = [
    *points([f"claimed:{n}" for n in (1, 2, 3, 4, 5, 6, 7)], step=6),
    "step_saved:1",
    "put_aside:1",
    "step_saved:2",
]
AROUND_AN_OUTCOME = [
    *points([f"ran:{n}" for n in (1, 2, 3, 4, 5, 6)], step=5),
    *points([f"finished:{n}" for n in (6, 5, 4, 3, 2, 1)], step=5),
]
ENDED = {
    "left": ("COMPLETED", 2),
    "right": ("COMPLETED", 3),
    "fan-in": ("COMPLETED", 9),
    "family": ("COMPLETED", 24),
    "breaks": ("FAILED", ""),
    "never": ("CANCELLED", ""),
    "never either": ("CANCELLED", ""),
    "anyway": ("COMPLETED", 9),
}


def enqueue_flow(shop: Holdfast, queue: str) -> dict[str, UUID]:
    """Enqueue one after another: two side by side, their fan-in, a parent of two, one that fails, and what needs that."""
    add = tasks.add.using(queue=queue)
    left, right, fan_in = (add.job(n) for n in (2, 3, 4))
    family, breaks = tasks.family.using(queue=queue).job(queue), tasks.fail.using(queue=queue).job()
    never = tasks.add.using(queue=queue, after=[breaks]).job(5)
    never_either = tasks.add.using(queue=queue, after=[never]).job(6)
    anyway = tasks.add.using(queue=queue, after=[breaks], on_parent_failure="run").job(9)
    flow = [*chain(group([left, right], then=fan_in), family, breaks), never, never_either, anyway]
    return dict(zip(ENDED, (handle.id for handle in shop.enqueue_many(flow)), strict=True))


@pytest.mark.parametrize(
    "points", [BEFORE_AN_OUTCOME, AROUND_AN_OUTCOME], ids=["before an outcome", "around it"]
)
def test_a_flow_goes_to_its_end_wherever_its_workers_are_killed(
    stage: Stage, shop: Holdfast, points: list[str]
) -> None:
    flows = {}
    for point in points:
        flows[point] = enqueue_flow(shop, point)
        stage.kill_at(point, queues={point: 2})

    stage.worker_after_kills(queues=dict.fromkeys(points, 2))
    number = len(points)
    stage.until_counts(COMPLETED=7 * number, FAILED=number, CANCELLED=2 * number, within=60)

    ended = dict(stage.rows("select id, (status::text, result)::text from holdfast.job"))
    assert {point: {name: ended[job] for name, job in flow.items()} for point, flow in flows.items()} == {
        point: {name: f"({status},{result})" for name, (status, result) in ENDED.items()} for point in points
    }
    assert stage.value("select count(*) from holdfast.job where parent_id is not null") == 2 * number
    # A kill costs a job one attempt at most, and nobody runs again whose outcome was written.
    died = dict(
        stage.rows(
            "select job_id::text, count(*) from holdfast.job_history where to_status = 'RETRY' group by 1"
        )
    )
    ends = Counter(one["job"] for one in stage.ledger("end"))
    assert set(died.values()) == {1}
    assert {job for job, times in ends.items() if times > 1 + died.get(job, 0)} == set()
    assert len(ends) == 7 * number
    stage.audit()
