"""Whoever comes first decides: of two ends of one attempt at the same moment exactly one is recorded, and no wake is lost."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import pytest

from guarantees.audit import broken_rules
from holdfast.testing import TestServer
from sql.racing import CANCELS, JOBS, TRIES, Side, claim_many, copy_of, prepared, race
from sql.support import machine_on


def completes(job: str = "e.job_id") -> Side:
    return Side(f"""
        select coalesce(max('no, ' || c.status), 'yes')
          from holdfast.complete(e.worker, array[{job}], array[e.attempt], array[e.claim_id], array[null]::text[]) as c""")


FAILS = Side("""
    select case when s.recorded then 'yes' else 'no, ' || s.status end
      from holdfast.settle(e.worker, jsonb_build_array(jsonb_build_object('id', e.job_id, 'attempt', e.attempt, 'claim_id', e.claim_id,
             'outcome', 'failed', 'error', jsonb_build_object('type', 'Boom')))) as s""")
SWEEPS = Side(
    "select s.overdue::text from holdfast.sweep() as s",
    before="update holdfast.job j set deadline_at = '-infinity' where j.id = e.job_id and j.status = 'RUNNING'",
)


@dataclass(frozen=True)
class Contender:
    """One that ends attempts: what it is told when it was first, what the job is then, and what it is told when it was not."""

    side: Side
    told_first: str
    leaves: str
    told_late: str

    def told_after(self, winner: "Contender") -> str:
        return self.told_late.format(winner.leaves)


CONTENDERS = {
    "complete": Contender(completes(), "yes", "COMPLETED", "no, {}"),
    "fail": Contender(FAILS, "yes", "FAILED", "no, {}"),
    "cancel": Contender(CANCELS, "CANCELLED", "CANCELLED", "HF001"),
    "sweep": Contender(SWEEPS, "1", "FAILED", "0"),
}


@pytest.fixture(scope="module")
def all_claimed(holdfast_server: TestServer) -> Iterator[str]:
    with prepared(holdfast_server, claim_many) as url:
        yield url


@pytest.fixture
def attempts(all_claimed: str) -> Iterator[str]:
    """Give a database with a thousand attempts that run; afterwards no rule is broken."""
    with copy_of(all_claimed) as url:
        yield url
        with machine_on(url) as machine:
            assert broken_rules(machine.connection) == []


@pytest.mark.parametrize(("left", "right"), list(combinations(CONTENDERS, 2)))
def test_of_two_ends_of_an_attempt_exactly_one_counts_and_the_other_is_told(
    attempts: str, left: str, right: str
) -> None:
    one, other = CONTENDERS[left], CONTENDERS[right]

    told = race(attempts, one.side, other.side)

    assert told.total() == TRIES
    told.must_be(
        {
            (one.told_first, other.told_after(one), one.leaves),
            (one.told_after(other), other.told_first, other.leaves),
        }
    )


def stuck(url: str) -> int:
    """Count the jobs that wait and that nothing will wake."""
    with machine_on(url) as machine:
        return machine.count("holdfast.job j where j.status = 'WAITING' and j.claim_order is null")


def test_an_event_and_a_wait_for_it_never_miss_each_other(attempts: str) -> None:
    waits = Side(
        "select w.waits::text from holdfast.wait_for_event(e.job_id, e.attempt, e.claim_id, 'e', '', 'event ' || e.job_id, null, null) as w"
    )
    emits = Side("select holdfast.emit('event ' || e.job_id)::text")

    told = race(attempts, waits, emits, entries=f"{JOBS} limit {TRIES // 2}")

    told.must_be({("true", "1", "WAITING"), ("false", "0", "no move")})
    assert stuck(attempts) == 0


def test_a_job_that_ends_and_a_wait_for_it_never_miss_each_other(attempts: str) -> None:
    numbered = f"select row_number() over (order by j.job_id) as place, j.* from ({JOBS}) as j"
    halves = f"select w.*, a.job_id as awaited from ({numbered}) as w join ({numbered}) as a on a.place = w.place + {TRIES // 2}"
    waits = Side(
        "select w.waits::text from holdfast.wait_for_jobs(e.job_id, e.attempt, e.claim_id, 'w', '', array[e.awaited], null, null) as w"
    )

    told = race(attempts, waits, completes("e.awaited"), entries=halves)

    told.must_be({("true", "yes", "WAITING"), ("false", "yes", "no move")})
    assert stuck(attempts) == 0
