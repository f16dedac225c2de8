"""Concurrency limits: a slot a job, from its admission to its end, whatever happens to it meanwhile."""

from uuid import UUID

import psycopg
import pytest

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.gates import admit, held, in_line, limited, slots
from sql.support import Machine, meanwhile, rows_read, until_it_waits


def test_a_limited_job_enters_the_line_only_through_admission(each_machine: Machine) -> None:
    limited(each_machine)

    job = each_machine.enqueue(payload={"user_id": 1})

    assert in_line(each_machine) == set()
    admit(each_machine)
    assert in_line(each_machine) == {job}
    assert slots(each_machine, "user:1") == {1: job}
    assert each_machine.job(job)["ties"] & 5 == 5


def test_a_job_without_gates_is_in_line_at_once_and_has_no_ties(each_machine: Machine) -> None:
    job = each_machine.enqueue()

    row = each_machine.job(job)
    assert row["claim_order"] is not None
    assert (row["ties"], row["due_at"]) == (0, None)


def test_what_is_over_the_limit_is_parked_and_says_for_which_key(each_machine: Machine) -> None:
    limited(each_machine, most=2)
    jobs = [each_machine.enqueue(payload={"user_id": 1}) for _ in range(3)]
    other = each_machine.enqueue(payload={"user_id": 2})

    admit(each_machine)

    assert in_line(each_machine) == {*jobs[:2], other}
    assert held(each_machine, jobs[2]) == "limit:user:1"
    assert admit(each_machine)["next_in"] is None


@pytest.mark.parametrize("end", [Status.COMPLETED, Status.FAILED, Status.CANCELLED])
def test_the_end_of_a_job_lets_the_next_one_in_within_its_own_transaction(
    each_machine: Machine, end: Status
) -> None:
    limited(each_machine)
    first, second, third = (each_machine.enqueue(payload={"user_id": 1}) for _ in range(3))
    admit(each_machine)
    each_machine.move(first, Status.RUNNING)

    each_machine.move(first, end)

    assert slots(each_machine, "user:1") == {1: second}
    assert in_line(each_machine) == {second}
    assert held(each_machine, third) == "limit:user:1"
    assert each_machine.value("select count(*) from holdfast.slot where job_id = %s", first) == 0


def test_waiters_come_out_by_priority_and_age(each_machine: Machine) -> None:
    limited(each_machine)
    first = each_machine.enqueue(payload={"user_id": 1})
    admit(each_machine)
    old = each_machine.enqueue(payload={"user_id": 1})
    urgent = each_machine.enqueue(payload={"user_id": 1}, priority=10)
    admit(each_machine)

    each_machine.move(first, Status.CANCELLED)
    assert in_line(each_machine) == {urgent}
    each_machine.move(urgent, Status.CANCELLED)

    assert in_line(each_machine) == {old}


@pytest.mark.parametrize("status", [Status.RETRY, Status.WAITING, Status.WAITING_FOR_APPROVAL])
def test_a_slot_is_kept_over_retries_and_waits(machine: Machine, status: Status) -> None:
    limited(machine)
    first, second = (machine.enqueue(payload={"user_id": 1}) for _ in range(2))
    admit(machine)
    machine.move(first, Status.RUNNING)

    machine.move(first, status)

    assert slots(machine, "user:1") == {1: first}
    assert held(machine, second) == "limit:user:1"


@pytest.mark.parametrize("status", [Status.RETRY, Status.WAITING, Status.WAITING_FOR_APPROVAL])
def test_a_limit_may_release_its_slot_while_the_job_waits(machine: Machine, status: Status) -> None:
    limited(machine, release_while_waiting=True)
    first, second = (machine.enqueue(payload={"user_id": 1}) for _ in range(2))
    admit(machine)
    machine.move(first, Status.RUNNING)

    machine.move(first, status)

    assert slots(machine, "user:1") == {1: second}
    assert in_line(machine) == {second}


def test_a_job_that_gave_its_slot_back_waits_for_one_again(machine: Machine) -> None:
    limited(machine, release_while_waiting=True)
    first, second = (machine.enqueue(payload={"user_id": 1}) for _ in range(2))
    admit(machine)
    machine.move(first, Status.RUNNING)
    machine.move(first, Status.RETRY, due_in=-1)
    admit(machine)
    assert held(machine, first) == "limit:user:1"

    machine.move(second, Status.CANCELLED)

    assert slots(machine, "user:1") == {1: first}
    assert in_line(machine) == {first}


def test_a_retry_of_a_limited_job_comes_back_through_admission_with_its_slot(machine: Machine) -> None:
    limited(machine)
    job = machine.enqueue(payload={"user_id": 1})
    admit(machine)
    worker = machine.worker()
    (claimed,) = machine.claim(worker)
    machine.settle(worker, claimed, outcome="released", reason="released: stop")
    assert in_line(machine) == set()

    admit(machine)

    assert in_line(machine) == {job}
    assert slots(machine, "user:1") == {1: job}


def test_limits_compose_and_are_taken_all_or_none(machine: Machine) -> None:
    machine.register(
        options={"limits": [{"key": "user:{user_id}", "max": 1}, {"key": "region:{region}", "max": 1}]}
    )
    first = machine.enqueue(payload={"user_id": 1, "region": "eu"})
    second = machine.enqueue(payload={"user_id": 2, "region": "eu"})
    third = machine.enqueue(payload={"user_id": 2, "region": "us"})

    admit(machine)

    assert in_line(machine) == {first, third}
    assert slots(machine, "user:2") == {1: third}
    assert held(machine, second) == "limit:region:eu"


def test_a_waiter_that_then_waits_for_another_key_passes_its_turn_on(machine: Machine) -> None:
    machine.register(options={"limits": [{"key": "a:{a}", "max": 1}, {"key": "b:{b}", "max": 1}]})
    holder = machine.enqueue(payload={"a": 1, "b": 1})
    other = machine.enqueue(payload={"a": 2, "b": 2})
    admit(machine)
    torn = machine.enqueue(payload={"a": 1, "b": 2})
    ready = machine.enqueue(payload={"a": 1, "b": 3})
    admit(machine)

    machine.move(holder, Status.CANCELLED)

    assert held(machine, torn) == "limit:b:2"
    assert in_line(machine) == {other, ready}
    machine.move(other, Status.CANCELLED)
    assert held(machine, torn) == "limit:a:1"


@pytest.mark.parametrize(
    ("template", "payload", "options", "filled"),
    [
        ("user:{user_id}", {"user_id": 7}, {}, "user:7"),
        ("{a}-{b}", {"a": "x", "b": True}, {}, "x-true"),
        ("t:{tenant}", {}, {"tenant": "acme"}, "t:acme"),
        ("s:{subject}", {}, {"subject": "booking:1"}, "s:booking:1"),
        ("t:{tenant}", {"tenant": "mine"}, {"tenant": "acme"}, "t:mine"),
        ("n:{a}", {"a": None}, {}, "n:"),
        ("brace:{a}", {"a": "{b}"}, {}, "brace:{b}"),
        ("plain", {}, {}, "plain"),
    ],
)
def test_a_key_is_filled_from_the_payload(
    each_machine: Machine, template: str, payload: dict[str, object], options: dict[str, str], filled: str
) -> None:
    limited(each_machine, key=template)

    job = each_machine.enqueue(payload=payload, **options)

    assert each_machine.value("select key from holdfast.slot where job_id = %s", job) == filled


def test_a_key_of_any_length_fits(machine: Machine) -> None:
    limited(machine, key="u:{user_id}")
    one = machine.enqueue(payload={"user_id": "x" * 100_000 + "1"})
    two = machine.enqueue(payload={"user_id": "x" * 100_000 + "2"})

    admit(machine)

    assert in_line(machine) == {one, two}


def test_a_lowered_limit_waits_until_enough_have_ended(machine: Machine) -> None:
    limited(machine, most=3)
    jobs = [machine.enqueue(payload={"user_id": 1}) for _ in range(4)]
    admit(machine)
    limited(machine, most=2)

    machine.move(jobs[0], Status.CANCELLED)
    assert held(machine, jobs[3]) == "limit:user:1"
    machine.move(jobs[1], Status.CANCELLED)

    assert in_line(machine) == {jobs[2], jobs[3]}


def test_a_raised_limit_is_found_by_the_sweeper(machine: Machine) -> None:
    limited(machine, most=1)
    jobs = [machine.enqueue(payload={"user_id": 1}) for _ in range(3)]
    admit(machine)
    limited(machine, most=3)

    machine.sweep()

    assert in_line(machine) == set(jobs)


def test_a_job_stranded_by_hand_is_found_by_the_sweeper(machine: Machine) -> None:
    limited(machine)
    first, second = (machine.enqueue(payload={"user_id": 1}) for _ in range(2))
    admit(machine)
    machine.run("delete from holdfast.slot where job_id = %s", first)

    machine.sweep()

    assert second in in_line(machine)


def test_a_slot_that_an_ended_job_left_behind_is_freed_by_the_sweeper(machine: Machine) -> None:
    limited(machine)
    first, second = (machine.enqueue(payload={"user_id": 1}) for _ in range(2))
    admit(machine)
    machine.run("update holdfast.job set ties = 0 where id = %s", first)  # so that its end is not followed up
    machine.move(first, Status.RUNNING)
    machine.move(first, Status.COMPLETED)
    assert held(machine, second) == "limit:user:1"

    machine.sweep()

    assert slots(machine, "user:1") == {1: second}
    assert in_line(machine) == {second}


def test_a_sweep_changes_nothing_where_all_is_well(machine: Machine) -> None:
    limited(machine)
    for _ in range(3):
        machine.enqueue(payload={"user_id": 1})
    admit(machine)
    before = machine.rows("select ctid, * from holdfast.job order by id")

    machine.sweep()
    machine.sweep()

    assert machine.rows("select ctid, * from holdfast.job order by id") == before


def test_two_jobs_cannot_hold_one_slot(machine: Machine) -> None:
    limited(machine)
    job = machine.enqueue(payload={"user_id": 1})
    admit(machine)

    with machine.refused("23505"):
        machine.run(
            "insert into holdfast.slot (job_id, key, n) values (holdfast.new_id(), 'user:1', 1)",
        )
    assert slots(machine, "user:1") == {1: job}


def test_jobs_that_were_in_line_before_their_task_had_a_limit_come_under_it(machine: Machine) -> None:
    jobs = [machine.enqueue(payload={"user_id": 1}) for _ in range(3)]
    limited(machine)

    machine.sweep()
    admit(machine)

    assert in_line(machine) == {jobs[0]}
    assert held(machine, jobs[2]) == "limit:user:1"


def test_thousands_of_waiters_of_one_key_are_no_work_for_admission(machine: Machine) -> None:
    limited(machine)
    machine.enqueue_many([{"task": "t", "payload": {"user_id": 1}} for _ in range(3_000)])
    while admit(machine)["next_in"] is not None:
        pass
    parked = machine.value("select count(*) from holdfast.job where held_by = 'limit:user:1'")
    assert parked == 2_999

    before = rows_read(machine)
    admit(machine)

    assert rows_read(machine) - before < 20


def test_a_free_slot_finds_whoever_can_use_it_behind_many_who_cannot(machine: Machine) -> None:
    machine.register(
        options={"limits": [{"key": "gpu", "max": 2}, {"key": "user:{user_id}", "max": 1}]}, max_retries=0
    )
    one, nine = (machine.enqueue(payload={"user_id": n}) for n in (1, 9))
    admit(machine)
    assert in_line(machine) == {one, nine}
    machine.enqueue_many([{"task": "t", "payload": {"user_id": 1}} for _ in range(700)])
    two = machine.enqueue(payload={"user_id": 2})
    admit_all(machine)
    assert held(machine, two) == "limit:gpu"

    machine.move(nine, Status.CANCELLED)
    admit_all(machine)

    assert in_line(machine) == {one, two}
    assert sorted(slots(machine, "gpu").values()) == sorted([one, two])


def test_keys_whose_limits_differ_from_task_to_task_are_not_passed_to_and_fro(machine: Machine) -> None:
    for name, cpu, gpu in (("a", 1, 5), ("b", 5, 1)):
        machine.register(name, options={"limits": [{"key": "cpu", "max": cpu}, {"key": "gpu", "max": gpu}]})
    first = machine.enqueue("a")
    admit(machine)
    for name in ("b", "a", "b", "a"):
        machine.enqueue(name)
        admit_all(machine, most=20)

    assert in_line(machine) == {first}


def admit_all(machine: Machine, most: int = 100) -> None:
    """Go on as a worker does, as long as admission says that there is more."""
    for _ in range(most):
        if admit(machine)["next_in"] != 0:
            return
    raise AssertionError("admission comes to no end")


# -- reject -----------------------------------------------------------------------------------------------------------------


def test_reject_answers_at_enqueue_with_the_job_in_the_way(each_machine: Machine) -> None:
    limited(each_machine, policy="reject")
    first = each_machine.enqueue(payload={"user_id": 1})

    with each_machine.refused("HF012", "user:1", str(first)):
        each_machine.enqueue(payload={"user_id": 1})

    assert each_machine.count() == 1
    each_machine.enqueue(payload={"user_id": 2})


@pytest.mark.parametrize("status", [one for one in Status if not one.is_terminal])
def test_reject_counts_every_job_that_has_not_ended(machine: Machine, status: Status) -> None:
    limited(machine, policy="reject", release_while_waiting=False)
    machine.job_in(status, payload={"user_id": 1})

    with machine.refused("HF012"):
        machine.enqueue(payload={"user_id": 1})


@pytest.mark.parametrize("status", [one for one in Status if one.is_terminal])
def test_reject_does_not_count_a_job_that_has_ended(machine: Machine, status: Status) -> None:
    limited(machine, policy="reject")
    machine.job_in(status, payload={"user_id": 1})

    machine.enqueue(payload={"user_id": 1})


def test_reject_counts_jobs_of_another_task_that_wait_under_the_same_key(machine: Machine) -> None:
    limited(machine, "waits", policy="wait")
    limited(machine, "rejects", policy="reject")
    first = machine.enqueue("waits", {"user_id": 1})

    with machine.refused("HF012", str(first)):
        machine.enqueue("rejects", {"user_id": 1})
    machine.enqueue("waits", {"user_id": 1})


def test_a_batch_that_exceeds_a_rejecting_limit_is_refused_whole(machine: Machine) -> None:
    limited(machine, most=2, policy="reject")
    batch = [{"task": "t", "payload": {"user_id": 1}} for _ in range(3)]

    with machine.refused("HF012"):
        machine.enqueue_many(batch)
    assert machine.count() == 0
    assert machine.count("holdfast.slot") == 0

    assert len(machine.enqueue_many(batch[:2])) == 2


def test_a_repeat_of_a_key_is_no_second_job_for_a_rejecting_limit(machine: Machine) -> None:
    limited(machine, policy="reject")
    first = machine.enqueue(payload={"user_id": 1}, key="event-1")

    assert machine.enqueue(payload={"user_id": 1}, key="event-1") == first


def test_a_job_may_replace_the_one_in_its_way(machine: Machine) -> None:
    limited(machine, policy="reject")
    first = machine.enqueue(payload={"user_id": 1}, key="k")

    second = machine.enqueue(payload={"user_id": 1}, key="k", on_conflict="replace")

    assert machine.status(first) is Status.CANCELLED
    assert machine.status(second) is Status.PENDING


def test_a_manual_retry_comes_under_the_limits_too(machine: Machine) -> None:
    limited(machine, policy="reject")
    failed = machine.job_in(Status.FAILED, payload={"user_id": 1})
    other = machine.enqueue(payload={"user_id": 1})

    with machine.refused("HF012", str(other)):
        machine.value("select holdfast.retry(%s)", failed)
    machine.move(other, Status.CANCELLED)
    again = machine.value("select holdfast.retry(%s)", failed)

    admit(machine)
    assert slots(machine, "user:1") == {1: again}


def test_reject_is_refused_where_it_could_not_be_exact(each_db: ScratchDatabase) -> None:
    with psycopg.connect(each_db.owner_url, autocommit=True) as connection:
        machine = Machine(connection)
        limited(machine, policy="reject")
        connection.execute("begin isolation level repeatable read")
        with pytest.raises(psycopg.Error) as refused:
            machine.enqueue(payload={"user_id": 1})
        connection.execute("rollback")

    assert refused.value.sqlstate == "HF005"
    assert "READ COMMITTED" in str(refused.value)


# -- queues -----------------------------------------------------------------------------------------------------------------


def test_a_queue_is_limited_at_run_time_with_what_runs_counted(each_machine: Machine) -> None:
    for _ in range(4):
        each_machine.enqueue()
    worker = each_machine.worker()
    running = each_machine.claim(worker, 1)

    each_machine.value("select holdfast.limit_queue('default', 2)")

    admit(each_machine)
    assert len(each_machine.claim(worker)) == 1
    assert each_machine.claim(worker) == []
    each_machine.complete(worker, running[0])
    assert len(each_machine.claim(worker)) == 1


def test_a_claim_takes_nothing_from_a_limited_queue_that_has_no_slot(machine: Machine) -> None:
    machine.enqueue()
    machine.run("update holdfast.queue set job_limit = 1 where name = 'default'")

    assert machine.claim(machine.worker()) == []


def test_a_claim_walks_no_line_that_was_there_before_its_queues_limit(lasting: Machine) -> None:
    lasting.run("alter table holdfast.job set (autovacuum_enabled = off)")
    lasting.run("analyze holdfast.job")
    lasting.enqueue_many([{"task": "t", "payload": {}} for _ in range(3_000)])
    lasting.value("select holdfast.limit_queue('default', 2)")
    worker = lasting.worker()
    while not slots(lasting, "queue:default"):
        admit(lasting)

    first, read = counting(lasting, worker)
    again, read_again = counting(lasting, worker)

    assert (first, again) == (2, 0)
    assert max(read, read_again) < 50


def test_what_has_a_slot_behind_a_long_line_without_is_claimed(machine: Machine) -> None:
    machine.register("t", "other")
    machine.enqueue_many([{"task": "t", "payload": {}, "priority": 50} for _ in range(1_200)])
    machine.run("update holdfast.queue set job_limit = 2, cleared = false where name = 'default'")
    jobs = {machine.enqueue("other"), machine.enqueue("other")}
    admit(machine)
    worker = machine.worker()

    claimed = machine.claim(worker, tasks=("t", "other"))

    assert {row["id"] for row in claimed} == jobs
    assert machine.claim(worker, tasks=("t", "other")) == []
    assert machine.complete(worker, *claimed) == []


def test_a_line_without_slots_is_claimed_by_its_places_again_once_it_is_cleared(machine: Machine) -> None:
    machine.enqueue_many([{"task": "t", "payload": {}} for _ in range(1_500)])

    machine.value("select holdfast.limit_queue('default', 2)")

    assert not cleared(machine)
    machine.one("select holdfast.clear_line(1000)")
    machine.one("select holdfast.clear_line(1000)")
    assert cleared(machine)
    while admit(machine)["next_in"] == 0:
        pass
    assert len(machine.claim(machine.worker())) == 2
    late = machine.value("select id from holdfast.job where held_by is not null order by id limit 1")
    machine.run("update holdfast.job set held_by = null, claim_order = now() where id = %s", late)
    machine.one("select holdfast.clear_line(1000)")
    assert not cleared(machine)


def test_a_limit_that_is_changed_or_set_on_an_empty_line_clears_nothing(machine: Machine) -> None:
    machine.value("select holdfast.limit_queue('default', 2)")
    assert cleared(machine)
    machine.enqueue()
    admit(machine)

    machine.value("select holdfast.limit_queue('default', 3)")

    assert cleared(machine)


def cleared(machine: Machine) -> bool:
    answer: bool = machine.value("select cleared from holdfast.queue where name = 'default'")
    return answer


def counting(machine: Machine, worker: UUID) -> tuple[int, int]:
    """Claim; gives how many jobs it took, and how many rows of jobs it read."""
    with machine.connection.transaction():
        before = rows_read(machine)
        claimed = machine.claim(worker, 500)
        return len(claimed), rows_read(machine) - before


def test_a_queue_whose_limit_is_taken_away_lets_everything_in(machine: Machine) -> None:
    machine.value("select holdfast.limit_queue('default', 1)")
    jobs = {machine.enqueue() for _ in range(5)}
    admit(machine)
    assert len(in_line(machine)) == 1

    machine.value("select holdfast.limit_queue('default', null)")

    assert in_line(machine) == jobs


@pytest.mark.parametrize("most", [0, -1, 100_001])
def test_a_queue_limit_out_of_range_is_refused(machine: Machine, most: int) -> None:
    with machine.refused("HF005", str(most)):
        machine.value("select holdfast.limit_queue('default', %s)", most)


def test_two_that_count_what_runs_in_a_queue_at_once_give_each_a_slot_of_its_own(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    worker = lasting.worker()
    one, other = lasting.enqueue(), lasting.enqueue()
    lasting.claim(worker, 1)
    count = "select holdfast.count_running('default')"

    with meanwhile(holdfast_db) as (first, ask):
        first.execute(count)
        lasting.claim(worker, 1)
        asked = ask(count)
        until_it_waits(holdfast_db, asked)
        first.commit()

        assert asked.result() == "[('',)]"

    assert slots(lasting, "queue:default") == {1: one, 2: other}


def test_a_job_that_is_claimed_while_its_queue_is_limited_keeps_its_slots(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    limited(lasting)
    job, worker = lasting.enqueue(payload={"user_id": 1}), lasting.worker()
    admit(lasting)

    with meanwhile(holdfast_db) as (claimer, ask):
        assert Machine(claimer).claim(worker)
        asked = ask("select holdfast.limit_queue('default', 5)")
        until_it_waits(holdfast_db, asked)
        claimer.commit()

        assert asked.result() == "[('',)]"

    assert slots(lasting, "user:1") == {1: job}


def test_a_job_that_is_claimed_while_its_task_is_paused_runs(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.enqueue()
    worker = lasting.worker()

    with meanwhile(holdfast_db) as (claimer, ask):
        assert Machine(claimer).claim(worker)
        lasting.run("select holdfast.pause_task('t')")
        asked = ask("select overdue from holdfast.sweep()")
        until_it_waits(holdfast_db, asked)
        claimer.commit()

        assert asked.result() == "[(0,)]"


def test_a_slot_is_not_offered_to_who_is_cancelled_meanwhile(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    limited(lasting)
    worker = lasting.worker()
    lasting.enqueue(payload={"user_id": 1})
    admit(lasting)
    (first,) = lasting.claim(worker)
    parked, other = (lasting.enqueue(payload={"user_id": 1}) for _ in range(2))
    admit(lasting)

    with meanwhile(holdfast_db) as (canceller, ask):
        canceller.execute("select holdfast.cancel(%s)", [parked])
        ended = ask(
            "select * from holdfast.complete(%s, %s, '{1}', %s, '{null}')",
            worker, [first["id"]], [first["claim_id"]],
        )  # fmt: skip
        until_it_waits(holdfast_db, ended)
        canceller.commit()

        assert ended.result() == "[]"

    assert slots(lasting, "user:1") == {1: other}


def test_who_takes_jobs_out_of_their_parking_place_passes_over_those_that_somebody_is_at(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    limited(lasting)
    lasting.enqueue(payload={"user_id": 1})
    gone, next_one, last = (lasting.enqueue(payload={"user_id": 1}) for _ in range(3))
    admit(lasting)

    with meanwhile(holdfast_db) as (canceller, ask):
        canceller.execute("select holdfast.cancel(%s)", [gone])
        asked = ask("select holdfast.unpark('limit:user:1', 1)")
        until_it_waits(holdfast_db, asked)

        assert asked.done()
        assert asked.result() == "[(['default'],)]"

    assert [held(lasting, job) for job in (gone, next_one, last)] == [None, None, "limit:user:1"]


def test_who_clears_a_line_does_not_wait_for_who_limits_its_queue(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.value("select holdfast.limit_queue('default', 1)")
    lasting.enqueue()
    late = lasting.enqueue()
    admit(lasting)
    lasting.run("update holdfast.job set held_by = null, claim_order = now() where id = %s", late)

    with meanwhile(holdfast_db) as (limiting, ask):
        limiting.execute("update holdfast.queue set job_limit = 2 where name = 'default'")
        asked = ask("select holdfast.clear_line(1000)")
        until_it_waits(holdfast_db, asked)

        assert asked.done()
        assert asked.result() == "[(1,)]"
