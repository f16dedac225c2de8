"""The page of attacks: all rows are there, and every test that it names."""

import pytest

from guarantees.attacks import Attack, attacks
from world.named import missing

ROWS = {"S": 8, "C": 9, "A": 10, "P": 12, "Q": 9, "E": 5, "O": 5, "D": 8, "M": 7}


def test_every_row_is_there_once() -> None:
    rows = [attack.row for attack in attacks()]

    assert rows == [f"{letter}{number}" for letter, most in ROWS.items() for number in range(1, most + 1)]


@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.row)
def test_a_row_names_tests_that_there_are(attack: Attack) -> None:
    assert attack.tests
    assert missing(attack.tests) == []
