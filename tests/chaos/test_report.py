"""The published table shows what was run, and never more."""

from pathlib import Path

import pytest

from chaos.judge import Finding
from chaos.report import BEGIN, END, Report, counted, merge, upper_bound
from chaos.strikes.catalogue import ALL
from chaos.strikes.strike import Record


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "chaos.md"
    file.write_text(f"before\n{BEGIN}\n{END}\nafter\n")
    return file


def report(seed: int = 1, commit: str = "abc", findings: int = 0, landed: int = 300) -> Report:
    return Report(
        seed=seed, commit=commit, date="2030-01-01", command="scripts/chaos", seconds=1.0, rate=1.0, lease=3.0, jobs={}, answers={},
        strikes={"kill_worker": {"struck": 310, "landed": landed, "hits": 900}}, not_run={}, findings=[Finding("x", "y")] * findings,
        slowest_recovery=None, recoveries=0, calms=0,
    )  # fmt: skip


def rows(table: Path) -> list[str]:
    return [line for line in table.read_text().splitlines() if line.startswith("| kill_worker")]


def test_a_run_comes_into_the_table_with_what_landed_and_what_that_proves(table: Path) -> None:
    merge(table, report())

    assert rows(table) == [
        "| kill_worker | 310 | 300 | 900 | 0 | 1.00% | `scripts/chaos` | 2030-01-01 | `abc` | 1 |"
    ]
    assert table.read_text().startswith("before\n")
    assert table.read_text().endswith("after\n")


def test_the_same_run_counts_once_and_another_beside_it(table: Path) -> None:
    for one in (report(), report(), report(seed=2), report(commit="def")):
        merge(table, one)

    assert len(rows(table)) == 3


def test_a_run_with_findings_proves_nothing(table: Path) -> None:
    merge(table, report(findings=2))

    assert rows(table)[0].startswith("| kill_worker | 310 | 300 | 900 | 2 | - |")


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
