"""How a run of the tests ends, whichever of them it has: a pytest plugin.

A test that could not run is named, and one that does not say why fails the run; what failed may get a second chance, and is told
where the time went, where scripts/test asks for either.
"""

import pytest

from world import budget, chances

NOT_RUN = "NOT RUN: "


class Skips:
    """No test is skipped silently."""

    def __init__(self) -> None:
        self.silent: set[str] = set()
        self._not_run: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sort skips into those that say loudly what is missing, and all others."""
        if not hasattr(report, "wasxfail"):
            self._sort(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Sort modules that are skipped as a whole; each process tells of them."""
        self._sort(report)

    def _sort(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            said = f"{report.nodeid}: {reason.removeprefix('Skipped: ')}"
            (self._not_run if NOT_RUN in reason else self.silent).add(said)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name every test that did not run."""
        for title, said in (
            ("DID NOT RUN", self._not_run),
            ("SKIPPED WITHOUT SAYING WHAT IS MISSING", self.silent),
        ):
            if said:
                terminalreporter.section(title, sep="!")
                for line in sorted(said):
                    terminalreporter.line(line)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run in which a test was skipped for a reason that nobody has declared."""
        if self.silent and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_configure(config: pytest.Config) -> None:
    """Watch from where all tests are heard of: of several processes, the one that has started the others."""
    if hasattr(config, "workerinput"):
        return
    skips = Skips()
    config.pluginmanager.register(skips, "skips")
    chances.register(config, skips.silent)
    budget.register(config)
