"""How many minutes a whole run should take and each part's share of them, and how many they took; scripts/test has them printed.

No run fails by it: others may use the machine too, and a slow part is seen as well where nothing is red.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

BEGAN = "HOLDFAST_TEST_BEGAN"  # when scripts/test began, in seconds of the epoch
# How long scripts/check took, before the tests; a second run has none.
CHECK_SECONDS = "HOLDFAST_TEST_CHECK_SECONDS"


@dataclass(frozen=True)
class Part:
    """A part of a run: its share of the minutes on two cores, and whose tests are of it."""

    name: str
    minutes: float
    folders: tuple[str, ...] = ()
    also: str | None = None  # in the names of test files that lie elsewhere


CHECKS = Part("checks", 1)
# The first that has a test has it.
PARTS = (
    Part("browser", 3, ("tests/dashboard/browser/",), also="_in_a_browser.py"),
    Part("SQL and guarantees", 4, ("tests/sql/", "tests/guarantees/", "tests/interleaving/")),
    Part("HTTP", 2, ("tests/service/", "tests/executors/", "tests/dashboard/")),
    Part("apps", 2, ("apps/",)),
    Part("chaos", 3, ("tests/chaos/",)),
)
REST = "everything else"  # it has what the parts leave of their shares
# Bootstrap, reading the tests, and the end, where processes wait for the last test.
NO_TEST = "outside of tests"
WHOLE = Part("whole run", 15)


def part_of(nodeid: str) -> str:
    """Name the part that a test is of."""
    file = nodeid.partition("::")[0]
    for part in PARTS:
        if file.startswith(part.folders) or (part.also is not None and file.endswith(part.also)):
            return part.name
    return REST


@dataclass(frozen=True)
class Row:
    """What a part took of its share."""

    part: str
    minutes: float
    share: float | None = None
    # Its longest test, which no second process makes shorter, and the minutes of that.
    longest: tuple[str, float] | None = None

    def __str__(self) -> str:
        said = f"{self.part:<20}{self.minutes:5.1f}"
        if self.share is not None:
            said += f" of {self.share:g}{', TOO MANY' if self.minutes > self.share else ''}"
        return said if self.longest is None else f"{said}; longest {self.longest[1]:.1f}: {self.longest[0]}"


class Taken:
    """What the tests of a run took, by part."""

    def __init__(self) -> None:
        self._tests: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    def add(self, nodeid: str, seconds: float) -> None:
        """Add a test's set-up, call or tear-down."""
        self._tests[part_of(nodeid)][nodeid] += seconds

    def rows(self, processes: int) -> Iterator[Row]:
        """Give each part that has tests: what they took, divided by the processes."""
        shares = {part.name: part.minutes for part in PARTS}
        for name in (*shares, REST):
            if tests := self._tests.get(name):
                longest = max(tests, key=tests.__getitem__)
                minutes = sum(tests.values()) / processes / 60
                yield Row(name, minutes, shares.get(name), (longest, tests[longest] / 60))


def table(taken: Taken, processes: int, check_seconds: float, seconds: float) -> list[Row]:
    """Lay out a run of so many seconds; what the parts do not account for has a row of its own, so that all add up."""
    parts = [Row(CHECKS.name, check_seconds / 60, CHECKS.minutes), *taken.rows(processes)]
    told = sum(row.minutes for row in parts)
    return [*parts, Row(NO_TEST, seconds / 60 - told), whole(seconds)]


def whole(seconds: float) -> Row:
    """Lay out all of it."""
    return Row(WHOLE.name, seconds / 60, WHOLE.minutes)


class Minutes:
    """Tells at the end of scripts/test what each part of the tests took; a pytest plugin."""

    def __init__(self, began: float, check_seconds: float | None, processes: int) -> None:
        self._began = began
        self._check_seconds = check_seconds
        self._processes = processes
        self._taken = Taken()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up what pytest measured."""
        self._taken.add(report.nodeid, report.duration)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell it; of a second run, what both took."""
        seconds = time.time() - self._began
        if self._check_seconds is None:
            terminalreporter.section("minutes", sep="-")
            terminalreporter.line(str(whole(seconds)))
            return
        terminalreporter.section(f"minutes; those of tests divided by {self._processes} processes", sep="-")
        for row in table(self._taken, self._processes, self._check_seconds, seconds):
            terminalreporter.line(str(row))


def register(config: pytest.Config) -> None:
    """Measure where scripts/test asks for it; what this process starts only runs tests."""
    began, check_seconds = os.environ.pop(BEGAN, None), os.environ.pop(CHECK_SECONDS, None)
    if began is not None:
        checked = None if check_seconds is None else float(check_seconds)
        processes = config.getoption("numprocesses", None) or 1
        config.pluginmanager.register(Minutes(float(began), checked, processes), "minutes")
