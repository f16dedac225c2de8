"""The auditor computes the times of schedules again: each has become something, and whatever leaves one out is found."""

from collections.abc import Callable
from typing import Any

import pytest

from guarantees.audit import left_out
from holdfast.interfaces.auditing import RUNS, SAMPLE, Audit
from holdfast.store.connection import Database, Session
from holdfast.testing import ScratchDatabase
from sql.support import Machine, machine_on
from sql.timetables import HOUR, Timetable

DAY = 24 * HOUR
TIMINGS: dict[str, dict[str, Any]] = {
    "interval": {"every": HOUR},
    "cron": {"cron": "0 * * * *"},
    "cron of a zone": {"cron": "30 2 * * *", "tz": "Europe/Lisbon"},
}


@pytest.fixture
def timetable(holdfast_db: ScratchDatabase) -> Any:
    """Give a machine whose clock can be moved, for good."""
    with machine_on(holdfast_db.owner_url) as machine:
        machine.register()
        yield Timetable(machine)


def passes(timetable: Timetable, *hours: float) -> None:
    """Let a worker pass after so many hours each."""
    for each in hours:
        timetable.machine.advance(each * HOUR)
        while due := timetable.due():
            timetable.settle()
            assert due != timetable.due()


def forget(machine: Machine, which: str) -> None:
    """Take runs away, past their guard."""
    machine.run("alter table holdfast.schedule_run disable trigger user")
    machine.run(f"delete from holdfast.schedule_run where {which}")
    machine.run("alter table holdfast.schedule_run enable always trigger schedule_run_is_kept")


@pytest.mark.parametrize("missed", ["skip", "one", "all"])
@pytest.mark.parametrize("timing", TIMINGS.values(), ids=TIMINGS)
def test_whatever_becomes_of_missed_times_none_is_left_out(
    timetable: Timetable, timing: dict[str, Any], missed: str
) -> None:
    timetable.create(missed=missed, **timing)
    passes(timetable, 0, 1, 1, 30, 1, 24 * 8)

    assert left_out(timetable.machine.connection) == []

    for run in timetable.runs():
        with timetable.machine.connection.transaction(force_rollback=True):
            forget(timetable.machine, f"slot = '{run['slot']}'")

            assert len(left_out(timetable.machine.connection)) == 1


def pause(timetable: Timetable) -> None:
    timetable.machine.run("select holdfast.pause_schedule('s')")
    timetable.machine.advance(5 * HOUR)
    timetable.machine.run("select holdfast.resume_schedule('s')")


def change_the_interval(timetable: Timetable) -> None:
    timetable.machine.advance(5 * HOUR)
    timetable.create(replace=True, every=HOUR // 2)


def change_to_a_line(timetable: Timetable) -> None:
    timetable.machine.advance(5 * HOUR)
    timetable.create(replace=True, cron="*/7 * * * *", tz="Asia/Kathmandu")


def make_anew(timetable: Timetable) -> None:
    timetable.machine.run("select holdfast.delete_schedule('s')")
    timetable.machine.advance(5 * HOUR)
    timetable.create(every=HOUR // 3)


def withdraw(timetable: Timetable) -> None:
    timetable.machine.run("update holdfast.schedule set withdrawn_at = holdfast.clock()")
    timetable.machine.advance(5 * HOUR)
    timetable.create(replace=True)


BREAKS = [pause, change_the_interval, change_to_a_line, make_anew, withdraw]


@pytest.mark.parametrize("interrupt", BREAKS)
def test_what_passed_before_a_schedule_was_changed_or_resumed_is_nobodys_business(
    timetable: Timetable, interrupt: Callable[[Timetable], None]
) -> None:
    timetable.create(missed="all")
    passes(timetable, 0, 1, 3)
    interrupt(timetable)
    passes(timetable, 0, 2, 2)
    assert left_out(timetable.machine.connection) == []

    newest = timetable.runs()[-1]["slot"]
    forget(timetable.machine, f"slot = '{newest}'")

    assert len(left_out(timetable.machine.connection)) == 1


def test_another_payload_or_policy_hides_no_time(timetable: Timetable) -> None:
    timetable.create(missed="all")
    passes(timetable, 0, 3)
    timetable.create(replace=True, missed="skip", payload={"n": 1})
    passes(timetable, 3)
    assert left_out(timetable.machine.connection) == []

    oldest = timetable.runs()[0]["slot"]
    forget(timetable.machine, f"slot = '{oldest}'")

    assert len(left_out(timetable.machine.connection)) == 1


def test_runs_that_upkeep_has_forgotten_are_not_missed(timetable: Timetable) -> None:
    timetable.create(missed="skip")
    passes(timetable, 0, *[24.5] * 95)
    before = len(timetable.runs())

    timetable.machine.run("select holdfast.forget_schedule_runs(100000)")

    assert len(timetable.runs()) < before
    assert left_out(timetable.machine.connection) == []


def test_a_persons_own_run_within_what_was_missed_hides_nothing(timetable: Timetable) -> None:
    """A sample may begin there: with the run that a person made while the times around it were being missed."""
    timetable.create(missed="skip")
    passes(timetable, 0)
    timetable.machine.advance(3.5 * HOUR)
    for _ in range(SAMPLE):
        timetable.machine.run("select holdfast.run_schedule('s')")
    timetable.machine.advance(3.5 * HOUR)
    timetable.machine.run("select holdfast.run_schedule('s')")
    passes(timetable, 0)

    assert findings(timetable.machine, sample=1) == findings(timetable.machine) == []


def findings(machine: Machine, **how: Any) -> list[str]:
    session = Session(Database(machine.connection.info.dsn + f" password={machine.connection.info.password}", "test"), "audit")  # fmt: skip
    try:
        return [each.what for each in Audit(session, **how).findings() if each.code == "F04"]
    finally:
        session.close()


def test_a_long_past_is_walked_in_pages_and_a_sample_looks_at_its_end(timetable: Timetable) -> None:
    machine, minutes = timetable.machine, RUNS + 2 * SAMPLE
    timetable.create(every=60)
    back = f"- interval '{minutes} minutes'"
    machine.run(
        f"update holdfast.schedule set anchor = anchor {back}, settled_to = anchor, counted_from = anchor {back}"
    )
    machine.run(
        "insert into holdfast.schedule_run (schedule, slot, last_slot, outcome, at, actor) "
        "select s.name, t.at, t.at, 'missed', t.at, 'w' from holdfast.schedule s, generate_series(s.anchor + interval '1 minute', s.settled_to, '1 minute') as t (at)"
    )
    assert findings(machine) == findings(machine, sample=1) == []

    forget(
        machine,
        "slot in (select slot from holdfast.schedule_run order by slot offset 10 limit 1)"
        f" or slot in (select slot from holdfast.schedule_run order by slot desc offset {SAMPLE // 2} limit 2)",
    )

    (early, late), (sampled,) = findings(machine), findings(machine, sample=1)
    assert ("1 time " in early, "2 times " in late, sampled) == (True, True, late)
