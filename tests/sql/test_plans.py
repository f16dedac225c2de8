"""Who takes no more than it is asked to takes no more under every join plan; for claims, see the guarantees."""

from collections.abc import Callable

import pytest

from sql.gates import admit, limited
from sql.plans import each_plan
from sql.standing import due, held_by_the_dead, planned
from sql.support import Machine

MANY = 20


def parked(machine: Machine, many: int) -> None:
    limited(machine)
    machine.enqueue_many([{"task": "t", "payload": {"user_id": 1}} for _ in range(many + 1)])
    admit(machine)


@pytest.mark.parametrize(
    ("stand_there", "take_one", "what_is_left"),
    [
        pytest.param(
            due, "select admitted from holdfast.admit_due(1)",
            "select count(*) from holdfast.job where claim_order is null", id="admit_due",
        ),
        pytest.param(
            parked, "select cardinality(holdfast.unpark('limit:user:1', 1))",
            "select count(*) from holdfast.job where held_by is not null", id="unpark",
        ),
        pytest.param(
            planned, "select count(*) from holdfast.take_dispatches(gen_random_uuid(), '{ci}', 1, 90)",
            "select count(*) from holdfast.dispatch where state = 'planned'", id="take_dispatches",
        ),
        pytest.param(
            held_by_the_dead, "select holdfast.return_jobs(null, 1)",
            "select count(*) from holdfast.job where holder is not null", id="return_jobs",
        ),
    ],
)  # fmt: skip
def test_no_more_is_taken_than_is_asked_for_under_every_join_plan(
    machine: Machine, stand_there: Callable[[Machine, int], None], take_one: str, what_is_left: str
) -> None:
    stand_there(machine, MANY)

    took = {(machine.value(take_one), machine.value(what_is_left)) for _ in each_plan(machine.connection)}

    assert took == {(1, MANY - 1)}
