"""The deployment files use commands that exist, and variables that are read."""

import re
from pathlib import Path

import click
import pytest

from deploying.files import (
    DEPLOY,
    ROOT,
    UNITS,
    Line,
    all_files,
    command_lines,
    compose,
    ours,
    unit,
    variables_of,
)
from holdfast.interfaces.cli import main
from holdfast.interfaces.http.asgi import PARTS
from holdfast.interfaces.http.serving import GRACE
from holdfast.interfaces.http.tick import SECRET as TICK_SECRET
from holdfast.interfaces.settings import DEFAULTS
from holdfast.runtime.keys import MASTER_KEY, PREVIOUS_KEY

VARIABLE = re.compile(r"\bHOLDFAST_[A-Z0-9_]*[A-Z0-9]\b")
OF_ENDPOINTS = "HOLDFAST_WEBHOOK_SECRET_"
# These may also be files, named by the same variable with _FILE.
FILES = {f"{name}_FILE" for name in ("HOLDFAST_DATABASE_URL", MASTER_KEY, PREVIOUS_KEY, TICK_SECRET)}
# After a drain a worker waits up to a second for what it released, five for what ended, and five to be forgotten.
GOODBYE = 11
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def understand(arguments: list[str]) -> None:
    """Read a command line as `holdfast` would, down to its last command, and run nothing."""
    command: click.Command = main
    context = main.make_context("holdfast", list(arguments))
    while isinstance(command, click.Group):
        rest = [*context._protected_args, *context.args]
        if not rest:
            assert command.invoke_without_command, f"{arguments} names no command"
            return
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command, context = found, found.make_context(name, rest, parent=context)


@pytest.mark.parametrize(
    "line", [*command_lines()], ids=lambda line: f"{line.file} {' '.join(line.arguments)}"
)
def test_a_command_of_a_file_exists(line: Line) -> None:
    if line.arguments != ["--help"]:
        understand(line.arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["db", "migrat"],
        ["server", "--prts", "api"],
        ["key", "create", "ops", "--scope", "everything"],
        ["db"],
    ],
    ids=" ".join,
)
def test_a_command_that_does_not_exist_is_noticed(arguments: list[str]) -> None:
    with pytest.raises((click.UsageError, AssertionError)):
        understand(arguments)


def typed(page: Path) -> list[list[str]]:
    """Give the command lines that a page shows in full, without what the shell makes of them."""
    lines = [line for block in CONSOLE.findall(page.read_text()) for line in block.splitlines()]
    ours = [line.partition("  #")[0] for line in lines if line.startswith("$ holdfast ") and "…" not in line]
    return [re.findall(r"'[^']*'|\"[^\"]*\"|\S+", line)[2:] for line in ours]


@pytest.mark.parametrize("page", [page for page in PAGES if typed(page)], ids=lambda page: page.name)
def test_the_commands_of_a_page_exist(page: Path) -> None:
    for arguments in typed(page):
        understand([word.strip("'\"") for word in arguments])


def read_variables() -> set[str]:
    """Give the variables that the code reads."""
    written = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    return {*VARIABLE.findall(written), *(f"HOLDFAST_{name.upper()}" for name in DEFAULTS), *FILES}


@pytest.mark.parametrize("path", all_files(), ids=lambda path: str(path.relative_to(DEPLOY)))
def test_a_variable_of_a_file_is_read_by_the_code(path: Path) -> None:
    known = read_variables()

    unknown = {name for name in VARIABLE.findall(path.read_text()) if name not in known}

    assert {name for name in unknown if not name.startswith(OF_ENDPOINTS)} == set()


def test_settings_that_the_pages_name_are_read_by_the_code() -> None:
    tests = ROOT / "tests"
    long_runs = (
        ROOT / "scripts" / "attacks",
        tests / "chaos" / "test_quick.py",
        tests / "guarantees" / "test_poison.py",
        tests / "world" / "previous.py",
    )
    of_scripts = {name for file in long_runs for name in VARIABLE.findall(file.read_text())}
    known = {*read_variables(), *of_scripts, f"{OF_ENDPOINTS}STRIPE", "HOLDFAST_CALLBACK_SECRET"}
    named = {
        name
        for page in (ROOT / "docs" / "operations").glob("*.md")
        for name in VARIABLE.findall(page.read_text())
    }

    assert named - known - {OF_ENDPOINTS.rstrip("_")} == set()


def test_the_page_of_the_service_names_every_part() -> None:
    page = (ROOT / "docs" / "operations" / "service.md").read_text()

    assert [part for part in PARTS if f"| `{part}` |" not in page] == []


# -- nobody is killed before they have said goodbye -------------------------------------------------------------------------


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def test_units_wait_longer_than_a_drain() -> None:
    worker, server = (next(path for path in UNITS if name in path.name) for name in ("worker", "server"))
    drain = int(variables_of(worker)["HOLDFAST_DRAIN_TIMEOUT"])

    assert seconds(unit(worker)["TimeoutStopSec"][0]) > drain + GOODBYE
    assert seconds(unit(server)["TimeoutStopSec"][0]) > GRACE
    assert [unit(path)["Restart"] for path in UNITS] == [["always"], ["always"]]


def test_containers_wait_longer_than_a_drain() -> None:
    services = ours(compose()["services"])

    patience = {name: seconds(service["stop_grace_period"]) for name, service in services.items()}

    assert min(patience.values()) > int(DEFAULTS["drain_timeout"] or 0) + GOODBYE
