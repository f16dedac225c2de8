"""How scripts/test ends: what a second chance is given to, and what it has to do with it."""

import os
from pathlib import Path
from textwrap import dedent

import pytest

from world import budget, chances
from world.chances import AGAIN
from world.warm import run_warm

ROOT = Path(__file__).parents[2]
PASSES = "def test(): pass"
FAILS = "def test(): assert False"
# What a test did in one run, the next knows by the mark that it left.
FAILS_ONCE = """
    from pathlib import Path
    def test():
        tried = Path(__file__).with_suffix(".tried")
        is_first = not tried.exists()
        tried.touch()
        assert not is_first
"""
IS_SKIPPED = """
    import pytest
    def test(): pytest.skip({reason!r})
"""
IS_SKIPPED_THEN = """
    import pytest
    from pathlib import Path
    def test():
        tried = Path(__file__).with_suffix(".tried")
        if tried.exists(): pytest.skip("NOT RUN: it is gone")
        tried.touch()
        assert False
"""
IS_ANOTHER_THEN = """
    import pytest, time
    @pytest.mark.parametrize("moment", [time.time_ns()])
    def test(moment): assert False
"""


class Suite:
    """Tests somewhere else, and pytest with what ends a run here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.write("pytest.ini", "[pytest]\naddopts = --import-mode=importlib")
        self.write("conftest.py", 'pytest_plugins = ["world.ending"]')

    def write(self, name: str, source: str) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(source))

    def run(self, *arguments: str, chance: str | None = None) -> tuple[int | None, str]:
        told = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "HOLD"))}
        told |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT / "tests")}
        if chance is not None:
            told[chances.VARIABLE] = chance
        return run_warm(
            self._folder / "said", told, _run, [str(self._folder), "-q", "-pxdist.plugin", *arguments]
        )

    def first(self, *arguments: str) -> tuple[int | None, str]:
        return self.run(*arguments, chance="first")

    def second(self) -> tuple[int | None, str]:
        return self.run("--last-failed", "--last-failed-no-failures=none", chance="second")


def _run(arguments: list[str]) -> int:
    os.chdir(arguments[0])
    return int(pytest.main(arguments[1:]))


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


@pytest.mark.parametrize("processes", ["0", "2"])
def test_what_fails_once_has_a_second_chance_and_takes_it(suite: Suite, processes: str) -> None:
    suite.write("tests/test_lucky.py", FAILS_ONCE)
    suite.write("tests/test_other.py", PASSES)

    first, second = suite.first("--numprocesses", processes), suite.second()

    assert first[0] == AGAIN, first[1]
    assert second[0] == 0, second[1]
    assert "1 passed" in second[1]


def test_what_fails_twice_fails(suite: Suite) -> None:
    suite.write("tests/test_broken.py", FAILS)

    assert suite.first()[0] == AGAIN
    assert suite.second()[0] == 1


@pytest.mark.parametrize("source", [IS_SKIPPED_THEN, IS_ANOTHER_THEN], ids=["skipped", "not there"])
def test_what_does_not_pass_the_second_time_fails(suite: Suite, source: str) -> None:
    suite.write("tests/test_lucky.py", FAILS_ONCE)
    suite.write("tests/test_gone.py", source)

    first, second = suite.first(), suite.second()

    assert first[0] == AGAIN, first[1]
    assert second[0] == 1
    assert "DID NOT PASS THE SECOND TIME EITHER" in second[1]


@pytest.mark.parametrize("beside", [PASSES, FAILS_ONCE], ids=["alone", "beside a failure"])
def test_a_test_that_is_skipped_silently_fails_the_run_and_leaves_no_second_chance(
    suite: Suite, beside: str
) -> None:
    suite.write("tests/test_beside.py", beside)
    suite.write("tests/test_silent.py", IS_SKIPPED.format(reason="not today"))

    status, said = suite.first()

    assert status == 1
    assert "SKIPPED WITHOUT SAYING WHAT IS MISSING" in said


def test_a_module_that_is_skipped_silently_fails_the_run(suite: Suite) -> None:
    suite.write("tests/test_silent.py", "import pytest\npytest.skip('not today', allow_module_level=True)")
    suite.write("tests/test_other.py", PASSES)

    assert suite.run()[0] == 1


def test_a_test_that_says_what_is_missing_fails_no_run_and_is_named(suite: Suite) -> None:
    suite.write("tests/test_loud.py", IS_SKIPPED.format(reason="NOT RUN: there is no browser"))

    status, said = suite.run()

    assert status == 0
    assert "DID NOT RUN" in said


@pytest.mark.parametrize(
    ("file", "arguments", "why"),
    [
        ("tests/chaos/test_x.py", [], "tests/chaos/test_x.py::test: what it finds may be rare"),
        ("tests/test_x.py", ["-x"], "-x and --maxfail leave tests out"),
        ("tests/test_x.py", ["--maxfail=3"], "-x and --maxfail leave tests out"),
        ("tests/test_x.py", ["-pno:cacheprovider"], "without pytest's cache"),
    ],
)
def test_who_gets_no_second_chance_is_told_why(
    suite: Suite, file: str, arguments: list[str], why: str
) -> None:
    suite.write(file, FAILS_ONCE)
    suite.write("tests/test_y.py", PASSES)

    status, said = suite.first(*arguments)

    assert status not in {0, AGAIN}
    assert "NO SECOND CHANCE" in said
    assert why in said


def test_what_chance_has_picked_gets_no_second_chance(
    monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.setattr(chances, "LONG", True)

    assert "HOLDFAST_LONG leaves to chance what is tried" in chances.FirstRun(())._reasons(pytestconfig)


def test_one_that_may_be_rare_takes_the_second_chance_of_all(suite: Suite) -> None:
    suite.write("tests/test_lucky.py", FAILS_ONCE)
    suite.write("tests/interleaving/test_x.py", FAILS_ONCE)

    assert suite.first()[0] == 1


@pytest.mark.parametrize("processes", ["0", "2"])
def test_tests_that_cannot_be_read_leave_no_second_chance(suite: Suite, processes: str) -> None:
    suite.write("tests/test_lucky.py", FAILS_ONCE)
    suite.write("tests/test_broken.py", "import nothing_of_this_name")

    status, _ = suite.first("--numprocesses", processes, "--continue-on-collection-errors")

    assert status not in {0, AGAIN}


def test_pytest_by_itself_ends_as_it_always_does(suite: Suite) -> None:
    suite.write("tests/test_broken.py", FAILS)

    assert suite.run()[0] == 1


def test_scripts_test_tells_the_run_what_it_asks_for_and_knows_its_answer() -> None:
    script = (ROOT / "scripts" / "test").read_text()

    assert f'[ "$status" = {AGAIN} ]' in script
    assert f"{chances.VARIABLE}=first" in script
    assert f"{chances.VARIABLE}=second" in script
    assert script.count(f"{budget.BEGAN}=$began") == 2
    assert script.count(f"{budget.CHECK_SECONDS}=$check_seconds") == 1
