"""Collections are rare where we run, and what an application has decided about them stays."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from holdfast.runtime.garbage import ALLOCATIONS, FEW, collected_rarely, seldom


def set_threshold(*threshold: int) -> tuple[int, int, int]:
    """Give back what was made of it: not every release of Python knows all three."""
    gc.set_threshold(*threshold)
    return gc.get_threshold()


@pytest.fixture(autouse=True)
def pythons() -> Iterator[tuple[int, int, int]]:
    """Begin with Python's own threshold."""
    before = gc.get_threshold()
    yield set_threshold(700, 10, 10)
    gc.set_threshold(*before)
    gc.freeze()


def test_who_serves_or_works_collects_seldom_and_leaves_alone_what_was_there(
    pythons: tuple[int, int, int],
) -> None:
    gc.unfreeze()

    with collected_rarely():
        assert gc.get_threshold()[0] == ALLOCATIONS
        assert gc.get_freeze_count() > FEW

    assert gc.get_threshold() == pythons
    assert gc.get_freeze_count() < FEW


class Knot:
    """What only a collection takes away."""

    def __init__(self) -> None:
        self.itself = self


def test_what_outlived_a_collection_is_gone_a_few_collections_later() -> None:
    gc.unfreeze()

    with collected_rarely():
        knot = Knot()
        gone = weakref.ref(knot)
        gc.collect(1)  # it is in hand, and among the old now
        del knot
        for _ in range(20):
            _made: list[list[int]] = [[] for _ in range(ALLOCATIONS + FEW)]

    assert gone() is None


@pytest.mark.parametrize("frozen_by", ["us", "the app"])
def test_a_large_application_keeps_what_outlived_a_collection_no_longer(frozen_by: str) -> None:
    gc.unfreeze()
    _app: list[list[int]] = [[] for _ in range(ALLOCATIONS)]
    if frozen_by == "the app":
        gc.collect()
        gc.freeze()

    with collected_rarely():
        knot = Knot()
        gone = weakref.ref(knot)
        gc.collect(1)
        del knot
        for _ in range(20 * (ALLOCATIONS + FEW)):
            Knot()  # of which a look leaves nothing: little else grows old

    assert gone() is None


def test_what_an_application_has_frozen_stays_frozen() -> None:
    gc.freeze()

    with collected_rarely():
        pass

    assert gc.get_freeze_count() > FEW


def test_what_an_application_freezes_meanwhile_stays_frozen() -> None:
    gc.unfreeze()

    with collected_rarely():
        _made: list[list[int]] = [[] for _ in range(2 * FEW)]
        gc.freeze()

    assert gc.get_freeze_count() > FEW


@pytest.mark.parametrize("first", [0, ALLOCATIONS + 1], ids=["never", "rarer"])
def test_who_collects_more_rarely_still_goes_on_to(first: int) -> None:
    threshold = set_threshold(first, 10, 10)

    with seldom():
        assert gc.get_threshold() == threshold

    assert gc.get_threshold() == threshold


def test_what_a_module_says_about_collections_while_it_is_imported_counts() -> None:
    with seldom():
        threshold = set_threshold(5, 5, 5)

    assert gc.get_threshold() == threshold
