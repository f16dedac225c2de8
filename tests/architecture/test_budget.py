"""What a run may take: every part has tests, CONTRIBUTING says the same, and what is told is added up as it says."""

import re
from pathlib import Path

import pytest

from world.budget import CHECKS, PARTS, REST, WHOLE, Part, Taken, part_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("folder", [folder for part in PARTS for folder in part.folders])
def test_what_has_a_budget_is_there(folder: str) -> None:
    assert list((ROOT / folder).glob("**/test_*.py"))


def test_the_parts_are_the_whole() -> None:
    assert sum(part.minutes for part in (CHECKS, *PARTS)) == WHOLE.minutes


@pytest.mark.parametrize("part", [CHECKS, *PARTS, WHOLE], ids=lambda part: part.name)
def test_contributing_says_how_long_a_part_may_take(part: Part) -> None:
    told = re.findall(
        r"^ *\| ([\w ]+) \| .+ \| (\d+) \|$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE
    )

    assert dict(told)[part.name] == f"{part.minutes:g}"


@pytest.mark.parametrize(
    ("nodeid", "part"),
    [
        ("tests/dashboard/browser/test_pages.py::test", "browser"),
        ("tests/service/test_approval_in_a_browser.py::test[wide]", "browser"),
        ("tests/dashboard/test_jobs.py::test", "HTTP"),
        ("tests/sql/test_claim.py::test", "SQL and guarantees"),
        ("apps/org_jobs/tests/test_chaos.py::test[0]", "apps"),
        ("tests/domain/test_flow.py::test", REST),
    ],
)
def test_a_test_is_of_one_part(nodeid: str, part: str) -> None:
    assert part_of(nodeid) == part


def test_what_tests_took_is_shared_by_the_processes_and_the_longest_is_named() -> None:
    taken = Taken()
    for nodeid, seconds in (("a", 60.0), ("a", 30.0), ("b", 90.0)):
        taken.add(f"tests/chaos/test_{nodeid}.py::test", seconds)
    taken.add("tests/api/test_find.py::test", 18.0)
    taken.add("tests/sql/test_claim.py::test", 900.0)

    assert list(taken.told(checked_in=30.0, processes=3)) == [
        "checks                0.5 of 1",
        "SQL and guarantees    5.0 of 4, TOO MANY; longest test 15.0",
        "chaos                 1.0 of 3; longest test 1.5",
        "everything else       0.1; longest test 0.3",
        "together              6.6 of 15",
    ]
