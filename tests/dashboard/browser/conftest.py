"""One browser for each file of tests, and one shop for all tests that only look."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser

from dashboard.browser.scene import Place, at_work, open_place, shop
from holdfast.interfaces.http.dashboard import statics
from holdfast.testing import TestServer
from world.browser import browser


@dataclass
class Shown:
    """The shop, and what there is to see by the paths that show one of it."""

    place: Place
    there: dict[str, list[str]]


@pytest.fixture(scope="session")
def shown(holdfast_server: TestServer) -> Iterator[Shown]:
    """Give the shop that tests look at, and leave as it is."""
    with open_place(holdfast_server, shop) as place:
        yield Shown(place, at_work(place))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Give the browser; other files' tests have event loops of their own, so it ends with this one."""
    if statics.missing():
        pytest.skip("NOT RUN: the browser libraries were not fetched (scripts/vendor gets them)")
    with browser() as launched:
        yield launched
