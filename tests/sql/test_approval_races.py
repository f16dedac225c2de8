"""Two who decide at once, or one and the clock, or one and a cancel: a thousand times each, and exactly one is first."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest
from psycopg.types.json import Jsonb

from holdfast.testing import ScratchDatabase, TestServer
from sql.asking import GATE, asked
from sql.racing import CANCELS, JOBS, TRIES, Side, claim_many, copy_of, prepared, race
from sql.support import Machine, machine_on, meanwhile, refused, until_it_waits


def decides(who: str, decision: str = "'approve'", gate: str = "e.approval_id") -> Side:
    return Side(f"select d.result from holdfast.decide({gate}, '{who}', {decision}, 'because') as d")


SOME = f"{JOBS} limit 250"
APPROVES, DENIES = decides("ann"), decides("ben", "'deny'")


def ask_many(machine: Machine, count: int = TRIES, **gate: object) -> None:
    """Bring many jobs to their gates."""
    claim_many(machine, count)
    machine.rows(
        "select holdfast.ask(j.id, 1, j.claim_id, 'refund', null, %s, null) from holdfast.job j",
        Jsonb({**GATE, **gate}),
    )


@pytest.fixture(scope="module")
def all_asked(holdfast_server: TestServer) -> Iterator[str]:
    with prepared(holdfast_server, ask_many) as url:
        yield url


@pytest.fixture
def gates(all_asked: str) -> Iterator[str]:
    """Give a database with a thousand jobs that wait for approval."""
    with copy_of(all_asked) as url:
        yield url


def ends(url: str) -> Counter[tuple[str, str, int]]:
    """Count how each approval, its job and its history ended."""
    with machine_on(url) as machine:
        rows = machine.rows(
            "select a.decision, j.status::text, (select count(*) from holdfast.approval_decision d where d.approval_id = a.id) as voices"
            "  from holdfast.approval a join holdfast.job j on j.id = a.job_id"
        )
    return Counter((row["decision"], row["status"], row["voices"]) for row in rows)


def test_of_an_approval_and_a_denial_at_once_exactly_one_counts(gates: str) -> None:
    told = race(gates, APPROVES, DENIES)

    approved, denied = ("decided", "already", "no move"), ("already", "decided", "FAILED")
    told.must_be({approved, denied})
    assert ends(gates) == {
        ("approved", "WAITING_FOR_APPROVAL", 1): told[approved],
        ("denied", "FAILED", 1): told[denied],
    }
    assert told.total() == TRIES


def test_of_two_tokens_at_once_exactly_one_counts_and_the_other_is_told(gates: str) -> None:
    with machine_on(gates) as machine:
        machine.rows(
            "select holdfast.mint_token(e.approval_id, who, sha256(convert_to(e.approval_id || who, 'utf8')))"
            f"  from ({SOME}) as e, unnest('{{ann,ben}}'::text[]) as who"
        )

    def by_token(who: str) -> Side:
        return Side(
            "select d.result || ' by ' || d.decided_by from holdfast.decide_by_token("
            f"e.approval_id, sha256(convert_to(e.approval_id || '{who}', 'utf8')), 'approve', null, 'mail') as d"
        )

    told = race(gates, by_token("ann"), by_token("ben"), entries=SOME)

    told.must_be(
        {
            ("decided by ann", "already by ann", "no move"),
            ("already by ben", "decided by ben", "no move"),
        }
    )


def test_the_quorum_is_reached_by_one_of_two_approvals_at_once(holdfast_server: TestServer) -> None:
    with prepared(holdfast_server, partial(ask_many, count=250, quorum=2)) as gates:
        told = race(gates, APPROVES, decides("ben"))

        told.must_be({("counted", "decided", "no move"), ("decided", "counted", "no move")})
        assert ends(gates) == {("approved", "WAITING_FOR_APPROVAL", 2): 250}


def test_of_a_denial_and_a_cancel_exactly_one_counts(gates: str) -> None:
    told = race(gates, DENIES, CANCELS)

    denied, cancelled = ("decided", "HF001", "FAILED"), ("already", "CANCELLED", "CANCELLED")
    told.must_be({denied, cancelled})
    assert ends(gates) == {
        ("denied", "FAILED", 1): told[denied],
        ("cancelled", "CANCELLED", 0): told[cancelled],
    }
    assert told.total() == TRIES


def test_an_approval_after_a_cancel_never_counts(gates: str) -> None:
    told = race(gates, APPROVES, CANCELS)

    # An approved job can still be cancelled, but a cancelled one is not approved any more.
    before, after = ("decided", "CANCELLED", "CANCELLED"), ("already", "CANCELLED", "CANCELLED")
    told.must_be({before, after})
    assert ends(gates) == {
        ("approved", "CANCELLED", 1): told[before],
        ("cancelled", "CANCELLED", 0): told[after],
    }
    assert told.total() == TRIES


def test_an_approval_and_a_claim_at_once_lose_nothing(gates: str) -> None:
    with machine_on(gates) as machine:
        worker = machine.worker(lease=3600)
        claims = Side(
            f"select count(*)::text from holdfast.claim('{worker}', gen_random_uuid(), 'default', '{{t}}', 5)"
        )

        told = race(gates, APPROVES, claims)
        machine.claim(worker, TRIES)

        assert {said for said, _, _ in told} == {"decided"}
        assert machine.rows(
            "select status::text, count(*), max(seq) as moves from holdfast.job group by 1"
        ) == [{"status": "RUNNING", "count": TRIES, "moves": 4}]


def test_a_zombie_that_finishes_while_the_approval_comes_changes_nothing(gates: str) -> None:
    """A10: the attempt that asked is over; what it still says, at whatever moment, is thrown away."""
    finishes = Side("""
        select coalesce(max('no, ' || c.status), 'yes')
          from holdfast.complete(null, array[e.job_id], array[e.attempt], array[e.claim_id], array[null]::text[]) as c""")

    told = race(gates, finishes, APPROVES)

    told.must_be({("no, WAITING_FOR_APPROVAL", "decided", "no move")})
    assert ends(gates) == {("approved", "WAITING_FOR_APPROVAL", 1): TRIES}


# -- with the clock --------------------------------------------------------------------------------------------------------


@pytest.fixture
def askers(holdfast_server: TestServer) -> Iterator[str]:
    """Give a database with a thousand jobs that are about to ask."""
    with prepared(holdfast_server, claim_many) as url:
        yield url


# A deadline is half a millisecond away, or twice as much, up to 64: who asks acts before it or after, on a slow machine
# too, and sweeps come meanwhile.
ASKING = """
    perform holdfast.ask(e.job_id, e.attempt, e.claim_id, 'refund', null,
              jsonb_build_object('question', '?', 'expires_in', 0.0005 * 2 ^ mod(e.nth, 8)), null);
    commit;
    perform pg_sleep(0.001)"""
# Approves one job and denies the next.
DECIDES = decides(
    "ann",
    "case mod(e.nth, 2) when 0 then 'approve' else 'deny' end",
    "(select a.id from holdfast.approval a where a.job_id = e.job_id)",
)
# With every second job: it takes as long as two decisions.
SWEEPS = Side(
    "case mod(e.nth, 2) when 0 then (select s.expired::text from holdfast.sweep() as s) else '0' end"
)


def with_the_clock(url: str, side: Side) -> tuple[Counter[tuple[str, str]], int]:
    """Race with sweeps; answers what the side was told and how the jobs moved, and how many approvals the sweeps ended."""
    told: Counter[tuple[str, str]] = Counter()
    swept = 0
    for (said, expired, moves), times in race(
        url, Side(side.call, before=ASKING), SWEEPS, must_meet=False
    ).items():
        told[said, moves] += times
        swept += int(expired) * times
    return told, swept


def test_of_a_decision_and_the_clock_exactly_one_counts(askers: str) -> None:
    told, swept = with_the_clock(askers, DECIDES)

    approved = ("decided", "WAITING_FOR_APPROVAL")
    denied = ("decided", "WAITING_FOR_APPROVAL FAILED")
    expired = ("already", "WAITING_FOR_APPROVAL FAILED")
    assert set(told) == {approved, denied, expired}
    assert ends(askers) == {
        ("approved", "WAITING_FOR_APPROVAL", 1): told[approved],
        ("denied", "FAILED", 1): told[denied],
        ("expired", "FAILED", 0): told[expired],
    }
    assert told.total() == TRIES
    assert 0 < swept <= told[expired]  # a decision that comes too late settles the expiry itself


def test_of_a_cancel_and_the_clock_exactly_one_counts(askers: str) -> None:
    told, swept = with_the_clock(askers, CANCELS)

    cancelled = ("CANCELLED", "WAITING_FOR_APPROVAL CANCELLED")
    expired = ("HF001", "WAITING_FOR_APPROVAL FAILED")
    assert set(told) == {cancelled, expired}
    assert ends(askers) == {
        ("cancelled", "CANCELLED", 0): told[cancelled],
        ("expired", "FAILED", 0): told[expired],
    }
    assert told.total() == TRIES
    assert swept == told[expired]


def test_the_clock_passes_over_a_job_that_somebody_is_at(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    gate = asked(lasting, expires_in=60)
    holdfast_db.clock.advance(61)

    with meanwhile(holdfast_db) as (holder, ask):
        holder.execute("select from holdfast.job where id = %s for no key update", [gate.job_id])
        expired = ask("select holdfast.expire_approvals(100)")
        until_it_waits(holdfast_db, expired)
        cancelled = refused(Machine(holder), "select holdfast.cancel(%s)", gate.job_id)
        holder.commit()

        assert (cancelled, expired.result()) == (None, "[(0,)]")


def test_the_clock_leaves_alone_what_is_decided_while_it_settles_another(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    asked(lasting, expires_in=60, on_expiry="deny")  # the older job comes first
    gate = asked(lasting, expires_in=60)
    holdfast_db.clock.advance(61)

    with meanwhile(holdfast_db) as (holder, ask):
        holder.execute("lock table holdfast.approval_decision in exclusive mode")
        expired = ask("select holdfast.expire_approvals(100)")
        until_it_waits(holdfast_db, expired)
        lasting.run("select holdfast.cancel(%s)", gate.job_id)
        holder.commit()

        assert expired.result() == "[(1,)]"
