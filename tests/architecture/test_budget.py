"""What a run should take: every part has tests, CONTRIBUTING says the same, and what is told is added up as it says."""

import re
from pathlib import Path

import pytest

from world.budget import CHECKS, PARTS, REST, WHOLE, Part, Taken, part_of, table

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("folder", [folder for part in PARTS for folder in part.folders])
def test_what_has_a_share_is_there(folder: str) -> None:
    assert list((ROOT / folder).glob("**/test_*.py"))


def test_the_shares_add_up_to_the_whole() -> None:
    assert sum(part.minutes for part in (CHECKS, *PARTS)) == WHOLE.minutes


@pytest.mark.parametrize("part", [CHECKS, *PARTS, WHOLE], ids=lambda part: part.name)
def test_contributing_says_each_parts_share(part: Part) -> None:
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
    for nodeid, seconds in (("a", 60.0), ("a", 30.0), ("b", 90.0), ("b", 6.0)):
        taken.add(f"tests/chaos/test_{nodeid}.py::test", seconds)
    taken.add("tests/api/test_find.py::test", 18.0)
    taken.add("tests/sql/test_claim.py::test", 900.0)

    assert [str(row) for row in taken.rows(processes=3)] == [
        "SQL and guarantees    5.0 of 4, TOO MANY; longest 15.0: tests/sql/test_claim.py::test",
        "chaos                 1.0 of 3; longest 1.6: tests/chaos/test_b.py::test",
        "everything else       0.1; longest 0.3: tests/api/test_find.py::test",
    ]


def test_the_whole_is_what_a_clock_says_and_what_no_part_accounts_for_is_told() -> None:
    taken = Taken()
    taken.add("tests/chaos/test_a.py::test", 360.0)

    told = [str(row) for row in table(taken, processes=3, check_seconds=30.0, seconds=960.0)]

    assert told == [
        "checks                0.5 of 1",
        "chaos                 2.0 of 3; longest 6.0: tests/chaos/test_a.py::test",
        "outside of tests     13.5",
        "whole run            16.0 of 15, TOO MANY",
    ]
