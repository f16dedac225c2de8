"""The order of a run: what takes long comes first, nothing is left out, and what is named is there."""

from pathlib import Path
from typing import cast

import pytest

from world.order import BROWSER, LONG, long_first

ROOT = Path(__file__).parents[2]


class Named:
    """As much of a test as its order depends on."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid


def ordered(names: list[str], processes: int) -> list[str]:
    items = [cast("pytest.Item", Named(name)) for name in names]
    return [item.nodeid for item in long_first(items, processes)]


@pytest.mark.parametrize("path", [BROWSER, *LONG])
def test_what_is_said_to_take_long_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("processes", [1, 2, 3, 4])
@pytest.mark.parametrize("others", [0, 1, 7, 100])
def test_every_test_is_run_once_in_whatever_order(processes: int, others: int) -> None:
    names = [f"tests/sql/test_x.py::test_{number}" for number in range(others)]
    names += [f"{path}::test_{number}" for path in LONG for number in range(2)]
    names += [f"{BROWSER}test_pages.py::test_{number}" for number in range(5)]

    assert sorted(ordered(names, processes)) == sorted(names)


def test_each_process_begins_with_what_takes_long_and_one_has_the_browser() -> None:
    quick = [f"tests/sql/test_x.py::test_{number}" for number in range(87)]
    browser = [f"{BROWSER}test_{name}.py::test" for name in ("doors", "pages", "keys")]
    long = [f"{path}::test" for path in LONG[:10]]

    found = ordered(quick + browser + long, 3)

    shares = [found[:33], found[33:66], found[66:]]
    assert shares[0][:3] == browser
    assert shares[1][:5] == long[::2]
    assert shares[2][:5] == long[1::2]
    assert [name for share in shares for name in share if name in quick] == quick
