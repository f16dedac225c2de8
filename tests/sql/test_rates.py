"""Rate limits: no window of the period has more starts than places, and waiting for one is no work."""

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.gates import admit, held, in_line, rated
from sql.support import Machine, meanwhile, rows_read, until_it_waits


def test_no_more_start_than_there_are_places(each_machine: Machine) -> None:
    rated(each_machine, most=2)
    jobs = [each_machine.enqueue() for _ in range(3)]
    worker = each_machine.worker()
    admit(each_machine)

    claimed = each_machine.claim(worker)

    assert [row["id"] for row in claimed] == jobs[:2]
    assert held(each_machine, jobs[2]) == "rate:api"


def test_a_place_is_free_again_a_whole_period_after_its_start(each_machine: Machine) -> None:
    rated(each_machine, most=1, per=60)
    first, second = each_machine.enqueue(), each_machine.enqueue()
    worker = each_machine.worker()
    admit(each_machine)
    (claimed,) = each_machine.claim(worker)
    each_machine.complete(worker, claimed)

    each_machine.advance(30)
    assert 1 < admit(each_machine)["next_in"] <= 30
    assert in_line(each_machine) == set()
    each_machine.advance(30)
    admit(each_machine)

    assert in_line(each_machine) == {second}
    assert each_machine.status(first) is Status.COMPLETED


def test_the_period_counts_from_the_claim_and_not_from_the_admission(machine: Machine) -> None:
    rated(machine, most=1, per=60)
    machine.enqueue()
    second = machine.enqueue()
    admit(machine)
    machine.advance(59)
    worker = machine.worker()
    machine.claim(worker)

    machine.advance(30)
    admit(machine)
    assert in_line(machine) == set()
    machine.advance(30)
    admit(machine)

    assert in_line(machine) == {second}


def test_every_attempt_counts(machine: Machine) -> None:
    rated(machine, most=1, per=60)
    job = machine.enqueue()
    worker = machine.worker()
    admit(machine)
    (claimed,) = machine.claim(worker)

    machine.settle(worker, claimed, outcome="released", reason="released: stop")
    admit(machine)

    assert held(machine, job) == "rate:api"
    machine.advance(61)
    admit(machine)
    assert in_line(machine) == {job}


def test_a_cancelled_job_gives_its_start_to_the_next(machine: Machine) -> None:
    rated(machine, most=1)
    first, second = machine.enqueue(), machine.enqueue()
    admit(machine)

    machine.move(first, Status.CANCELLED)
    machine.advance(2)
    admit(machine)

    assert in_line(machine) == {second}


def test_keys_have_rates_of_their_own(machine: Machine) -> None:
    rated(machine, most=1, key="api:{tenant}")
    acme, other = machine.enqueue(tenant="acme"), machine.enqueue(tenant="other")
    machine.enqueue(tenant="acme")

    admit(machine)

    assert in_line(machine) == {acme, other}


def test_a_lowered_rate_counts_the_starts_of_the_higher_one(machine: Machine) -> None:
    rated(machine, most=3, per=60)
    for _ in range(4):
        machine.enqueue()
    worker = machine.worker()
    admit(machine)
    machine.claim(worker, 1)
    machine.advance(50)
    machine.claim(worker, 2)
    rated(machine, most=1, per=60)

    machine.advance(11)
    admit(machine)

    assert in_line(machine) == set()
    machine.advance(60)
    admit(machine)
    assert len(in_line(machine)) == 1


def test_a_job_under_a_limit_and_a_rate_uses_no_start_while_it_waits_for_a_slot(machine: Machine) -> None:
    machine.register(
        options={"limits": [{"key": "one", "max": 1}], "rates": [{"key": "api", "max": 2, "per": 60}]}
    )
    first, second = machine.enqueue(), machine.enqueue()
    admit(machine)

    assert held(machine, second) == "limit:one"
    assert machine.value("select count(*) from holdfast.rate_slot") == 1
    machine.move(first, Status.CANCELLED)
    assert in_line(machine) == {second}


def test_waiters_come_in_by_priority_and_age(machine: Machine) -> None:
    rated(machine, most=1, per=60)
    machine.enqueue()
    admit(machine)
    worker = machine.worker()
    machine.claim(worker)
    machine.enqueue()
    urgent = machine.enqueue(priority=5)
    admit(machine)

    machine.advance(61)
    admit(machine)

    assert in_line(machine) == {urgent}


def test_thousands_of_waiters_are_one_look_a_freed_place(machine: Machine) -> None:
    rated(machine, most=10, per=60)
    machine.enqueue_many([{"task": "t", "payload": {}} for _ in range(3_000)])
    worker = machine.worker()
    while admit(machine)["next_in"] == 0:
        pass
    assert len(machine.claim(worker, 100)) == 10
    machine.advance(61)

    before = rows_read(machine)
    assert admit(machine)["admitted"] == 10
    read = rows_read(machine) - before

    assert len(machine.claim(worker, 100)) == 10
    assert read < 500
    machine.advance(2)  # what was granted has been claimed meanwhile: now the next time is known
    assert 50 < admit(machine)["next_in"] <= 60


def test_a_rate_that_nobody_wakes_any_more_is_found_by_the_sweeper(machine: Machine) -> None:
    rated(machine, most=1, per=60)
    machine.enqueue()
    second = machine.enqueue()
    admit(machine)
    machine.claim(machine.worker(lease=1000))
    machine.run("delete from holdfast.rate_wait")
    machine.advance(61)

    machine.sweep()
    admit(machine)

    assert in_line(machine) == {second}


def test_a_start_that_nobody_will_make_is_found_by_the_sweeper(machine: Machine) -> None:
    rated(machine, most=1, per=60)
    first, second = machine.enqueue(), machine.enqueue()
    admit(machine)
    machine.run("update holdfast.job set ties = 0 where id = %s", first)  # so that its end is not followed up
    machine.move(first, Status.CANCELLED)

    machine.sweep()
    machine.advance(2)
    admit(machine)

    assert in_line(machine) == {second}


def test_upkeep_forgets_starts_long_past(machine: Machine) -> None:
    rated(machine, most=1, per=60)
    machine.enqueue()
    admit(machine)
    machine.claim(machine.worker())
    machine.advance(2 * 3600)

    machine.value("select holdfast.upkeep()")

    assert machine.count("holdfast.rate_slot") == 0


def told_beside_an_admission(database: ScratchDatabase, statement: str) -> str:
    """Tell what a statement answers while somebody who has admitted one has not committed yet."""
    with meanwhile(database) as (admitting, ask):
        admitting.execute("select holdfast.admit_due(1)")
        asked = ask(statement)
        until_it_waits(database, asked)
        admitting.commit()
        return asked.result()


def test_two_that_admit_at_once_do_not_grant_one_place_twice(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    rated(lasting, most=1)
    first, second = lasting.enqueue(), lasting.enqueue()

    assert told_beside_an_admission(holdfast_db, "select admitted from holdfast.admit_due(1)") == "[(0,)]"

    admit(lasting)
    assert in_line(lasting) == {first}
    assert held(lasting, second) in {None, "rate:api"}  # busy a moment ago: it comes again a little later


def test_who_parks_under_a_rate_is_not_forgotten_by_who_finds_nobody_there(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    rated(lasting, most=1)
    lasting.enqueue()
    admit(lasting)
    lasting.claim(lasting.worker())
    gone = lasting.enqueue()
    admit(lasting)
    lasting.move(gone, Status.CANCELLED)
    lasting.run("update holdfast.rate_wait set next_at = now() - interval '1 second'")
    waiting = lasting.enqueue()

    assert told_beside_an_admission(holdfast_db, "select holdfast.admit_rated(100)") == "[(0,)]"

    assert held(lasting, waiting) == "rate:api"
    assert lasting.value("select array_agg(key) from holdfast.rate_wait") == ["api"]
