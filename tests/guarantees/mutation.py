"""Controls of the guarantee tests: each mutant takes one guard away, and the test it names must fail by assertion.

A mutant is a file in mutants/: SQL that is applied to the test database, or a patch of the Python source. Its header says
which guard it removes, which test dies of it, and after how many strikes at the latest (1 unless it says so). `scripts/mutants`
runs them all, the suite itself a few (pace: core); a mutant that survives is a failure.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args
from xml.etree import ElementTree as ET

import pytest

from world.servers import prepared_server
from world.warm import run_warm

# core: also run with every test run; quick: needs no worker to wait for something; slow: does.
Pace = Literal["core", "quick", "slow"]

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(__file__).resolve().parent / "mutants"
# What pytest says when an assertion, ours or its own, did not hold; anything else is an accident and proves nothing.
BY_ASSERTION = ("AssertionError", "assert ", "Failed: DID NOT RAISE")
# Only what the tests need: loading every installed plugin takes longer than most of these tests.
PLUGINS = ("pytest_asyncio.plugin", "pytest_timeout", "holdfast.testing.plugin")


@dataclass(frozen=True)
class Mutant:
    """One guard less."""

    file: Path
    guard: str
    dies: str
    pace: Pace
    strikes: int = 1  # within so many its test must have seen it

    @property
    def is_patch(self) -> bool:
        return self.file.suffix == ".patch"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    killed: bool
    strikes: int
    seconds: float
    said: str


def read(file: Path) -> Mutant:
    text = file.read_text("utf-8")
    guard, dies, pace, strikes = (
        re.search(rf"^(?:-- |# ){word}: (.+)$", text, re.MULTILINE)
        for word in ("guard", "dies", "pace", "strikes")
    )
    if guard is None or dies is None:
        raise ValueError(f"{file} must say `guard: …` and `dies: tests/…::test_…`")
    told = pace[1] if pace else "quick"
    if told not in get_args(Pace):
        raise ValueError(f"{file}: pace is one of {', '.join(get_args(Pace))}, not {told}")
    return Mutant(file, guard[1], dies[1], cast("Pace", told), int(strikes[1]) if strikes else 1)


def mutants() -> list[Mutant]:
    return [read(file) for file in sorted(FOLDER.iterdir()) if file.suffix in {".sql", ".patch"}]


def patched_files(patch: str) -> list[str]:
    """Name the files a unified diff changes."""
    return re.findall(r"^\+\+\+ b/(.+)$", patch, flags=re.MULTILINE)


def apply_patch(patch: str, root: Path) -> None:
    """Apply a unified diff: each hunk's old lines, which must be there once, become its new ones."""
    for part in re.split(r"^--- .*\n", patch, flags=re.MULTILINE)[1:]:
        head, *hunks = re.split(r"^@@.*@@.*\n", part, flags=re.MULTILINE)
        target = root / head.removeprefix("+++ b/").strip()
        text = target.read_text("utf-8")
        for hunk in hunks:
            lines = hunk.splitlines()
            old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in {" ", "-"})
            new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in {" ", "+"})
            if text.count(old) != 1:
                raise ValueError(f"{target.relative_to(root)} has not exactly one place like this:\n{old}")
            text = text.replace(old, new)
        target.write_text(text, "utf-8")


def copy_tree(to: Path) -> None:
    """Copy the source with what was compiled of it: only what a patch changes is compiled again."""
    for name in ("src", "tests", "apps"):
        shutil.copytree(ROOT / name, to / name)
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, to)


def judge(mutant: Mutant, database_url: str) -> Verdict:
    """Run the named test against the mutant."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="holdfast-mutant-") as made:
        place = Path(made)
        environment = {"DATABASE_URL": database_url, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        report = place / "report.xml"
        plugins = [f"-p{name}" for name in (*PLUGINS, "no:cacheprovider")]
        arguments = ["-q", "-x", "--no-header", *plugins, f"--junitxml={report}", mutant.dies]
        if mutant.is_patch:
            copy_tree(place)
            apply_patch(mutant.file.read_text("utf-8"), place)
            paths = f"{place / 'src'}{os.pathsep}{place}"
            output = _run_anew(
                place, {**environment, "PYTHONPATH": paths, "HOLDFAST_TEST_REPOSITORY": str(ROOT)}, arguments
            )
        else:
            environment["HOLDFAST_TEST_MUTANT"] = str(mutant.file)
            output = _run_warm(place / "output", environment, arguments)
        dead, strikes, said = _outcome(report, output)
        if dead and strikes > mutant.strikes:
            said = f"it took {strikes} strikes, not {mutant.strikes} at most: {said}"
    return Verdict(mutant, dead and strikes <= mutant.strikes, strikes, time.monotonic() - began, said)


def _run_anew(root: Path, environment: dict[str, str], arguments: list[str]) -> str:
    """Run pytest in another tree than this one; gives what it said."""
    whole = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=root,
        env={**whole, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr


def _run_warm(output: Path, environment: dict[str, str], arguments: list[str]) -> str:
    """Run pytest in a process that has imported the source already: it is as it is, and only the database has a guard less."""
    whole = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
    code, said = run_warm(output, {**whole, **environment}, _run_pytest, arguments)
    return said or f"it ended with {code}"


def _run_pytest(arguments: list[str]) -> int:
    os.chdir(ROOT)
    return int(pytest.main(arguments))


def _outcome(report: Path, output: str) -> tuple[bool, int, str]:
    """Read of a test's report whether an assertion of it failed, after how many strikes, and what it said."""
    if not report.exists():
        return False, 0, output[-2000:]
    for case in ET.parse(report).iter("testcase"):
        for failure in case.iter("failure"):
            said = failure.get("message", "")
            told = [each.get("value", "") for each in case.iter("property") if each.get("name") == "strikes"]
            return said.startswith(BY_ASSERTION), int(told[0]) if told else 1, said.splitlines()[0]
    survives = " passed" in output
    return False, 0, "it survives: the test passes without the guard" if survives else output[-2000:]


def judge_all(
    chosen: Iterable[Mutant], at_once: int = 2, each: Callable[[Verdict], None] | None = None
) -> list[Verdict]:
    """Judge them, two at a time; each verdict is told as soon as it is there."""

    def judged(mutant: Mutant, url: str) -> Verdict:
        verdict = judge(mutant, url)
        if each is not None:
            each(verdict)
        return verdict

    with prepared_server() as url, ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda mutant: judged(mutant, url), chosen))


def table(verdicts: list[Verdict]) -> str:
    rows = [
        ("guard", "mutant", "test", "strikes", "seconds", "killed"),
        *[
            (
                v.mutant.guard, v.mutant.file.name, v.mutant.dies.split("::")[-1], str(v.strikes), f"{v.seconds:.0f}",
                "yes" if v.killed else "NO",
            )
            for v in verdicts
        ],
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
