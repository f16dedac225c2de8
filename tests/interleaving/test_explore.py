"""Of orders that only differ in neighbouring steps that do not meet one is tried, and none is left out: shown of sessions that are made up."""

import random
from itertools import product

import pytest

from interleaving.explore import Choice, Schedule, kinds, schedules
from interleaving.touches import ANYTHING, COMMIT, Step

TABLES = ("approval", "job", "slot")


def test_steps_meet_where_both_write_or_one_writes_what_the_other_tried_to() -> None:
    wrote, tried = Step(changed=frozenset({"job"})), Step(tried=frozenset({"job"}))
    elsewhere = Step(changed=frozenset({"slot"}), tried=frozenset({"slot"}))

    assert wrote.meets(wrote)
    assert wrote.meets(tried)
    assert tried.meets(wrote)
    assert not tried.meets(tried)
    assert not wrote.meets(elsewhere)


def test_every_step_meets_a_commit_and_what_nobody_knows() -> None:
    nothing = Step()

    assert nothing.meets(COMMIT)
    assert COMMIT.meets(nothing)
    assert nothing.meets(ANYTHING)
    assert ANYTHING.meets(COMMIT)
    assert not COMMIT.meets(COMMIT)


@pytest.mark.parametrize("seed", range(12))
def test_every_kind_of_orders_is_tried_once(seed: int) -> None:
    chance = random.Random(seed)
    both = _programme(chance), _programme(chance)

    tried = [_kind(made) for made in kinds(lambda wanted: _run(both, wanted))]
    all_there_are = {_kind(made) for made in schedules(lambda wanted: _run(both, wanted), None)}

    assert set(tried) == all_there_are
    assert len(tried) == len(all_there_are)


def _programme(chance: random.Random) -> list[Step]:
    """Make up steps that write in the order of the tables, so that no two sessions wait for each other."""
    return [
        *(Step() for _ in range(chance.randrange(2))),
        *(
            step
            for table in TABLES
            for step in (
                Step(tried=frozenset({table})),
                Step(changed=frozenset({table}), tried=frozenset({table})),
                Step(),
            )
            if chance.random() < 0.5
        ),
        COMMIT,
    ]


def _run(both: tuple[list[Step], list[Step]], wanted: tuple[int, ...]) -> Schedule:
    """Go through the steps of both, where one that writes waits until the other has committed what it wrote there."""
    made: list[Choice] = []
    at = [0, 0]
    waits: int | None = None
    while possible := tuple(each for each in (0, 1) if at[each] < len(both[each]) and each != waits):
        asked = wanted[len(made)] if len(made) < len(wanted) else made[-1].chosen
        chosen = asked if asked in possible else possible[0]
        other = 1 - chosen
        step = both[chosen][at[chosen]]
        held = frozenset[str]().union(
            *(each.changed for each in both[other][: at[other]] if at[other] < len(both[other]))
        )
        let_go = None
        if step.changed & held:
            waits = chosen
        else:
            at[chosen] += 1
        if step.ends and waits == other:
            let_go, waits = both[other][at[other]], None
            at[other] += 1
        made.append(Choice(chosen, possible, step, waits == chosen, let_go))
    return tuple(made)


def _kind(made: Schedule) -> frozenset[tuple[int, int]]:
    """Tell of every two steps that meet whether the first session's came first."""
    first = [(place, choice.did) for place, choice in enumerate(made) if choice.chosen == 0]
    second = [(place, choice.did) for place, choice in enumerate(made) if choice.chosen == 1]
    return frozenset(
        (nth, other)
        for (nth, (place, step)), (other, (later, met)) in product(enumerate(first), enumerate(second))
        if place < later and step.meets(met)
    )
