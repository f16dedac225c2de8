"""Every page, wide and light, and on a phone and dark: nothing complains, nothing is cut off, and everybody can use it."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from dashboard.all_pages import PAGES, addresses_of
from dashboard.browser.conftest import Shown
from dashboard.browser.scene import open_place
from holdfast import Holdfast
from holdfast.interfaces.http.dashboard.navigation import ENTRIES
from holdfast.interfaces.http.dashboard.sections import SECTIONS
from holdfast.testing import TestServer
from world.browser import PHONE, SIZES, WIDE, Window, look_in, look_in_both_colours
from world.often import LONG

# What people type that nothing can be shown for.
ODD = (("/jobs", "?q=task:nothing"), ("/jobs", "?q=status:"))


def every_page() -> list[tuple[str, str]]:
    """List the pages by path and query: one that is added is looked at without being named anywhere."""
    paths = [page.path for section in SECTIONS for page in section.pages]
    return [(path, query) for path in paths for query in PAGES.get(path, ("",))] + [*ODD]


# One window for all pages: each new one would fetch and compile again what all of them load.


@pytest.fixture(scope="module")
def window(chromium: Browser, shown: Shown) -> Iterator[Window]:
    """Give a window of somebody who goes from page to page of the shop."""
    with shown.place.window(chromium) as window:
        yield window


@pytest.mark.parametrize(("path", "query"), every_page(), ids=lambda each: each)
def test_a_page_is_fit_to_be_seen(window: Window, shown: Shown, path: str, query: str) -> None:
    (address,) = addresses_of(path, query, shown.there)

    look(window.page, address, path + query)

    assert window.take_faults() == []


@pytest.fixture(scope="module")
def empty(chromium: Browser, holdfast_server: TestServer) -> Iterator[Window]:
    """Give a window on a place where nothing has happened yet."""
    with (
        open_place(holdfast_server, lambda database: database.use(Holdfast())) as place,
        place.window(chromium) as window,
    ):
        yield window


@pytest.mark.parametrize("path", [entry.path for entry in ENTRIES])
def test_a_page_without_anything_to_show_is_fit_to_be_seen(empty: Window, path: str) -> None:
    look(empty.page, path, f"empty {path}")

    assert empty.take_faults() == []


def look(page: Page, address: str, name: str) -> None:
    """Look at a page in every way in which people do."""
    page.goto(address, wait_until="load")
    page.locator("#live[data-state=live]").wait_for()
    assert page.locator("p.failed").all_inner_texts() == []
    # The same document fits itself to every width: it need not be fetched for each.
    if LONG or os.environ.get("HOLDFAST_TEST_PICTURES"):
        for width, size in SIZES.items():
            page.set_viewport_size(size)
            look_in_both_colours(page, f"{name} {width}")
        return
    # Both widths take their colours from the same few names: each width and each theme once is enough for every day.
    page.set_viewport_size(WIDE)
    look_in("light", page, f"{name} wide")
    page.set_viewport_size(PHONE)
    look_in("dark", page, f"{name} phone")
