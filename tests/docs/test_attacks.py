"""The page of attacks: all rows are there, and every test that it names."""

import ast
from functools import cache
from pathlib import Path

import pytest

from guarantees.attacks import ROOT, Attack, attacks

ROWS = {"S": 8, "C": 9, "A": 10, "P": 12, "Q": 9, "E": 5, "O": 5, "D": 8}


@cache
def functions_of(file: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_row_is_there_once() -> None:
    rows = [attack.row for attack in attacks()]

    assert rows == [f"{letter}{number}" for letter, most in ROWS.items() for number in range(1, most + 1)]


@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.row)
def test_a_row_names_tests_that_there_are(attack: Attack) -> None:
    missing = [
        test
        for test in attack.tests
        if not (ROOT / test.partition("::")[0]).exists()
        or test.partition("::")[2] not in functions_of(ROOT / test.partition("::")[0])
    ]

    assert attack.tests
    assert missing == []
