"""Fair tenants: turns by weight, order inside a tenant, no job left behind, nobody waits for anybody."""

import threading
from collections import Counter
from uuid import uuid4

import psycopg
import pytest

from holdfast.store.overview import homeless_tasks, line, queues
from holdfast.testing import ScratchDatabase
from sql.support import Machine, Row, machine_on, rows_read

MANY = """
select count(*)
  from holdfast.enqueue_many((select jsonb_agg(jsonb_build_object('task', %s::text, 'payload', '{}'::jsonb, 'tenant', %s::text))
                                from generate_series(1, %s)))
"""


def fill(machine: Machine, tenant: str | None, number: int, task: str = "t") -> None:
    machine.run(
        "delete from holdfast.ring"
    )  # dead rows of other tests may have made a look long: it would hide a newcomer
    machine.value(MANY, task, tenant, number)


def tenants_of(claimed: list[Row]) -> list[str | None]:
    return [row["tenant"] for row in claimed]


def shares_of(claimed: list[Row]) -> dict[str | None, int]:
    return dict(Counter(tenants_of(claimed)))


def one_by_one(machine: Machine, number: int) -> list[str | None]:
    worker = machine.worker()
    return [tenant for _ in range(number) for tenant in tenants_of(machine.claim(worker, 1))]


# -- turns -----------------------------------------------------------------------------------------------------------------


def test_tenants_take_turns(each_machine: Machine) -> None:
    for tenant in ("ann", "ben", "eve"):
        fill(each_machine, tenant, 20)

    assert one_by_one(each_machine, 7) == ["ann", "ben", "eve", "ann", "ben", "eve", "ann"]


def test_jobs_without_a_tenant_are_one_tenant_of_their_own(machine: Machine) -> None:
    fill(machine, "ann", 20)
    fill(machine, "ben", 20)
    fill(machine, None, 20)

    assert one_by_one(machine, 6) == [None, "ann", "ben", None, "ann", "ben"]


def test_a_claim_of_many_is_shared_out_equally(each_machine: Machine) -> None:
    fill(each_machine, "ann", 100)
    fill(each_machine, "ben", 40)
    fill(each_machine, None, 40)

    claimed = each_machine.claim(each_machine.worker(), 60)

    assert shares_of(claimed) == {"ann": 20, "ben": 20, None: 20}


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 12, 20])
def test_shares_come_out_exactly_by_weight_however_much_is_claimed_at_once(
    machine: Machine, limit: int
) -> None:
    machine.value("select holdfast.set_tenant_weight('ben', 3)")
    for tenant in ("ann", "ben", None):
        fill(machine, tenant, 400)
    worker = machine.worker()

    claims = [machine.claim(worker, limit) for _ in range(20)]

    assert shares_of([row for claimed in claims for row in claimed]) == {
        "ann": 4 * limit,
        "ben": 12 * limit,
        None: 4 * limit,
    }


def test_a_weight_of_1_is_what_everybody_has(machine: Machine) -> None:
    machine.value("select holdfast.set_tenant_weight('ben', 3)")
    machine.value("select holdfast.set_tenant_weight('ben', 1)")
    fill(machine, "ann", 10)
    fill(machine, "ben", 10)

    assert machine.count("holdfast.tenant") == 0
    assert one_by_one(machine, 4) == ["ann", "ben", "ann", "ben"]


@pytest.mark.parametrize(
    ("tenant", "weight"), [("ann", 0), ("ann", 1001), ("ann", None), ("", 2), (None, 2), ("a" * 201, 2)]
)
def test_a_weight_that_makes_no_sense_is_refused(
    machine: Machine, tenant: str | None, weight: int | None
) -> None:
    with machine.refused("HF005"):
        machine.value("select holdfast.set_tenant_weight(%s, %s)", tenant, weight)


def test_a_tenant_with_little_leaves_the_rest_to_others(machine: Machine) -> None:
    fill(machine, "ann", 100)
    fill(machine, "ben", 3)

    assert shares_of(machine.claim(machine.worker(), 50)) == {"ann": 47, "ben": 3}


@pytest.mark.new_database  # how far a claim walks is counted, and what other tests left dead is walked too
def test_a_late_tenant_gets_its_turn_at_once_behind_5000_jobs_of_another(lasting: Machine) -> None:
    fill(lasting, "big", 5_000)
    worker = lasting.worker()
    lasting.claim(worker, 500)

    late = lasting.enqueue(tenant="small")
    before = rows_read(lasting)
    claimed = lasting.claim(worker, 2)

    assert late in {row["id"] for row in claimed}
    assert rows_read(lasting) - before < 600  # what the first claim left dead, and no more


def test_a_tenant_that_was_away_gets_no_credit_for_it(machine: Machine) -> None:
    fill(machine, "ann", 50)
    one_by_one(machine, 20)

    fill(machine, "ben", 50)

    assert Counter(one_by_one(machine, 20)) == {"ann": 10, "ben": 10}


def test_tenants_without_jobs_leave_nothing_behind(machine: Machine) -> None:
    fill(machine, "ann", 3)
    fill(machine, "ben", 3)
    worker = machine.worker()
    machine.claim(worker, 10)

    fill(machine, "eve", 3)

    assert shares_of(machine.claim(worker, 10)) == {"eve": 3}
    assert machine.count("holdfast.turn") <= 1
    assert machine.count("holdfast.ring") <= 1


def test_queues_have_turns_of_their_own(machine: Machine) -> None:
    for queue in ("default", "mail"):
        for tenant in ("ann", "ben"):
            for _ in range(4):
                machine.enqueue(tenant=tenant, queue=queue)
    worker = machine.worker()

    order = [
        (queue, tenants_of(machine.claim(worker, 1, queue=queue)))
        for _ in range(2)
        for queue in ("default", "mail")
    ]

    assert order == [("default", ["ann"]), ("mail", ["ann"]), ("default", ["ben"]), ("mail", ["ben"])]


@pytest.mark.parametrize("tenants", [260, 600])
def test_every_one_of_very_many_tenants_gets_its_turn(machine: Machine, tenants: int) -> None:
    machine.value(
        "select count(*) from holdfast.enqueue_many((select jsonb_agg(jsonb_build_object("
        " 'task', 't', 'payload', '{}'::jsonb, 'tenant', 'tenant-' || n %% %s)) from generate_series(1, %s) as n))",
        tenants,
        tenants * 6,
    )
    worker = machine.worker()

    first_lap = [tenant for _ in range(tenants // 10) for tenant in tenants_of(machine.claim(worker, 10))]
    rest = [machine.claim(worker, 500) for _ in range(tenants * 5 // 500 + 5)]

    assert set(Counter(first_lap).values()) == {1}
    assert len(first_lap) == tenants
    assert sum(len(claimed) for claimed in rest) == tenants * 5


# -- inside a tenant -------------------------------------------------------------------------------------------------------


def test_priority_counts_inside_a_tenant_and_not_between_tenants(machine: Machine) -> None:
    plain = machine.enqueue(tenant="ann")
    urgent = machine.enqueue(tenant="ann", priority=100)
    other = machine.enqueue(tenant="ben", priority=-100)
    worker = machine.worker()

    assert [machine.claim(worker, 1)[0]["id"] for _ in range(3)] == [urgent, other, plain]


def test_priority_inside_a_tenant_ages(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    old = lasting.enqueue(tenant="ann")
    holdfast_db.clock.advance(61 * 60)
    urgent = lasting.enqueue(tenant="ann", priority=100)
    worker = lasting.worker()

    assert [lasting.claim(worker, 1)[0]["id"] for _ in range(2)] == [old, urgent]


# -- no job is left behind -------------------------------------------------------------------------------------------------


# Claims lock what they take and nothing else: what is in line and locked by nobody was there for whoever has just looked.
NOBODYS = "select j.id from holdfast.job j where j.claim_order is not null for no key update skip locked"


def test_16_claimers_take_every_job_once_and_none_goes_home_while_there_is_work(
    each_db: ScratchDatabase,
) -> None:
    with machine_on(each_db.owner_url) as machine:
        machine.register("t")
        for number in range(40):
            fill(machine, f"tenant-{number}" if number else None, 10 + 5 * (number % 7))
        wanted = machine.count()
    taken: list[list[object]] = [[] for _ in range(16)]
    left = [0] * 16
    start = threading.Barrier(16)

    def claim(place: int) -> None:
        with machine_on(each_db.url) as mine:
            worker = mine.worker(f"w-{place}")
            start.wait()
            while claimed := mine.claim(worker, 1 + 3 * (place % 4)):
                taken[place] += [row["id"] for row in claimed]
        with machine_on(each_db.owner_url) as observer:
            left[place] = len(observer.rows(NOBODYS))

    threads = [threading.Thread(target=claim, args=(place,)) for place in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    ids = [job_id for some in taken for job_id in some]
    assert len(ids) == len(set(ids)) == wanted
    assert left == [0] * 16


@pytest.mark.parametrize("claimed_before", [0, 1])
def test_a_claim_does_not_wait_for_another_that_has_not_committed(
    lasting: Machine, holdfast_db: ScratchDatabase, claimed_before: int
) -> None:
    fill(lasting, "ann", 10)
    fill(lasting, "ben", 10)
    for _ in range(claimed_before):  # then there is a last turn, which the other claim locks
        lasting.claim(lasting.worker(), 1)
    with machine_on(holdfast_db.owner_url) as other, other.connection.transaction():
        first = other.claim(other.worker(), 3)
        lasting.run("set statement_timeout = '5s'")

        try:
            second = lasting.claim(lasting.worker(), 15)
        except psycopg.errors.QueryCanceled:
            second = []

    assert (len(first), len(second)) == (3, 15)


def test_a_long_look_is_not_waited_for(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    for _ in range(2):  # the first time there is no row yet
        with machine_on(holdfast_db.owner_url) as other, other.connection.transaction():
            other.value("select holdfast.keep_ring('default', interval '1 s')")
            lasting.run("set statement_timeout = '5s'")

            try:
                kept = lasting.value("select holdfast.keep_ring('default', interval '1 s') is not null")
            except psycopg.errors.QueryCanceled:
                kept = False

        assert kept


def test_tenants_whose_jobs_are_for_other_workers_do_not_hide_ours(machine: Machine) -> None:
    machine.register("u")
    for number in range(300):
        machine.enqueue("u", tenant=f"other-{number}")
    mine = machine.enqueue(tenant="zoe")
    worker = machine.worker()

    assert [row["id"] for row in machine.claim(worker, 1)] == [mine]
    assert machine.claim(worker, 5) == []


# -- a look that took long -------------------------------------------------------------------------------------------------


def know(machine: Machine, heads: dict[str, str], seconds: int = 60) -> None:
    """Pretend that a claim found these tenants, and took long."""
    machine.run(
        "insert into holdfast.ring (queue, tenants, heads, until) values ('default', %s, %s::timestamptz[], holdfast.clock() + make_interval(secs => %s))",
        list(heads), list(heads.values()), seconds,
    )  # fmt: skip


def test_a_claim_goes_by_the_tenants_that_a_long_look_found(machine: Machine) -> None:
    fill(machine, "ann", 10)
    fill(machine, "ben", 10)
    know(machine, {"ben": "-infinity"})

    assert one_by_one(machine, 3) == ["ben"] * 3


def test_what_a_long_look_did_not_find_is_looked_for_rather_than_left(machine: Machine) -> None:
    fill(machine, "ann", 10)
    fill(machine, "ben", 2)
    know(machine, {"ben": "infinity", "gone": "-infinity"})

    assert shares_of(machine.claim(machine.worker(), 12)) == {"ann": 10, "ben": 2}


def test_a_claim_knows_no_tenants_and_finds_those_that_came(machine: Machine) -> None:
    fill(machine, "ann", 3)
    fill(machine, None, 3)
    know(machine, {})
    worker = machine.worker()

    assert shares_of(machine.claim(worker, 2)) == {None: 2}
    assert shares_of(machine.claim(worker, 4)) == {None: 1, "ann": 3}


def test_a_long_look_is_forgotten_after_its_time(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    fill(lasting, "ann", 10)
    fill(lasting, "ben", 10)
    know(lasting, {"ben": "-infinity"}, seconds=1)
    holdfast_db.clock.advance(2)

    assert set(one_by_one(lasting, 4)) == {"ann", "ben"}


def test_a_look_that_took_long_is_kept_for_a_third_of_a_second_at_most(machine: Machine) -> None:
    fill(machine, "ann", 2)
    fill(machine, "ben", 2)
    for _ in range(2):
        machine.value("select holdfast.keep_ring('default', interval '1 hour')")

    ring = machine.one("select r.tenants, r.until - holdfast.clock() as lasts from holdfast.ring r")

    assert ring["tenants"] == ["ann", "ben"]
    assert 0 < ring["lasts"].total_seconds() <= 0.3


ENTRIES_READ = "select pg_stat_get_xact_tuples_returned('holdfast.job_in_line'::regclass)"


@pytest.mark.new_database  # how far a claim walks is counted, and what other tests left dead is walked too
@pytest.mark.parametrize("tenants", [["ann"], ["ann", "ben"], ["ann", None]])
def test_claims_do_not_walk_again_and_again_what_a_held_snapshot_keeps_dead(
    lasting: Machine, holdfast_db: ScratchDatabase, tenants: list[str | None]
) -> None:
    with machine_on(holdfast_db.owner_url) as other, other.connection.transaction():
        other.run("set transaction isolation level repeatable read")
        other.count()
        for _ in range(50):  # jobs of one call share their place in line, dead or not
            for tenant in tenants:
                fill(lasting, tenant, 50)
        worker = lasting.worker()
        after = max(row["claim_order"] for row in lasting.claim(worker, 2100 * len(tenants)))
        with lasting.connection.transaction():
            lasting.claim(worker, 2)
            lasting.run("update holdfast.ring set until = 'infinity'")  # a slow machine knows it as long
            walked = lasting.value(ENTRIES_READ)

            claimed = lasting.rows(
                "select * from holdfast.claim(%s, %s, 'default', '{t}', 2, %s)", worker, uuid4(), after
            )

            assert walked > 2000  # as it was arranged
            assert len(claimed) == 2
            assert lasting.value(ENTRIES_READ) - walked < 250


# -- plans -----------------------------------------------------------------------------------------------------------------

LOAD = """
insert into holdfast.job (task, tenant, status, seq, attempt, finished_at, claim_order)
select 't', 'tenant-' || n %% 20, case when n <= %(finished)s::int then 'COMPLETED' else 'PENDING' end::holdfast.job_status, 1, 0,
       case when n <= %(finished)s::int then clock_timestamp() end, case when n > %(finished)s::int then clock_timestamp() end
  from generate_series(1, %(finished)s::int + %(pending)s::int) as n
"""


@pytest.mark.parametrize(
    ("finished", "pending"), [(0, 0), (0, 10), (10, 0), (10_000, 10), (0, 10_000), (5_000, 5_000)]
)
@pytest.mark.parametrize("statistics", ["fresh", "of an empty table"])
def test_a_claim_by_turns_reads_what_it_takes_and_little_more_whatever_the_table_holds(
    each_machine: Machine, finished: int, pending: int, statistics: str
) -> None:
    each_machine.run("analyze holdfast.job")
    each_machine.run("discard plans")
    worker = each_machine.worker()
    each_machine.claim(worker, 1)  # its plans are kept from an empty table
    each_machine.run("alter table holdfast.job disable trigger user")
    each_machine.connection.execute(LOAD, {"finished": finished, "pending": pending})
    if statistics == "fresh":
        each_machine.run("analyze holdfast.job")
    before = rows_read(each_machine)

    claimed = each_machine.claim(worker, 40)

    assert len(claimed) == min(pending, 40)
    assert rows_read(each_machine) - before <= 200


def test_lists_of_queues_are_answered_from_the_heads_of_the_lines(machine: Machine) -> None:
    machine.run("alter table holdfast.job disable trigger user")
    machine.connection.execute(LOAD, {"finished": 0, "pending": 50_000})
    machine.run("analyze holdfast.job")
    for call in (queues(), homeless_tasks(["default"]), line("default")):
        before = rows_read(machine)

        machine.connection.execute(call.sql, call.parameters)

        assert rows_read(machine) - before < 12_000, call.sql  # counts stop at 10,000


def test_the_oldest_wait_is_that_of_any_tenant(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    lasting.enqueue(tenant="zoe")
    holdfast_db.clock.advance(600)
    lasting.enqueue(tenant="ann")
    lasting.enqueue()

    call = queues()
    (row,) = lasting.connection.execute(call.sql, call.parameters).fetchall()
    (queue,) = call.read([row])

    assert queue.waiting == 3
    assert queue.oldest_wait is not None
    assert 599 < queue.oldest_wait.total_seconds() < 620


def test_a_claim_starts_behind_what_is_dead_for_jobs_without_a_tenant_only(machine: Machine) -> None:
    machine.enqueue()
    mine = machine.enqueue(tenant="ann")

    claimed = machine.rows(
        "select * from holdfast.claim(%s, %s, 'default', '{t}', 10, 'infinity')", machine.worker(), uuid4()
    )

    assert [row["id"] for row in claimed] == [mine]


def test_weights_are_read_by_name_of_any_kind(machine: Machine) -> None:
    odd = 'a "quoted", {odd} \\ näme'
    machine.value("select holdfast.set_tenant_weight(%s, 2)", odd)
    machine.enqueue_many(
        [{"task": "t", "payload": {}, "tenant": tenant} for tenant in (odd, "zoe") for _ in range(6)]
    )

    assert Counter(one_by_one(machine, 6)) == {odd: 4, "zoe": 2}
