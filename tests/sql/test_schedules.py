"""Schedules as the database keeps them: each time is decided once, whoever asks, in one transaction with its job."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.schedule import plan
from holdfast.domain.states import Status
from holdfast.store.schedule import fire_schedule, read_due
from holdfast.testing import ScratchDatabase
from sql.support import Machine, machine_on, meanwhile, until_it_waits
from sql.timetables import HOUR, Timetable


@pytest.fixture
def timetable(each_machine: Machine) -> Timetable:
    """Give a schedule whose first time is an hour away, on each server; everything is rolled back."""
    timetable = Timetable(each_machine)
    timetable.create()
    timetable.settle()
    return timetable


@pytest.fixture
def kept(lasting: Machine) -> Timetable:
    """Give a schedule that other connections see."""
    timetable = Timetable(lasting)
    timetable.create(missed="all")
    timetable.settle()
    return timetable


# -- firing --------------------------------------------------------------------------------------------------------------


def test_a_time_and_its_job_are_written_together(timetable: Timetable) -> None:
    slot = timetable.row()["next_at"]
    timetable.machine.advance(HOUR)

    timetable.settle()

    (run,) = timetable.runs()
    job = timetable.machine.job(run["job_id"])
    after = timetable.row()
    assert (run["slot"], run["outcome"]) == (slot, "fired")
    assert job["metadata"] == {"schedule": "s", "slot": slot.strftime("%Y-%m-%dT%H:%M:%S+00:00")}
    assert (after["settled_to"], after["next_at"]) == (slot, slot + timedelta(hours=1))


def test_a_plan_that_is_repeated_after_a_lost_answer_fires_nothing_again(timetable: Timetable) -> None:
    timetable.machine.advance(HOUR)
    before = timetable.row()

    first = timetable.fire()
    again = timetable.fire(settled_to=before["settled_to"], slots=[before["next_at"]])

    assert (first, again) == (1, None)
    assert timetable.machine.count() == 1


def test_a_time_that_was_decided_stays_decided_when_the_schedules_row_is_set_back(
    timetable: Timetable,
) -> None:
    timetable.machine.advance(HOUR)
    before = timetable.row()
    timetable.settle()
    timetable.machine.run(
        "update holdfast.schedule set settled_to = %s, next_at = %s", before["settled_to"], before["next_at"]
    )

    timetable.settle()

    assert timetable.machine.count() == 1
    assert timetable.row()["settled_to"] == before["next_at"]


def test_a_process_that_read_an_older_definition_fires_nothing(timetable: Timetable) -> None:
    version = timetable.row()["version"]
    timetable.create(replace=True, every=60)
    timetable.machine.advance(HOUR)
    slot = timetable.row()["settled_to"].replace(microsecond=0) + timedelta(seconds=60)

    assert timetable.fire(version=version, slots=[slot]) is None
    assert timetable.machine.count() == 0


def test_a_paused_schedule_fires_nothing_even_for_who_read_it_before(timetable: Timetable) -> None:
    timetable.machine.advance(HOUR)
    timetable.machine.value("select holdfast.pause_schedule('s')")

    assert timetable.due() == []
    assert timetable.fire() is None
    assert timetable.machine.count() == 0


def test_a_clock_that_is_ahead_fires_nothing(timetable: Timetable) -> None:
    early = timetable.row()["next_at"]

    with timetable.machine.refused("HF005", "not due"):
        timetable.fire(slots=[early])

    assert timetable.runs() == []


def test_times_that_cannot_be_are_refused(timetable: Timetable) -> None:
    timetable.machine.advance(5 * HOUR)
    row = timetable.row()
    first, settled_to = row["next_at"], row["settled_to"]
    wrong: list[dict[str, Any]] = [
        {"slots": [settled_to.replace(microsecond=0)]},
        {"slots": [first + timedelta(milliseconds=500)]},
        {"slots": [None]},
        {"slots": [first], "missed": [first - timedelta(days=1)], "times": 1},
        {"slots": [first], "next": first},
        {"slots": [], "next": settled_to},
    ]

    for each in wrong:
        with timetable.machine.refused("HF005", "not due"):
            timetable.fire(**each)


def test_missed_times_share_one_entry(timetable: Timetable) -> None:
    first = timetable.row()["next_at"]
    timetable.machine.advance(4 * HOUR)

    timetable.settle()

    missed, fired = timetable.runs()
    assert (missed["outcome"], missed["slot"], missed["times"]) == ("missed", first, 3)
    assert missed["last_slot"] == first + timedelta(hours=2)
    assert (fired["outcome"], fired["slot"]) == ("fired", first + timedelta(hours=3))


def test_run_now_never_takes_the_place_of_a_time(timetable: Timetable) -> None:
    ids = [timetable.machine.value("select holdfast.run_schedule('s', 'ana')") for _ in range(3)]

    runs = timetable.runs()
    assert [run["job_id"] for run in runs] == ids
    assert all(run["slot"].microsecond for run in runs)
    assert {(run["outcome"], run["actor"]) for run in runs} == {("manual", "ana")}


def test_run_now_takes_no_whole_second_and_no_moment_twice(timetable: Timetable) -> None:
    timetable.machine.run(
        "create or replace function holdfast.clock() returns timestamptz language sql volatile parallel safe"
        " return date_trunc('minute', pg_catalog.clock_timestamp() + interval '1 minute')"
    )

    timetable.machine.value("select holdfast.run_schedule('s')")
    timetable.machine.value("select holdfast.run_schedule('s')")

    assert [run["slot"].microsecond for run in timetable.runs()] == [1, 2]


def test_run_now_repeated_with_its_id_is_one_job(timetable: Timetable) -> None:
    job_id = timetable.machine.value("select holdfast.new_id()")

    first, again = (
        timetable.machine.value("select holdfast.run_schedule('s', 'ana', %s)", job_id) for _ in "12"
    )

    assert first == again == job_id
    assert len(timetable.runs()) == 1


def test_replacing_stops_a_run_that_goes_on(timetable: Timetable) -> None:
    timetable.create(replace=True, overlap="replace")
    timetable.settle()
    timetable.machine.advance(HOUR)
    timetable.settle()
    worker = timetable.machine.worker()
    (claimed,) = timetable.machine.claim(worker)
    timetable.machine.advance(HOUR)
    timetable.settle()

    newest = timetable.runs()[-1]["job_id"]
    old = timetable.machine.job(claimed["id"])
    assert (old["status"], old["reason"]) == ("CANCELLED", f"replaced by {newest}")
    assert timetable.machine.history(claimed["id"])[-1]["actor"] == "schedule:s"
    assert timetable.machine.status(newest) is Status.PENDING


def test_an_interval_that_stays_keeps_its_anchor_when_the_rest_changes(timetable: Timetable) -> None:
    before = timetable.row()
    timetable.machine.advance(600)
    timetable.create(replace=True, payload={"a": 1})

    after = timetable.row()
    assert (after["anchor"], after["next_at"]) == (before["anchor"], before["next_at"])
    assert after["version"] == before["version"] + 1


def test_a_schedule_says_when_the_next_one_is_due(timetable: Timetable) -> None:
    answer = timetable.machine.one("select * from holdfast.due_schedules(100)")

    assert answer["due"] == []
    assert HOUR - 5 < answer["next_in"] <= HOUR


# -- what is kept ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "update holdfast.schedule_run set outcome = 'missed'",
        "delete from holdfast.schedule_run",
        "truncate holdfast.schedule_run",
    ],
)
@pytest.mark.parametrize("role", ["origin", "replica"])
def test_what_became_of_a_time_never_changes(timetable: Timetable, statement: str, role: str) -> None:
    timetable.machine.value("select holdfast.run_schedule('s')")
    timetable.machine.run(f"set local session_replication_role = {role}")

    with timetable.machine.refused("HF003"):
        timetable.machine.run(statement)


def test_what_became_of_a_time_outlives_its_schedule_and_goes_after_a_quarter(timetable: Timetable) -> None:
    timetable.machine.value("select holdfast.run_schedule('s')")
    timetable.machine.value("select holdfast.delete_schedule('s')")
    timetable.machine.value("select holdfast.forget_schedule_runs(100)")
    assert len(timetable.runs()) == 1

    timetable.machine.advance(91 * 24 * HOUR)
    timetable.machine.value("select holdfast.forget_schedule_runs(100)")

    assert timetable.runs() == []


def test_upkeep_forgets_what_became_of_old_times(kept: Timetable, holdfast_db: ScratchDatabase) -> None:
    kept.machine.value("select holdfast.run_schedule('s')")
    holdfast_db.clock.advance(timedelta(days=91))

    kept.machine.value("select holdfast.upkeep()")

    assert kept.runs() == []


# -- who declares what -------------------------------------------------------------------------------------------------------


def declare(machine: Machine, worker: UUID, *names: str) -> None:
    definitions = [{"name": name, "task": "t", "every": HOUR} for name in names]
    machine.rows("select * from holdfast.register_schedules(%s, %s)", worker, Jsonb(definitions))


def withdrawn(machine: Machine) -> bool:
    machine.one("select * from holdfast.due_schedules(100)")
    found: bool = machine.value("select withdrawn_at is not null from holdfast.schedule where name = 'mine'")
    return found


def test_a_schedule_is_withdrawn_when_the_last_worker_that_declares_it_is_gone(each_machine: Machine) -> None:
    old, new = each_machine.worker("old", lease=10 * HOUR), each_machine.worker("new", lease=10 * HOUR)
    declare(each_machine, old, "mine")
    declare(each_machine, new)
    assert not withdrawn(each_machine)
    assert [each["name"] for each in each_machine.value("select due from holdfast.due_schedules(100)")] == [
        "mine"
    ]

    each_machine.value("select holdfast.retire_worker(%s)", old)
    each_machine.advance(601)

    assert withdrawn(each_machine)
    assert each_machine.value("select due from holdfast.due_schedules(100)") == []


def test_a_schedule_waits_for_the_workers_that_declare_it_while_they_restart(each_machine: Machine) -> None:
    other, old = each_machine.worker("other", lease=10 * HOUR), each_machine.worker("old", lease=10 * HOUR)
    declare(each_machine, other)
    declare(each_machine, old, "mine")
    each_machine.value("select holdfast.retire_worker(%s)", old)
    before = each_machine.value("select settled_to from holdfast.schedule")

    meanwhile = each_machine.value("select due from holdfast.due_schedules(100)")
    declare(each_machine, each_machine.worker("new"), "mine")

    assert meanwhile == []
    (due,) = each_machine.value("select due from holdfast.due_schedules(100)")
    assert datetime.fromisoformat(due["settled_to"]) == before


def test_a_worker_that_fell_silent_takes_its_schedules_with_it_only_after_a_while(
    each_machine: Machine,
) -> None:
    other, silent = each_machine.worker("other", lease=10 * HOUR), each_machine.worker("silent")
    declare(each_machine, other)
    declare(each_machine, silent, "mine")

    each_machine.fall_silent(silent)
    assert not withdrawn(each_machine)
    each_machine.run("update holdfast.worker set died_at = holdfast.clock() where id = %s", silent)
    assert not withdrawn(each_machine)
    each_machine.advance(601)

    assert withdrawn(each_machine)


def test_a_worker_that_has_not_said_what_it_declares_withdraws_nothing(each_machine: Machine) -> None:
    old = each_machine.worker("old")
    declare(each_machine, old, "mine")
    each_machine.value("select holdfast.retire_worker(%s)", old)
    each_machine.advance(601)
    each_machine.worker("starting")

    assert not withdrawn(each_machine)


@pytest.fixture
def new(lasting: Machine) -> UUID:
    """Give a new worker, beside one that declares nothing; who declared `first` and `mine` has been dead for a while."""
    other, old, new = (lasting.worker(name, lease=10 * HOUR) for name in ("other", "old", "new"))
    declare(lasting, other)
    declare(lasting, old, "first", "mine")
    lasting.run("update holdfast.worker set died_at = now() - interval '11 minutes' where id = %s", old)
    return new


def test_a_schedule_is_not_withdrawn_while_somebody_declares_it(
    lasting: Machine, holdfast_db: ScratchDatabase, new: UUID
) -> None:
    with meanwhile(holdfast_db) as (declaring, ask):
        declare(Machine(declaring), new, "mine")
        asked = ask("select due from holdfast.due_schedules(100)")
        until_it_waits(holdfast_db, asked)
        declaring.commit()

        assert asked.result() == "[([],)]"

    assert not withdrawn(lasting)


def test_a_schedule_that_was_declared_a_moment_ago_is_not_withdrawn(
    lasting: Machine, holdfast_db: ScratchDatabase, new: UUID
) -> None:
    # Who withdraws looks once whether there is anything, and is held up at the second look, which has found both.
    lasting.run("create sequence public.looks; grant usage on sequence public.looks to public")
    lasting.run("alter function holdfast.undeclared_schedules(timestamptz) rename to seen_undeclared")
    lasting.run(
        "create function holdfast.undeclared_schedules(p_now timestamptz) returns table (name text, is_gone boolean)"
        " language plpgsql stable as $$ begin return query select * from holdfast.seen_undeclared(p_now);"
        " if nextval('public.looks') = 2 then perform pg_advisory_xact_lock(1); end if; end $$"
    )

    with meanwhile(holdfast_db) as (holding, ask):
        holding.execute("select pg_advisory_xact_lock(1)")
        asked = ask("select due from holdfast.due_schedules(100)")
        until_it_waits(holdfast_db, asked)
        declare(lasting, new, "mine")
        holding.commit()

        assert asked.result() == "[([],)]"

    assert not withdrawn(lasting)


def test_many_schedules_are_withdrawn_as_easily_as_few(machine: Machine) -> None:
    old, other = machine.worker("old", lease=HOUR), machine.worker("other", lease=HOUR)
    declare(machine, other)
    declare(machine, old, *[f"schedule {number}" for number in range(200)])
    machine.run("update holdfast.worker set died_at = now() - interval '11 minutes' where id = %s", old)
    read = "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relid = 'holdfast.worker'::regclass"

    before = machine.value(read)
    machine.run("select due from holdfast.due_schedules(100)")

    assert machine.value("select count(*) from holdfast.schedule where withdrawn_at is not null") == 200
    assert machine.value(read) - before < 20_000


def test_a_withdrawn_schedule_fires_nothing_even_for_who_read_it_before(timetable: Timetable) -> None:
    timetable.machine.advance(HOUR)
    timetable.machine.run("update holdfast.schedule set withdrawn_at = holdfast.clock()")

    assert timetable.fire() is None


# -- many at once --------------------------------------------------------------------------------------------------------


def test_an_edit_leaves_what_another_edit_changed_meanwhile(
    kept: Timetable, holdfast_db: ScratchDatabase
) -> None:
    edit = "select holdfast.edit_schedule('s', %s)"

    with meanwhile(holdfast_db) as (first, ask):
        first.execute(edit, [Jsonb({"every": HOUR, "payload": {"n": 1}})])
        asked = ask(edit, Jsonb({"every": HOUR, "overlap": "skip"}))
        until_it_waits(holdfast_db, asked)
        first.commit()

        assert asked.result() == "[('',)]"

    assert (kept.row()["payload"], kept.row()["overlap"]) == ({"n": 1}, "skip")


@pytest.fixture
def logins(kept: Timetable, holdfast_db: ScratchDatabase) -> Iterator[list[Machine]]:
    """Give three connections of an application's login."""
    with (
        machine_on(holdfast_db.url) as one,
        machine_on(holdfast_db.url) as two,
        machine_on(holdfast_db.url) as three,
    ):
        yield [one, two, three]


def test_three_schedulers_at_once_give_every_time_exactly_one_job(
    kept: Timetable, logins: list[Machine], holdfast_db: ScratchDatabase
) -> None:
    rounds = 60
    barrier = Barrier(3, action=lambda: holdfast_db.clock.advance(HOUR))

    def schedule(login: Machine) -> None:
        for _ in range(rounds):
            barrier.wait(timeout=30)
            Timetable(login).settle()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(schedule, logins))
    Timetable(logins[0]).settle()  # a round's last word may have been that another was at it

    slots = [run["slot"] for run in kept.runs()]
    assert [(slot - kept.row()["anchor"]) / timedelta(hours=1) for slot in slots] == list(
        range(1, rounds + 1)
    )
    assert kept.machine.count() == rounds


def test_of_the_same_plan_in_three_hands_one_fires(
    kept: Timetable, logins: list[Machine], holdfast_db: ScratchDatabase
) -> None:
    for number in range(1, 31):
        holdfast_db.clock.advance(HOUR)
        (due,) = [read_due(each) for each in kept.due()]
        call = fire_schedule(due, plan(due))
        barrier = Barrier(3)

        def fire(login: Machine, call: Any = call, barrier: Barrier = barrier) -> int | None:
            barrier.wait(timeout=30)
            fired: int | None = login.value(call.sql.replace("%t", "%s"), *call.parameters)
            return fired

        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(fire, logins))

        assert sorted(answers, key=str) == [1, None, None]
        assert kept.machine.count() == number


def test_one_that_holds_a_schedule_keeps_nobody_waiting(
    kept: Timetable, logins: list[Machine], holdfast_db: ScratchDatabase
) -> None:
    kept.create("other")
    holdfast_db.clock.advance(HOUR)
    login = logins[0]
    login.run("set statement_timeout = '5s'")
    with kept.machine.connection.transaction():
        kept.machine.run("select from holdfast.schedule where name = 's' for update")

        Timetable(login).settle()

    assert [run["schedule"] for run in kept.machine.rows("select schedule from holdfast.schedule_run")] == [
        "other"
    ]


def test_two_that_create_one_name_differently_do_not_both_succeed(
    kept: Timetable, logins: list[Machine]
) -> None:
    for number in range(20):
        barrier = Barrier(2)

        def create(
            login: Machine, every: int, name: str = f"n{number}", barrier: Barrier = barrier
        ) -> str | None:
            barrier.wait(timeout=30)
            try:
                Timetable(login).create(name, every=every)
            except psycopg.Error as error:
                return error.sqlstate
            return None

        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(create, logins[:2], (60, 120)))

        assert sorted(answers, key=str) == ["HF062", None]


def test_a_process_killed_before_the_commit_leaves_the_time_to_another(
    kept: Timetable, holdfast_db: ScratchDatabase
) -> None:
    holdfast_db.clock.advance(HOUR)
    with psycopg.connect(holdfast_db.url) as dying:
        Timetable(Machine(dying)).settle()
        dying.execute("select holdfast.enter('*')")
        assert Machine(dying).value("select count(*) from holdfast.job") == 1
        kept.machine.value("select pg_terminate_backend(%s)", dying.info.backend_pid)
        with pytest.raises(psycopg.OperationalError):
            dying.execute("select 1")

    assert (kept.machine.count(), kept.runs()) == (0, [])
    kept.settle()
    assert kept.machine.count() == 1


def test_a_process_killed_after_the_commit_leaves_nothing_to_another(
    kept: Timetable, holdfast_db: ScratchDatabase
) -> None:
    holdfast_db.clock.advance(HOUR)
    with machine_on(holdfast_db.url) as dying:
        Timetable(dying).settle()
        kept.machine.value("select pg_terminate_backend(%s)", dying.connection.info.backend_pid)

    kept.settle()

    assert kept.machine.count() == 1
    assert isinstance(kept.row()["next_at"], datetime)


def test_withdrawing_and_registering_at_once_do_not_deadlock(kept: Timetable, logins: list[Machine]) -> None:
    names = [f"d{number}" for number in range(30)]
    workers = [kept.machine.worker(f"w{number}") for number in range(2)]
    barrier = Barrier(3)

    def register(login: Machine, worker: UUID) -> None:
        barrier.wait(timeout=30)
        for number in range(20):
            declare(login, worker, *(names if number % 2 else reversed(names)))
            declare(login, worker)

    def look(login: Machine) -> None:
        barrier.wait(timeout=30)
        for _ in range(60):
            login.one("select * from holdfast.due_schedules(100)")

    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(register, login, worker) for login, worker in zip(logins, workers, strict=False)]
        asked.append(pool.submit(look, logins[2]))
        for each in asked:
            each.result(timeout=60)


# -- rights ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "statement", "allowed"),
    [
        ("holdfast_worker", "select holdfast.due_schedules(1)", True),
        ("holdfast_worker", "select holdfast.run_schedule('s')", False),
        ("holdfast_worker", "select holdfast.pause_schedule('s')", False),
        ("holdfast_api", "select holdfast.run_schedule('s')", True),
        ("holdfast_api", "select holdfast.pause_schedule('s')", True),
        ("holdfast_api", "select holdfast.delete_schedule('s')", True),
        ("holdfast_producer", "select holdfast.due_schedules(1)", False),
        ("holdfast_producer", "select holdfast.run_schedule('s')", False),
        ("holdfast_producer", "select payload from holdfast.schedule", False),
        ("holdfast_viewer", "select payload from holdfast.schedule", False),
    ],
)
def test_workers_fire_and_the_api_manages(
    timetable: Timetable, role: str, statement: str, allowed: bool
) -> None:
    timetable.machine.run(f"set local role {role}")

    if allowed:
        timetable.machine.run(statement)
    else:
        with timetable.machine.refused("42501"):
            timetable.machine.run(statement)


@pytest.mark.parametrize("function", ["pause_schedule", "resume_schedule", "run_schedule"])
def test_a_name_that_no_schedule_has_is_said(each_machine: Machine, function: str) -> None:
    with each_machine.refused("HF061", "'nobody'"):
        each_machine.value(f"select holdfast.{function}('nobody')")


def test_a_schedule_of_an_unknown_task_is_refused(each_machine: Machine) -> None:
    with each_machine.refused("HF004", "'nobody' is not registered"):
        Timetable(each_machine).create(task="nobody")


def test_a_worker_unknown_to_the_books_can_say_what_it_declares(each_machine: Machine) -> None:
    declare(each_machine, uuid4(), "mine")

    assert Timetable(each_machine).row("mine")["declared"]
