"""The published tables show what was run, and never more."""

import json
from pathlib import Path

import pytest

from chaos.judge import Finding
from chaos.report import BEGIN, END, Report, counted, merge, tables, upper_bound, what_ran
from chaos.strikes.catalogue import ALL
from chaos.strikes.strike import Record
from guarantees.workers import TESTS

PUBLISHED = TESTS.parent / "docs/operations/chaos.md"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "chaos.md"
    file.write_text(f"before\n{BEGIN}\n{END}\nafter\n")
    return file


def report(seed: int = 1, commit: str = "abc", findings: int = 0, landed: int = 300) -> Report:
    return Report(
        seed=seed, commit=commit, date="2030-01-01", command="scripts/chaos", seconds=63.0, rate=1.0, lease=3.0,
        jobs={"plain": {"COMPLETED": 1000, "FAILED": 234}}, answers={},
        strikes={
            "kill_worker": {"struck": 310, "landed": landed, "hits": 900},
            "cut_before_commit: claim": {"struck": 7, "landed": 6, "hits": 6},
            "cut_after_commit: claim": {"struck": 5, "landed": 5, "hits": 5},
        },
        not_run={}, findings=[Finding("x", "y")] * findings, slowest_recovery=2.345, recoveries=12, calms=[0.99, 0.9, 1.0],
    )  # fmt: skip


def rows(page: Path, first: str) -> list[str]:
    return [line for line in page.read_text().splitlines() if line.startswith(f"| {first}")]


def test_a_run_is_published_with_what_landed_and_what_that_proves(page: Path) -> None:
    merge(page, report())

    assert rows(page, "kill_worker") == ["| kill_worker | 310 | 300 | 900 | 1.00% |"]
    assert rows(page, "cut_before_commit") == ["| cut_before_commit | 7 | 6 | 6 | 50.00% |"]
    assert rows(page, "failover") == ["| failover | 0 | 0 | 0 | - |"]
    assert rows(page, "claim") == ["| claim | 6 | 5 |"]
    assert rows(page, "`") == [
        "| `scripts/chaos` | 2030-01-01 | `abc` | 1 | 1 | 1,234 | 12, 2.35 s | 3, 99.0% | 0 |"
    ]
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("after\n")


def test_the_same_run_counts_once_and_another_beside_it(page: Path) -> None:
    for one in (report(), report(), report(seed=2), report(commit="def")):
        merge(page, one)

    assert rows(page, "kill_worker") == ["| kill_worker | 930 | 900 | 2,700 | 0.33% |"]
    assert rows(page, "claim") == ["| claim | 18 | 15 |"]
    assert len(rows(page, "`")) == 3


def test_a_run_with_findings_proves_nothing(page: Path) -> None:
    for one in (report(), report(seed=2, findings=2)):
        merge(page, one)

    assert rows(page, "kill_worker") == ["| kill_worker | 620 | 600 | 1,800 | - |"]


def test_the_page_tells_of_the_runs_that_are_kept_beside_it_and_of_no_others() -> None:
    kept = json.loads(PUBLISHED.with_suffix(".json").read_text("utf-8"))

    inside = PUBLISHED.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]

    assert inside.strip() == tables(kept)


@pytest.mark.parametrize(
    ("ended_at", "told"), [("abc", "abc"), ("abc+", "abc+"), ("def", "abc+"), ("def+", "abc+")]
)
def test_a_run_is_of_the_commit_that_it_began_at_and_a_change_meanwhile_is_told(
    ended_at: str, told: str
) -> None:
    assert what_ran("abc", ended_at) == told


def test_what_did_not_land_proves_nothing() -> None:
    assert (upper_bound(0, 0), upper_bound(3000, 0), upper_bound(1, 0)) == ("-", "0.10%", "100.00%")


def test_a_strike_that_hit_nothing_is_counted_as_struck_and_not_as_landed() -> None:
    records = [Record("half_open", 0, 1, hits, "", away=True) for hits in (0, 5, 2)]

    assert counted(records) == {"half_open": {"struck": 3, "landed": 2, "hits": 7}}


def test_cuts_are_counted_by_the_operation_that_was_cut() -> None:
    records = [
        Record("cut_after_commit", 0, 1, hits, "", away=True, operation=operation)
        for operation, hits in (("claim", 1), ("claim", 1), ("decide", 0))
    ]

    assert counted(records) == {
        "cut_after_commit: claim": {"struck": 2, "landed": 2, "hits": 2},
        "cut_after_commit: decide": {"struck": 1, "landed": 0, "hits": 0},
    }


def test_every_strike_says_what_it_does() -> None:
    assert [name for name, strike in ALL.items() if not type(strike).__doc__] == []
