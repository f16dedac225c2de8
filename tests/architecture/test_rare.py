"""What gets no second chance from scripts/test: all that races or throws dice, and nothing that is not there."""

from pathlib import Path

import pytest

from guarantees.mutation import mutants
from world.named import missing
from world.rare import NAMED, may_be_rare

ROOT = Path(__file__).parents[2]


def test_what_is_named_is_there() -> None:
    files = [name for name in NAMED if "::" not in name]

    assert [name for name in files if not (ROOT / name).exists()] == []
    assert missing(name for name in NAMED if "::" in name) == []


def test_what_is_named_is_named_once() -> None:
    assert len(set(NAMED)) == len(NAMED)


def test_all_races_and_all_chaos_may_find_what_is_rare() -> None:
    races = [*ROOT.glob("tests/**/test_*races.py"), *ROOT.glob("tests/chaos/**/test_*.py")]

    assert [path for path in races if not may_be_rare(f"{path.relative_to(ROOT).as_posix()}::test")] == []


def test_whoever_needs_several_strikes_to_see_a_missing_guard_may_find_what_is_rare() -> None:
    chancy = [mutant.dies for mutant in mutants() if mutant.strikes > 1]

    assert chancy
    assert [nodeid for nodeid in chancy if not may_be_rare(nodeid)] == []


@pytest.mark.parametrize(
    "nodeid",
    [
        "tests/chaos/test_quick.py::test",
        "tests/domain/test_signature.py::test",  # by its mutant
        "tests/guarantees/test_claim.py::test[1]",  # by its threads
        "tests/sql/test_finish_races.py::test",
        "tests/sql/test_keys.py::test",
        "tests/service/test_core.py::test",
        "tests/service/test_tick.py::test_one_tick_at_a_time",
    ],
)
def test_what_meets_by_chance_may_find_what_is_rare(nodeid: str) -> None:
    assert may_be_rare(nodeid)


@pytest.mark.parametrize(
    "nodeid",
    [
        "apps/org_jobs/tests/test_chaos.py::test[0]",
        "tests/dashboard/browser/test_pages.py::test",
        "tests/service/test_tick.py::test_schedules_fire_and_the_silent_are_swept",
        "tests/sql/test_fences.py::test",  # its one thread waits for what the test holds
        "tests/there/test_is_no_such.py::test",
    ],
)
def test_what_happens_in_every_run_or_never_is_not_rare(nodeid: str) -> None:
    assert not may_be_rare(nodeid)
