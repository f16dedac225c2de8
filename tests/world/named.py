"""Tests and mutants that a page of the documentation names, and whether there are such."""

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_TEST = re.compile(r"`(tests/[\w/]+\.py::test_\w+)(?:\[[^\]`]*\])?`")
_MUTANT = re.compile(r"`(\w+\.(?:sql|patch))`")


def named_tests(text: str) -> list[str]:
    """Give the tests that are named there, in their order."""
    return _TEST.findall(text)


def named_mutants(text: str) -> list[str]:
    """Give the mutants that are named there, in their order."""
    return _MUTANT.findall(text)


def missing(tests: Iterable[str]) -> list[str]:
    """Give those of which there is no such test."""
    return [test for test in tests if not _exists(*test.split("::"))]


def _exists(file: str, name: str) -> bool:
    return (ROOT / file).exists() and name in functions_of(ROOT / file)


@cache
def functions_of(file: Path) -> set[str]:
    """Name the functions of a file."""
    return {
        node.name
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
