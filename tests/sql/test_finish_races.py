"""Who ends attempts in batches, or takes what is to run alone: all at once, in whatever order they name the jobs."""

from collections.abc import Iterator

import pytest

from holdfast.domain.states import Status
from holdfast.testing import TestServer
from sql.racing import JOBS, Side, claim_many, copy_of, prepared, race
from sql.support import Machine, machine_on
from world import strikes

MANY = 300
# Two jobs an entry, which both sides name, each in its own order.
TWOS = f"""
select w.*, a.job_id as other
  from (select row_number() over (order by j.job_id) as place, j.* from ({JOBS}) as j) as w
  join (select row_number() over (order by j.job_id) as place, j.job_id from ({JOBS}) as j) as a on a.place = w.place + {MANY}
"""
_SETTLEMENT = "jsonb_build_object('id', {}, 'attempt', 1, 'claim_id', e.claim_id, 'outcome', 'failed', 'error', '{{}}'::jsonb)"


def completes(first: str, second: str) -> Side:
    return Side(
        f"select count(*)::text from holdfast.complete(e.worker, array[{first}, {second}], array[1, 1],"
        " array[e.claim_id, e.claim_id], array[null, null]::text[])"
    )


def fails(first: str, second: str) -> Side:
    both = ", ".join(_SETTLEMENT.format(one) for one in (first, second))
    return Side(
        f"select count(*) filter (where not s.recorded)::text from holdfast.settle(e.worker, jsonb_build_array({both})) as s"
    )


@pytest.fixture(scope="module")
def all_claimed(holdfast_server: TestServer) -> Iterator[str]:
    with prepared(holdfast_server, lambda machine: claim_many(machine, 2 * MANY)) as url:
        yield url


@pytest.mark.parametrize("ends", [completes, fails])
def test_two_that_end_the_same_attempts_in_opposite_orders_do_not_deadlock(
    all_claimed: str, ends: type[Side]
) -> None:
    with copy_of(all_claimed) as url:
        told = race(url, ends("e.job_id", "e.other"), ends("e.other", "e.job_id"), entries=TWOS)

    moves = {end[2] for end in told}
    assert moves in ({"COMPLETED"}, {"FAILED"})
    # Both are told that it is done: a repeat by the same attempt is a success.
    told.must_be({("0", "0", *moves)})


def test_a_suspect_is_taken_by_one(holdfast_server: TestServer) -> None:
    def suspected(machine: Machine) -> None:
        machine.enqueue_many([{"task": "t", "payload": {}} for _ in range(MANY)])
        machine.run("update holdfast.job set suspect = true")
        machine.worker(lease=3600)

    takes = Side(
        "select coalesce(max(c.id::text), 'none') from holdfast.claim_suspect((select w.id from holdfast.worker w), gen_random_uuid(), '{default}', '{t}') as c"
    )
    with prepared(holdfast_server, suspected) as url:
        told = race(
            url,
            takes,
            takes,
            entries="select j.id::uuid as job_id, j.seq from holdfast.job j",
            must_meet=False,
        )
        with machine_on(url) as machine:
            often = machine.rows("select attempt, count(*) as n from holdfast.job group by 1")

    seen = set[str]()
    for nth, end in enumerate(told.in_order, 1):
        took = [each for each in end[:2] if each != "none"]
        if len(took) != len({*took} - seen):
            strikes.saw_it(after=nth)
            break
        seen |= {*took}
    taken = [each for end in told.elements() for each in end[:2] if each != "none"]
    assert len(taken) == len(set(taken)) == MANY
    assert often == [{"attempt": 1, "n": MANY}]


def test_retries_at_once_stay_within_the_cap_of_their_subject(holdfast_server: TestServer) -> None:
    def failed(machine: Machine) -> None:
        machine.register("t", manual_retries=1, manual_retries_per="subject")
        for nth in range(MANY // 3):
            for _ in range(2):
                machine.job_in(Status.FAILED, subject=f"s:{nth}")

    pairs = """
    select min(j.id::text)::uuid as job_id, max(j.id::text)::uuid as other, min(j.seq) as seq from holdfast.job j group by j.subject"""
    with prepared(holdfast_server, failed) as url:
        told = race(
            url,
            Side("select left(holdfast.retry(e.job_id)::text, 0) || 'retried'"),
            Side("select left(holdfast.retry(e.other)::text, 0) || 'retried'"),
            entries=pairs,
        )

    told.must_be({("retried", "HF008", "no move"), ("HF008", "retried", "no move")})
