"""Every rule in a product's README names tests that exist, and a whole run of the suite shows that they passed."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from apps import _tables
from apps._tables import NOT_SHOWN, READMES, ROOT, rules

PRODUCTS = 5

each_readme = pytest.mark.parametrize("readme", READMES, ids=lambda readme: readme.parent.name)


def test_every_product_has_a_table() -> None:
    assert len(READMES) == PRODUCTS
    assert all(rules(readme) for readme in READMES)


@each_readme
def test_every_rule_names_a_test(readme: Path) -> None:
    assert [rule.says for rule in rules(readme) if not rule.tests] == []


@each_readme
def test_every_test_that_is_named_exists(readme: Path) -> None:
    named = {test for rule in rules(readme) for test in rule.tests}

    assert [test for test in sorted(named) if not _exists(test)] == []


def _exists(test: str) -> bool:
    path, _, name = test.partition("::")
    if not (ROOT / path).is_file():
        return False
    written = ast.parse((ROOT / path).read_text("utf-8")).body
    return any(
        isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == name for one in written
    )


# -- the plugin, on a small suite of its own ---------------------------------------------------------------------------------

CONFTEST = """
from apps._tables import Tables

def pytest_configure(config):
    config.pluginmanager.register(Tables())
"""
SUITE = """
import pytest

def test_named(): pass

@pytest.mark.parametrize("number", range(3))
def test_named_too(number):
    if number == {skipped}:
        pytest.skip("not today")
"""
README = "| rule | test |\n| --- | --- |\n| all is well | `tests/test_a.py::test_named`, `tests/test_a.py::test_named_too` |\n"


def suite(folder: Path, skipped: int | None, *options: str) -> tuple[int, str]:
    """Run a suite with one product; gives the exit code and what was said."""
    written = {
        "pytest.ini": "[pytest]\ntestpaths = apps\npythonpath = .\n",
        "apps/__init__.py": "",
        "apps/_tables.py": Path(_tables.__file__).read_text("utf-8"),
        "apps/conftest.py": CONFTEST,
        "apps/shop/tasks.py": "",
        "apps/shop/README.md": README,
        "apps/shop/tests/test_a.py": SUITE.format(skipped=skipped),
    }
    for name, text in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHONPATH"))
    }
    kept["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_a_run_that_shows_every_rule_is_well(tmp_path: Path) -> None:
    code, said = suite(tmp_path, None, "-n", "2")

    assert code == 0, said


def test_a_test_that_is_named_and_does_not_pass_fails_the_run(tmp_path: Path) -> None:
    code, said = suite(tmp_path, 1, "-n", "2")

    assert code == NOT_SHOWN, said
    assert "apps/shop/tests/test_a.py::test_named_too\n" in said


def test_a_part_of_the_suite_says_that_it_is_one(tmp_path: Path) -> None:
    code, said = suite(tmp_path, 1, "-k", "test_named and not too")

    assert code == 0, said
    assert "a part of the suite: 1 of 2 tests that READMEs name passed" in said
