"""Of orders that only differ in neighbouring steps that do not meet one is tried, and none is left out: shown of sessions that are made up."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from interleaving.explore import Choice, Schedule, kinds, schedules
from interleaving.touches import (
    ANYTHING,
    NOTHING,
    Functions,
    Step,
    Touched,
    commit_of,
    is_amid_a_look,
    steps_between,
)

TABLES, KEYS = ("job", "slot"), (1, 2)


def test_steps_meet_where_both_write_or_one_writes_what_the_other_tried_to() -> None:
    wrote, tried = Step(changed=frozenset({"job"})), Step(tried=frozenset({"job"}))
    elsewhere = Step(changed=frozenset({"slot"}), tried=frozenset({"slot"}))

    assert wrote.meets(wrote)
    assert wrote.meets(tried)
    assert tried.meets(wrote)
    assert not tried.meets(tried)
    assert not wrote.meets(elsewhere)


def test_whoever_got_a_key_is_met_by_whoever_sought_it_even_in_vain() -> None:
    got, in_vain = Step(got=frozenset({1}), sought=frozenset({1})), Step(sought=frozenset({1}))

    assert got.meets(in_vain)
    assert in_vain.meets(got)
    assert in_vain.meets(commit_of([got]))
    assert not in_vain.meets(in_vain)
    assert not got.meets(Step(got=frozenset({2}), sought=frozenset({2})))
    assert not in_vain.meets(commit_of([in_vain]))


def test_a_commit_is_met_by_whoever_looks_where_it_wrote_whether_it_finds_anything_or_not() -> None:
    wrote, looked = Step(changed=frozenset({"job"})), Step(looked=frozenset({"job"}))

    assert looked.meets(commit_of([wrote]))
    assert commit_of([wrote]).meets(looked)
    assert not looked.meets(wrote)
    assert not looked.meets(commit_of([looked]))
    assert not commit_of([wrote]).meets(Step(looked=frozenset({"slot"})))
    assert not commit_of([wrote]).meets(commit_of([wrote]))


def test_every_step_meets_what_nobody_knows_and_its_commit() -> None:
    nothing = Step()

    assert nothing.meets(ANYTHING)
    assert ANYTHING.meets(commit_of([nothing]))
    assert nothing.meets(commit_of([nothing, ANYTHING]))


def test_a_session_that_has_a_key_that_it_did_not_tell_of_may_have_sought_any() -> None:
    began, told, silent = account(), account(keys=[1], sought=[1]), account(keys=[1, 2])

    assert told.since(began) == Step(got=frozenset({1}), sought=frozenset({1}))
    assert silent.since(told) == ANYTHING
    assert began.since(told) == ANYTHING  # it gave one back before its end


def test_what_a_statement_looks_at_after_a_stop_within_it_counts_from_its_beginning() -> None:
    within = account(looked={"task": 1}, asked="select holdfast.wake() from holdfast.job")
    between = account(looked={"task": 1})
    ended = account(looked={"task": 1, "job": 1})

    assert [step.looked for step in steps_between([account(), within, ended], NOTHING)] == [
        {"task", "job"},
        {"job"},
    ]
    assert [step.looked for step in steps_between([account(), between, ended], NOTHING)] == [
        {"task"},
        {"job"},
    ]
    assert steps_between([account(), within], ANYTHING)[0].unknown
    assert not steps_between([account(), between], ANYTHING)[0].unknown


FUNCTIONS = Functions(
    fire_after=frozenset({"record_moves"}),
    begin_anew=frozenset({"wake", "let_go", "settle", "guard_move", "guard_note", "record_moves"}),
)
WITHIN = """PL/pgSQL function interleaving.pause() line 9 at RAISE
SQL statement "SELECT interleaving.pause()"
PL/pgSQL function holdfast.{inner}() line 8 at PERFORM
SQL statement "{statement}"
PL/pgSQL function holdfast.settle(uuid,jsonb) line 13 at SQL statement"""


@pytest.mark.parametrize(
    ("inner", "statement", "amid"),
    [
        ("wake", "select holdfast.wake() from holdfast.job j", True),
        ("wake", "select holdfast.wake()", False),
        ("record_moves", "update holdfast.job j set queue = 'b'", False),
        ("guard_move", "update holdfast.job j set queue = 'b'", True),
        ("wake", "select holdfast.wake() and holdfast.let_go()", False),
        ("wake", "select holdfast.wake() and holdfast.is_paused()", True),
        ("wake", "select holdfast.settle()", True),
        ("guard_note", "insert into holdfast.note (n) select 1", True),
    ],
)
def test_a_stop_is_amid_a_statement_that_names_what_may_look_unless_it_has_all_its_rows(
    inner: str, statement: str, amid: bool
) -> None:
    where = WITHIN.format(inner=inner, statement=statement)

    assert is_amid_a_look(where, FUNCTIONS) is amid


@pytest.mark.parametrize(
    ("calls", "amid"),
    [
        ([{"wake"}, {"is_paused"}], False),
        ([{"wake", "let_go"}], False),
        ([{"wake"}, {"wake", "is_paused"}], True),
        ([{"is_paused"}], True),
    ],
    ids=["alone", "with what begins anew", "with what looks", "through another"],
)
def test_a_stop_is_amid_an_expression_that_is_not_shown_if_any_in_its_function_may_look(
    calls: list[set[str]], amid: bool
) -> None:
    where = WITHIN.format(inner="wake", statement="…").replace('SQL statement "…"\n', "")
    known = replace(FUNCTIONS, calls={"settle": [frozenset(each) for each in calls]})

    assert is_amid_a_look(where, known) is amid


def test_a_stop_is_amid_what_its_caller_sees_in_a_function_that_does_not_begin_anew() -> None:
    where = WITHIN.format(inner="wake", statement="select holdfast.wake()")

    assert not is_amid_a_look(where, FUNCTIONS)
    assert is_amid_a_look(where, replace(FUNCTIONS, begin_anew=FUNCTIONS.begin_anew - {"settle"}))


def test_rows_that_a_statement_found_before_a_stop_within_it_may_be_locked_after_it() -> None:
    asked = "select holdfast.wake() from holdfast.job j for update"
    found = {"found": {"job": 1}, "holds": ["job"]}
    began, within, ended = account(found={"task": 1}), account(asked=asked, **found), account(**found)

    assert [step.tried for step in steps_between([began, within, ended], NOTHING)] == [{"job"}, {"job"}]
    assert [step.tried for step in steps_between([began, ended, ended], NOTHING)] == [{"job"}, set()]
    looks = account(loops=["select from holdfast.job j"], **found)
    assert [step.tried for step in steps_between([began, looks, ended], NOTHING)] == [{"job"}, set()]


def account(**told: object) -> Touched:
    silent: dict[str, object] = {
        "looked": {},
        "found": {},
        "wrote": {},
        "holds": [],
        "keys": [],
        "sought": [],
    }
    rest = {"logged": False, "took_back": False, "loops": [], "asked": ""}
    return Touched(json.dumps({**silent, **rest, **told}))


# -- made up ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_every_kind_of_orders_is_tried_once(seed: int) -> None:
    both = programmes(seed)

    tried = [kind_of(made) for made in kinds(lambda wanted: run(both, wanted)[0])]
    all_there_are = {kind_of(made) for made in schedules(lambda wanted: run(both, wanted)[0], None)}

    assert set(tried) == all_there_are
    assert len(tried) == len(all_there_are)


def test_no_end_is_lost_unless_a_session_keeps_to_itself_what_it_sought_in_vain_or_looked_at() -> None:
    def in_vain(step: Step) -> Step:
        return replace(step, sought=step.got)

    def where_it_looked(step: Step) -> Step:
        return replace(step, looked=frozenset())

    lost = {
        concealed: sum(len(lost_by(programmes(seed), concealed)) for seed in range(24))
        for concealed in (None, in_vain, where_it_looked)
    }

    assert lost[None] == 0
    assert lost[in_vain] > 0
    assert lost[where_it_looked] > 0


Both = tuple[list[Step], list[Step]]
End = tuple[tuple[object, ...], tuple[object, ...]]


def programmes(seed: int) -> Both:
    chance = random.Random(seed)
    return _programme(chance), _programme(chance)


def _programme(chance: random.Random) -> list[Step]:
    """Make up steps that write in the order of the tables, so that no two sessions wait for each other."""
    there_are = [
        step
        for table, key in zip(TABLES, KEYS, strict=True)
        for step in (
            Step(looked=frozenset({table})),
            Step(tried=frozenset({table}), looked=frozenset({table})),
            Step(changed=frozenset({table}), tried=frozenset({table})),
            Step(sought=frozenset({key})),
            Step(),
        )
    ]
    picked = sorted(chance.sample(range(len(there_are)), chance.randrange(2, 6)))
    return [*(there_are[each] for each in picked), Step(ends=True)]


def run(both: Both, wanted: tuple[int, ...]) -> tuple[Schedule, End]:
    """Go through the steps of both, where one that writes waits until the other has committed what it wrote there; says what each noticed."""
    made: list[Choice] = []
    done: tuple[list[Step], list[Step]] = [], []
    noticed: tuple[list[object], list[object]] = [], []
    waits: int | None = None

    def is_over(which: int) -> bool:
        return len(done[which]) == len(both[which])

    def do(which: int) -> Step:
        step = both[which][len(done[which])]
        left = commit_of(done[1 - which])
        seen, locked = (left, Step()) if is_over(1 - which) else (Step(), left)
        step = commit_of(done[which]) if step.ends else replace(step, got=step.sought - locked.got)
        noticed[which].append(
            (step.got, step.tried & locked.changed, (step.looked | step.tried) & seen.changed)
        )
        done[which].append(step)
        return step

    while possible := tuple(each for each in (0, 1) if not is_over(each) and each != waits):
        asked = wanted[len(made)] if len(made) < len(wanted) else made[-1].chosen
        chosen = asked if asked in possible else possible[0]
        other = 1 - chosen
        step = both[chosen][len(done[chosen])]
        let_go = None
        if not is_over(other) and step.changed & commit_of(done[other]).changed:
            waits = chosen
        else:
            step = do(chosen)
        if step.ends and waits == other:
            let_go, waits = do(other), None
        made.append(Choice(chosen, possible, step, waits == chosen, let_go))
    return tuple(made), (tuple(noticed[0]), tuple(noticed[1]))


def lost_by(both: Both, concealed: Callable[[Step], Step] | None) -> set[End]:
    """Tell which ends are not found by who hears of every step only what is not concealed."""
    found: set[End] = set()

    def hear(wanted: tuple[int, ...]) -> Schedule:
        made, ended = run(both, wanted)
        found.add(ended)
        if not concealed:
            return made
        return tuple(
            replace(choice, did=concealed(choice.did), let_go=choice.let_go and concealed(choice.let_go))
            for choice in made
        )

    for _ in kinds(hear):
        pass
    seen = set(found)
    for _ in schedules(hear, None):
        pass
    return found - seen


def kind_of(made: Schedule) -> frozenset[tuple[int, int]]:
    """Tell of every two steps that meet whether the first session's came first."""
    first = [(place, choice.did) for place, choice in enumerate(made) if choice.chosen == 0]
    second = [(place, choice.did) for place, choice in enumerate(made) if choice.chosen == 1]
    return frozenset(
        (nth, other)
        for (nth, (place, step)), (other, (later, met)) in product(enumerate(first), enumerate(second))
        if place < later and step.meets(met)
    )
