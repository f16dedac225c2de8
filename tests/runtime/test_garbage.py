"""Collections are rare where we run, and what an application has decided about them stays."""

import gc
from collections.abc import Iterator

import pytest

from holdfast.runtime.garbage import ALLOCATIONS, collected_rarely, seldom

PYTHONS = (700, 10, 10)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    threshold = gc.get_threshold()
    gc.set_threshold(*PYTHONS)
    yield
    gc.set_threshold(*threshold)
    gc.freeze()


def test_who_serves_or_works_collects_seldom_and_leaves_alone_what_was_there() -> None:
    gc.unfreeze()

    with collected_rarely():
        assert gc.get_threshold()[0] == ALLOCATIONS
        assert gc.get_freeze_count() > 0

    assert gc.get_threshold() == PYTHONS
    assert gc.get_freeze_count() == 0


def test_what_an_application_has_frozen_stays_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()

    with collected_rarely():
        pass

    assert gc.get_freeze_count() == frozen > 0


@pytest.mark.parametrize("threshold", [(0, 10, 10), (ALLOCATIONS + 1, 10, 10)], ids=["never", "rarer"])
def test_who_collects_more_rarely_still_goes_on_to(threshold: tuple[int, int, int]) -> None:
    gc.set_threshold(*threshold)

    with seldom():
        assert gc.get_threshold() == threshold

    assert gc.get_threshold() == threshold


def test_what_a_module_says_about_collections_while_it_is_imported_counts() -> None:
    with seldom():
        gc.set_threshold(5, 5, 5)

    assert gc.get_threshold() == (5, 5, 5)
