"""The tables of the products' READMEs: each rule, and the tests that show it. A pytest plugin: a whole run shows them all."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
READMES = sorted(path.with_name("README.md") for path in ROOT.glob("apps/*/tasks.py"))
NOT_SHOWN = 76  # none of pytest's own exit codes: repeating the tests that failed does not mend it

_ROW = re.compile(r"^\| (?P<rule>.+) \| (?P<tests>[^|]*) \|$")
_TEST = re.compile(r"`(/?tests/\S+\.py::test_\w+)`")
_SELECTIONS = ("keyword", "markexpr", "lf", "failedfirst", "deselect", "ignore", "ignore_glob")


class Rule(NamedTuple):
    """A row: what is promised, and the tests that show it, as pytest calls them."""

    says: str
    tests: list[str]


def rules(readme: Path) -> list[Rule]:
    """Read the rows of a README's table of rules; a test whose path begins with / is one of Holdfast's own."""
    return list(_rows(readme.parent, readme.read_text("utf-8").splitlines()))


def _rows(product: Path, lines: list[str]) -> Iterator[Rule]:
    for line in lines[lines.index("| rule | test |") + 2 :]:
        row = _ROW.match(line)
        if row is None:
            return
        named = _TEST.findall(row["tests"])
        yield Rule(
            row["rule"],
            [
                test[1:] if test[0] == "/" else f"{product.relative_to(ROOT).as_posix()}/{test}"
                for test in named
            ],
        )


class Tables:
    """Compares what the READMEs name with what ran; with pytest-xdist, in the process that hears from all others."""

    def __init__(self) -> None:
        self._named = {test for readme in READMES for rule in rules(readme) for test in rule.tests}
        self._passed: set[str] = set()
        self._failed: set[str] = set()  # said by pytest already
        self._skipped: set[str] = set()
        self._whole = False

    @property
    def _missing(self) -> set[str]:
        return self._named - (self._passed - self._skipped) - self._failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how a test went; of one with parameters, all count."""
        test = report.nodeid.partition("[")[0]
        if report.failed:
            self._failed.add(test)
        elif report.skipped:
            self._skipped.add(test)
        elif report.when == "call":
            self._passed.add(test)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail a whole run in which a test that is named did not run, or was skipped."""
        self._whole = _is_whole(session.config) and exitstatus in {
            pytest.ExitCode.OK,
            pytest.ExitCode.TESTS_FAILED,
        }
        if self._whole and self._missing:
            session.exitstatus = NOT_SHOWN

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was not shown; of a part of the suite, only how much was."""
        if self._whole and self._missing:
            terminalreporter.section(
                "A README SAYS THAT THESE SHOW ITS RULES, AND THEY DID NOT PASS", sep="!"
            )
            for test in sorted(self._missing):
                terminalreporter.line(test)
        elif not self._whole:
            shown = len(self._named & self._passed)
            terminalreporter.line(
                f"a part of the suite: {shown} of {len(self._named)} tests that READMEs name passed"
            )


def _is_whole(config: pytest.Config) -> bool:
    chosen = any(config.getoption(name, None) for name in _SELECTIONS)
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen
