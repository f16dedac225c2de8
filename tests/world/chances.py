"""What failed under scripts/test is tried once more, alone, where that can tell bad luck from a fault: pytest plugins that decide it.

Hundreds of processes share a machine that others may use too. A test that passes then has luck in it, is named by the second run,
and is to be mended like any other fault.
"""

import os
from collections.abc import Collection, Iterator

import pytest

from world.often import LONG
from world.rare import may_be_rare

VARIABLE = "HOLDFAST_TEST_CHANCE"  # first or second: which run this is
AGAIN = 75  # what the first ends with where a second may follow; pytest itself has no such status
FAILED = "holdfast/failed"  # where pytest's cache keeps what the second has to pass


class FirstRun:
    """Decides whether there may be a second, and says why not."""

    def __init__(self, silent: Collection[str]) -> None:
        self._silent = silent
        self._failed: set[str] = set()
        self._is_whole = True
        self._why_not: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note that there are tests which nobody knows."""
        self._is_whole = self._is_whole and not report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what failed."""
        if report.failed:
            self._failed.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Ask for a second run by the exit status, unless another check of the whole has set one of its own."""
        if not self._failed:
            return
        self._why_not = [*self._reasons(session.config)]
        if session.exitstatus == pytest.ExitCode.TESTS_FAILED and not self._why_not:
            session.config.cache.set(FAILED, sorted(self._failed))
            session.exitstatus = AGAIN

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say why there is none."""
        if self._why_not:
            terminalreporter.section("NO SECOND CHANCE", sep="!")
            for line in self._why_not:
                terminalreporter.line(line)

    def _reasons(self, config: pytest.Config) -> Iterator[str]:
        if config.getoption("maxfail"):
            yield "-x and --maxfail leave tests out, of which nobody knows whether they pass"
        if LONG:
            yield "HOLDFAST_LONG leaves to chance what is tried"
        if not hasattr(config, "cache"):
            yield "without pytest's cache nobody knows what failed"
        if not self._is_whole:
            yield "not all tests could be read"
        if self._silent:
            yield "a test was skipped that does not say what is missing"
        for nodeid in sorted(self._failed):
            if may_be_rare(nodeid):
                yield f"{nodeid}: what it finds may be rare"


class SecondRun:
    """Holds it to all that failed: what is skipped now, or not found again, has not passed."""

    def __init__(self, failed: Collection[str]) -> None:
        self._left = set(failed)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what passes."""
        if report.when == "call" and report.passed:
            self._left.discard(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail where something has not."""
        if self._left and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name it."""
        if self._left:
            terminalreporter.section("DID NOT PASS THE SECOND TIME EITHER", sep="!")
            for nodeid in sorted(self._left):
                terminalreporter.line(nodeid)


def register(config: pytest.Config, silent: Collection[str]) -> None:
    """Have this run be what scripts/test says it is; pytest by itself gives no chances. What it starts only runs tests."""
    match os.environ.pop(VARIABLE, None):
        case "first":
            config.pluginmanager.register(FirstRun(silent), "first_run")
        case "second":
            config.pluginmanager.register(SecondRun(config.cache.get(FAILED, [])), "second_run")
        case _:
            pass
