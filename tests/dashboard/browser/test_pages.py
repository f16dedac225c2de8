"""Every page, wide and on a phone, light and dark: nothing complains, nothing is cut off, and everybody can use it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from dashboard.all_pages import PAGES, addresses_of
from dashboard.browser.conftest import Shown
from dashboard.browser.scene import Place, open_place
from holdfast import Holdfast
from holdfast.interfaces.http.dashboard.navigation import ENTRIES
from holdfast.interfaces.http.dashboard.sections import SECTIONS
from holdfast.testing import TestServer
from world.browser import SIZES, look_in_both_colours

# What people type that nothing can be shown for.
ODD = (("/jobs", "?q=task:nothing"), ("/jobs", "?q=status:"))


def every_page() -> list[tuple[str, str]]:
    """List the pages by path and query: one that is added is looked at without being named anywhere."""
    paths = [page.path for section in SECTIONS for page in section.pages]
    return [(path, query) for path in paths for query in PAGES.get(path, ("",))] + [*ODD]


@pytest.mark.parametrize(("path", "query"), every_page(), ids=lambda each: each)
def test_a_page_is_fit_to_be_seen(chromium: Browser, shown: Shown, path: str, query: str) -> None:
    (address,) = addresses_of(path, query, shown.there)

    with shown.place.looking(chromium) as page:
        look(page, address, path + query)


@pytest.fixture(scope="module")
def empty(holdfast_server: TestServer) -> Iterator[Place]:
    """Give a place where nothing has happened yet."""
    with open_place(holdfast_server, lambda database: database.use(Holdfast())) as place:
        yield place


@pytest.mark.parametrize("path", [entry.path for entry in ENTRIES])
def test_a_page_without_anything_to_show_is_fit_to_be_seen(
    chromium: Browser, empty: Place, path: str
) -> None:
    with empty.looking(chromium) as page:
        look(page, path, f"empty {path}")


def look(page: Page, address: str, name: str) -> None:
    """Look at a page in every way in which people do."""
    for width, size in SIZES.items():
        page.set_viewport_size(size)
        page.goto(address, wait_until="load")
        page.locator("#live[data-state=live]").wait_for()
        assert page.locator("p.failed").all_inner_texts() == []
        look_in_both_colours(page, f"{name} {width}")
