"""Every order of the statements of two operations ends as if one had come after the other. Here a sample; `scripts/interleavings --switches all` tries all."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holdfast.testing import TestServer
from interleaving.explore import Schedule, follow, kinds, sample, schedules
from interleaving.meeting import PAIRS, Meeting, Search, meetings
from interleaving.operations import OPERATIONS, Operation
from interleaving.pauses import put_pauses, telling_keys, with_pauses
from interleaving.scenes import (
    Scene,
    asked,
    awaited,
    child,
    failed,
    given_back,
    handed_over,
    pending,
    running,
    suspected,
)
from interleaving.stage import Stage, stage
from sql.support import Machine
from world.often import LONG
from world.without import WITHOUT

MADE_UP = Path(__file__).with_name("made_up.sql")
MUTANTS = Path(__file__).parent.parent / "guarantees" / "mutants"


@pytest.fixture(scope="module")
def led(holdfast_server: TestServer) -> Iterator[Stage]:
    with stage(holdfast_server, [MADE_UP.read_text("utf-8")]) as led:
        yield led


# With every run of the tests a third of them, in which every operation meets others, and all with a wait, which locks another job beside its own;
# those where a guard is missed first follow below.
SOME = [
    pair
    for pair in PAIRS
    if LONG or sum(map(OPERATIONS.index, pair)) % 3 == 0 or any(one.name == "wait" for one in pair)
]


def test_every_operation_meets_others_with_every_run_of_the_tests() -> None:
    met = Counter(operation.name for pair in SOME for operation in {*pair})

    assert met.keys() == {one.name for one in OPERATIONS}
    assert min(met.values()) >= 5


@pytest.mark.parametrize("pair", SOME, ids=lambda pair: "-".join(operation.name for operation in pair))
def test_two_operations_at_once_end_as_one_after_the_other(
    led: Stage, pair: tuple[Operation, Operation]
) -> None:
    chance = random.Random("-".join(operation.name for operation in pair))

    met = list(meetings(led.conductor, led.machine, *pair))
    assert met
    faults = list(chance.choice(met).faults(partial(sample, chance=chance)))
    assert not faults, "\n".join(map(str, faults))


# Where a guard is missed first: all orders are tried with every run of the tests, one of each kind.
MEETINGS: tuple[tuple[Scene, str, str], ...] = (
    (running, "finish", "sweep"),
    (running, "fail", "cancel"),
    (pending, "claim", "move"),
    (asked, "approve", "deny"),
    (failed, "retry", "delete"),
    (child, "cancel", "wait"),
)


@pytest.mark.parametrize(
    ("scene", "first", "second"), MEETINGS, ids=lambda part: getattr(part, "__name__", part)
)
def test_all_orders_of_two_operations_end_as_one_after_the_other(
    led: Stage, scene: Scene, first: str, second: str
) -> None:
    (meeting,) = meetings(led.conductor, led.machine, *named(first, second), scenes=[scene])

    assert not (found := next(wrong_in(meeting), None)), found
    assert meeting.tried >= 6
    assert meeting.strayed == 0


def test_one_order_of_each_kind_ends_in_every_way_that_any_order_does(led: Stage) -> None:
    # Few steps and more than one end: all 95 orders there are can be tried.
    (meeting,) = meetings(led.conductor, led.machine, *named("finish", "step"), scenes=[running])

    found = meeting.ends(kinds)
    tried = meeting.tried
    all_there_are = meeting.ends(all_orders)

    assert found == all_there_are
    assert len(found) > 1
    assert meeting.tried > 4 * tried


SEEKS = "select holdfast.is_first('a key')"
WRITES = "select holdfast.set_tenant_weight('acme', 2) is null"
LOOKS = "select exists (select from holdfast.tenant t where t.weight = 2)"


@pytest.mark.parametrize(
    ("first", "second", "ends"),
    [
        (SEEKS, SEEKS, {"True True", "True False", "False True"}),
        (WRITES, LOOKS, {"False True", "False False"}),
    ],
    ids=["seek", "look"],
)
def test_a_session_tells_which_key_it_sought_in_vain_and_where_it_looked_and_found_nothing(
    led: Stage, first: str, second: str, ends: set[str]
) -> None:
    found, tried = ends_of(led, first, second, kinds)
    all_there_are, all_tried = ends_of(led, first, second, all_orders)

    assert found == ends
    assert tried < all_tried
    assert all_there_are == ends


WRITES_A = "select holdfast.made_up_write() is null"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("select holdfast.made_up_expression()", WRITES_A),
        ("select holdfast.made_up_insert()", WRITES_A),
        ("select holdfast.made_up_inlined()", WRITES_A),
        ("select holdfast.made_up_stable()", WRITES_A),
        ("select holdfast.made_up_lock()", "select holdfast.made_up_lock_and_write()"),
    ],
    ids=["expression", "insert", "inlined", "stable", "lock"],
)
def test_no_end_is_lost_by_what_a_statement_does_after_a_stop_within_it(
    led: Stage, first: str, second: str
) -> None:
    found, _ = ends_of(led, first, second, kinds, tenants=("a", "b"))
    all_there_are, _ = ends_of(led, first, second, all_orders, tenants=("a", "b"))

    assert found == all_there_are
    assert len(found) > 1


def ends_of(
    led: Stage, first: str, second: str, search: Search, tenants: Iterable[str] = ()
) -> tuple[set[str], int]:
    """Tell what both are answered in the orders that are searched, and how many were tried."""
    found: set[str] = set()

    def run(wanted: tuple[int, ...]) -> Schedule:
        for name in tenants:
            led.machine.run("insert into holdfast.tenant (name, weight) values (%s, 5)", name)
        made = follow(led.conductor, (asks(first), asks(second)), wanted)
        found.add(" ".join(told.refusal or told.answer for told in led.conductor.told()))
        led.machine.run("delete from holdfast.tenant")
        led.machine.run("delete from holdfast.queue q where q.name = 'made up'")
        return made

    tried = sum(1 for _ in search(run))
    return found, tried


all_orders = partial(schedules, most_switches=None)


def asks(question: str) -> Callable[[psycopg.Connection[Any]], str]:
    return lambda connection: str(Machine(connection).value(question))


def named(*names: str) -> list[Operation]:
    return [next(each for each in OPERATIONS if each.name == name) for name in names]


# What a guard is for shows in some order of two operations: without it the same search finds that order.
SABOTAGE: dict[str, tuple[Scene, str, str]] = {
    "complete_without_fence.sql": (given_back, "finish", "heartbeat"),
    "settle_without_fence.sql": (given_back, "fail", "heartbeat"),
    "retry_without_lock_and_index.sql": (failed, "retry", "retry"),
    "claim_without_lock_and_predicate.sql": (pending, "claim", "claim"),
    "suspect_claimed_twice.sql": (suspected, "suspect", "suspect"),
    "callback_without_lock.sql": (handed_over, "cancel", "callback"),
    "run_checked_without_lock.sql": (handed_over, "sweep", "callback"),
    "cancel_waits_for_who_counts.sql": (awaited, "finish", "cancel"),
}


@pytest.mark.parametrize("mutant", SABOTAGE)
def test_a_missing_guard_is_found_by_the_same_search(holdfast_server: TestServer, mutant: str) -> None:
    scene, *names = SABOTAGE[mutant]

    with stage(holdfast_server, [WITHOUT, (MUTANTS / mutant).read_text("utf-8")]) as led:
        (meeting,) = meetings(led.conductor, led.machine, *named(*names), scenes=[scene])
        found = next(wrong_in(meeting), None)

    assert found


def wrong_in(meeting: Meeting) -> Iterator[str]:
    """Tell of every kind of orders in which something is wrong."""
    try:
        yield from map(str, meeting.faults(kinds))
    except AssertionError as wrong:
        yield str(wrong)


def test_pauses_stand_before_every_statement_that_names_a_table_and_nowhere_else() -> None:
    body = """
    declare
      v_job holdfast.job := holdfast.lock_job(p_id);   -- from holdfast.job; not a statement
    begin
      if exists (select from holdfast.job j where case when true then j.id = 'then' else false end) then
        update holdfast.job set reason = 'a; from holdfast.job';
      else
        perform holdfast.wake();
      end if;
      for v_job in select * from holdfast.job loop
        delete from holdfast.wait w;
        continue when not found;
      end loop;
      case p_action
        when 'one' then insert into holdfast.note values (1);
        else null;
      end case;
    exception when others then
      raise;
    end
    """

    paused = with_pauses(body)

    before = [
        line.split("interleaving.pause(); ")[1].split()[0] for line in paused.splitlines() if "pause" in line
    ]
    assert before == ["if", "update", "for", "delete", "insert"]


def test_whatever_locks_a_key_says_so_and_no_lock_is_sought_in_silence() -> None:
    body = "if pg_try_advisory_xact_lock(1) then perform pg_advisory_xact_lock(2); end if; -- pg_locks"

    told = telling_keys(body)

    assert told.count("interleaving.pg_") == 2
    assert "interleaving.pg_locks" not in told
    for silent in ("pg_try_advisory_lock(1)", "pg_advisory_unlock(1)", "pg_catalog.pg_advisory_xact_lock(1)"):
        with pytest.raises(AssertionError, match="nobody hears"):
            telling_keys(f"perform {silent};")


def test_a_function_in_standard_sql_that_locks_a_key_says_so(led: Stage) -> None:
    definition = led.machine.value("select pg_get_functiondef('holdfast.made_up_key'::regproc)")

    assert "interleaving.pg_try_advisory_xact_lock(" in definition


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("create table holdfast.made_up (n int unique deferrable)", "made_up_n_key can be deferred"),
        ("create unlogged table holdfast.made_up (n int)", "made_up is not logged"),
    ],
    ids=["deferrable", "unlogged"],
)
def test_nobody_is_led_where_steps_could_not_tell_what_they_touch(led: Stage, table: str, why: str) -> None:
    with led.machine.connection.transaction(force_rollback=True):
        led.machine.run(table)

        with pytest.raises(AssertionError, match=why):
            put_pauses(led.machine.connection)
