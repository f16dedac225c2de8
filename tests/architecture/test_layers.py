"""The shape of the code, defended by machines."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "holdfast"
MODULES = sorted(PACKAGE.rglob("*.py"))

APPS = sorted((ROOT / "apps").rglob("*.py"))
PRODUCTS = [path.parent for path in (ROOT / "apps").glob("*/tasks.py")]
PRODUCT_FILES = [
    path
    for path in (*APPS, *sorted((ROOT / "apps").rglob("*.sql")))
    if "tests" not in path.parts and path.name != "conftest.py"
]
IN_THE_SCHEMA = re.compile(r'\bholdfast"?\."?(\w+)')
SQL_COMMENT = re.compile(r"--.*")
INSIDES = re.compile(r"holdfast\.(runtime|store|domain|interfaces|embedded)\b|psycopg|asyncpg")

LARGEST_MODULE = 400
SQL = re.compile(
    r"\b(select\b.*\bfrom|insert\s+into|update\s+\S+\s+set|delete\s+from|truncate\s+table|(create|alter|drop)\s+(or\s+replace\s+)?"
    r"(table|function|index|database|role|schema|type)|for\s+update\b|listen\s+holdfast|notify\s+holdfast)\b",
    re.IGNORECASE | re.DOTALL,
)
# Two build searches from a whitelist, one makes databases whose names are arguments, one writes the call of a function.
WRITE_SQL = {"store/search.py", "store/search_terms.py", "store/databases.py", "store/call.py"}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_the_layers_hold() -> None:
    said = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )

    assert said.returncode == 0, said.stdout + said.stderr


def test_every_module_can_be_read_at_one_sitting() -> None:
    lines = {
        path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in [*MODULES, *APPS]
    }

    assert {name: number for name, number in lines.items() if number > LARGEST_MODULE} == {}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_only_the_store_knows_the_driver() -> None:
    others = [path for path in MODULES if not name_of(path).startswith("store/")]

    found = {
        name_of(path)
        for path in others
        if any(name.split(".")[0].startswith("psycopg") for name in imported(path))
    }

    assert found == set()


def imported_by_an_app(text: str) -> list[str]:
    """List what an application imports that is not for it: Holdfast's insides, and the driver."""
    tree = ast.parse(text)
    names = [
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [f"{node.module}.{alias.name}" for alias in node.names]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    ]
    return [name for name in names if INSIDES.match(name)]


def test_applications_use_the_public_doors_only() -> None:
    found = {path.relative_to(ROOT).as_posix(): imported_by_an_app(path.read_text()) for path in APPS}

    assert len(found) > len(PRODUCTS) * 5
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import holdfast.store",
        "from holdfast.runtime.app import Holdfast",
        "from holdfast.domain import errors",
        "from holdfast import interfaces",
        "def late():\n    import psycopg.rows",
        "from psycopg_pool import ConnectionPool",
    ],
)
def test_an_application_that_reaches_inside_is_found(line: str) -> None:
    assert imported_by_an_app(line)


def functions_for_sql() -> set[str]:
    """Read from the guide which functions of the schema are for everybody's SQL."""
    guide = (ROOT / "docs" / "guide" / "3-enqueue.md").read_text("utf-8")
    rows = [line for line in guide.splitlines() if line.startswith("| `holdfast.")]
    return {name for row in rows for name in re.findall(r"`holdfast\.(\w+)`", row)}


def named_of_the_schema(path: Path, text: str) -> set[str]:
    """List what an application's SQL names of Holdfast's schema that is not for it."""
    said = [SQL_COMMENT.sub("", text)] if path.suffix == ".sql" else list(literals(text))
    return {name for one in said for name in IN_THE_SCHEMA.findall(one)} - functions_for_sql()


def test_applications_leave_the_schema_to_holdfast() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): named_of_the_schema(path, path.read_text())
        for path in PRODUCT_FILES
    }

    assert {"apps/org_jobs/tasks.py", "apps/org_jobs/schema.sql"} <= found.keys()
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sql", "select id\n  from holdfast.job"),
        ("a.sql", 'select "holdfast"."job_history".at from holdfast.job_history'),
        ("a.py", "QUERY = 'select count(*) from holdfast.job'"),
        ("a.py", "def late(name):\n    return f'select holdfast.pause_queue({name})'"),
    ],
)
def test_an_application_that_reads_the_engines_tables_is_found(name: str, text: str) -> None:
    assert named_of_the_schema(Path(name), text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sql", "-- Jobs are rows of holdfast.job.\nselect holdfast.clock()"),
        ("a.py", '"""Its jobs are in holdfast.job."""\nQUERY = "select holdfast.enqueue(%s)"'),
    ],
)
def test_an_application_may_use_what_is_for_sql(name: str, text: str) -> None:
    assert named_of_the_schema(Path(name), text) == set()


def texts(path: Path) -> Iterator[str]:
    return literals(path.read_text())


def literals(text: str) -> Iterator[str]:
    """Give the string literals that are no docstrings."""
    tree = ast.parse(text)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_sql_is_in_sql_files() -> None:
    found = {name_of(path): text for path in MODULES for text in texts(path) if SQL.search(text)}

    assert {name: text for name, text in found.items() if name not in WRITE_SQL} == {}


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "helpers", "common", "core", "base", "manager", "misc", "util"}

    assert [name_of(path) for path in MODULES if path.stem in empty] == []


def test_every_module_says_what_it_is() -> None:
    assert [name_of(path) for path in MODULES if not ast.get_docstring(tree_of(path))] == []
